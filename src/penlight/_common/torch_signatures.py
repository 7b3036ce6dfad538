"""The signatures of functions and methods of PyTorch 2.13.0. Written by tools/torch_signatures.py.

A line for each signature: the functions that have it, and its forms, separated by bars. `?` marks parameters that may be None, `#` tensors
that may be numbers, `ints1` lists of ints that may be one int; `-` is the form without arguments, `~` a deprecated form.
"""

FORMS = """
abs absolute acos acosh alias_copy angle arccos arccosh arcsin arcsinh arctan arctanh asin asinh atan atanh bitwise_not ceil conj_physical cos cosh deg2rad detach_copy digamma erf erfc erfinv exp exp2 expm1 fix floor frac i0 inverse isinf isnan isneginf isposinf lgamma log log10 log1p log2 logical_not msort neg negative nonzero rad2deg reciprocal relu rsqrt sgn sigmoid sign signbit sin sinc sinh sqrt square t_copy tan tanh trace trunc view_as_complex_copy view_as_real_copy linalg_eigvals linalg_matrix_exp special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1 special_digamma special_entr special_erf special_erfc special_erfcx special_erfinv special_exp2 special_expit special_expm1 special_gammaln special_i0 special_i0e special_i1 special_i1e special_log1p special_log_ndtr special_modified_bessel_i0 special_modified_bessel_i1 special_modified_bessel_k0 special_modified_bessel_k1 special_ndtr special_ndtri special_psi special_sinc: Tensor input, *, Tensor? out=None
abs_ acos_ acosh_ adjoint arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ argwhere asin_ asinh_ atan_ atanh_ ceil_ conj conj_physical_ corrcoef cos_ cosh_ deg2rad_ det detach detach_ erf_ erfc_ exp2_ exp_ expm1_ fix_ fliplr flipud floor_ frac_ get_device i0_ imag is_complex is_conj is_distributed is_floating_point is_inference is_neg is_nonzero is_signed isfinite isreal log10_ log1p_ log2_ log_ logdet matrix_exp neg_ negative_ numel positive rad2deg_ ravel real reciprocal_ relu_ resolve_conj resolve_neg rsqrt_ selu selu_ sigmoid_ sin_ sinc_ sinh_ sqrt_ square_ t tan_ tanh_ trunc_ view_as_complex view_as_real zero_ F.relu_ F.selu_: Tensor input
adaptive_avg_pool1d F.adaptive_avg_pool1d: Tensor input, ints1 output_size, *, Tensor? out=None
adaptive_max_pool1d: Tensor input, ints1 output_size
add sub: Tensor input, Tensor# other, *, Number alpha=1, Tensor? out=None | ~
addbmm: Tensor input, Tensor batch1, Tensor batch2, *, Number beta=1, Number alpha=1, Tensor? out=None | ~
addcdiv addcmul: Tensor input, Tensor tensor1, Tensor tensor2, *, Number value=1, Tensor? out=None | ~
addmm: Tensor input, Tensor mat1, Tensor mat2, *, Number beta=1, Number alpha=1, Tensor? out=None | Tensor input, Tensor mat1, Tensor mat2, dtype out_dtype, *, Number beta=1, Number alpha=1, Tensor? out=None
addmv: Tensor input, Tensor mat, Tensor vec, *, Number beta=1, Number alpha=1, Tensor? out=None | ~
addmv_: Tensor input, Tensor mat, Tensor vec, *, Number beta=1, Number alpha=1 | ~
addr: Tensor input, Tensor vec1, Tensor vec2, *, Number beta=1, Number alpha=1, Tensor? out=None | ~
affine_grid_generator: Tensor theta, ints size, bool align_corners, *, Tensor? out=None
all any: Tensor input, *, Tensor? out=None | Tensor input, ints? dim=None, bool keepdim=False, *, Tensor? out=None | Tensor input, int dim, bool keepdim=False, *, Tensor? out=None
allclose isclose: Tensor input, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False
alpha_dropout alpha_dropout_ dropout dropout_ feature_alpha_dropout feature_alpha_dropout_ feature_dropout feature_dropout_: Tensor input, float p, bool train
amax amin: Tensor input, ints1 dim=(), bool keepdim=False, *, Tensor? out=None
aminmax: Tensor input, *, int? dim=None, bool keepdim=False, tensors? out=None
arange: Number end, *, Tensor? out=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False | Number start, Number end, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False | Number start, Number end, Number step=1, *, Tensor? out=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
arctan2 atan2 fmax fmin gcd hypot igamma igammac inner kron lcm ldexp logaddexp logaddexp2 logical_and logical_or logical_xor matmul maximum minimum nextafter vdot linalg_matmul special_gammainc special_gammaincc: Tensor input, Tensor other, *, Tensor? out=None
argmax argmin: Tensor input, int? dim=None, bool keepdim=False, *, Tensor? out=None
argsort: Tensor input, *, bool stable, int dim=-1, bool descending=False, Tensor? out=None | Tensor input, int dim=-1, bool descending=False
as_strided as_strided_: Tensor input, ints size, ints stride, int? storage_offset=None
as_strided_copy: Tensor input, ints size, ints stride, int? storage_offset=None, *, Tensor? out=None
as_strided_scatter: Tensor input, Tensor src, ints size, ints stride, int? storage_offset=None, *, Tensor? out=None
avg_pool1d F.avg_pool1d: Tensor input, ints1 kernel_size, ints1 stride=(), ints1 padding=(0,), bool ceil_mode=False, bool count_include_pad=True, *, Tensor? out=None
baddbmm: Tensor input, Tensor batch1, Tensor batch2, *, Number beta=1, Number alpha=1, Tensor? out=None | Tensor input, Tensor batch1, Tensor batch2, dtype out_dtype, *, Number beta=1, Number alpha=1, Tensor? out=None
bartlett_window blackman_window hann_window: int window_length, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False | int window_length, bool periodic, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
batch_norm: Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, float eps, bool cudnn_enabled
bernoulli: Tensor input, *, generator? generator=None, Tensor? out=None | Tensor input, float p, *, generator? generator=None
bilinear F.bilinear: Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None
binary_cross_entropy_with_logits: Tensor input, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, int reduction=1, *, Tensor? out=None
bincount: Tensor input, Tensor? weights=None, int minlength=0, *, Tensor? out=None
binomial: Tensor count, Tensor prob, generator? generator=None, *, Tensor? out=None
bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor remainder: Tensor input, Tensor# other, *, Tensor? out=None | Number self, Tensor# other | Tensor input, Number other, *, Tensor? out=None
bmm dsmm mm spmm: Tensor input, Tensor mat2, *, Tensor? out=None | Tensor input, Tensor mat2, dtype out_dtype, *, Tensor? out=None
broadcast_to: Tensor input, ints size
bucketize: Tensor input, Tensor boundaries, *, bool out_int32=False, bool right=False, Tensor? out=None | Number self, Tensor boundaries, *, bool out_int32=False, bool right=False
can_cast: dtype from_, dtype to
cat concat concatenate stack: tensors tensors, int dim=0, *, Tensor? out=None
celu: Tensor input, Number alpha=1.0, *, Tensor? out=None
celu_ F.celu_: Tensor input, Number alpha=1.0
channel_shuffle F.channel_shuffle: Tensor input, int groups, *, Tensor? out=None
cholesky cholesky_inverse: Tensor input, bool upper=False, *, Tensor? out=None
cholesky_solve: Tensor input, Tensor input2, bool upper=False, *, Tensor? out=None
chunk unsafe_chunk: Tensor input, int chunks, int dim=0
clamp clip: Tensor input, Tensor? min=None, Tensor? max=None, *, Tensor? out=None | Tensor input, Number? min=None, Number? max=None, *, Tensor? out=None
clamp_ clip_: Tensor input, Tensor? min=None, Tensor? max=None | Tensor input, Number? min=None, Number? max=None
clamp_max: Tensor input, Tensor max, *, Tensor? out=None | Tensor input, Number max, *, Tensor? out=None
clamp_max_: Tensor input, Tensor max | Tensor input, Number max
clamp_min: Tensor input, Tensor min, *, Tensor? out=None | Tensor input, Number min, *, Tensor? out=None
clamp_min_: Tensor input, Tensor min | Tensor input, Number min
clone: Tensor input, *, memory_format? memory_format=None, Tensor? out=None
column_stack dstack hstack row_stack vstack linalg_multi_dot: tensors tensors, *, Tensor? out=None
combinations: Tensor input, int r=2, bool with_replacement=False
complex: Tensor real, Tensor imag, *, Tensor? out=None
constant_pad_nd: Tensor input, ints pad, Number value=0, *, Tensor? out=None
conv1d conv2d conv3d F.conv1d F.conv2d F.conv3d: Tensor input, Tensor weight, Tensor? bias=None, ints1 stride=1, ints1 padding=0, ints1 dilation=1, int groups=1 | Tensor input, Tensor weight, Tensor? bias=None, ints1 stride=1, str padding="valid", ints1 dilation=1, int groups=1
conv_tbc F.conv_tbc: Tensor input, Tensor weight, Tensor bias, int pad=0, *, Tensor? out=None
conv_transpose1d F.conv_transpose1d: Tensor input, Tensor weight, Tensor? bias=None, ints1 stride=(1,), ints1 padding=(0,), ints1 output_padding=(0,), int groups=1, ints1 dilation=(1,)
conv_transpose2d F.conv_transpose2d: Tensor input, Tensor weight, Tensor? bias=None, ints1 stride=(1, 1), ints1 padding=(0, 0), ints1 output_padding=(0, 0), int groups=1, ints1 dilation=(1, 1)
conv_transpose3d F.conv_transpose3d: Tensor input, Tensor weight, Tensor? bias=None, ints1 stride=(1, 1, 1), ints1 padding=(0, 0, 0), ints1 output_padding=(0, 0, 0), int groups=1, ints1 dilation=(1, 1, 1)
convolution: Tensor input, Tensor weight, Tensor? bias, ints stride, ints padding, ints dilation, bool transposed, ints output_padding, int groups, *, Tensor? out=None
copysign eq fmod ge greater greater_equal gt le less less_equal lt ne not_equal: Tensor input, Tensor# other, *, Tensor? out=None | Tensor input, Number other, *, Tensor? out=None
cosine_embedding_loss margin_ranking_loss: Tensor input1, Tensor input2, Tensor target, float margin=0.0, int reduction=1
cosine_similarity F.cosine_similarity: Tensor x1, Tensor x2, int dim=1, float eps=1e-08
count_nonzero: Tensor input, int? dim=None | Tensor input, ints dim
cov: Tensor input, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None
cross: Tensor input, Tensor other, int? dim=None, *, Tensor? out=None
ctc_loss: Tensor log_probs, Tensor targets, ints input_lengths, ints target_lengths, int blank=0, int reduction=at::Reduction::Mean, bool zero_infinity=False | Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank=0, int reduction=at::Reduction::Mean, bool zero_infinity=False
cummax cummin: Tensor input, int dim, *, tensors? out=None
cumprod cumsum: Tensor input, int dim, *, dtype? dtype=None, Tensor? out=None
cumulative_trapezoid trapezoid: Tensor y, Tensor x, *, int dim=-1 | Tensor y, *, Number dx=1, int dim=-1
dequantize: Tensor input | tensors tensors
diag tril triu: Tensor input, int diagonal=0, *, Tensor? out=None
diag_embed: Tensor input, int offset=0, int dim1=-2, int dim2=-1, *, Tensor? out=None
diagflat: Tensor input, int offset=0
diagonal: Tensor input, int offset=0, int dim1=0, int dim2=1
diagonal_copy: Tensor input, int offset=0, int dim1=0, int dim2=1, *, Tensor? out=None
diagonal_scatter: Tensor input, Tensor src, int offset=0, int dim1=0, int dim2=1, *, Tensor? out=None
diff: Tensor input, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None, *, Tensor? out=None
dist: Tensor input, Tensor other, Number p=2, *, Tensor? out=None
div: Tensor input, Tensor# other, *, Tensor? out=None | Tensor input, Tensor# other, *, str rounding_mode, Tensor? out=None | Tensor input, Number other, *, str rounding_mode
divide: Tensor input, Tensor# other, *, Tensor? out=None | Tensor input, Tensor# other, *, str rounding_mode, Tensor? out=None | Tensor input, Number other | Tensor input, Number other, *, str rounding_mode
dot: Tensor input, Tensor tensor, *, Tensor? out=None
dsplit hsplit vsplit: Tensor input, int sections | Tensor input, ints indices
embedding: Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False, *, Tensor? out=None
embedding_bag: Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq, int mode, bool sparse, Tensor per_sample_weights, bool include_last_offset, int padding_idx | Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False
embedding_renorm_: Tensor input, Tensor indices, float max_norm, float norm_type
empty: ints size, *, memory_format? memory_format=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
empty_like ones_like zeros_like: Tensor input, *, memory_format? memory_format=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
empty_permuted: ints size, ints physical_layout, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
empty_strided Tensor.new_empty_strided: ints size, ints stride, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
equal gcd_ is_same_size lcm_ ldexp_: Tensor input, Tensor other
expand_copy: Tensor input, ints size, *, bool implicit=False, Tensor? out=None
eye: int n, *, Tensor? out=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False | int n, int m, *, Tensor? out=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
fill fill_: Tensor input, Tensor value | Tensor input, Number value
flatten: Tensor input, int start_dim=0, int end_dim=-1
flip permute_copy: Tensor input, ints dims, *, Tensor? out=None
float_power pow: Tensor input, Tensor exponent, *, Tensor? out=None | Number self, Tensor exponent, *, Tensor? out=None | Tensor input, Number exponent, *, Tensor? out=None
floor_divide multiply true_divide: Tensor input, Tensor# other, *, Tensor? out=None | Tensor input, Number other
frexp geqrf slogdet linalg_eig: Tensor input, *, tensors? out=None
frobenius_norm logsumexp special_logsumexp: Tensor input, ints1 dim, bool keepdim=False, *, Tensor? out=None
from_file: str filename, bool? shared=None, int? size=0, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
full Tensor.new_full: ints size, Number fill_value, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
full_like: Tensor input, Number fill_value, *, memory_format? memory_format=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
gather: Tensor input, int dim, Tensor index, *, bool sparse_grad=False, Tensor? out=None
ger outer: Tensor input, Tensor vec2, *, Tensor? out=None
gradient: Tensor input, *, ints dim, int edge_order=1 | Tensor input, *, Number spacing, ints dim, int edge_order=1 | Tensor input, *, Number? spacing=None, int? dim=None, int edge_order=1 | Tensor input, *, numbers spacing, int? dim=None, int edge_order=1 | Tensor input, *, numbers spacing, ints dim, int edge_order=1 | Tensor input, *, tensors spacing, int? dim=None, int edge_order=1 | Tensor input, *, tensors spacing, ints dim, int edge_order=1
grid_sampler: Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners
grid_sampler_2d grid_sampler_3d: Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners, *, Tensor? out=None
group_norm: Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool cudnn_enabled=True
gru rnn_relu rnn_tanh: Tensor data, Tensor batch_sizes, Tensor hx, tensors params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional | Tensor input, Tensor hx, tensors params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first
gru_cell rnn_relu_cell rnn_tanh_cell: Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None
hamming_window: int window_length, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False | int window_length, bool periodic, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False | int window_length, bool periodic, float alpha, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False | int window_length, bool periodic, float alpha, float beta, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
hardshrink F.hardshrink F.softshrink: Tensor input, Number lambd=0.5, *, Tensor? out=None
hash_tensor: Tensor input, ints1 dim=(), *, bool keepdim=False, int mode=0, Tensor? out=None
heaviside: Tensor input, Tensor values, *, Tensor? out=None
hinge_embedding_loss: Tensor input, Tensor target, float margin=1.0, int reduction=1
histc: Tensor input, int bins=100, Number min=0, Number max=0, *, Tensor? out=None
histogram: Tensor input, Tensor bins, *, Tensor? weight=None, bool density=False, tensors? out=None | Tensor input, int bins=100, *, floats? range=None, Tensor? weight=None, bool density=False, tensors? out=None
histogramdd: Tensor input, int bins, floats? range=None, Tensor? weight=None, bool density=False | Tensor input, ints bins, floats? range=None, Tensor? weight=None, bool density=False | Tensor input, tensors bins, floats? range=None, Tensor? weight=None, bool density=False
index_add: Tensor input, int dim, Tensor index, Tensor source, *, Number alpha=1, Tensor? out=None
index_copy: Tensor input, int dim, Tensor index, Tensor source, *, Tensor? out=None
index_fill: Tensor input, int dim, Tensor index, Tensor value | Tensor input, int dim, Tensor index, Number value
index_put: Tensor input, tensors indices, Tensor values, bool accumulate=False, *, Tensor? out=None
index_put_: Tensor input, tensors indices, Tensor values, bool accumulate=False
index_reduce: Tensor input, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True, Tensor? out=None
index_select: Tensor input, int dim, Tensor index, *, Tensor? out=None
instance_norm: Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool use_input_stats, float momentum, float eps, bool cudnn_enabled
isin: Tensor elements, Tensor test_elements, *, bool assume_unique=False, bool invert=False, Tensor? out=None | Number element, Tensor test_elements, *, bool assume_unique=False, bool invert=False, Tensor? out=None | Tensor elements, Number test_element, *, bool assume_unique=False, bool invert=False, Tensor? out=None
istft: Tensor input, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True, bool normalized=False, bool? onesided=None, int? length=None, bool return_complex=False
kaiser_window: int window_length, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False | int window_length, bool periodic, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False | int window_length, bool periodic, float beta, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
kl_div: Tensor input, Tensor target, int reduction=1, *, bool log_target=False
kthvalue: Tensor input, int k, int dim=-1, bool keepdim=False, *, tensors? out=None
layer_norm: Tensor input, ints normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool cudnn_enable=True
lerp: Tensor input, Tensor end, Tensor weight, *, Tensor? out=None | Tensor input, Tensor end, Number weight, *, Tensor? out=None
linspace: Tensor start, Tensor end, int steps, *, Tensor? out=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False | Number start, Tensor end, int steps, *, Tensor? out=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False | Tensor start, Number end, int steps, *, Tensor? out=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False | Number start, Number end, int steps, *, Tensor? out=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
log_softmax softmax: Tensor input, int dim, dtype? dtype=None, *, Tensor? out=None
logcumsumexp unsqueeze_copy: Tensor input, int dim, *, Tensor? out=None
logit special_logit: Tensor input, float? eps=None, *, Tensor? out=None
logit_: Tensor input, float? eps=None
logspace: Tensor start, Tensor end, int steps, float base=10.0, *, Tensor? out=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False | Number start, Tensor end, int steps, float base=10.0, *, Tensor? out=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False | Tensor start, Number end, int steps, float base=10.0, *, Tensor? out=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False | Number start, Number end, int steps, float base=10.0, *, Tensor? out=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
lstm: Tensor data, Tensor batch_sizes, tensors hx, tensors params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional | Tensor input, tensors hx, tensors params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first
lstm_cell: Tensor input, tensors hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None
lu_solve: Tensor input, Tensor LU_data, Tensor LU_pivots, *, Tensor? out=None
lu_unpack: Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True, *, tensors? out=None
masked_fill: Tensor input, Tensor mask, Tensor value | Tensor input, Tensor mask, Number value
masked_scatter: Tensor input, Tensor mask, Tensor source, *, Tensor? out=None
masked_select: Tensor input, Tensor mask, *, Tensor? out=None
matrix_power linalg_matrix_power: Tensor input, int n, *, Tensor? out=None
max min: Tensor input, *, Tensor? out=None | Tensor input, Tensor other, *, Tensor? out=None | Tensor input, int dim, bool keepdim=False, *, tensors? out=None
max_pool1d max_pool1d_with_indices: Tensor input, ints1 kernel_size, ints1 stride=(), ints1 padding=(0,), ints1 dilation=(1,), bool ceil_mode=False
max_pool2d: Tensor input, ints1 kernel_size, ints1 stride=(), ints1 padding=(0, 0), ints1 dilation=(1, 1), bool ceil_mode=False
max_pool3d: Tensor input, ints1 kernel_size, ints1 stride=(), ints1 padding=(0, 0, 0), ints1 dilation=(1, 1, 1), bool ceil_mode=False
mean: Tensor input, *, dtype? dtype=None, Tensor? out=None | Tensor input, ints1 dim, bool keepdim=False, *, dtype? dtype=None, Tensor? out=None
median nanmedian: Tensor input | Tensor input, int dim, bool keepdim=False, *, tensors? out=None
mode: Tensor input, int dim=-1, bool keepdim=False, *, tensors? out=None
moveaxis movedim: Tensor input, int source, int destination | Tensor input, ints source, ints destination
mul: Tensor input, Tensor# other, *, Tensor? out=None
multinomial: Tensor input, int num_samples, bool replacement=False, *, generator? generator=None, Tensor? out=None
mv: Tensor input, Tensor vec, *, Tensor? out=None
mvlgamma special_multigammaln: Tensor input, int p, *, Tensor? out=None
nan_to_num: Tensor input, float? nan=None, float? posinf=None, float? neginf=None, *, Tensor? out=None
nan_to_num_: Tensor input, float? nan=None, float? posinf=None, float? neginf=None
nanmean nansum: Tensor input, ints1? dim=None, bool keepdim=False, *, dtype? dtype=None, Tensor? out=None
nanquantile quantile: Tensor input, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation="linear", Tensor? out=None | Tensor input, float q, int? dim=None, bool keepdim=False, *, str interpolation="linear", Tensor? out=None
narrow: Tensor input, int dim, Tensor start, int length | Tensor input, int dim, int start, int length
narrow_copy: Tensor input, int dim, int start, int length, *, Tensor? out=None
native_batch_norm: Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, float eps, *, tensors? out=None
native_channel_shuffle F.native_channel_shuffle: Tensor input, int groups
native_dropout: Tensor input, float p, bool? train, *, tensors? out=None
native_group_norm: Tensor input, Tensor? weight, Tensor? bias, int N, int C, int HxW, int group, float eps, *, tensors? out=None
native_layer_norm: Tensor input, ints normalized_shape, Tensor? weight, Tensor? bias, float eps, *, tensors? out=None
native_norm: Tensor input, Number p=2 | Tensor input, Number p, ints1 dim, bool keepdim, dtype dtype
nonzero_static: Tensor input, *, int size, int fill_value=-1, Tensor? out=None
norm_except_dim: Tensor v, int pow=2, int dim=0
normal: Tensor mean, Tensor std, *, generator? generator=None, Tensor? out=None | Tensor mean, float std=1, *, generator? generator=None, Tensor? out=None | float mean, Tensor std, *, generator? generator=None, Tensor? out=None | float mean, float std, ints size, *, generator? generator=None, Tensor? out=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
nuclear_norm: Tensor input, ints1 dim, bool keepdim=False, *, Tensor? out=None | Tensor input, bool keepdim=False, *, Tensor? out=None
ones zeros Tensor.new_empty Tensor.new_ones Tensor.new_zeros: ints size, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
orgqr: Tensor input, Tensor input2, *, Tensor? out=None
ormqr: Tensor input, Tensor input2, Tensor input3, bool left=True, bool transpose=False, *, Tensor? out=None
pairwise_distance F.pairwise_distance: Tensor x1, Tensor x2, float p=2.0, float eps=1e-06, bool keepdim=False
pdist F.pdist: Tensor input, float p=2.0
permute tile: Tensor input, ints dims
pinverse: Tensor input, float rcond=1e-15
pixel_shuffle F.pixel_shuffle: Tensor input, int upscale_factor, *, Tensor? out=None
pixel_unshuffle F.pixel_unshuffle: Tensor input, int downscale_factor, *, Tensor? out=None
poisson: Tensor input, generator? generator=None, *, Tensor? out=None
poisson_nll_loss: Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction
polar: Tensor abs, Tensor angle, *, Tensor? out=None
polygamma special_polygamma: int n, Tensor input, *, Tensor? out=None
prelu F.prelu: Tensor input, Tensor weight
prod: Tensor input, *, dtype? dtype=None | Tensor input, int dim, bool keepdim=False, *, dtype? dtype=None, Tensor? out=None
promote_types: dtype type1, dtype type2
put: Tensor input, Tensor index, Tensor source, bool accumulate=False, *, Tensor? out=None
qr: Tensor input, bool some=True, *, tensors? out=None
rand randn: ints size, *, generator generator, Tensor? out=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False | ints size, *, Tensor? out=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
rand_like randn_like: Tensor input, *, generator generator, memory_format? memory_format=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False | Tensor input, *, memory_format? memory_format=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
randint: int high, ints size, *, generator generator, Tensor? out=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False | int high, ints size, *, Tensor? out=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False | int low, int high, ints size, *, generator generator, Tensor? out=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False | int low, int high, ints size, *, Tensor? out=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
randint_like: Tensor input, int low, int high, *, generator generator, memory_format? memory_format=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False | Tensor input, int low, int high, *, memory_format? memory_format=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False | Tensor input, Tensor high, *, generator generator, memory_format? memory_format=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False | Tensor input, Tensor high, *, memory_format? memory_format=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False | Tensor input, int high, *, generator generator, memory_format? memory_format=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False | Tensor input, int high, *, memory_format? memory_format=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
randperm: int n, *, generator generator, Tensor? out=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False | int n, *, Tensor? out=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
renorm: Tensor input, Number p, int dim, Number maxnorm, *, Tensor? out=None
repeat_interleave: Tensor input, Tensor repeats, int? dim=None, *, int? output_size=None | Tensor repeats, *, int? output_size=None | Tensor input, int repeats, int? dim=None, *, int? output_size=None
reshape: Tensor input, ints shape
resize_as_: Tensor input, Tensor the_template, *, memory_format? memory_format=None
result_type: Tensor tensor, Tensor# other | Number scalar, Tensor tensor | Tensor tensor, Number other | Number scalar1, Number scalar2
rms_norm: Tensor input, ints normalized_shape, Tensor? weight=None, float? eps=None
roll: Tensor input, ints1 shifts, ints1 dims=(), *, Tensor? out=None
rot90: Tensor input, int k=1, ints dims=(0, 1), *, Tensor? out=None
round: Tensor input, *, Tensor? out=None | Tensor input, *, int decimals, Tensor? out=None
round_: Tensor input | Tensor input, *, int decimals
rrelu rrelu_ F.rrelu_: Tensor input, Number lower=0.125, Number upper=0.3333333333333333, bool training=False, generator? generator=None
rsub: Tensor input, Tensor# other, *, Number alpha=1 | Tensor input, Number other, Number alpha=1
scalar_tensor: Number s, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
scatter: Tensor input, int dim, Tensor index, Tensor src, *, Tensor? out=None | Tensor input, int dim, Tensor index, Tensor src, *, str reduce, Tensor? out=None | Tensor input, int dim, Tensor index, Number value, *, Tensor? out=None | Tensor input, int dim, Tensor index, Number value, *, str reduce, Tensor? out=None
scatter_add: Tensor input, int dim, Tensor index, Tensor src, *, Tensor? out=None
scatter_reduce: Tensor input, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True, Tensor? out=None
searchsorted: Tensor sorted_sequence, Tensor input, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None, Tensor? out=None | Tensor sorted_sequence, Number self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None, Tensor? out=None
segment_reduce: Tensor data, str reduce, *, Tensor? lengths=None, Tensor? indices=None, Tensor? offsets=None, int axis=0, bool unsafe=False, Number? initial=None, Tensor? out=None
select: Tensor input, int dim, int index
select_copy: Tensor input, int dim, int index, *, Tensor? out=None
select_scatter: Tensor input, Tensor src, int dim, int index, *, Tensor? out=None
slice_copy: Tensor input, int dim=0, int? start=None, int? end=None, int step=1, *, Tensor? out=None
slice_inverse: Tensor input, Tensor src, int dim=0, int? start=None, int? end=None, int step=1
slice_scatter: Tensor input, Tensor src, int dim=0, int? start=None, int? end=None, int step=1, *, Tensor? out=None
sort: Tensor input, *, bool stable, int dim=-1, bool descending=False, tensors? out=None | Tensor input, int dim=-1, bool descending=False, *, tensors? out=None
sparse_compressed_tensor: object compressed_indices, object plain_indices, object values, ints size, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False, bool? check_invariants=None | object compressed_indices, object plain_indices, object values, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False, bool? check_invariants=None
sparse_coo_tensor: object indices, object values, *, dtype? dtype=None, device? device=None, bool pin_memory=False, bool requires_grad=False, bool? check_invariants=None, bool? is_coalesced=None | object indices, object values, ints size, *, dtype? dtype=None, device? device=None, bool pin_memory=False, bool requires_grad=False, bool? check_invariants=None, bool? is_coalesced=None | ints size, *, dtype? dtype=None, device? device=None, bool requires_grad=False, bool? check_invariants=None
sparse_csc_tensor: object ccol_indices, object row_indices, object values, ints size, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False, bool? check_invariants=None | object ccol_indices, object row_indices, object values, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False, bool? check_invariants=None
sparse_csr_tensor: object crow_indices, object col_indices, object values, ints size, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False, bool? check_invariants=None | object crow_indices, object col_indices, object values, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False, bool? check_invariants=None
split_copy unsafe_split: Tensor input, int split_size, int dim=0, *, tensors? out=None
split_with_sizes: Tensor input, ints split_sizes, int dim=0
split_with_sizes_copy unsafe_split_with_sizes: Tensor input, ints split_sizes, int dim=0, *, tensors? out=None
squeeze: Tensor input | Tensor input, int dim | Tensor input, ints dim
squeeze_copy: Tensor input, *, Tensor? out=None | Tensor input, int dim, *, Tensor? out=None | Tensor input, ints dim, *, Tensor? out=None
std var: Tensor input, ints1 dim, bool unbiased=True, bool keepdim=False, *, Tensor? out=None | Tensor input, ints1? dim=None, *, Number? correction=None, bool keepdim=False, Tensor? out=None | Tensor input, bool unbiased=True
std_mean var_mean: Tensor input, ints1 dim, bool unbiased=True, bool keepdim=False | Tensor input, ints1? dim=None, *, Number? correction=None, bool keepdim=False | Tensor input, bool unbiased=True
subtract: Tensor input, Tensor# other, *, Number alpha=1, Tensor? out=None | Tensor input, Number other, Number alpha=1
sum: Tensor input, *, dtype? dtype=None | Tensor input, ints1 dim, bool keepdim=False, *, dtype? dtype=None, Tensor? out=None
svd: Tensor input, bool some=True, bool compute_uv=True, *, tensors? out=None
swapaxes: Tensor input, int axis0, int axis1
swapdims transpose: Tensor input, int dim0, int dim1
take: Tensor input, Tensor index, *, Tensor? out=None
take_along_dim: Tensor input, Tensor indices, int? dim=None, *, Tensor? out=None
tensor_split: Tensor input, ints indices, int dim=0 | Tensor input, Tensor tensor_indices_or_sections, int dim=0 | Tensor input, int sections, int dim=0
threshold: Tensor input, Number threshold, Number value, *, Tensor? out=None
threshold_ F.threshold_: Tensor input, Number threshold, Number value
topk: Tensor input, int k, int dim=-1, bool largest=True, bool sorted=True, *, tensors? out=None
transpose_copy: Tensor input, int dim0, int dim1, *, Tensor? out=None
trapz: Tensor y, *, float dx=1, int dim=-1 | Tensor y, Tensor x, *, int dim=-1
triangular_solve: Tensor input, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False, *, tensors? out=None
tril_indices triu_indices: int row, int col, int offset=0, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
triplet_margin_loss: Tensor anchor, Tensor positive, Tensor negative, float margin=1.0, float p=2.0, float eps=1e-06, bool swap=False, int reduction=1
unbind: Tensor input, int dim=0
unbind_copy: Tensor input, int dim=0, *, tensors? out=None
unflatten: Tensor input, int dim, ints sizes
unfold_copy: Tensor input, int dimension, int size, int step, *, Tensor? out=None
unsqueeze: Tensor input, int dim
vander: Tensor x, int? N=None, bool increasing=False
view_copy: Tensor input, dtype dtype, *, Tensor? out=None | Tensor input, ints size, *, Tensor? out=None
where: Tensor condition | Tensor condition, Tensor input, Tensor other, *, Tensor? out=None | Tensor condition, Number self, Tensor other | Tensor condition, Tensor input, Number other | Tensor condition, Number self, Number other
xlogy special_xlog1py special_xlogy special_zeta: Tensor input, Tensor# other, *, Tensor? out=None | Number self, Tensor# other, *, Tensor? out=None | Tensor input, Number other, *, Tensor? out=None
xlogy_: Tensor input, Tensor# other | Tensor input, Number other
F.avg_pool2d: Tensor input, ints1 kernel_size, ints1 stride=(), ints1 padding=(0, 0), bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None, *, Tensor? out=None
F.avg_pool3d: Tensor input, ints1 kernel_size, ints1 stride=(), ints1 padding=(0, 0, 0), bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None, *, Tensor? out=None
F.elu_: Tensor input, Number alpha=1, Number scale=1, Number input_scale=1
F.gelu: Tensor input, *, str approximate="none", Tensor? out=None
F.hardtanh_: Tensor input, Number min_val=-1, Number max_val=1
F.has_torch_function Tensor.abs Tensor.abs_ Tensor.absolute Tensor.absolute_ Tensor.acos Tensor.acos_ Tensor.acosh Tensor.acosh_ Tensor.adjoint Tensor.angle Tensor.arccos Tensor.arccos_ Tensor.arccosh Tensor.arccosh_ Tensor.arcsin Tensor.arcsin_ Tensor.arcsinh Tensor.arcsinh_ Tensor.arctan Tensor.arctan_ Tensor.arctanh Tensor.arctanh_ Tensor.argwhere Tensor.asin Tensor.asin_ Tensor.asinh Tensor.asinh_ Tensor.atan Tensor.atan_ Tensor.atanh Tensor.atanh_ Tensor.bitwise_not Tensor.bitwise_not_ Tensor.ccol_indices Tensor.ceil Tensor.ceil_ Tensor.coalesce Tensor.col_indices Tensor.conj Tensor.conj_physical Tensor.conj_physical_ Tensor.corrcoef Tensor.cos Tensor.cos_ Tensor.cosh Tensor.cosh_ Tensor.cpu Tensor.crow_indices Tensor.deg2rad Tensor.deg2rad_ Tensor.dense_dim Tensor.dequantize Tensor.det Tensor.detach Tensor.detach_ Tensor.digamma Tensor.digamma_ Tensor.dim Tensor.element_size Tensor.erf Tensor.erf_ Tensor.erfc Tensor.erfc_ Tensor.erfinv Tensor.erfinv_ Tensor.exp Tensor.exp2 Tensor.exp2_ Tensor.exp_ Tensor.expm1 Tensor.expm1_ Tensor.fix Tensor.fix_ Tensor.fliplr Tensor.flipud Tensor.floor Tensor.floor_ Tensor.frac Tensor.frac_ Tensor.frexp Tensor.geqrf Tensor.get_device Tensor.i0 Tensor.i0_ Tensor.indices Tensor.int_repr Tensor.inverse Tensor.is_coalesced Tensor.is_complex Tensor.is_conj Tensor.is_contiguous Tensor.is_distributed Tensor.is_floating_point Tensor.is_inference Tensor.is_neg Tensor.is_nonzero Tensor.is_signed Tensor.isfinite Tensor.isinf Tensor.isnan Tensor.isneginf Tensor.isposinf Tensor.isreal Tensor.item Tensor.lgamma Tensor.lgamma_ Tensor.log Tensor.log10 Tensor.log10_ Tensor.log1p Tensor.log1p_ Tensor.log2 Tensor.log2_ Tensor.log_ Tensor.logdet Tensor.logical_not Tensor.logical_not_ Tensor.matrix_exp Tensor.msort Tensor.neg Tensor.neg_ Tensor.negative Tensor.negative_ Tensor.numel Tensor.positive Tensor.q_per_channel_axis Tensor.q_per_channel_scales Tensor.q_per_channel_zero_points Tensor.q_scale Tensor.q_zero_point Tensor.qscheme Tensor.rad2deg Tensor.rad2deg_ Tensor.ravel Tensor.reciprocal Tensor.reciprocal_ Tensor.relu Tensor.relu_ Tensor.resolve_conj Tensor.resolve_neg Tensor.retain_grad Tensor.row_indices Tensor.rsqrt Tensor.rsqrt_ Tensor.sgn Tensor.sgn_ Tensor.sigmoid Tensor.sigmoid_ Tensor.sign Tensor.sign_ Tensor.signbit Tensor.sin Tensor.sin_ Tensor.sinc Tensor.sinc_ Tensor.sinh Tensor.sinh_ Tensor.slogdet Tensor.sparse_dim Tensor.sqrt Tensor.sqrt_ Tensor.square Tensor.square_ Tensor.storage_offset Tensor.t Tensor.t_ Tensor.tan Tensor.tan_ Tensor.tanh Tensor.tanh_ Tensor.trace Tensor.trunc Tensor.trunc_ Tensor.values Tensor.zero_: -
F.leaky_relu_: Tensor input, Number negative_slope=0.01
F.linear: Tensor input, Tensor weight, Tensor? bias=None, *, Tensor? out=None
F.one_hot: Tensor input, int num_classes=-1
F.scaled_dot_product_attention: Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, bool is_causal=False, *, float? scale=None, bool enable_gqa=False
F.softplus: Tensor input, Number beta=1, Number threshold=20, *, Tensor? out=None
linalg_cholesky: Tensor input, *, bool upper=False, Tensor? out=None
linalg_cholesky_ex: Tensor input, *, bool upper=False, bool check_errors=False, tensors? out=None
linalg_cond: Tensor input, Number? p=None, *, Tensor? out=None | Tensor input, str p, *, Tensor? out=None
linalg_cross: Tensor input, Tensor other, *, int dim=-1, Tensor? out=None
linalg_det linalg_inv: Tensor A, *, Tensor? out=None
linalg_diagonal: Tensor A, *, int offset=0, int dim1=-2, int dim2=-1
linalg_eigh: Tensor input, str UPLO="L", *, tensors? out=None
linalg_eigvalsh: Tensor input, str UPLO="L", *, Tensor? out=None
linalg_householder_product: Tensor input, Tensor tau, *, Tensor? out=None
linalg_inv_ex: Tensor A, *, bool check_errors=False, tensors? out=None
linalg_ldl_factor: Tensor input, *, bool hermitian=False, tensors? out=None
linalg_ldl_factor_ex: Tensor input, *, bool hermitian=False, bool check_errors=False, tensors? out=None
linalg_ldl_solve: Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False, Tensor? out=None
linalg_lstsq: Tensor input, Tensor b, float? rcond=None, *, str? driver=None, tensors? out=None
linalg_lu linalg_lu_factor: Tensor A, *, bool pivot=True, tensors? out=None
linalg_lu_factor_ex: Tensor A, *, bool pivot=True, bool check_errors=False, tensors? out=None
linalg_lu_solve: Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False, Tensor? out=None
linalg_matrix_norm: Tensor input, Number ord, ints dim={-2,-1}, bool keepdim=False, *, dtype? dtype=None, Tensor? out=None | Tensor input, str ord="fro", ints dim={-2,-1}, bool keepdim=False, *, dtype? dtype=None, Tensor? out=None
linalg_matrix_rank: Tensor input, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False, Tensor? out=None | Tensor input, *, float? atol=None, float? rtol=None, bool hermitian=False, Tensor? out=None | Tensor input, Tensor tol, bool hermitian=False, *, Tensor? out=None | Tensor input, float tol, bool hermitian=False, *, Tensor? out=None
linalg_norm: Tensor input, Number? ord=None, ints1? dim=None, bool keepdim=False, *, dtype? dtype=None, Tensor? out=None | Tensor input, str ord, ints1? dim=None, bool keepdim=False, *, dtype? dtype=None, Tensor? out=None
linalg_pinv: Tensor input, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False, Tensor? out=None | Tensor input, *, float? atol=None, float? rtol=None, bool hermitian=False, Tensor? out=None | Tensor input, Tensor rcond, bool hermitian=False, *, Tensor? out=None | Tensor input, float rcond, bool hermitian=False, *, Tensor? out=None
linalg_qr: Tensor A, str mode="reduced", *, tensors? out=None
linalg_slogdet: Tensor A, *, tensors? out=None
linalg_solve: Tensor A, Tensor B, *, bool left=True, Tensor? out=None
linalg_solve_ex: Tensor A, Tensor B, *, bool left=True, bool check_errors=False, tensors? out=None
linalg_solve_triangular: Tensor input, Tensor B, *, bool upper, bool left=True, bool unitriangular=False, Tensor? out=None
linalg_svd: Tensor A, bool full_matrices=True, *, str? driver=None, tensors? out=None
linalg_svdvals: Tensor A, *, str? driver=None, Tensor? out=None
linalg_tensorinv: Tensor input, int ind=2, *, Tensor? out=None
linalg_tensorsolve: Tensor input, Tensor other, ints? dims=None, *, Tensor? out=None
linalg_vander: Tensor x, *, int? N=None
linalg_vecdot: Tensor x, Tensor y, *, int dim=-1, Tensor? out=None
linalg_vector_norm: Tensor input, Number ord=2, ints1? dim=None, bool keepdim=False, *, dtype? dtype=None, Tensor? out=None
fft_fft fft_hfft fft_ifft fft_ihfft fft_irfft fft_rfft: Tensor input, int? n=None, int dim=-1, str? norm=None, *, Tensor? out=None
fft_fft2 fft_hfft2 fft_ifft2 fft_ihfft2 fft_irfft2 fft_rfft2: Tensor input, ints1? s=None, ints1 dim=(-2, -1), str? norm=None, *, Tensor? out=None
fft_fftfreq fft_rfftfreq: int n, float d=1.0, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
fft_fftn fft_hfftn fft_ifftn fft_ihfftn fft_irfftn fft_rfftn: Tensor input, ints1? s=None, ints1? dim=None, str? norm=None, *, Tensor? out=None
fft_fftshift fft_ifftshift: Tensor input, ints1? dim=None
special_airy_ai special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1 special_spherical_bessel_j0: Tensor x, *, Tensor? out=None
special_chebyshev_polynomial_t special_chebyshev_polynomial_u special_chebyshev_polynomial_v special_chebyshev_polynomial_w special_hermite_polynomial_h special_hermite_polynomial_he special_laguerre_polynomial_l special_legendre_polynomial_p special_shifted_chebyshev_polynomial_t special_shifted_chebyshev_polynomial_u special_shifted_chebyshev_polynomial_v special_shifted_chebyshev_polynomial_w: Tensor x, Tensor n, *, Tensor? out=None | Number x, Tensor n, *, Tensor? out=None | Tensor x, Number n, *, Tensor? out=None
special_log_softmax: Tensor input, int dim, *, dtype? dtype=None
special_round: Tensor input, *, int decimals=0, Tensor? out=None
special_softmax: Tensor input, int dim, dtype? dtype=None
Tensor.add Tensor.add_ Tensor.sub Tensor.sub_: Tensor# other, *, Number alpha=1 | ~
Tensor.addbmm Tensor.addbmm_ Tensor.baddbmm Tensor.baddbmm_: Tensor batch1, Tensor batch2, *, Number beta=1, Number alpha=1 | ~
Tensor.addcdiv Tensor.addcdiv_ Tensor.addcmul Tensor.addcmul_: Tensor tensor1, Tensor tensor2, *, Number value=1 | ~
Tensor.addmm Tensor.addmm_ Tensor.sspaddmm: Tensor mat1, Tensor mat2, *, Number beta=1, Number alpha=1 | ~
Tensor.addmv Tensor.addmv_: Tensor mat, Tensor vec, *, Number beta=1, Number alpha=1 | ~
Tensor.addr Tensor.addr_: Tensor vec1, Tensor vec2, *, Number beta=1, Number alpha=1 | ~
Tensor.all Tensor.any: - | ints? dim=None, bool keepdim=False | int dim, bool keepdim=False
Tensor.allclose Tensor.isclose: Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False
Tensor.amax Tensor.amin: ints1 dim=(), bool keepdim=False
Tensor.aminmax: *, int? dim=None, bool keepdim=False
Tensor.arctan2 Tensor.arctan2_ Tensor.atan2 Tensor.atan2_ Tensor.equal Tensor.expand_as Tensor.fmax Tensor.fmin Tensor.gcd Tensor.gcd_ Tensor.hypot Tensor.hypot_ Tensor.igamma Tensor.igamma_ Tensor.igammac Tensor.igammac_ Tensor.inner Tensor.is_same_size Tensor.kron Tensor.lcm Tensor.lcm_ Tensor.ldexp Tensor.ldexp_ Tensor.logaddexp Tensor.logaddexp2 Tensor.logical_and Tensor.logical_and_ Tensor.logical_or Tensor.logical_or_ Tensor.logical_xor Tensor.logical_xor_ Tensor.matmul Tensor.maximum Tensor.minimum Tensor.nextafter Tensor.nextafter_ Tensor.reshape_as Tensor.type_as Tensor.vdot Tensor.view_as: Tensor other
Tensor.argmax Tensor.argmin: int? dim=None, bool keepdim=False
Tensor.argsort Tensor.sort: *, bool stable, int dim=-1, bool descending=False | int dim=-1, bool descending=False
Tensor.as_strided Tensor.as_strided_: ints size, ints stride, int? storage_offset=None
Tensor.as_strided_scatter: Tensor src, ints size, ints stride, int? storage_offset=None
Tensor.bernoulli: *, generator? generator=None | float p, *, generator? generator=None
Tensor.bernoulli_: Tensor p, *, generator? generator=None | float p=0.5, *, generator? generator=None
Tensor.bincount: Tensor? weights=None, int minlength=0
Tensor.bitwise_and Tensor.bitwise_and_ Tensor.bitwise_left_shift Tensor.bitwise_left_shift_ Tensor.bitwise_or Tensor.bitwise_or_ Tensor.bitwise_right_shift Tensor.bitwise_right_shift_ Tensor.bitwise_xor Tensor.bitwise_xor_ Tensor.copysign Tensor.copysign_ Tensor.eq Tensor.eq_ Tensor.floor_divide Tensor.floor_divide_ Tensor.fmod Tensor.fmod_ Tensor.ge Tensor.ge_ Tensor.greater Tensor.greater_ Tensor.greater_equal Tensor.greater_equal_ Tensor.gt Tensor.gt_ Tensor.le Tensor.le_ Tensor.less Tensor.less_ Tensor.less_equal Tensor.less_equal_ Tensor.lt Tensor.lt_ Tensor.multiply Tensor.multiply_ Tensor.ne Tensor.ne_ Tensor.not_equal Tensor.not_equal_ Tensor.remainder Tensor.remainder_ Tensor.true_divide Tensor.true_divide_ Tensor.xlogy Tensor.xlogy_: Tensor# other | Number other
Tensor.bmm Tensor.mm Tensor.smm: Tensor mat2
Tensor.broadcast_to Tensor.sum_to_size: ints size
Tensor.cauchy_: float median=0.0, float sigma=1.0, *, generator? generator=None
Tensor.cholesky Tensor.cholesky_inverse: bool upper=False
Tensor.cholesky_solve: Tensor input2, bool upper=False
Tensor.chunk Tensor.unsafe_chunk: int chunks, int dim=0
Tensor.clamp Tensor.clamp_ Tensor.clip Tensor.clip_: Tensor? min=None, Tensor? max=None | Number? min=None, Number? max=None
Tensor.clamp_max Tensor.clamp_max_: Tensor max | Number max
Tensor.clamp_min Tensor.clamp_min_: Tensor min | Number min
Tensor.clone: *, memory_format? memory_format=None
Tensor.contiguous: *, memory_format memory_format=0
Tensor.copy_: Tensor# other, bool non_blocking=False | ~
Tensor.count_nonzero: int? dim=None | ints dim
Tensor.cov: *, int correction=1, Tensor? fweights=None, Tensor? aweights=None
Tensor.cross: Tensor other, int? dim=None
Tensor.cuda Tensor.ipu Tensor.mtia Tensor.xpu: device? device=None, bool non_blocking=False, *, memory_format? memory_format=None | ~
Tensor.cummax Tensor.cummin Tensor.logcumsumexp Tensor.unsqueeze Tensor.unsqueeze_: int dim
Tensor.cumprod Tensor.cumprod_ Tensor.cumsum Tensor.cumsum_: int dim, *, dtype? dtype=None
Tensor.diag Tensor.tril Tensor.tril_ Tensor.triu Tensor.triu_: int diagonal=0
Tensor.diag_embed: int offset=0, int dim1=-2, int dim2=-1
Tensor.diagflat: int offset=0
Tensor.diagonal: int offset=0, int dim1=0, int dim2=1
Tensor.diagonal_scatter: Tensor src, int offset=0, int dim1=0, int dim2=1
Tensor.diff: int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None
Tensor.dist: Tensor other, Number p=2
Tensor.div Tensor.div_: Tensor# other | Tensor# other, *, str rounding_mode | Number other, *, str rounding_mode
Tensor.divide Tensor.divide_: Tensor# other | Tensor# other, *, str rounding_mode | Number other | Number other, *, str rounding_mode
Tensor.dot Tensor.is_set_to: Tensor tensor
Tensor.dsplit Tensor.hsplit Tensor.vsplit: int sections | ints indices
Tensor.expand: ints size, *, bool implicit=False
Tensor.exponential_: float lambd=1.0, *, generator? generator=None
Tensor.fill_: Tensor value | Number value
Tensor.fill_diagonal_: Number fill_value, bool wrap=False
Tensor.flatten: int start_dim=0, int end_dim=-1
Tensor.flip Tensor.permute Tensor.tile: ints dims
Tensor.float_power Tensor.float_power_ Tensor.pow Tensor.pow_: Tensor exponent | Number exponent
Tensor.gather: int dim, Tensor index, *, bool sparse_grad=False
Tensor.geometric_: float p, *, generator? generator=None
Tensor.ger Tensor.outer: Tensor vec2
Tensor.hardshrink: Number lambd=0.5
Tensor.hash_tensor: ints1 dim=(), *, bool keepdim=False, int mode=0
Tensor.heaviside Tensor.heaviside_: Tensor values
Tensor.histc: int bins=100, Number min=0, Number max=0
Tensor.histogram: Tensor bins, *, Tensor? weight=None, bool density=False | int bins=100, *, floats? range=None, Tensor? weight=None, bool density=False
Tensor.index_add Tensor.index_add_: int dim, Tensor index, Tensor source, *, Number alpha=1
Tensor.index_copy Tensor.index_copy_: int dim, Tensor index, Tensor source
Tensor.index_fill Tensor.index_fill_: int dim, Tensor index, Tensor value | int dim, Tensor index, Number value
Tensor.index_put Tensor.index_put_: tensors indices, Tensor values, bool accumulate=False
Tensor.index_reduce Tensor.index_reduce_: int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True
Tensor.index_select: int dim, Tensor index
Tensor.is_pinned Tensor.pin_memory: device? device=None
Tensor.kthvalue: int k, int dim=-1, bool keepdim=False
Tensor.lerp Tensor.lerp_: Tensor end, Tensor weight | Tensor end, Number weight
Tensor.log_normal_: float mean=1.0, float std=2.0, *, generator? generator=None
Tensor.log_softmax Tensor.softmax: int dim, dtype? dtype=None
Tensor.logit Tensor.logit_: float? eps=None
Tensor.logsumexp: ints1 dim, bool keepdim=False
Tensor.lu_solve: Tensor LU_data, Tensor LU_pivots
Tensor.masked_fill Tensor.masked_fill_: Tensor mask, Tensor value | Tensor mask, Number value
Tensor.masked_scatter Tensor.masked_scatter_: Tensor mask, Tensor source
Tensor.masked_select Tensor.sparse_mask: Tensor mask
Tensor.matrix_power Tensor.polygamma Tensor.polygamma_: int n
Tensor.max Tensor.min: - | Tensor other | int dim, bool keepdim=False
Tensor.mean Tensor.sum: *, dtype? dtype=None | ints1 dim, bool keepdim=False, *, dtype? dtype=None
Tensor.median Tensor.nanmedian: - | int dim, bool keepdim=False
Tensor.mode: int dim=-1, bool keepdim=False
Tensor.moveaxis Tensor.movedim: int source, int destination | ints source, ints destination
Tensor.mul Tensor.mul_: Tensor# other
Tensor.multinomial: int num_samples, bool replacement=False, *, generator? generator=None
Tensor.mv: Tensor vec
Tensor.mvlgamma Tensor.mvlgamma_: int p
Tensor.nan_to_num Tensor.nan_to_num_: float? nan=None, float? posinf=None, float? neginf=None
Tensor.nanmean Tensor.nansum: ints1? dim=None, bool keepdim=False, *, dtype? dtype=None
Tensor.nanquantile Tensor.quantile: Tensor q, int? dim=None, bool keepdim=False, *, str interpolation="linear" | float q, int? dim=None, bool keepdim=False, *, str interpolation="linear"
Tensor.narrow: int dim, Tensor start, int length | int dim, int start, int length
Tensor.narrow_copy: int dim, int start, int length
Tensor.new: *, device? device=None | torch.Storage storage | Tensor# other | ints size, *, device? device=None | object data, *, device? device=None
Tensor.nonzero: - | *, bool as_tuple
Tensor.nonzero_static: *, int size, int fill_value=-1
Tensor.normal_: float mean=0.0, float std=1.0, *, generator? generator=None
Tensor.orgqr: Tensor input2
Tensor.ormqr: Tensor input2, Tensor input3, bool left=True, bool transpose=False
Tensor.pinverse: float rcond=1e-15
Tensor.prelu: Tensor weight
Tensor.prod: *, dtype? dtype=None | int dim, bool keepdim=False, *, dtype? dtype=None
Tensor.put Tensor.put_: Tensor index, Tensor source, bool accumulate=False
Tensor.qr: bool some=True
Tensor.random_: *, generator? generator=None | int from, int to, *, generator? generator=None | int to, *, generator? generator=None
Tensor.renorm Tensor.renorm_: Number p, int dim, Number maxnorm
Tensor.repeat: ints repeats
Tensor.repeat_interleave: Tensor repeats, int? dim=None, *, int? output_size=None | int repeats, int? dim=None, *, int? output_size=None
Tensor.requires_grad_: bool requires_grad=True
Tensor.reshape: ints shape
Tensor.resize_: ints size, *, memory_format? memory_format=None
Tensor.resize_as_: Tensor the_template, *, memory_format? memory_format=None
Tensor.resize_as_sparse_: Tensor the_template
Tensor.roll: ints1 shifts, ints1 dims=()
Tensor.rot90: int k=1, ints dims=(0, 1)
Tensor.round Tensor.round_: - | *, int decimals
Tensor.scatter Tensor.scatter_: int dim, Tensor index, Tensor src | int dim, Tensor index, Tensor src, *, str reduce | int dim, Tensor index, Number value | int dim, Tensor index, Number value, *, str reduce
Tensor.scatter_add Tensor.scatter_add_: int dim, Tensor index, Tensor src
Tensor.scatter_reduce Tensor.scatter_reduce_: int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True
Tensor.select: int dim, int index
Tensor.select_scatter: Tensor src, int dim, int index
Tensor.set_: - | torch.Storage source | torch.Storage source, int storage_offset, ints size, ints? stride=None | Tensor source | Tensor source, int storage_offset, ints size, ints? stride=None
Tensor.slice_inverse Tensor.slice_scatter: Tensor src, int dim=0, int? start=None, int? end=None, int step=1
Tensor.sparse_resize_ Tensor.sparse_resize_and_clear_: ints size, int sparse_dim, int dense_dim
Tensor.split_with_sizes Tensor.unsafe_split_with_sizes: ints split_sizes, int dim=0
Tensor.squeeze Tensor.squeeze_: - | int dim | ints dim
Tensor.std Tensor.var: ints1 dim, bool unbiased=True, bool keepdim=False | ints1? dim=None, *, Number? correction=None, bool keepdim=False | bool unbiased=True
Tensor.subtract Tensor.subtract_: Tensor# other, *, Number alpha=1 | Number other, Number alpha=1
Tensor.svd: bool some=True, bool compute_uv=True
Tensor.swapaxes Tensor.swapaxes_: int axis0, int axis1
Tensor.swapdims Tensor.swapdims_ Tensor.transpose Tensor.transpose_: int dim0, int dim1
Tensor.take: Tensor index
Tensor.take_along_dim: Tensor indices, int? dim=None
Tensor.tensor_split: ints indices, int dim=0 | Tensor tensor_indices_or_sections, int dim=0 | int sections, int dim=0
Tensor.to: device? device=None, dtype? dtype=None, bool non_blocking=False, bool copy=False, *, memory_format? memory_format=None | dtype dtype, bool non_blocking=False, bool copy=False, *, memory_format? memory_format=None | Tensor tensor, bool non_blocking=False, bool copy=False, *, memory_format? memory_format=None
Tensor.to_dense: dtype? dtype=None, *, bool? masked_grad=None
Tensor.to_mkldnn: dtype? dtype=None
Tensor.to_padded_tensor: float padding, ints? output_size=None
Tensor.to_sparse: *, layout? layout=None, ints1? blocksize=None, int? dense_dim=None | int sparse_dim
Tensor.to_sparse_bsc Tensor.to_sparse_bsr: ints1 blocksize, int? dense_dim=None
Tensor.to_sparse_csc Tensor.to_sparse_csr: int? dense_dim=None
Tensor.topk: int k, int dim=-1, bool largest=True, bool sorted=True
Tensor.triangular_solve: Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False
Tensor.type: object? dtype=None, bool non_blocking=False, *, memory_format? memory_format=None | ~
Tensor.unbind: int dim=0
Tensor.unfold: int dimension, int size, int step
Tensor.uniform_: float from=0.0, float to=1.0, *, generator? generator=None
Tensor.unsafe_split: int split_size, int dim=0
Tensor.view: dtype dtype | ints size
Tensor.where: Tensor condition, Tensor other | Tensor condition, Number other
"""

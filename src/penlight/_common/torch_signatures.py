"""How functions and methods of PyTorch 2.13.0 may be called. Written by tools/torch_signatures.py.

A line for each: its forms, between bars. `?` is what may be None, `#` a tensor for which a number may stand, `ints1` integers for
which one may stand; `-` is without arguments, `~` stands for forms that are out of date.
"""

FORMS = """
abs: Tensor input, *, Tensor? out=None
abs_: Tensor input
absolute: Tensor input, *, Tensor? out=None
acos: Tensor input, *, Tensor? out=None
acos_: Tensor input
acosh: Tensor input, *, Tensor? out=None
acosh_: Tensor input
adaptive_avg_pool1d: Tensor input, ints1 output_size, *, Tensor? out=None
adaptive_max_pool1d: Tensor input, ints1 output_size
add: Tensor input, Tensor# other, *, Number alpha=1, Tensor? out=None | ~
addbmm: Tensor input, Tensor batch1, Tensor batch2, *, Number beta=1, Number alpha=1, Tensor? out=None | ~
addcdiv: Tensor input, Tensor tensor1, Tensor tensor2, *, Number value=1, Tensor? out=None | ~
addcmul: Tensor input, Tensor tensor1, Tensor tensor2, *, Number value=1, Tensor? out=None | ~
addmm: Tensor input, Tensor mat1, Tensor mat2, *, Number beta=1, Number alpha=1, Tensor? out=None | Tensor input, Tensor mat1, Tensor mat2, dtype out_dtype, *, Number beta=1, Number alpha=1, Tensor? out=None
addmv: Tensor input, Tensor mat, Tensor vec, *, Number beta=1, Number alpha=1, Tensor? out=None | ~
addmv_: Tensor input, Tensor mat, Tensor vec, *, Number beta=1, Number alpha=1 | ~
addr: Tensor input, Tensor vec1, Tensor vec2, *, Number beta=1, Number alpha=1, Tensor? out=None | ~
adjoint: Tensor input
affine_grid_generator: Tensor theta, ints size, bool align_corners, *, Tensor? out=None
alias_copy: Tensor input, *, Tensor? out=None
all: Tensor input, *, Tensor? out=None | Tensor input, ints? dim=None, bool keepdim=False, *, Tensor? out=None | Tensor input, int dim, bool keepdim=False, *, Tensor? out=None
allclose: Tensor input, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False
alpha_dropout: Tensor input, float p, bool train
alpha_dropout_: Tensor input, float p, bool train
amax: Tensor input, ints1 dim=(), bool keepdim=False, *, Tensor? out=None
amin: Tensor input, ints1 dim=(), bool keepdim=False, *, Tensor? out=None
aminmax: Tensor input, *, int? dim=None, bool keepdim=False, tensors? out=None
angle: Tensor input, *, Tensor? out=None
any: Tensor input, *, Tensor? out=None | Tensor input, ints? dim=None, bool keepdim=False, *, Tensor? out=None | Tensor input, int dim, bool keepdim=False, *, Tensor? out=None
arange: Number end, *, Tensor? out=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False | Number start, Number end, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False | Number start, Number end, Number step=1, *, Tensor? out=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
arccos: Tensor input, *, Tensor? out=None
arccos_: Tensor input
arccosh: Tensor input, *, Tensor? out=None
arccosh_: Tensor input
arcsin: Tensor input, *, Tensor? out=None
arcsin_: Tensor input
arcsinh: Tensor input, *, Tensor? out=None
arcsinh_: Tensor input
arctan: Tensor input, *, Tensor? out=None
arctan2: Tensor input, Tensor other, *, Tensor? out=None
arctan_: Tensor input
arctanh: Tensor input, *, Tensor? out=None
arctanh_: Tensor input
argmax: Tensor input, int? dim=None, bool keepdim=False, *, Tensor? out=None
argmin: Tensor input, int? dim=None, bool keepdim=False, *, Tensor? out=None
argsort: Tensor input, *, bool stable, int dim=-1, bool descending=False, Tensor? out=None | Tensor input, int dim=-1, bool descending=False
argwhere: Tensor input
as_strided: Tensor input, ints size, ints stride, int? storage_offset=None
as_strided_: Tensor input, ints size, ints stride, int? storage_offset=None
as_strided_copy: Tensor input, ints size, ints stride, int? storage_offset=None, *, Tensor? out=None
as_strided_scatter: Tensor input, Tensor src, ints size, ints stride, int? storage_offset=None, *, Tensor? out=None
asin: Tensor input, *, Tensor? out=None
asin_: Tensor input
asinh: Tensor input, *, Tensor? out=None
asinh_: Tensor input
atan: Tensor input, *, Tensor? out=None
atan2: Tensor input, Tensor other, *, Tensor? out=None
atan_: Tensor input
atanh: Tensor input, *, Tensor? out=None
atanh_: Tensor input
avg_pool1d: Tensor input, ints1 kernel_size, ints1 stride=(), ints1 padding=(0,), bool ceil_mode=False, bool count_include_pad=True, *, Tensor? out=None
baddbmm: Tensor input, Tensor batch1, Tensor batch2, *, Number beta=1, Number alpha=1, Tensor? out=None | Tensor input, Tensor batch1, Tensor batch2, dtype out_dtype, *, Number beta=1, Number alpha=1, Tensor? out=None
bartlett_window: int window_length, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False | int window_length, bool periodic, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
batch_norm: Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, float eps, bool cudnn_enabled
batch_norm_backward_elemt: Tensor grad_out, Tensor input, Tensor mean, Tensor invstd, Tensor? weight, Tensor sum_dy, Tensor sum_dy_xmu, Tensor count, *, Tensor? out=None
batch_norm_backward_reduce: Tensor grad_out, Tensor input, Tensor mean, Tensor invstd, Tensor? weight, bool input_g, bool weight_g, bool bias_g, *, tensors? out=None
batch_norm_elemt: Tensor input, Tensor? weight, Tensor? bias, Tensor mean, Tensor invstd, float eps, *, Tensor? out=None
batch_norm_gather_stats: Tensor input, Tensor mean, Tensor invstd, Tensor? running_mean, Tensor? running_var, float momentum, float eps, int count, *, tensors? out=None
batch_norm_gather_stats_with_counts: Tensor input, Tensor mean, Tensor invstd, Tensor? running_mean, Tensor? running_var, float momentum, float eps, Tensor counts, *, tensors? out=None
batch_norm_stats: Tensor input, float eps, *, tensors? out=None
batch_norm_update_stats: Tensor input, Tensor? running_mean, Tensor? running_var, float momentum, *, tensors? out=None
bernoulli: Tensor input, *, generator? generator=None, Tensor? out=None | Tensor input, float p, *, generator? generator=None
bilinear: Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None
binary_cross_entropy_with_logits: Tensor input, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, int reduction=1, *, Tensor? out=None
bincount: Tensor input, Tensor? weights=None, int minlength=0, *, Tensor? out=None
binomial: Tensor count, Tensor prob, generator? generator=None, *, Tensor? out=None
bitwise_and: Tensor input, Tensor# other, *, Tensor? out=None | Number self, Tensor# other | Tensor input, Number other, *, Tensor? out=None
bitwise_left_shift: Tensor input, Tensor# other, *, Tensor? out=None | Number self, Tensor# other | Tensor input, Number other, *, Tensor? out=None
bitwise_not: Tensor input, *, Tensor? out=None
bitwise_or: Tensor input, Tensor# other, *, Tensor? out=None | Number self, Tensor# other | Tensor input, Number other, *, Tensor? out=None
bitwise_right_shift: Tensor input, Tensor# other, *, Tensor? out=None | Number self, Tensor# other | Tensor input, Number other, *, Tensor? out=None
bitwise_xor: Tensor input, Tensor# other, *, Tensor? out=None | Number self, Tensor# other | Tensor input, Number other, *, Tensor? out=None
blackman_window: int window_length, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False | int window_length, bool periodic, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
bmm: Tensor input, Tensor mat2, *, Tensor? out=None | Tensor input, Tensor mat2, dtype out_dtype, *, Tensor? out=None
broadcast_to: Tensor input, ints size
bucketize: Tensor input, Tensor boundaries, *, bool out_int32=False, bool right=False, Tensor? out=None | Number self, Tensor boundaries, *, bool out_int32=False, bool right=False
can_cast: dtype from_, dtype to
cat: tensors tensors, int dim=0, *, Tensor? out=None
ccol_indices_copy: Tensor input, *, Tensor? out=None
ceil: Tensor input, *, Tensor? out=None
ceil_: Tensor input
celu: Tensor input, Number alpha=1.0, *, Tensor? out=None
celu_: Tensor input, Number alpha=1.0
channel_shuffle: Tensor input, int groups, *, Tensor? out=None
cholesky: Tensor input, bool upper=False, *, Tensor? out=None
cholesky_inverse: Tensor input, bool upper=False, *, Tensor? out=None
cholesky_solve: Tensor input, Tensor input2, bool upper=False, *, Tensor? out=None
choose_qparams_optimized: Tensor input, int numel, int n_bins, float ratio, int bit_width
chunk: Tensor input, int chunks, int dim=0
clamp: Tensor input, Tensor? min=None, Tensor? max=None, *, Tensor? out=None | Tensor input, Number? min=None, Number? max=None, *, Tensor? out=None
clamp_: Tensor input, Tensor? min=None, Tensor? max=None | Tensor input, Number? min=None, Number? max=None
clamp_max: Tensor input, Tensor max, *, Tensor? out=None | Tensor input, Number max, *, Tensor? out=None
clamp_max_: Tensor input, Tensor max | Tensor input, Number max
clamp_min: Tensor input, Tensor min, *, Tensor? out=None | Tensor input, Number min, *, Tensor? out=None
clamp_min_: Tensor input, Tensor min | Tensor input, Number min
clip: Tensor input, Tensor? min=None, Tensor? max=None, *, Tensor? out=None | Tensor input, Number? min=None, Number? max=None, *, Tensor? out=None
clip_: Tensor input, Tensor? min=None, Tensor? max=None | Tensor input, Number? min=None, Number? max=None
clone: Tensor input, *, memory_format? memory_format=None, Tensor? out=None
col_indices_copy: Tensor input, *, Tensor? out=None
column_stack: tensors tensors, *, Tensor? out=None
combinations: Tensor input, int r=2, bool with_replacement=False
complex: Tensor real, Tensor imag, *, Tensor? out=None
concat: tensors tensors, int dim=0, *, Tensor? out=None
concatenate: tensors tensors, int dim=0, *, Tensor? out=None
conj: Tensor input
conj_physical: Tensor input, *, Tensor? out=None
conj_physical_: Tensor input
constant_pad_nd: Tensor input, ints pad, Number value=0, *, Tensor? out=None
conv1d: Tensor input, Tensor weight, Tensor? bias=None, ints1 stride=1, ints1 padding=0, ints1 dilation=1, int groups=1 | Tensor input, Tensor weight, Tensor? bias=None, ints1 stride=1, str padding="valid", ints1 dilation=1, int groups=1
conv2d: Tensor input, Tensor weight, Tensor? bias=None, ints1 stride=1, ints1 padding=0, ints1 dilation=1, int groups=1 | Tensor input, Tensor weight, Tensor? bias=None, ints1 stride=1, str padding="valid", ints1 dilation=1, int groups=1
conv3d: Tensor input, Tensor weight, Tensor? bias=None, ints1 stride=1, ints1 padding=0, ints1 dilation=1, int groups=1 | Tensor input, Tensor weight, Tensor? bias=None, ints1 stride=1, str padding="valid", ints1 dilation=1, int groups=1
conv_tbc: Tensor input, Tensor weight, Tensor bias, int pad=0, *, Tensor? out=None
conv_transpose1d: Tensor input, Tensor weight, Tensor? bias=None, ints1 stride=(1,), ints1 padding=(0,), ints1 output_padding=(0,), int groups=1, ints1 dilation=(1,)
conv_transpose2d: Tensor input, Tensor weight, Tensor? bias=None, ints1 stride=(1, 1), ints1 padding=(0, 0), ints1 output_padding=(0, 0), int groups=1, ints1 dilation=(1, 1)
conv_transpose3d: Tensor input, Tensor weight, Tensor? bias=None, ints1 stride=(1, 1, 1), ints1 padding=(0, 0, 0), ints1 output_padding=(0, 0, 0), int groups=1, ints1 dilation=(1, 1, 1)
convolution: Tensor input, Tensor weight, Tensor? bias, ints stride, ints padding, ints dilation, bool transposed, ints output_padding, int groups, *, Tensor? out=None
copysign: Tensor input, Tensor# other, *, Tensor? out=None | Tensor input, Number other, *, Tensor? out=None
corrcoef: Tensor input
cos: Tensor input, *, Tensor? out=None
cos_: Tensor input
cosh: Tensor input, *, Tensor? out=None
cosh_: Tensor input
cosine_embedding_loss: Tensor input1, Tensor input2, Tensor target, float margin=0.0, int reduction=1
cosine_similarity: Tensor x1, Tensor x2, int dim=1, float eps=1e-08
count_nonzero: Tensor input, int? dim=None | Tensor input, ints dim
cov: Tensor input, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None
cross: Tensor input, Tensor other, int? dim=None, *, Tensor? out=None
crow_indices_copy: Tensor input, *, Tensor? out=None
ctc_loss: Tensor log_probs, Tensor targets, ints input_lengths, ints target_lengths, int blank=0, int reduction=at::Reduction::Mean, bool zero_infinity=False | Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank=0, int reduction=at::Reduction::Mean, bool zero_infinity=False
cudnn_affine_grid_generator: Tensor theta, int N, int C, int H, int W, *, Tensor? out=None
cudnn_batch_norm: Tensor input, Tensor weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float exponential_average_factor, float epsilon, *, tensors? out=None
cudnn_convolution: Tensor input, Tensor weight, ints padding, ints stride, ints dilation, int groups, bool benchmark, bool deterministic, bool allow_tf32, *, Tensor? out=None
cudnn_convolution_add_relu: Tensor input, Tensor weight, Tensor z, Number? alpha, Tensor? bias, ints stride, ints padding, ints dilation, int groups, *, Tensor? out=None
cudnn_convolution_relu: Tensor input, Tensor weight, Tensor? bias, ints stride, ints padding, ints dilation, int groups, *, Tensor? out=None
cudnn_convolution_transpose: Tensor input, Tensor weight, ints padding, ints output_padding, ints stride, ints dilation, int groups, bool benchmark, bool deterministic, bool allow_tf32, *, Tensor? out=None
cudnn_grid_sampler: Tensor input, Tensor grid, *, Tensor? out=None
cudnn_is_acceptable: Tensor input
cummax: Tensor input, int dim, *, tensors? out=None
cummin: Tensor input, int dim, *, tensors? out=None
cumprod: Tensor input, int dim, *, dtype? dtype=None, Tensor? out=None
cumsum: Tensor input, int dim, *, dtype? dtype=None, Tensor? out=None
cumulative_trapezoid: Tensor y, Tensor x, *, int dim=-1 | Tensor y, *, Number dx=1, int dim=-1
deg2rad: Tensor input, *, Tensor? out=None
deg2rad_: Tensor input
dequantize: Tensor input | tensors tensors
det: Tensor input
detach: Tensor input
detach_: Tensor input
detach_copy: Tensor input, *, Tensor? out=None
diag: Tensor input, int diagonal=0, *, Tensor? out=None
diag_embed: Tensor input, int offset=0, int dim1=-2, int dim2=-1, *, Tensor? out=None
diagflat: Tensor input, int offset=0
diagonal: Tensor input, int offset=0, int dim1=0, int dim2=1
diagonal_copy: Tensor input, int offset=0, int dim1=0, int dim2=1, *, Tensor? out=None
diagonal_scatter: Tensor input, Tensor src, int offset=0, int dim1=0, int dim2=1, *, Tensor? out=None
diff: Tensor input, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None, *, Tensor? out=None
digamma: Tensor input, *, Tensor? out=None
dist: Tensor input, Tensor other, Number p=2, *, Tensor? out=None
div: Tensor input, Tensor# other, *, Tensor? out=None | Tensor input, Tensor# other, *, str rounding_mode, Tensor? out=None | Tensor input, Number other, *, str rounding_mode
divide: Tensor input, Tensor# other, *, Tensor? out=None | Tensor input, Tensor# other, *, str rounding_mode, Tensor? out=None | Tensor input, Number other | Tensor input, Number other, *, str rounding_mode
dot: Tensor input, Tensor tensor, *, Tensor? out=None
dropout: Tensor input, float p, bool train
dropout_: Tensor input, float p, bool train
dsmm: Tensor input, Tensor mat2, *, Tensor? out=None | Tensor input, Tensor mat2, dtype out_dtype, *, Tensor? out=None
dsplit: Tensor input, int sections | Tensor input, ints indices
dstack: tensors tensors, *, Tensor? out=None
embedding: Tensor weight, Tensor indices, int padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False, *, Tensor? out=None
embedding_bag: Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq, int mode, bool sparse, Tensor per_sample_weights, bool include_last_offset, int padding_idx | Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False
embedding_renorm_: Tensor input, Tensor indices, float max_norm, float norm_type
empty: ints size, *, memory_format? memory_format=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
empty_like: Tensor input, *, memory_format? memory_format=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
empty_permuted: ints size, ints physical_layout, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
empty_quantized: ints size, Tensor qtensor, *, memory_format? memory_format=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
empty_strided: ints size, ints stride, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
eq: Tensor input, Tensor# other, *, Tensor? out=None | Tensor input, Number other, *, Tensor? out=None
equal: Tensor input, Tensor other
erf: Tensor input, *, Tensor? out=None
erf_: Tensor input
erfc: Tensor input, *, Tensor? out=None
erfc_: Tensor input
erfinv: Tensor input, *, Tensor? out=None
exp: Tensor input, *, Tensor? out=None
exp2: Tensor input, *, Tensor? out=None
exp2_: Tensor input
exp_: Tensor input
expand_copy: Tensor input, ints size, *, bool implicit=False, Tensor? out=None
expm1: Tensor input, *, Tensor? out=None
expm1_: Tensor input
eye: int n, *, Tensor? out=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False | int n, int m, *, Tensor? out=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
fake_quantize_per_channel_affine: Tensor input, Tensor scale, Tensor zero_point, int axis, int quant_min, int quant_max
fake_quantize_per_tensor_affine: Tensor input, Tensor scale, Tensor zero_point, int quant_min, int quant_max | Tensor input, float scale, int zero_point, int quant_min, int quant_max
fbgemm_linear_fp16_weight: Tensor input, Tensor packed_weight, Tensor bias | Tensor input, Tensor packed_weight, Tensor bias, Tensor output
fbgemm_linear_fp16_weight_fp32_activation: Tensor input, Tensor packed_weight, Tensor bias | Tensor input, Tensor packed_weight, Tensor bias, Tensor output
fbgemm_linear_int8_weight: Tensor input, Tensor weight, Tensor packed, Tensor col_offsets, Number weight_scale, Number weight_zero_point, Tensor bias
fbgemm_linear_int8_weight_fp32_activation: Tensor input, Tensor weight, Tensor packed, Tensor col_offsets, Number weight_scale, Number weight_zero_point, Tensor bias
fbgemm_linear_quantize_weight: Tensor input
fbgemm_pack_gemm_matrix_fp16: Tensor input
fbgemm_pack_quantized_matrix: Tensor input | Tensor input, int K, int N
feature_alpha_dropout: Tensor input, float p, bool train
feature_alpha_dropout_: Tensor input, float p, bool train
feature_dropout: Tensor input, float p, bool train
feature_dropout_: Tensor input, float p, bool train
fill: Tensor input, Tensor value | Tensor input, Number value
fill_: Tensor input, Tensor value | Tensor input, Number value
fix: Tensor input, *, Tensor? out=None
fix_: Tensor input
flatten: Tensor input, int start_dim=0, int end_dim=-1
flip: Tensor input, ints dims, *, Tensor? out=None
fliplr: Tensor input
flipud: Tensor input
float_power: Tensor input, Tensor exponent, *, Tensor? out=None | Number self, Tensor exponent, *, Tensor? out=None | Tensor input, Number exponent, *, Tensor? out=None
floor: Tensor input, *, Tensor? out=None
floor_: Tensor input
floor_divide: Tensor input, Tensor# other, *, Tensor? out=None | Tensor input, Number other
fmax: Tensor input, Tensor other, *, Tensor? out=None
fmin: Tensor input, Tensor other, *, Tensor? out=None
fmod: Tensor input, Tensor# other, *, Tensor? out=None | Tensor input, Number other, *, Tensor? out=None
frac: Tensor input, *, Tensor? out=None
frac_: Tensor input
frexp: Tensor input, *, tensors? out=None
frobenius_norm: Tensor input, ints1 dim, bool keepdim=False, *, Tensor? out=None
from_file: str filename, bool? shared=None, int? size=0, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
full: ints size, Number fill_value, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
full_like: Tensor input, Number fill_value, *, memory_format? memory_format=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
fused_moving_avg_obs_fake_quant: Tensor input, Tensor observer_on, Tensor fake_quant_on, Tensor running_min, Tensor running_max, Tensor scale, Tensor zero_point, float averaging_const, int quant_min, int quant_max, int ch_axis, bool per_row_fake_quant=False, bool symmetric_quant=False
gather: Tensor input, int dim, Tensor index, *, bool sparse_grad=False, Tensor? out=None
gcd: Tensor input, Tensor other, *, Tensor? out=None
gcd_: Tensor input, Tensor other
ge: Tensor input, Tensor# other, *, Tensor? out=None | Tensor input, Number other, *, Tensor? out=None
geqrf: Tensor input, *, tensors? out=None
ger: Tensor input, Tensor vec2, *, Tensor? out=None
get_device: Tensor input
gradient: Tensor input, *, ints dim, int edge_order=1 | Tensor input, *, Number spacing, ints dim, int edge_order=1 | Tensor input, *, Number? spacing=None, int? dim=None, int edge_order=1 | Tensor input, *, numbers spacing, int? dim=None, int edge_order=1 | Tensor input, *, numbers spacing, ints dim, int edge_order=1 | Tensor input, *, tensors spacing, int? dim=None, int edge_order=1 | Tensor input, *, tensors spacing, ints dim, int edge_order=1
greater: Tensor input, Tensor# other, *, Tensor? out=None | Tensor input, Number other, *, Tensor? out=None
greater_equal: Tensor input, Tensor# other, *, Tensor? out=None | Tensor input, Number other, *, Tensor? out=None
grid_sampler: Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners
grid_sampler_2d: Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners, *, Tensor? out=None
grid_sampler_3d: Tensor input, Tensor grid, int interpolation_mode, int padding_mode, bool align_corners, *, Tensor? out=None
group_norm: Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool cudnn_enabled=True
gru: Tensor data, Tensor batch_sizes, Tensor hx, tensors params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional | Tensor input, Tensor hx, tensors params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first
gru_cell: Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None
gt: Tensor input, Tensor# other, *, Tensor? out=None | Tensor input, Number other, *, Tensor? out=None
hamming_window: int window_length, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False | int window_length, bool periodic, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False | int window_length, bool periodic, float alpha, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False | int window_length, bool periodic, float alpha, float beta, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
hann_window: int window_length, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False | int window_length, bool periodic, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
hardshrink: Tensor input, Number lambd=0.5, *, Tensor? out=None
hash_tensor: Tensor input, ints1 dim=(), *, bool keepdim=False, int mode=0, Tensor? out=None
heaviside: Tensor input, Tensor values, *, Tensor? out=None
hinge_embedding_loss: Tensor input, Tensor target, float margin=1.0, int reduction=1
histc: Tensor input, int bins=100, Number min=0, Number max=0, *, Tensor? out=None
histogram: Tensor input, Tensor bins, *, Tensor? weight=None, bool density=False, tensors? out=None | Tensor input, int bins=100, *, floats? range=None, Tensor? weight=None, bool density=False, tensors? out=None
histogramdd: Tensor input, int bins, floats? range=None, Tensor? weight=None, bool density=False | Tensor input, ints bins, floats? range=None, Tensor? weight=None, bool density=False | Tensor input, tensors bins, floats? range=None, Tensor? weight=None, bool density=False
hsplit: Tensor input, int sections | Tensor input, ints indices
hspmm: Tensor mat1, Tensor mat2, *, Tensor? out=None
hstack: tensors tensors, *, Tensor? out=None
hypot: Tensor input, Tensor other, *, Tensor? out=None
i0: Tensor input, *, Tensor? out=None
i0_: Tensor input
igamma: Tensor input, Tensor other, *, Tensor? out=None
igammac: Tensor input, Tensor other, *, Tensor? out=None
imag: Tensor input
index_add: Tensor input, int dim, Tensor index, Tensor source, *, Number alpha=1, Tensor? out=None
index_copy: Tensor input, int dim, Tensor index, Tensor source, *, Tensor? out=None
index_fill: Tensor input, int dim, Tensor index, Tensor value | Tensor input, int dim, Tensor index, Number value
index_put: Tensor input, tensors indices, Tensor values, bool accumulate=False, *, Tensor? out=None
index_put_: Tensor input, tensors indices, Tensor values, bool accumulate=False
index_reduce: Tensor input, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True, Tensor? out=None
index_select: Tensor input, int dim, Tensor index, *, Tensor? out=None
indices_copy: Tensor input, *, Tensor? out=None
inner: Tensor input, Tensor other, *, Tensor? out=None
instance_norm: Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool use_input_stats, float momentum, float eps, bool cudnn_enabled
int_repr: Tensor input, *, Tensor? out=None
inverse: Tensor input, *, Tensor? out=None
is_complex: Tensor input
is_conj: Tensor input
is_distributed: Tensor input
is_floating_point: Tensor input
is_inference: Tensor input
is_neg: Tensor input
is_nonzero: Tensor input
is_same_size: Tensor input, Tensor other
is_signed: Tensor input
isclose: Tensor input, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False
isfinite: Tensor input
isin: Tensor elements, Tensor test_elements, *, bool assume_unique=False, bool invert=False, Tensor? out=None | Number element, Tensor test_elements, *, bool assume_unique=False, bool invert=False, Tensor? out=None | Tensor elements, Number test_element, *, bool assume_unique=False, bool invert=False, Tensor? out=None
isinf: Tensor input, *, Tensor? out=None
isnan: Tensor input, *, Tensor? out=None
isneginf: Tensor input, *, Tensor? out=None
isposinf: Tensor input, *, Tensor? out=None
isreal: Tensor input
istft: Tensor input, int n_fft, int? hop_length=None, int? win_length=None, Tensor? window=None, bool center=True, bool normalized=False, bool? onesided=None, int? length=None, bool return_complex=False
kaiser_window: int window_length, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False | int window_length, bool periodic, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False | int window_length, bool periodic, float beta, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
kl_div: Tensor input, Tensor target, int reduction=1, *, bool log_target=False
kron: Tensor input, Tensor other, *, Tensor? out=None
kthvalue: Tensor input, int k, int dim=-1, bool keepdim=False, *, tensors? out=None
layer_norm: Tensor input, ints normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05, bool cudnn_enable=True
lcm: Tensor input, Tensor other, *, Tensor? out=None
lcm_: Tensor input, Tensor other
ldexp: Tensor input, Tensor other, *, Tensor? out=None
ldexp_: Tensor input, Tensor other
le: Tensor input, Tensor# other, *, Tensor? out=None | Tensor input, Number other, *, Tensor? out=None
lerp: Tensor input, Tensor end, Tensor weight, *, Tensor? out=None | Tensor input, Tensor end, Number weight, *, Tensor? out=None
less: Tensor input, Tensor# other, *, Tensor? out=None | Tensor input, Number other, *, Tensor? out=None
less_equal: Tensor input, Tensor# other, *, Tensor? out=None | Tensor input, Number other, *, Tensor? out=None
lgamma: Tensor input, *, Tensor? out=None
linspace: Tensor start, Tensor end, int steps, *, Tensor? out=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False | Number start, Tensor end, int steps, *, Tensor? out=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False | Tensor start, Number end, int steps, *, Tensor? out=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False | Number start, Number end, int steps, *, Tensor? out=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
log: Tensor input, *, Tensor? out=None
log10: Tensor input, *, Tensor? out=None
log10_: Tensor input
log1p: Tensor input, *, Tensor? out=None
log1p_: Tensor input
log2: Tensor input, *, Tensor? out=None
log2_: Tensor input
log_: Tensor input
log_softmax: Tensor input, int dim, dtype? dtype=None, *, Tensor? out=None
logaddexp: Tensor input, Tensor other, *, Tensor? out=None
logaddexp2: Tensor input, Tensor other, *, Tensor? out=None
logcumsumexp: Tensor input, int dim, *, Tensor? out=None
logdet: Tensor input
logical_and: Tensor input, Tensor other, *, Tensor? out=None
logical_not: Tensor input, *, Tensor? out=None
logical_or: Tensor input, Tensor other, *, Tensor? out=None
logical_xor: Tensor input, Tensor other, *, Tensor? out=None
logit: Tensor input, float? eps=None, *, Tensor? out=None
logit_: Tensor input, float? eps=None
logspace: Tensor start, Tensor end, int steps, float base=10.0, *, Tensor? out=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False | Number start, Tensor end, int steps, float base=10.0, *, Tensor? out=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False | Tensor start, Number end, int steps, float base=10.0, *, Tensor? out=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False | Number start, Number end, int steps, float base=10.0, *, Tensor? out=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
logsumexp: Tensor input, ints1 dim, bool keepdim=False, *, Tensor? out=None
lstm: Tensor data, Tensor batch_sizes, tensors hx, tensors params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional | Tensor input, tensors hx, tensors params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first
lstm_cell: Tensor input, tensors hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None
lt: Tensor input, Tensor# other, *, Tensor? out=None | Tensor input, Number other, *, Tensor? out=None
lu_solve: Tensor input, Tensor LU_data, Tensor LU_pivots, *, Tensor? out=None
lu_unpack: Tensor LU_data, Tensor LU_pivots, bool unpack_data=True, bool unpack_pivots=True, *, tensors? out=None
margin_ranking_loss: Tensor input1, Tensor input2, Tensor target, float margin=0.0, int reduction=1
masked_fill: Tensor input, Tensor mask, Tensor value | Tensor input, Tensor mask, Number value
masked_scatter: Tensor input, Tensor mask, Tensor source, *, Tensor? out=None
masked_select: Tensor input, Tensor mask, *, Tensor? out=None
matmul: Tensor input, Tensor other, *, Tensor? out=None
matrix_exp: Tensor input
matrix_power: Tensor input, int n, *, Tensor? out=None
max: Tensor input, *, Tensor? out=None | Tensor input, Tensor other, *, Tensor? out=None | Tensor input, int dim, bool keepdim=False, *, tensors? out=None
max_pool1d: Tensor input, ints1 kernel_size, ints1 stride=(), ints1 padding=(0,), ints1 dilation=(1,), bool ceil_mode=False
max_pool1d_with_indices: Tensor input, ints1 kernel_size, ints1 stride=(), ints1 padding=(0,), ints1 dilation=(1,), bool ceil_mode=False
max_pool2d: Tensor input, ints1 kernel_size, ints1 stride=(), ints1 padding=(0, 0), ints1 dilation=(1, 1), bool ceil_mode=False
max_pool3d: Tensor input, ints1 kernel_size, ints1 stride=(), ints1 padding=(0, 0, 0), ints1 dilation=(1, 1, 1), bool ceil_mode=False
maximum: Tensor input, Tensor other, *, Tensor? out=None
mean: Tensor input, *, dtype? dtype=None, Tensor? out=None | Tensor input, ints1 dim, bool keepdim=False, *, dtype? dtype=None, Tensor? out=None
median: Tensor input | Tensor input, int dim, bool keepdim=False, *, tensors? out=None
min: Tensor input, *, Tensor? out=None | Tensor input, Tensor other, *, Tensor? out=None | Tensor input, int dim, bool keepdim=False, *, tensors? out=None
minimum: Tensor input, Tensor other, *, Tensor? out=None
miopen_batch_norm: Tensor input, Tensor weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float exponential_average_factor, float epsilon, *, tensors? out=None
miopen_convolution: Tensor input, Tensor weight, Tensor? bias, ints padding, ints stride, ints dilation, int groups, bool benchmark, bool deterministic, *, Tensor? out=None
miopen_convolution_add_relu: Tensor input, Tensor weight, Tensor z, Number? alpha, Tensor? bias, ints stride, ints padding, ints dilation, int groups
miopen_convolution_relu: Tensor input, Tensor weight, Tensor? bias, ints stride, ints padding, ints dilation, int groups
miopen_convolution_transpose: Tensor input, Tensor weight, Tensor? bias, ints padding, ints output_padding, ints stride, ints dilation, int groups, bool benchmark, bool deterministic, *, Tensor? out=None
miopen_ctc_loss: Tensor log_probs, Tensor targets, ints input_lengths, ints target_lengths, int blank, bool deterministic, bool zero_infinity | Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank, bool deterministic, bool zero_infinity
miopen_depthwise_convolution: Tensor input, Tensor weight, Tensor? bias, ints padding, ints stride, ints dilation, int groups, bool benchmark, bool deterministic, *, Tensor? out=None
miopen_rnn: Tensor input, tensors weight, int weight_stride0, Tensor hx, Tensor? cx, int mode, int hidden_size, int num_layers, bool batch_first, float dropout, bool train, bool bidirectional, ints batch_sizes, Tensor? dropout_state, *, tensors? out=None
mkldnn_adaptive_avg_pool2d: Tensor input, ints1 output_size, *, Tensor? out=None
mkldnn_convolution: Tensor input, Tensor weight, Tensor? bias, ints padding, ints stride, ints dilation, int groups, *, Tensor? out=None
mkldnn_linear_backward_weights: Tensor grad_output, Tensor input, Tensor weight, bool bias_defined, *, tensors? out=None
mkldnn_max_pool2d: Tensor input, ints1 kernel_size, ints1 stride=(), ints1 padding=(0, 0), ints1 dilation=(1, 1), bool ceil_mode=False, *, Tensor? out=None
mkldnn_max_pool3d: Tensor input, ints1 kernel_size, ints1 stride=(), ints1 padding=(0, 0, 0), ints1 dilation=(1, 1, 1), bool ceil_mode=False, *, Tensor? out=None
mkldnn_rnn_layer: Tensor input, Tensor weight0, Tensor weight1, Tensor weight2, Tensor weight3, Tensor hx_, Tensor cx_, bool reverse, ints batch_sizes, int mode, int hidden_size, int num_layers, bool has_biases, bool bidirectional, bool batch_first, bool train, *, tensors? out=None
mm: Tensor input, Tensor mat2, *, Tensor? out=None | Tensor input, Tensor mat2, dtype out_dtype, *, Tensor? out=None
mode: Tensor input, int dim=-1, bool keepdim=False, *, tensors? out=None
moveaxis: Tensor input, int source, int destination | Tensor input, ints source, ints destination
movedim: Tensor input, int source, int destination | Tensor input, ints source, ints destination
msort: Tensor input, *, Tensor? out=None
mul: Tensor input, Tensor# other, *, Tensor? out=None
multinomial: Tensor input, int num_samples, bool replacement=False, *, generator? generator=None, Tensor? out=None
multiply: Tensor input, Tensor# other, *, Tensor? out=None | Tensor input, Number other
mv: Tensor input, Tensor vec, *, Tensor? out=None
mvlgamma: Tensor input, int p, *, Tensor? out=None
nan_to_num: Tensor input, float? nan=None, float? posinf=None, float? neginf=None, *, Tensor? out=None
nan_to_num_: Tensor input, float? nan=None, float? posinf=None, float? neginf=None
nanmean: Tensor input, ints1? dim=None, bool keepdim=False, *, dtype? dtype=None, Tensor? out=None
nanmedian: Tensor input | Tensor input, int dim, bool keepdim=False, *, tensors? out=None
nanquantile: Tensor input, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation="linear", Tensor? out=None | Tensor input, float q, int? dim=None, bool keepdim=False, *, str interpolation="linear", Tensor? out=None
nansum: Tensor input, ints1? dim=None, bool keepdim=False, *, dtype? dtype=None, Tensor? out=None
narrow: Tensor input, int dim, Tensor start, int length | Tensor input, int dim, int start, int length
narrow_copy: Tensor input, int dim, int start, int length, *, Tensor? out=None
native_batch_norm: Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, bool training, float momentum, float eps, *, tensors? out=None
native_channel_shuffle: Tensor input, int groups
native_dropout: Tensor input, float p, bool? train, *, tensors? out=None
native_group_norm: Tensor input, Tensor? weight, Tensor? bias, int N, int C, int HxW, int group, float eps, *, tensors? out=None
native_layer_norm: Tensor input, ints normalized_shape, Tensor? weight, Tensor? bias, float eps, *, tensors? out=None
native_norm: Tensor input, Number p=2 | Tensor input, Number p, ints1 dim, bool keepdim, dtype dtype
ne: Tensor input, Tensor# other, *, Tensor? out=None | Tensor input, Number other, *, Tensor? out=None
neg: Tensor input, *, Tensor? out=None
neg_: Tensor input
negative: Tensor input, *, Tensor? out=None
negative_: Tensor input
nextafter: Tensor input, Tensor other, *, Tensor? out=None
nonzero: Tensor input, *, Tensor? out=None
nonzero_static: Tensor input, *, int size, int fill_value=-1, Tensor? out=None
norm_except_dim: Tensor v, int pow=2, int dim=0
normal: Tensor mean, Tensor std, *, generator? generator=None, Tensor? out=None | Tensor mean, float std=1, *, generator? generator=None, Tensor? out=None | float mean, Tensor std, *, generator? generator=None, Tensor? out=None | float mean, float std, ints size, *, generator? generator=None, Tensor? out=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
not_equal: Tensor input, Tensor# other, *, Tensor? out=None | Tensor input, Number other, *, Tensor? out=None
nuclear_norm: Tensor input, ints1 dim, bool keepdim=False, *, Tensor? out=None | Tensor input, bool keepdim=False, *, Tensor? out=None
numel: Tensor input
ones: ints size, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
ones_like: Tensor input, *, memory_format? memory_format=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
orgqr: Tensor input, Tensor input2, *, Tensor? out=None
ormqr: Tensor input, Tensor input2, Tensor input3, bool left=True, bool transpose=False, *, Tensor? out=None
outer: Tensor input, Tensor vec2, *, Tensor? out=None
pairwise_distance: Tensor x1, Tensor x2, float p=2.0, float eps=1e-06, bool keepdim=False
pdist: Tensor input, float p=2.0
permute: Tensor input, ints dims
permute_copy: Tensor input, ints dims, *, Tensor? out=None
pinverse: Tensor input, float rcond=1e-15
pixel_shuffle: Tensor input, int upscale_factor, *, Tensor? out=None
pixel_unshuffle: Tensor input, int downscale_factor, *, Tensor? out=None
poisson: Tensor input, generator? generator=None, *, Tensor? out=None
poisson_nll_loss: Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction
polar: Tensor abs, Tensor angle, *, Tensor? out=None
polygamma: int n, Tensor input, *, Tensor? out=None
positive: Tensor input
pow: Tensor input, Tensor exponent, *, Tensor? out=None | Number self, Tensor exponent, *, Tensor? out=None | Tensor input, Number exponent, *, Tensor? out=None
prelu: Tensor input, Tensor weight
prod: Tensor input, *, dtype? dtype=None | Tensor input, int dim, bool keepdim=False, *, dtype? dtype=None, Tensor? out=None
promote_types: dtype type1, dtype type2
put: Tensor input, Tensor index, Tensor source, bool accumulate=False, *, Tensor? out=None
q_per_channel_axis: Tensor input
q_per_channel_scales: Tensor input, *, Tensor? out=None
q_per_channel_zero_points: Tensor input, *, Tensor? out=None
q_scale: Tensor input
q_zero_point: Tensor input
qr: Tensor input, bool some=True, *, tensors? out=None
quantile: Tensor input, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation="linear", Tensor? out=None | Tensor input, float q, int? dim=None, bool keepdim=False, *, str interpolation="linear", Tensor? out=None
quantize_per_channel: Tensor input, Tensor scales, Tensor zero_points, int axis, dtype dtype, *, Tensor? out=None
quantize_per_tensor: Tensor input, Tensor scale, Tensor zero_point, dtype dtype | Tensor input, float scale, int zero_point, dtype dtype | tensors tensors, Tensor scales, Tensor zero_points, dtype dtype
quantize_per_tensor_dynamic: Tensor input, dtype dtype, bool reduce_range, *, Tensor? out=None
quantized_batch_norm: Tensor input, Tensor? weight, Tensor? bias, Tensor mean, Tensor var, float eps, float output_scale, int output_zero_point, *, Tensor? out=None
quantized_gru_cell: Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor b_ih, Tensor b_hh, Tensor packed_ih, Tensor packed_hh, Tensor col_offsets_ih, Tensor col_offsets_hh, Number scale_ih, Number scale_hh, Number zero_point_ih, Number zero_point_hh
quantized_lstm_cell: Tensor input, tensors hx, Tensor w_ih, Tensor w_hh, Tensor b_ih, Tensor b_hh, Tensor packed_ih, Tensor packed_hh, Tensor col_offsets_ih, Tensor col_offsets_hh, Number scale_ih, Number scale_hh, Number zero_point_ih, Number zero_point_hh
quantized_max_pool1d: Tensor input, ints1 kernel_size, ints1 stride=(), ints1 padding=(0,), ints1 dilation=(1,), bool ceil_mode=False, *, Tensor? out=None
quantized_max_pool2d: Tensor input, ints1 kernel_size, ints1 stride=(), ints1 padding=(0, 0), ints1 dilation=(1, 1), bool ceil_mode=False, *, Tensor? out=None
quantized_max_pool3d: Tensor input, ints1 kernel_size, ints1 stride=(), ints1 padding=(0, 0, 0), ints1 dilation=(1, 1, 1), bool ceil_mode=False, *, Tensor? out=None
quantized_rnn_relu_cell: Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor b_ih, Tensor b_hh, Tensor packed_ih, Tensor packed_hh, Tensor col_offsets_ih, Tensor col_offsets_hh, Number scale_ih, Number scale_hh, Number zero_point_ih, Number zero_point_hh
quantized_rnn_tanh_cell: Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor b_ih, Tensor b_hh, Tensor packed_ih, Tensor packed_hh, Tensor col_offsets_ih, Tensor col_offsets_hh, Number scale_ih, Number scale_hh, Number zero_point_ih, Number zero_point_hh
rad2deg: Tensor input, *, Tensor? out=None
rad2deg_: Tensor input
rand: ints size, *, generator generator, Tensor? out=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False | ints size, *, Tensor? out=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
rand_like: Tensor input, *, generator generator, memory_format? memory_format=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False | Tensor input, *, memory_format? memory_format=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
randint: int high, ints size, *, generator generator, Tensor? out=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False | int high, ints size, *, Tensor? out=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False | int low, int high, ints size, *, generator generator, Tensor? out=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False | int low, int high, ints size, *, Tensor? out=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
randint_like: Tensor input, int low, int high, *, generator generator, memory_format? memory_format=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False | Tensor input, int low, int high, *, memory_format? memory_format=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False | Tensor input, Tensor high, *, generator generator, memory_format? memory_format=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False | Tensor input, Tensor high, *, memory_format? memory_format=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False | Tensor input, int high, *, generator generator, memory_format? memory_format=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False | Tensor input, int high, *, memory_format? memory_format=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
randn: ints size, *, generator generator, Tensor? out=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False | ints size, *, Tensor? out=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
randn_like: Tensor input, *, generator generator, memory_format? memory_format=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False | Tensor input, *, memory_format? memory_format=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
randperm: int n, *, generator generator, Tensor? out=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False | int n, *, Tensor? out=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
ravel: Tensor input
real: Tensor input
reciprocal: Tensor input, *, Tensor? out=None
reciprocal_: Tensor input
relu: Tensor input, *, Tensor? out=None
relu_: Tensor input
remainder: Tensor input, Tensor# other, *, Tensor? out=None | Number self, Tensor# other | Tensor input, Number other, *, Tensor? out=None
renorm: Tensor input, Number p, int dim, Number maxnorm, *, Tensor? out=None
repeat_interleave: Tensor input, Tensor repeats, int? dim=None, *, int? output_size=None | Tensor repeats, *, int? output_size=None | Tensor input, int repeats, int? dim=None, *, int? output_size=None
reshape: Tensor input, ints shape
resize_as_: Tensor input, Tensor the_template, *, memory_format? memory_format=None
resize_as_sparse_: Tensor input, Tensor the_template
resolve_conj: Tensor input
resolve_neg: Tensor input
result_type: Tensor tensor, Tensor# other | Number scalar, Tensor tensor | Tensor tensor, Number other | Number scalar1, Number scalar2
rms_norm: Tensor input, ints normalized_shape, Tensor? weight=None, float? eps=None
rnn_relu: Tensor data, Tensor batch_sizes, Tensor hx, tensors params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional | Tensor input, Tensor hx, tensors params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first
rnn_relu_cell: Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None
rnn_tanh: Tensor data, Tensor batch_sizes, Tensor hx, tensors params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional | Tensor input, Tensor hx, tensors params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first
rnn_tanh_cell: Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None
roll: Tensor input, ints1 shifts, ints1 dims=(), *, Tensor? out=None
rot90: Tensor input, int k=1, ints dims=(0, 1), *, Tensor? out=None
round: Tensor input, *, Tensor? out=None | Tensor input, *, int decimals, Tensor? out=None
round_: Tensor input | Tensor input, *, int decimals
row_indices_copy: Tensor input, *, Tensor? out=None
row_stack: tensors tensors, *, Tensor? out=None
rrelu: Tensor input, Number lower=0.125, Number upper=0.3333333333333333, bool training=False, generator? generator=None
rrelu_: Tensor input, Number lower=0.125, Number upper=0.3333333333333333, bool training=False, generator? generator=None
rsqrt: Tensor input, *, Tensor? out=None
rsqrt_: Tensor input
rsub: Tensor input, Tensor# other, *, Number alpha=1 | Tensor input, Number other, Number alpha=1
saddmm: Tensor input, Tensor mat1, Tensor mat2, *, Number beta=1, Number alpha=1, Tensor? out=None | ~
scalar_tensor: Number s, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
scatter: Tensor input, int dim, Tensor index, Tensor src, *, Tensor? out=None | Tensor input, int dim, Tensor index, Tensor src, *, str reduce, Tensor? out=None | Tensor input, int dim, Tensor index, Number value, *, Tensor? out=None | Tensor input, int dim, Tensor index, Number value, *, str reduce, Tensor? out=None
scatter_add: Tensor input, int dim, Tensor index, Tensor src, *, Tensor? out=None
scatter_reduce: Tensor input, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True, Tensor? out=None
searchsorted: Tensor sorted_sequence, Tensor input, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None, Tensor? out=None | Tensor sorted_sequence, Number self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None, Tensor? out=None
segment_reduce: Tensor data, str reduce, *, Tensor? lengths=None, Tensor? indices=None, Tensor? offsets=None, int axis=0, bool unsafe=False, Number? initial=None, Tensor? out=None
select: Tensor input, int dim, int index
select_copy: Tensor input, int dim, int index, *, Tensor? out=None
select_scatter: Tensor input, Tensor src, int dim, int index, *, Tensor? out=None
selu: Tensor input
selu_: Tensor input
sgn: Tensor input, *, Tensor? out=None
sigmoid: Tensor input, *, Tensor? out=None
sigmoid_: Tensor input
sign: Tensor input, *, Tensor? out=None
signbit: Tensor input, *, Tensor? out=None
sin: Tensor input, *, Tensor? out=None
sin_: Tensor input
sinc: Tensor input, *, Tensor? out=None
sinc_: Tensor input
sinh: Tensor input, *, Tensor? out=None
sinh_: Tensor input
slice_copy: Tensor input, int dim=0, int? start=None, int? end=None, int step=1, *, Tensor? out=None
slice_inverse: Tensor input, Tensor src, int dim=0, int? start=None, int? end=None, int step=1
slice_scatter: Tensor input, Tensor src, int dim=0, int? start=None, int? end=None, int step=1, *, Tensor? out=None
slogdet: Tensor input, *, tensors? out=None
smm: Tensor input, Tensor mat2
softmax: Tensor input, int dim, dtype? dtype=None, *, Tensor? out=None
sort: Tensor input, *, bool stable, int dim=-1, bool descending=False, tensors? out=None | Tensor input, int dim=-1, bool descending=False, *, tensors? out=None
sparse_bsc_tensor: object ccol_indices, object row_indices, object values, ints size, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False, bool? check_invariants=None | object ccol_indices, object row_indices, object values, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False, bool? check_invariants=None
sparse_bsr_tensor: object crow_indices, object col_indices, object values, ints size, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False, bool? check_invariants=None | object crow_indices, object col_indices, object values, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False, bool? check_invariants=None
sparse_compressed_tensor: object compressed_indices, object plain_indices, object values, ints size, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False, bool? check_invariants=None | object compressed_indices, object plain_indices, object values, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False, bool? check_invariants=None
sparse_coo_tensor: object indices, object values, *, dtype? dtype=None, device? device=None, bool pin_memory=False, bool requires_grad=False, bool? check_invariants=None, bool? is_coalesced=None | object indices, object values, ints size, *, dtype? dtype=None, device? device=None, bool pin_memory=False, bool requires_grad=False, bool? check_invariants=None, bool? is_coalesced=None | ints size, *, dtype? dtype=None, device? device=None, bool requires_grad=False, bool? check_invariants=None
sparse_csc_tensor: object ccol_indices, object row_indices, object values, ints size, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False, bool? check_invariants=None | object ccol_indices, object row_indices, object values, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False, bool? check_invariants=None
sparse_csr_tensor: object crow_indices, object col_indices, object values, ints size, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False, bool? check_invariants=None | object crow_indices, object col_indices, object values, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False, bool? check_invariants=None
split_copy: Tensor input, int split_size, int dim=0, *, tensors? out=None
split_with_sizes: Tensor input, ints split_sizes, int dim=0
split_with_sizes_copy: Tensor input, ints split_sizes, int dim=0, *, tensors? out=None
spmm: Tensor input, Tensor mat2, *, Tensor? out=None | Tensor input, Tensor mat2, dtype out_dtype, *, Tensor? out=None
sqrt: Tensor input, *, Tensor? out=None
sqrt_: Tensor input
square: Tensor input, *, Tensor? out=None
square_: Tensor input
squeeze: Tensor input | Tensor input, int dim | Tensor input, ints dim
squeeze_copy: Tensor input, *, Tensor? out=None | Tensor input, int dim, *, Tensor? out=None | Tensor input, ints dim, *, Tensor? out=None
sspaddmm: Tensor input, Tensor mat1, Tensor mat2, *, Number beta=1, Number alpha=1, Tensor? out=None | ~
stack: tensors tensors, int dim=0, *, Tensor? out=None
std: Tensor input, ints1 dim, bool unbiased=True, bool keepdim=False, *, Tensor? out=None | Tensor input, ints1? dim=None, *, Number? correction=None, bool keepdim=False, Tensor? out=None | Tensor input, bool unbiased=True
std_mean: Tensor input, ints1 dim, bool unbiased=True, bool keepdim=False | Tensor input, ints1? dim=None, *, Number? correction=None, bool keepdim=False | Tensor input, bool unbiased=True
sub: Tensor input, Tensor# other, *, Number alpha=1, Tensor? out=None | ~
subtract: Tensor input, Tensor# other, *, Number alpha=1, Tensor? out=None | Tensor input, Number other, Number alpha=1
sum: Tensor input, *, dtype? dtype=None | Tensor input, ints1 dim, bool keepdim=False, *, dtype? dtype=None, Tensor? out=None
svd: Tensor input, bool some=True, bool compute_uv=True, *, tensors? out=None
swapaxes: Tensor input, int axis0, int axis1
swapdims: Tensor input, int dim0, int dim1
sym_constrain_range: Number size, *, int? min=None, int? max=None
sym_constrain_range_for_size: Number size, *, int? min=None, int? max=None
t: Tensor input
t_copy: Tensor input, *, Tensor? out=None
take: Tensor input, Tensor index, *, Tensor? out=None
take_along_dim: Tensor input, Tensor indices, int? dim=None, *, Tensor? out=None
tan: Tensor input, *, Tensor? out=None
tan_: Tensor input
tanh: Tensor input, *, Tensor? out=None
tanh_: Tensor input
tensor_split: Tensor input, ints indices, int dim=0 | Tensor input, Tensor tensor_indices_or_sections, int dim=0 | Tensor input, int sections, int dim=0
threshold: Tensor input, Number threshold, Number value, *, Tensor? out=None
threshold_: Tensor input, Number threshold, Number value
tile: Tensor input, ints dims
topk: Tensor input, int k, int dim=-1, bool largest=True, bool sorted=True, *, tensors? out=None
trace: Tensor input, *, Tensor? out=None
transpose: Tensor input, int dim0, int dim1
transpose_copy: Tensor input, int dim0, int dim1, *, Tensor? out=None
trapezoid: Tensor y, Tensor x, *, int dim=-1 | Tensor y, *, Number dx=1, int dim=-1
trapz: Tensor y, *, float dx=1, int dim=-1 | Tensor y, Tensor x, *, int dim=-1
triangular_solve: Tensor input, Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False, *, tensors? out=None
tril: Tensor input, int diagonal=0, *, Tensor? out=None
tril_indices: int row, int col, int offset=0, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
triplet_margin_loss: Tensor anchor, Tensor positive, Tensor negative, float margin=1.0, float p=2.0, float eps=1e-06, bool swap=False, int reduction=1
triu: Tensor input, int diagonal=0, *, Tensor? out=None
triu_indices: int row, int col, int offset=0, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
true_divide: Tensor input, Tensor# other, *, Tensor? out=None | Tensor input, Number other
trunc: Tensor input, *, Tensor? out=None
trunc_: Tensor input
unbind: Tensor input, int dim=0
unbind_copy: Tensor input, int dim=0, *, tensors? out=None
unflatten: Tensor input, int dim, ints sizes
unfold_copy: Tensor input, int dimension, int size, int step, *, Tensor? out=None
unsafe_chunk: Tensor input, int chunks, int dim=0
unsafe_split: Tensor input, int split_size, int dim=0, *, tensors? out=None
unsafe_split_with_sizes: Tensor input, ints split_sizes, int dim=0, *, tensors? out=None
unsqueeze: Tensor input, int dim
unsqueeze_copy: Tensor input, int dim, *, Tensor? out=None
values_copy: Tensor input, *, Tensor? out=None
vander: Tensor x, int? N=None, bool increasing=False
var: Tensor input, ints1 dim, bool unbiased=True, bool keepdim=False, *, Tensor? out=None | Tensor input, ints1? dim=None, *, Number? correction=None, bool keepdim=False, Tensor? out=None | Tensor input, bool unbiased=True
var_mean: Tensor input, ints1 dim, bool unbiased=True, bool keepdim=False | Tensor input, ints1? dim=None, *, Number? correction=None, bool keepdim=False | Tensor input, bool unbiased=True
vdot: Tensor input, Tensor other, *, Tensor? out=None
view_as_complex: Tensor input
view_as_complex_copy: Tensor input, *, Tensor? out=None
view_as_real: Tensor input
view_as_real_copy: Tensor input, *, Tensor? out=None
view_copy: Tensor input, dtype dtype, *, Tensor? out=None | Tensor input, ints size, *, Tensor? out=None
vsplit: Tensor input, int sections | Tensor input, ints indices
vstack: tensors tensors, *, Tensor? out=None
where: Tensor condition | Tensor condition, Tensor input, Tensor other, *, Tensor? out=None | Tensor condition, Number self, Tensor other | Tensor condition, Tensor input, Number other | Tensor condition, Number self, Number other
xlogy: Tensor input, Tensor# other, *, Tensor? out=None | Number self, Tensor# other, *, Tensor? out=None | Tensor input, Number other, *, Tensor? out=None
xlogy_: Tensor input, Tensor# other | Tensor input, Number other
zero_: Tensor input
zeros: ints size, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
zeros_like: Tensor input, *, memory_format? memory_format=None, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
F.adaptive_avg_pool1d: Tensor input, ints1 output_size, *, Tensor? out=None
F.avg_pool1d: Tensor input, ints1 kernel_size, ints1 stride=(), ints1 padding=(0,), bool ceil_mode=False, bool count_include_pad=True, *, Tensor? out=None
F.avg_pool2d: Tensor input, ints1 kernel_size, ints1 stride=(), ints1 padding=(0, 0), bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None, *, Tensor? out=None
F.avg_pool3d: Tensor input, ints1 kernel_size, ints1 stride=(), ints1 padding=(0, 0, 0), bool ceil_mode=False, bool count_include_pad=True, int? divisor_override=None, *, Tensor? out=None
F.bilinear: Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None
F.celu_: Tensor input, Number alpha=1.0
F.channel_shuffle: Tensor input, int groups, *, Tensor? out=None
F.conv1d: Tensor input, Tensor weight, Tensor? bias=None, ints1 stride=1, ints1 padding=0, ints1 dilation=1, int groups=1 | Tensor input, Tensor weight, Tensor? bias=None, ints1 stride=1, str padding="valid", ints1 dilation=1, int groups=1
F.conv2d: Tensor input, Tensor weight, Tensor? bias=None, ints1 stride=1, ints1 padding=0, ints1 dilation=1, int groups=1 | Tensor input, Tensor weight, Tensor? bias=None, ints1 stride=1, str padding="valid", ints1 dilation=1, int groups=1
F.conv3d: Tensor input, Tensor weight, Tensor? bias=None, ints1 stride=1, ints1 padding=0, ints1 dilation=1, int groups=1 | Tensor input, Tensor weight, Tensor? bias=None, ints1 stride=1, str padding="valid", ints1 dilation=1, int groups=1
F.conv_tbc: Tensor input, Tensor weight, Tensor bias, int pad=0, *, Tensor? out=None
F.conv_transpose1d: Tensor input, Tensor weight, Tensor? bias=None, ints1 stride=(1,), ints1 padding=(0,), ints1 output_padding=(0,), int groups=1, ints1 dilation=(1,)
F.conv_transpose2d: Tensor input, Tensor weight, Tensor? bias=None, ints1 stride=(1, 1), ints1 padding=(0, 0), ints1 output_padding=(0, 0), int groups=1, ints1 dilation=(1, 1)
F.conv_transpose3d: Tensor input, Tensor weight, Tensor? bias=None, ints1 stride=(1, 1, 1), ints1 padding=(0, 0, 0), ints1 output_padding=(0, 0, 0), int groups=1, ints1 dilation=(1, 1, 1)
F.cosine_similarity: Tensor x1, Tensor x2, int dim=1, float eps=1e-08
F.elu_: Tensor input, Number alpha=1, Number scale=1, Number input_scale=1
F.gelu: Tensor input, *, str approximate="none", Tensor? out=None
F.hardshrink: Tensor input, Number lambd=0.5, *, Tensor? out=None
F.hardtanh_: Tensor input, Number min_val=-1, Number max_val=1
F.has_torch_function: -
F.leaky_relu_: Tensor input, Number negative_slope=0.01
F.linear: Tensor input, Tensor weight, Tensor? bias=None, *, Tensor? out=None
F.native_channel_shuffle: Tensor input, int groups
F.one_hot: Tensor input, int num_classes=-1
F.pairwise_distance: Tensor x1, Tensor x2, float p=2.0, float eps=1e-06, bool keepdim=False
F.pdist: Tensor input, float p=2.0
F.pixel_shuffle: Tensor input, int upscale_factor, *, Tensor? out=None
F.pixel_unshuffle: Tensor input, int downscale_factor, *, Tensor? out=None
F.prelu: Tensor input, Tensor weight
F.relu_: Tensor input
F.rrelu_: Tensor input, Number lower=0.125, Number upper=0.3333333333333333, bool training=False, generator? generator=None
F.scaled_dot_product_attention: Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0.0, bool is_causal=False, *, float? scale=None, bool enable_gqa=False
F.selu_: Tensor input
F.softplus: Tensor input, Number beta=1, Number threshold=20, *, Tensor? out=None
F.softshrink: Tensor input, Number lambd=0.5, *, Tensor? out=None
F.threshold_: Tensor input, Number threshold, Number value
linalg__powsum: Tensor input, Number ord=2, ints1? dim=None, bool keepdim=False, *, dtype? dtype=None
linalg_cholesky: Tensor input, *, bool upper=False, Tensor? out=None
linalg_cholesky_ex: Tensor input, *, bool upper=False, bool check_errors=False, tensors? out=None
linalg_cond: Tensor input, Number? p=None, *, Tensor? out=None | Tensor input, str p, *, Tensor? out=None
linalg_cross: Tensor input, Tensor other, *, int dim=-1, Tensor? out=None
linalg_det: Tensor A, *, Tensor? out=None
linalg_diagonal: Tensor A, *, int offset=0, int dim1=-2, int dim2=-1
linalg_eig: Tensor input, *, tensors? out=None
linalg_eigh: Tensor input, str UPLO="L", *, tensors? out=None
linalg_eigvals: Tensor input, *, Tensor? out=None
linalg_eigvalsh: Tensor input, str UPLO="L", *, Tensor? out=None
linalg_householder_product: Tensor input, Tensor tau, *, Tensor? out=None
linalg_inv: Tensor A, *, Tensor? out=None
linalg_inv_ex: Tensor A, *, bool check_errors=False, tensors? out=None
linalg_ldl_factor: Tensor input, *, bool hermitian=False, tensors? out=None
linalg_ldl_factor_ex: Tensor input, *, bool hermitian=False, bool check_errors=False, tensors? out=None
linalg_ldl_solve: Tensor LD, Tensor pivots, Tensor B, *, bool hermitian=False, Tensor? out=None
linalg_lstsq: Tensor input, Tensor b, float? rcond=None, *, str? driver=None, tensors? out=None
linalg_lu: Tensor A, *, bool pivot=True, tensors? out=None
linalg_lu_factor: Tensor A, *, bool pivot=True, tensors? out=None
linalg_lu_factor_ex: Tensor A, *, bool pivot=True, bool check_errors=False, tensors? out=None
linalg_lu_solve: Tensor LU, Tensor pivots, Tensor B, *, bool left=True, bool adjoint=False, Tensor? out=None
linalg_matmul: Tensor input, Tensor other, *, Tensor? out=None
linalg_matrix_exp: Tensor input, *, Tensor? out=None
linalg_matrix_norm: Tensor input, Number ord, ints dim={-2,-1}, bool keepdim=False, *, dtype? dtype=None, Tensor? out=None | Tensor input, str ord="fro", ints dim={-2,-1}, bool keepdim=False, *, dtype? dtype=None, Tensor? out=None
linalg_matrix_power: Tensor input, int n, *, Tensor? out=None
linalg_matrix_rank: Tensor input, *, Tensor? atol=None, Tensor? rtol=None, bool hermitian=False, Tensor? out=None | Tensor input, *, float? atol=None, float? rtol=None, bool hermitian=False, Tensor? out=None | Tensor input, Tensor tol, bool hermitian=False, *, Tensor? out=None | Tensor input, float tol, bool hermitian=False, *, Tensor? out=None
linalg_multi_dot: tensors tensors, *, Tensor? out=None
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
fft_fft: Tensor input, int? n=None, int dim=-1, str? norm=None, *, Tensor? out=None
fft_fft2: Tensor input, ints1? s=None, ints1 dim=(-2, -1), str? norm=None, *, Tensor? out=None
fft_fftfreq: int n, float d=1.0, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
fft_fftn: Tensor input, ints1? s=None, ints1? dim=None, str? norm=None, *, Tensor? out=None
fft_fftshift: Tensor input, ints1? dim=None
fft_hfft: Tensor input, int? n=None, int dim=-1, str? norm=None, *, Tensor? out=None
fft_hfft2: Tensor input, ints1? s=None, ints1 dim=(-2, -1), str? norm=None, *, Tensor? out=None
fft_hfftn: Tensor input, ints1? s=None, ints1? dim=None, str? norm=None, *, Tensor? out=None
fft_ifft: Tensor input, int? n=None, int dim=-1, str? norm=None, *, Tensor? out=None
fft_ifft2: Tensor input, ints1? s=None, ints1 dim=(-2, -1), str? norm=None, *, Tensor? out=None
fft_ifftn: Tensor input, ints1? s=None, ints1? dim=None, str? norm=None, *, Tensor? out=None
fft_ifftshift: Tensor input, ints1? dim=None
fft_ihfft: Tensor input, int? n=None, int dim=-1, str? norm=None, *, Tensor? out=None
fft_ihfft2: Tensor input, ints1? s=None, ints1 dim=(-2, -1), str? norm=None, *, Tensor? out=None
fft_ihfftn: Tensor input, ints1? s=None, ints1? dim=None, str? norm=None, *, Tensor? out=None
fft_irfft: Tensor input, int? n=None, int dim=-1, str? norm=None, *, Tensor? out=None
fft_irfft2: Tensor input, ints1? s=None, ints1 dim=(-2, -1), str? norm=None, *, Tensor? out=None
fft_irfftn: Tensor input, ints1? s=None, ints1? dim=None, str? norm=None, *, Tensor? out=None
fft_rfft: Tensor input, int? n=None, int dim=-1, str? norm=None, *, Tensor? out=None
fft_rfft2: Tensor input, ints1? s=None, ints1 dim=(-2, -1), str? norm=None, *, Tensor? out=None
fft_rfftfreq: int n, float d=1.0, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
fft_rfftn: Tensor input, ints1? s=None, ints1? dim=None, str? norm=None, *, Tensor? out=None
special_airy_ai: Tensor x, *, Tensor? out=None
special_bessel_j0: Tensor input, *, Tensor? out=None
special_bessel_j1: Tensor input, *, Tensor? out=None
special_bessel_y0: Tensor input, *, Tensor? out=None
special_bessel_y1: Tensor input, *, Tensor? out=None
special_chebyshev_polynomial_t: Tensor x, Tensor n, *, Tensor? out=None | Number x, Tensor n, *, Tensor? out=None | Tensor x, Number n, *, Tensor? out=None
special_chebyshev_polynomial_u: Tensor x, Tensor n, *, Tensor? out=None | Number x, Tensor n, *, Tensor? out=None | Tensor x, Number n, *, Tensor? out=None
special_chebyshev_polynomial_v: Tensor x, Tensor n, *, Tensor? out=None | Number x, Tensor n, *, Tensor? out=None | Tensor x, Number n, *, Tensor? out=None
special_chebyshev_polynomial_w: Tensor x, Tensor n, *, Tensor? out=None | Number x, Tensor n, *, Tensor? out=None | Tensor x, Number n, *, Tensor? out=None
special_digamma: Tensor input, *, Tensor? out=None
special_entr: Tensor input, *, Tensor? out=None
special_erf: Tensor input, *, Tensor? out=None
special_erfc: Tensor input, *, Tensor? out=None
special_erfcx: Tensor input, *, Tensor? out=None
special_erfinv: Tensor input, *, Tensor? out=None
special_exp2: Tensor input, *, Tensor? out=None
special_expit: Tensor input, *, Tensor? out=None
special_expm1: Tensor input, *, Tensor? out=None
special_gammainc: Tensor input, Tensor other, *, Tensor? out=None
special_gammaincc: Tensor input, Tensor other, *, Tensor? out=None
special_gammaln: Tensor input, *, Tensor? out=None
special_hermite_polynomial_h: Tensor x, Tensor n, *, Tensor? out=None | Number x, Tensor n, *, Tensor? out=None | Tensor x, Number n, *, Tensor? out=None
special_hermite_polynomial_he: Tensor x, Tensor n, *, Tensor? out=None | Number x, Tensor n, *, Tensor? out=None | Tensor x, Number n, *, Tensor? out=None
special_i0: Tensor input, *, Tensor? out=None
special_i0e: Tensor input, *, Tensor? out=None
special_i1: Tensor input, *, Tensor? out=None
special_i1e: Tensor input, *, Tensor? out=None
special_laguerre_polynomial_l: Tensor x, Tensor n, *, Tensor? out=None | Number x, Tensor n, *, Tensor? out=None | Tensor x, Number n, *, Tensor? out=None
special_legendre_polynomial_p: Tensor x, Tensor n, *, Tensor? out=None | Number x, Tensor n, *, Tensor? out=None | Tensor x, Number n, *, Tensor? out=None
special_log1p: Tensor input, *, Tensor? out=None
special_log_ndtr: Tensor input, *, Tensor? out=None
special_log_softmax: Tensor input, int dim, *, dtype? dtype=None
special_logit: Tensor input, float? eps=None, *, Tensor? out=None
special_logsumexp: Tensor input, ints1 dim, bool keepdim=False, *, Tensor? out=None
special_modified_bessel_i0: Tensor input, *, Tensor? out=None
special_modified_bessel_i1: Tensor input, *, Tensor? out=None
special_modified_bessel_k0: Tensor input, *, Tensor? out=None
special_modified_bessel_k1: Tensor input, *, Tensor? out=None
special_multigammaln: Tensor input, int p, *, Tensor? out=None
special_ndtr: Tensor input, *, Tensor? out=None
special_ndtri: Tensor input, *, Tensor? out=None
special_polygamma: int n, Tensor input, *, Tensor? out=None
special_psi: Tensor input, *, Tensor? out=None
special_round: Tensor input, *, int decimals=0, Tensor? out=None
special_scaled_modified_bessel_k0: Tensor x, *, Tensor? out=None
special_scaled_modified_bessel_k1: Tensor x, *, Tensor? out=None
special_shifted_chebyshev_polynomial_t: Tensor x, Tensor n, *, Tensor? out=None | Number x, Tensor n, *, Tensor? out=None | Tensor x, Number n, *, Tensor? out=None
special_shifted_chebyshev_polynomial_u: Tensor x, Tensor n, *, Tensor? out=None | Number x, Tensor n, *, Tensor? out=None | Tensor x, Number n, *, Tensor? out=None
special_shifted_chebyshev_polynomial_v: Tensor x, Tensor n, *, Tensor? out=None | Number x, Tensor n, *, Tensor? out=None | Tensor x, Number n, *, Tensor? out=None
special_shifted_chebyshev_polynomial_w: Tensor x, Tensor n, *, Tensor? out=None | Number x, Tensor n, *, Tensor? out=None | Tensor x, Number n, *, Tensor? out=None
special_sinc: Tensor input, *, Tensor? out=None
special_softmax: Tensor input, int dim, dtype? dtype=None
special_spherical_bessel_j0: Tensor x, *, Tensor? out=None
special_xlog1py: Tensor input, Tensor# other, *, Tensor? out=None | Number self, Tensor# other, *, Tensor? out=None | Tensor input, Number other, *, Tensor? out=None
special_xlogy: Tensor input, Tensor# other, *, Tensor? out=None | Number self, Tensor# other, *, Tensor? out=None | Tensor input, Number other, *, Tensor? out=None
special_zeta: Tensor input, Tensor# other, *, Tensor? out=None | Number self, Tensor# other, *, Tensor? out=None | Tensor input, Number other, *, Tensor? out=None
Tensor.abs: -
Tensor.abs_: -
Tensor.absolute: -
Tensor.absolute_: -
Tensor.acos: -
Tensor.acos_: -
Tensor.acosh: -
Tensor.acosh_: -
Tensor.add: Tensor# other, *, Number alpha=1 | ~
Tensor.add_: Tensor# other, *, Number alpha=1 | ~
Tensor.addbmm: Tensor batch1, Tensor batch2, *, Number beta=1, Number alpha=1 | ~
Tensor.addbmm_: Tensor batch1, Tensor batch2, *, Number beta=1, Number alpha=1 | ~
Tensor.addcdiv: Tensor tensor1, Tensor tensor2, *, Number value=1 | ~
Tensor.addcdiv_: Tensor tensor1, Tensor tensor2, *, Number value=1 | ~
Tensor.addcmul: Tensor tensor1, Tensor tensor2, *, Number value=1 | ~
Tensor.addcmul_: Tensor tensor1, Tensor tensor2, *, Number value=1 | ~
Tensor.addmm: Tensor mat1, Tensor mat2, *, Number beta=1, Number alpha=1 | ~
Tensor.addmm_: Tensor mat1, Tensor mat2, *, Number beta=1, Number alpha=1 | ~
Tensor.addmv: Tensor mat, Tensor vec, *, Number beta=1, Number alpha=1 | ~
Tensor.addmv_: Tensor mat, Tensor vec, *, Number beta=1, Number alpha=1 | ~
Tensor.addr: Tensor vec1, Tensor vec2, *, Number beta=1, Number alpha=1 | ~
Tensor.addr_: Tensor vec1, Tensor vec2, *, Number beta=1, Number alpha=1 | ~
Tensor.adjoint: -
Tensor.all: - | ints? dim=None, bool keepdim=False | int dim, bool keepdim=False
Tensor.allclose: Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False
Tensor.amax: ints1 dim=(), bool keepdim=False
Tensor.amin: ints1 dim=(), bool keepdim=False
Tensor.aminmax: *, int? dim=None, bool keepdim=False
Tensor.angle: -
Tensor.any: - | ints? dim=None, bool keepdim=False | int dim, bool keepdim=False
Tensor.arccos: -
Tensor.arccos_: -
Tensor.arccosh: -
Tensor.arccosh_: -
Tensor.arcsin: -
Tensor.arcsin_: -
Tensor.arcsinh: -
Tensor.arcsinh_: -
Tensor.arctan: -
Tensor.arctan2: Tensor other
Tensor.arctan2_: Tensor other
Tensor.arctan_: -
Tensor.arctanh: -
Tensor.arctanh_: -
Tensor.argmax: int? dim=None, bool keepdim=False
Tensor.argmin: int? dim=None, bool keepdim=False
Tensor.argsort: *, bool stable, int dim=-1, bool descending=False | int dim=-1, bool descending=False
Tensor.argwhere: -
Tensor.as_strided: ints size, ints stride, int? storage_offset=None
Tensor.as_strided_: ints size, ints stride, int? storage_offset=None
Tensor.as_strided_scatter: Tensor src, ints size, ints stride, int? storage_offset=None
Tensor.asin: -
Tensor.asin_: -
Tensor.asinh: -
Tensor.asinh_: -
Tensor.atan: -
Tensor.atan2: Tensor other
Tensor.atan2_: Tensor other
Tensor.atan_: -
Tensor.atanh: -
Tensor.atanh_: -
Tensor.baddbmm: Tensor batch1, Tensor batch2, *, Number beta=1, Number alpha=1 | ~
Tensor.baddbmm_: Tensor batch1, Tensor batch2, *, Number beta=1, Number alpha=1 | ~
Tensor.bernoulli: *, generator? generator=None | float p, *, generator? generator=None
Tensor.bernoulli_: Tensor p, *, generator? generator=None | float p=0.5, *, generator? generator=None
Tensor.bincount: Tensor? weights=None, int minlength=0
Tensor.bitwise_and: Tensor# other | Number other
Tensor.bitwise_and_: Tensor# other | Number other
Tensor.bitwise_left_shift: Tensor# other | Number other
Tensor.bitwise_left_shift_: Tensor# other | Number other
Tensor.bitwise_not: -
Tensor.bitwise_not_: -
Tensor.bitwise_or: Tensor# other | Number other
Tensor.bitwise_or_: Tensor# other | Number other
Tensor.bitwise_right_shift: Tensor# other | Number other
Tensor.bitwise_right_shift_: Tensor# other | Number other
Tensor.bitwise_xor: Tensor# other | Number other
Tensor.bitwise_xor_: Tensor# other | Number other
Tensor.bmm: Tensor mat2
Tensor.broadcast_to: ints size
Tensor.cauchy_: float median=0.0, float sigma=1.0, *, generator? generator=None
Tensor.ccol_indices: -
Tensor.ceil: -
Tensor.ceil_: -
Tensor.chalf: *, memory_format? memory_format=None
Tensor.cholesky: bool upper=False
Tensor.cholesky_inverse: bool upper=False
Tensor.cholesky_solve: Tensor input2, bool upper=False
Tensor.chunk: int chunks, int dim=0
Tensor.clamp: Tensor? min=None, Tensor? max=None | Number? min=None, Number? max=None
Tensor.clamp_: Tensor? min=None, Tensor? max=None | Number? min=None, Number? max=None
Tensor.clamp_max: Tensor max | Number max
Tensor.clamp_max_: Tensor max | Number max
Tensor.clamp_min: Tensor min | Number min
Tensor.clamp_min_: Tensor min | Number min
Tensor.clip: Tensor? min=None, Tensor? max=None | Number? min=None, Number? max=None
Tensor.clip_: Tensor? min=None, Tensor? max=None | Number? min=None, Number? max=None
Tensor.clone: *, memory_format? memory_format=None
Tensor.coalesce: -
Tensor.col_indices: -
Tensor.conj: -
Tensor.conj_physical: -
Tensor.conj_physical_: -
Tensor.contiguous: *, memory_format memory_format=0
Tensor.copy_: Tensor# other, bool non_blocking=False | ~
Tensor.copysign: Tensor# other | Number other
Tensor.copysign_: Tensor# other | Number other
Tensor.corrcoef: -
Tensor.cos: -
Tensor.cos_: -
Tensor.cosh: -
Tensor.cosh_: -
Tensor.count_nonzero: int? dim=None | ints dim
Tensor.cov: *, int correction=1, Tensor? fweights=None, Tensor? aweights=None
Tensor.cpu: -
Tensor.cross: Tensor other, int? dim=None
Tensor.crow_indices: -
Tensor.cuda: device? device=None, bool non_blocking=False, *, memory_format? memory_format=None | ~
Tensor.cummax: int dim
Tensor.cummin: int dim
Tensor.cumprod: int dim, *, dtype? dtype=None
Tensor.cumprod_: int dim, *, dtype? dtype=None
Tensor.cumsum: int dim, *, dtype? dtype=None
Tensor.cumsum_: int dim, *, dtype? dtype=None
Tensor.deg2rad: -
Tensor.deg2rad_: -
Tensor.dense_dim: -
Tensor.dequantize: -
Tensor.det: -
Tensor.detach: -
Tensor.detach_: -
Tensor.diag: int diagonal=0
Tensor.diag_embed: int offset=0, int dim1=-2, int dim2=-1
Tensor.diagflat: int offset=0
Tensor.diagonal: int offset=0, int dim1=0, int dim2=1
Tensor.diagonal_scatter: Tensor src, int offset=0, int dim1=0, int dim2=1
Tensor.diff: int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None
Tensor.digamma: -
Tensor.digamma_: -
Tensor.dim: -
Tensor.dist: Tensor other, Number p=2
Tensor.div: Tensor# other | Tensor# other, *, str rounding_mode | Number other, *, str rounding_mode
Tensor.div_: Tensor# other | Tensor# other, *, str rounding_mode | Number other, *, str rounding_mode
Tensor.divide: Tensor# other | Tensor# other, *, str rounding_mode | Number other | Number other, *, str rounding_mode
Tensor.divide_: Tensor# other | Tensor# other, *, str rounding_mode | Number other | Number other, *, str rounding_mode
Tensor.dot: Tensor tensor
Tensor.dsplit: int sections | ints indices
Tensor.element_size: -
Tensor.eq: Tensor# other | Number other
Tensor.eq_: Tensor# other | Number other
Tensor.equal: Tensor other
Tensor.erf: -
Tensor.erf_: -
Tensor.erfc: -
Tensor.erfc_: -
Tensor.erfinv: -
Tensor.erfinv_: -
Tensor.exp: -
Tensor.exp2: -
Tensor.exp2_: -
Tensor.exp_: -
Tensor.expand: ints size, *, bool implicit=False
Tensor.expand_as: Tensor other
Tensor.expm1: -
Tensor.expm1_: -
Tensor.exponential_: float lambd=1.0, *, generator? generator=None
Tensor.fill_: Tensor value | Number value
Tensor.fill_diagonal_: Number fill_value, bool wrap=False
Tensor.fix: -
Tensor.fix_: -
Tensor.flatten: int start_dim=0, int end_dim=-1
Tensor.flip: ints dims
Tensor.fliplr: -
Tensor.flipud: -
Tensor.float_power: Tensor exponent | Number exponent
Tensor.float_power_: Tensor exponent | Number exponent
Tensor.floor: -
Tensor.floor_: -
Tensor.floor_divide: Tensor# other | Number other
Tensor.floor_divide_: Tensor# other | Number other
Tensor.fmax: Tensor other
Tensor.fmin: Tensor other
Tensor.fmod: Tensor# other | Number other
Tensor.fmod_: Tensor# other | Number other
Tensor.frac: -
Tensor.frac_: -
Tensor.frexp: -
Tensor.gather: int dim, Tensor index, *, bool sparse_grad=False
Tensor.gcd: Tensor other
Tensor.gcd_: Tensor other
Tensor.ge: Tensor# other | Number other
Tensor.ge_: Tensor# other | Number other
Tensor.geometric_: float p, *, generator? generator=None
Tensor.geqrf: -
Tensor.ger: Tensor vec2
Tensor.get_device: -
Tensor.greater: Tensor# other | Number other
Tensor.greater_: Tensor# other | Number other
Tensor.greater_equal: Tensor# other | Number other
Tensor.greater_equal_: Tensor# other | Number other
Tensor.gt: Tensor# other | Number other
Tensor.gt_: Tensor# other | Number other
Tensor.hardshrink: Number lambd=0.5
Tensor.hash_tensor: ints1 dim=(), *, bool keepdim=False, int mode=0
Tensor.heaviside: Tensor values
Tensor.heaviside_: Tensor values
Tensor.histc: int bins=100, Number min=0, Number max=0
Tensor.histogram: Tensor bins, *, Tensor? weight=None, bool density=False | int bins=100, *, floats? range=None, Tensor? weight=None, bool density=False
Tensor.hsplit: int sections | ints indices
Tensor.hypot: Tensor other
Tensor.hypot_: Tensor other
Tensor.i0: -
Tensor.i0_: -
Tensor.igamma: Tensor other
Tensor.igamma_: Tensor other
Tensor.igammac: Tensor other
Tensor.igammac_: Tensor other
Tensor.index_add: int dim, Tensor index, Tensor source, *, Number alpha=1
Tensor.index_add_: int dim, Tensor index, Tensor source, *, Number alpha=1
Tensor.index_copy: int dim, Tensor index, Tensor source
Tensor.index_copy_: int dim, Tensor index, Tensor source
Tensor.index_fill: int dim, Tensor index, Tensor value | int dim, Tensor index, Number value
Tensor.index_fill_: int dim, Tensor index, Tensor value | int dim, Tensor index, Number value
Tensor.index_put: tensors indices, Tensor values, bool accumulate=False
Tensor.index_put_: tensors indices, Tensor values, bool accumulate=False
Tensor.index_reduce: int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True
Tensor.index_reduce_: int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True
Tensor.index_select: int dim, Tensor index
Tensor.indices: -
Tensor.inner: Tensor other
Tensor.int_repr: -
Tensor.inverse: -
Tensor.ipu: device? device=None, bool non_blocking=False, *, memory_format? memory_format=None | ~
Tensor.is_coalesced: -
Tensor.is_complex: -
Tensor.is_conj: -
Tensor.is_contiguous: -
Tensor.is_distributed: -
Tensor.is_floating_point: -
Tensor.is_inference: -
Tensor.is_neg: -
Tensor.is_nonzero: -
Tensor.is_pinned: device? device=None
Tensor.is_same_size: Tensor other
Tensor.is_set_to: Tensor tensor
Tensor.is_signed: -
Tensor.isclose: Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False
Tensor.isfinite: -
Tensor.isinf: -
Tensor.isnan: -
Tensor.isneginf: -
Tensor.isposinf: -
Tensor.isreal: -
Tensor.item: -
Tensor.kron: Tensor other
Tensor.kthvalue: int k, int dim=-1, bool keepdim=False
Tensor.lcm: Tensor other
Tensor.lcm_: Tensor other
Tensor.ldexp: Tensor other
Tensor.ldexp_: Tensor other
Tensor.le: Tensor# other | Number other
Tensor.le_: Tensor# other | Number other
Tensor.lerp: Tensor end, Tensor weight | Tensor end, Number weight
Tensor.lerp_: Tensor end, Tensor weight | Tensor end, Number weight
Tensor.less: Tensor# other | Number other
Tensor.less_: Tensor# other | Number other
Tensor.less_equal: Tensor# other | Number other
Tensor.less_equal_: Tensor# other | Number other
Tensor.lgamma: -
Tensor.lgamma_: -
Tensor.log: -
Tensor.log10: -
Tensor.log10_: -
Tensor.log1p: -
Tensor.log1p_: -
Tensor.log2: -
Tensor.log2_: -
Tensor.log_: -
Tensor.log_normal_: float mean=1.0, float std=2.0, *, generator? generator=None
Tensor.log_softmax: int dim, dtype? dtype=None
Tensor.logaddexp: Tensor other
Tensor.logaddexp2: Tensor other
Tensor.logcumsumexp: int dim
Tensor.logdet: -
Tensor.logical_and: Tensor other
Tensor.logical_and_: Tensor other
Tensor.logical_not: -
Tensor.logical_not_: -
Tensor.logical_or: Tensor other
Tensor.logical_or_: Tensor other
Tensor.logical_xor: Tensor other
Tensor.logical_xor_: Tensor other
Tensor.logit: float? eps=None
Tensor.logit_: float? eps=None
Tensor.logsumexp: ints1 dim, bool keepdim=False
Tensor.lt: Tensor# other | Number other
Tensor.lt_: Tensor# other | Number other
Tensor.lu_solve: Tensor LU_data, Tensor LU_pivots
Tensor.masked_fill: Tensor mask, Tensor value | Tensor mask, Number value
Tensor.masked_fill_: Tensor mask, Tensor value | Tensor mask, Number value
Tensor.masked_scatter: Tensor mask, Tensor source
Tensor.masked_scatter_: Tensor mask, Tensor source
Tensor.masked_select: Tensor mask
Tensor.matmul: Tensor other
Tensor.matrix_exp: -
Tensor.matrix_power: int n
Tensor.max: - | Tensor other | int dim, bool keepdim=False
Tensor.maximum: Tensor other
Tensor.mean: *, dtype? dtype=None | ints1 dim, bool keepdim=False, *, dtype? dtype=None
Tensor.median: - | int dim, bool keepdim=False
Tensor.min: - | Tensor other | int dim, bool keepdim=False
Tensor.minimum: Tensor other
Tensor.mm: Tensor mat2
Tensor.mode: int dim=-1, bool keepdim=False
Tensor.moveaxis: int source, int destination | ints source, ints destination
Tensor.movedim: int source, int destination | ints source, ints destination
Tensor.msort: -
Tensor.mtia: device? device=None, bool non_blocking=False, *, memory_format? memory_format=None | ~
Tensor.mul: Tensor# other
Tensor.mul_: Tensor# other
Tensor.multinomial: int num_samples, bool replacement=False, *, generator? generator=None
Tensor.multiply: Tensor# other | Number other
Tensor.multiply_: Tensor# other | Number other
Tensor.mv: Tensor vec
Tensor.mvlgamma: int p
Tensor.mvlgamma_: int p
Tensor.nan_to_num: float? nan=None, float? posinf=None, float? neginf=None
Tensor.nan_to_num_: float? nan=None, float? posinf=None, float? neginf=None
Tensor.nanmean: ints1? dim=None, bool keepdim=False, *, dtype? dtype=None
Tensor.nanmedian: - | int dim, bool keepdim=False
Tensor.nanquantile: Tensor q, int? dim=None, bool keepdim=False, *, str interpolation="linear" | float q, int? dim=None, bool keepdim=False, *, str interpolation="linear"
Tensor.nansum: ints1? dim=None, bool keepdim=False, *, dtype? dtype=None
Tensor.narrow: int dim, Tensor start, int length | int dim, int start, int length
Tensor.narrow_copy: int dim, int start, int length
Tensor.ne: Tensor# other | Number other
Tensor.ne_: Tensor# other | Number other
Tensor.neg: -
Tensor.neg_: -
Tensor.negative: -
Tensor.negative_: -
Tensor.new: *, device? device=None | torch.Storage storage | Tensor# other | ints size, *, device? device=None | object data, *, device? device=None
Tensor.new_empty: ints size, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
Tensor.new_empty_strided: ints size, ints stride, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
Tensor.new_full: ints size, Number fill_value, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
Tensor.new_ones: ints size, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
Tensor.new_zeros: ints size, *, dtype? dtype=None, layout? layout=None, device? device=None, bool pin_memory=False, bool requires_grad=False
Tensor.nextafter: Tensor other
Tensor.nextafter_: Tensor other
Tensor.nonzero: - | *, bool as_tuple
Tensor.nonzero_static: *, int size, int fill_value=-1
Tensor.normal_: float mean=0.0, float std=1.0, *, generator? generator=None
Tensor.not_equal: Tensor# other | Number other
Tensor.not_equal_: Tensor# other | Number other
Tensor.numel: -
Tensor.orgqr: Tensor input2
Tensor.ormqr: Tensor input2, Tensor input3, bool left=True, bool transpose=False
Tensor.outer: Tensor vec2
Tensor.permute: ints dims
Tensor.pin_memory: device? device=None
Tensor.pinverse: float rcond=1e-15
Tensor.polygamma: int n
Tensor.polygamma_: int n
Tensor.positive: -
Tensor.pow: Tensor exponent | Number exponent
Tensor.pow_: Tensor exponent | Number exponent
Tensor.prelu: Tensor weight
Tensor.prod: *, dtype? dtype=None | int dim, bool keepdim=False, *, dtype? dtype=None
Tensor.put: Tensor index, Tensor source, bool accumulate=False
Tensor.put_: Tensor index, Tensor source, bool accumulate=False
Tensor.q_per_channel_axis: -
Tensor.q_per_channel_scales: -
Tensor.q_per_channel_zero_points: -
Tensor.q_scale: -
Tensor.q_zero_point: -
Tensor.qr: bool some=True
Tensor.qscheme: -
Tensor.quantile: Tensor q, int? dim=None, bool keepdim=False, *, str interpolation="linear" | float q, int? dim=None, bool keepdim=False, *, str interpolation="linear"
Tensor.rad2deg: -
Tensor.rad2deg_: -
Tensor.random_: *, generator? generator=None | int from, int to, *, generator? generator=None | int to, *, generator? generator=None
Tensor.ravel: -
Tensor.reciprocal: -
Tensor.reciprocal_: -
Tensor.relu: -
Tensor.relu_: -
Tensor.remainder: Tensor# other | Number other
Tensor.remainder_: Tensor# other | Number other
Tensor.renorm: Number p, int dim, Number maxnorm
Tensor.renorm_: Number p, int dim, Number maxnorm
Tensor.repeat: ints repeats
Tensor.repeat_interleave: Tensor repeats, int? dim=None, *, int? output_size=None | int repeats, int? dim=None, *, int? output_size=None
Tensor.requires_grad_: bool requires_grad=True
Tensor.reshape: ints shape
Tensor.reshape_as: Tensor other
Tensor.resize_: ints size, *, memory_format? memory_format=None
Tensor.resize_as_: Tensor the_template, *, memory_format? memory_format=None
Tensor.resize_as_sparse_: Tensor the_template
Tensor.resolve_conj: -
Tensor.resolve_neg: -
Tensor.retain_grad: -
Tensor.roll: ints1 shifts, ints1 dims=()
Tensor.rot90: int k=1, ints dims=(0, 1)
Tensor.round: - | *, int decimals
Tensor.round_: - | *, int decimals
Tensor.row_indices: -
Tensor.rsqrt: -
Tensor.rsqrt_: -
Tensor.scatter: int dim, Tensor index, Tensor src | int dim, Tensor index, Tensor src, *, str reduce | int dim, Tensor index, Number value | int dim, Tensor index, Number value, *, str reduce
Tensor.scatter_: int dim, Tensor index, Tensor src | int dim, Tensor index, Tensor src, *, str reduce | int dim, Tensor index, Number value | int dim, Tensor index, Number value, *, str reduce
Tensor.scatter_add: int dim, Tensor index, Tensor src
Tensor.scatter_add_: int dim, Tensor index, Tensor src
Tensor.scatter_reduce: int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True
Tensor.scatter_reduce_: int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True
Tensor.select: int dim, int index
Tensor.select_scatter: Tensor src, int dim, int index
Tensor.set_: - | torch.Storage source | torch.Storage source, int storage_offset, ints size, ints? stride=None | Tensor source | Tensor source, int storage_offset, ints size, ints? stride=None
Tensor.sgn: -
Tensor.sgn_: -
Tensor.sigmoid: -
Tensor.sigmoid_: -
Tensor.sign: -
Tensor.sign_: -
Tensor.signbit: -
Tensor.sin: -
Tensor.sin_: -
Tensor.sinc: -
Tensor.sinc_: -
Tensor.sinh: -
Tensor.sinh_: -
Tensor.slice_inverse: Tensor src, int dim=0, int? start=None, int? end=None, int step=1
Tensor.slice_scatter: Tensor src, int dim=0, int? start=None, int? end=None, int step=1
Tensor.slogdet: -
Tensor.smm: Tensor mat2
Tensor.softmax: int dim, dtype? dtype=None
Tensor.sort: *, bool stable, int dim=-1, bool descending=False | int dim=-1, bool descending=False
Tensor.sparse_dim: -
Tensor.sparse_mask: Tensor mask
Tensor.sparse_resize_: ints size, int sparse_dim, int dense_dim
Tensor.sparse_resize_and_clear_: ints size, int sparse_dim, int dense_dim
Tensor.split_with_sizes: ints split_sizes, int dim=0
Tensor.sqrt: -
Tensor.sqrt_: -
Tensor.square: -
Tensor.square_: -
Tensor.squeeze: - | int dim | ints dim
Tensor.squeeze_: - | int dim | ints dim
Tensor.sspaddmm: Tensor mat1, Tensor mat2, *, Number beta=1, Number alpha=1 | ~
Tensor.std: ints1 dim, bool unbiased=True, bool keepdim=False | ints1? dim=None, *, Number? correction=None, bool keepdim=False | bool unbiased=True
Tensor.storage_offset: -
Tensor.sub: Tensor# other, *, Number alpha=1 | ~
Tensor.sub_: Tensor# other, *, Number alpha=1 | ~
Tensor.subtract: Tensor# other, *, Number alpha=1 | Number other, Number alpha=1
Tensor.subtract_: Tensor# other, *, Number alpha=1 | Number other, Number alpha=1
Tensor.sum: *, dtype? dtype=None | ints1 dim, bool keepdim=False, *, dtype? dtype=None
Tensor.sum_to_size: ints size
Tensor.svd: bool some=True, bool compute_uv=True
Tensor.swapaxes: int axis0, int axis1
Tensor.swapaxes_: int axis0, int axis1
Tensor.swapdims: int dim0, int dim1
Tensor.swapdims_: int dim0, int dim1
Tensor.t: -
Tensor.t_: -
Tensor.take: Tensor index
Tensor.take_along_dim: Tensor indices, int? dim=None
Tensor.tan: -
Tensor.tan_: -
Tensor.tanh: -
Tensor.tanh_: -
Tensor.tensor_split: ints indices, int dim=0 | Tensor tensor_indices_or_sections, int dim=0 | int sections, int dim=0
Tensor.tile: ints dims
Tensor.to: device? device=None, dtype? dtype=None, bool non_blocking=False, bool copy=False, *, memory_format? memory_format=None | dtype dtype, bool non_blocking=False, bool copy=False, *, memory_format? memory_format=None | Tensor tensor, bool non_blocking=False, bool copy=False, *, memory_format? memory_format=None
Tensor.to_dense: dtype? dtype=None, *, bool? masked_grad=None
Tensor.to_mkldnn: dtype? dtype=None
Tensor.to_padded_tensor: float padding, ints? output_size=None
Tensor.to_sparse: *, layout? layout=None, ints1? blocksize=None, int? dense_dim=None | int sparse_dim
Tensor.to_sparse_bsc: ints1 blocksize, int? dense_dim=None
Tensor.to_sparse_bsr: ints1 blocksize, int? dense_dim=None
Tensor.to_sparse_csc: int? dense_dim=None
Tensor.to_sparse_csr: int? dense_dim=None
Tensor.topk: int k, int dim=-1, bool largest=True, bool sorted=True
Tensor.trace: -
Tensor.transpose: int dim0, int dim1
Tensor.transpose_: int dim0, int dim1
Tensor.triangular_solve: Tensor A, bool upper=True, bool transpose=False, bool unitriangular=False
Tensor.tril: int diagonal=0
Tensor.tril_: int diagonal=0
Tensor.triu: int diagonal=0
Tensor.triu_: int diagonal=0
Tensor.true_divide: Tensor# other | Number other
Tensor.true_divide_: Tensor# other | Number other
Tensor.trunc: -
Tensor.trunc_: -
Tensor.type: object? dtype=None, bool non_blocking=False, *, memory_format? memory_format=None | ~
Tensor.type_as: Tensor other
Tensor.unbind: int dim=0
Tensor.unfold: int dimension, int size, int step
Tensor.uniform_: float from=0.0, float to=1.0, *, generator? generator=None
Tensor.unsafe_chunk: int chunks, int dim=0
Tensor.unsafe_split: int split_size, int dim=0
Tensor.unsafe_split_with_sizes: ints split_sizes, int dim=0
Tensor.unsqueeze: int dim
Tensor.unsqueeze_: int dim
Tensor.values: -
Tensor.var: ints1 dim, bool unbiased=True, bool keepdim=False | ints1? dim=None, *, Number? correction=None, bool keepdim=False | bool unbiased=True
Tensor.vdot: Tensor other
Tensor.view: dtype dtype | ints size
Tensor.view_as: Tensor other
Tensor.vsplit: int sections | ints indices
Tensor.where: Tensor condition, Tensor other | Tensor condition, Number other
Tensor.xlogy: Tensor# other | Number other
Tensor.xlogy_: Tensor# other | Number other
Tensor.xpu: device? device=None, bool non_blocking=False, *, memory_format? memory_format=None | ~
Tensor.zero_: -
"""

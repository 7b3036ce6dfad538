"""The results of functions and their shapes: `help` lists them from here if a docstring has no section `Returns:`.

A line of the table has names of functions and their result. If functions of the same name differ, `part.name` is the function in a module
with this part in its path. Functions need no line if their annotation suffices (None, bool, Self, ...), nor do in-place forms and
elementwise ops. Modules have a section `Shape:` instead, with the shapes of input and output.
"""

from __future__ import annotations

from collections.abc import Iterable

_TABLE = """
absolute, arccos, arccosh, arcsin, arcsinh, arctan, arctanh, airy_ai, expit, fix, gammaln, negative, positive, psi, square, round, polygamma, multigammaln: a tensor of the input's shape
bessel_j0, bessel_j1, bessel_y0, bessel_y1, modified_bessel_i0, modified_bessel_i1, modified_bessel_k0, modified_bessel_k1, spherical_bessel_j0: a tensor of the input's shape
scaled_modified_bessel_k0, scaled_modified_bessel_k1, entr, erfcx, i0e, i1, i1e, log_ndtr, ndtr, ndtri, conj_physical, frac, logit, hardshrink: a tensor of the input's shape
sigmoid, tanh, celu, elu, gelu, hardsigmoid, hardswish, hardtanh, leaky_relu, logsigmoid, mish, prelu, relu, relu6, rrelu, selu, silu, softplus, softshrink, softsign, tanhshrink, threshold: a tensor of the input's shape
softmax, softmin, log_softmax, gumbel_softmax, normalize, batch_norm, instance_norm, layer_norm, group_norm, rms_norm, local_response_norm: a tensor of the input's shape
alpha_dropout, dropout, dropout1d, dropout2d, dropout3d, feature_alpha_dropout, feature_dropout, bernoulli, poisson: a tensor of the input's shape
native_dropout: a pair of the input's shape: the result, and a bool mask of the elements kept
native_batch_norm, native_group_norm, native_layer_norm: a tuple: the result of the input's shape, and the means and reciprocal deviations, one for each group that was normalised
cumprod, cumsum, logcumsumexp, flip, fliplr, flipud, roll, tril, triu, msort, renorm, channel_shuffle, native_channel_shuffle, fftshift, ifftshift: a tensor of the input's shape
inv, inverse, matrix_exp, matrix_power, cholesky, cholesky_inverse: matrices of the input's shape
clamp, clamp_max, clamp_min, clip: a tensor of the input's shape; bounds that are tensors are broadcast with it
add, sub, subtract, rsub, multiply, div, divide, true_divide, floor_divide, fmod, remainder, pow, float_power, copysign, arctan2: a tensor of the shape that the operands broadcast to
addcdiv, addcmul, lerp, xlogy, xlog1py, zeta, gammainc, gammaincc, binomial, where: a tensor of the shape that the operands broadcast to
chebyshev_polynomial_t, chebyshev_polynomial_u, chebyshev_polynomial_v, chebyshev_polynomial_w, hermite_polynomial_h, hermite_polynomial_he: a tensor of the shape that the operands broadcast to
shifted_chebyshev_polynomial_t, shifted_chebyshev_polynomial_u, shifted_chebyshev_polynomial_v, shifted_chebyshev_polynomial_w, laguerre_polynomial_l, legendre_polynomial_p: a tensor of the shape that the operands broadcast to
greater, greater_equal, less, less_equal, not_equal, isclose: a bool tensor of the shape that the operands broadcast to
bitwise_not, isfinite, isinf, isnan, isneginf, isposinf, isreal, signbit: a tensor of the input's shape; of bools, but for `bitwise_not`
isin: a bool tensor of the shape of the elements
all, any: a bool tensor: a scalar, or the input's shape without `dim`, which has size 1 with `keepdim`
sum, mean, prod, nansum, nanmean, amax, amin, std, var, logsumexp, norm, native_norm, frobenius_norm, nuclear_norm, vector_norm, count_nonzero, quantile, nanquantile: a scalar, or the input's shape without `dim`, which has size 1 with `keepdim`
argmax, argmin: indices as int64: a scalar, or the input's shape without `dim`, which has size 1 with `keepdim`
matrix_norm: a number for each matrix: the shape without `dim`, which has size 1 with `keepdim`
std_mean, var_mean: both, each a scalar or of the input's shape without `dim`, which has size 1 with `keepdim`
aminmax: a named tuple (min, max), each a scalar or of the input's shape without `dim`
max, min, median, nanmedian: a scalar; with `dim` a named tuple (values, indices) of the input's shape without `dim`; with a second tensor their elementwise extreme
mode, kthvalue: a named tuple (values, indices), each of the input's shape without `dim`, which has size 1 with `keepdim`
cummax, cummin, sort: a named tuple (values, indices), each of the input's shape
gru, lstm, rnn_relu, rnn_tanh: a tuple: the outputs of all steps, (L, N, directions * hidden_size), and the last states of all layers and directions
allreduce_hook, fp16_compress_hook, bf16_compress_hook, post_localSGD_hook: a `Future` of the averaged gradients
fp16_compress_wrapper, bf16_compress_wrapper: a hook
broadcast_all: a tuple of tensors of one shape
clamp_probs: a tensor of the input's shape
logits_to_probs: probabilities, of the input's shape
probs_to_logits: logarithms, or log odds of Bernoulli variables
tril_matrix_to_vec: (..., n (n + 1) / 2) for (..., n, n)
vec_to_tril_matrix: (..., n, n) for (..., n (n + 1) / 2)
conv1d_input, conv2d_input, conv3d_input: the gradient of the input, of shape `input_size`
conv1d_weight, conv2d_weight, conv3d_weight: the gradient of the weight, of shape `weight_size`
custom_op: a `CustomOpDef`, or a decorator
register_fake: the function, or a decorator
export: the function
from_dlpack: a tensor that shares memory with it
get_analytical_jacobian: a tuple: the Jacobian of each input, and whether two runs agree, the sizes are right, and the dtypes are right
get_numerical_jacobian: a matrix for each input
get_default_load_endianness: a `LoadEndianness`, or None
get_default_mmap_options: the flags
get_safe_globals: a list
get_unsafe_globals_in_checkpoint: a list of names
hparams: a list of three records
make_dual: a tensor that shares memory with the primal
unpack_dual: a named tuple (primal, tangent)
masked.logaddexp: a tensor of the shape that the operands broadcast to
symbolic_trace: a `GraphModule`
summary.scalar, histogram_raw, summary.image, summary.audio, summary.text, pr_curve, summary.histogram: a record, for `FileWriter.add_summary`
unserializable_hook: the hook
wrap: the argument
is_inference_mode_enabled: True or False
dataset.cumsum: a list of the running totals
profiler_util.add: itself
draw.copy: a box
register_kernel: the function, or a decorator
safetensors.save: bytes
safetensors.save_file: None
spdiags: a sparse matrix of that shape
DoubleTensor, FloatTensor, HalfTensor, IntTensor, LongTensor: a sparse tensor
gru_cell, rnn_relu_cell, rnn_tanh_cell: the next state, (N, hidden_size)
lstm_cell: a tuple of the next hidden state and the next cell state, each (N, hidden_size)
topk: a named tuple (values, indices), each of the input's shape with size `k` along `dim`
argsort: indices as int64, of the input's shape
unique, unique_consecutive: the distinct values; if requested, a tuple with the inverse indices and the counts
bincount: a vector with one count for each integer from 0 to the largest
histc: a vector of `bins` counts
histogram: a named tuple (hist, bin_edges)
histogramdd: a named tuple (hist, bin_edges): an array of counts, and the edges of each dimension
bucketize, searchsorted: an index for each value, of the shape of the values
corrcoef, cov: a square matrix with a row for each variable
cdist: distances, (..., P, R) for inputs (..., P, M) and (..., R, M)
pdist: a vector of N (N - 1) / 2 distances
dist: a scalar
pairwise_distance, cosine_similarity: the shape that the inputs broadcast to, without the compared dimension
trapezoid, trapz: the input's shape without `dim`
cumulative_trapezoid: the input's shape with one less along `dim`
diff: the input's shape with `n` less along `dim`
torch.gradient, gradient: one tensor of the input's shape for each dimension
frexp: a named tuple (mantissa, exponent), each of the input's shape
hash_tensor: an integer as a scalar tensor, or one along each `dim`
arange, range, linspace, logspace, randperm: a vector
bartlett, blackman, cosine, exponential, gaussian, general_cosine, general_hamming, hamming, hann, kaiser, nuttall: a vector of `M` values
bartlett_window, blackman_window, hamming_window, hann_window, kaiser_window: a vector of `window_length` values
fftfreq, rfftfreq: a vector of frequencies
empty, empty_permuted, full, ones, zeros, rand, randn, randint, empty_strided, new_empty, new_empty_strided, new_full, new_ones, new_zeros: a tensor of the requested size
empty_like, full_like, ones_like, zeros_like, rand_like, randn_like, randint_like: a tensor of the input's shape
normal: a tensor of the shape of the mean or of the deviation, or of `size`
make_tensor: a tensor of the requested shape
eye: a matrix with ones on the diagonal
tensor, as_tensor, asarray, new_tensor, new, from_numpy, frombuffer, scalar_tensor: a tensor with these values
from_file: a vector over the memory of the file
tril_indices, triu_indices: a matrix of two rows: the rows and the columns of the elements
vander: a matrix with a row of powers for each element
one_hot: int64 of the input's shape with one more dimension, of `num_classes`
multinomial: indices as int64: `num_samples` for each row
combinations, cartesian_prod: a matrix with one combination in each row
meshgrid: one tensor for each input, all of the shape of the grid
block_diag: a matrix with the given matrices along its diagonal
cat, concat, concatenate: a tensor whose size along `dim` is the sum of theirs
stack: a tensor with one more dimension, `dim`, of the number of tensors
hstack, vstack, dstack, column_stack, row_stack: one tensor
chunk, split, split_with_sizes, tensor_split, hsplit, vsplit, dsplit, unsafe_chunk, unsafe_split, unsafe_split_with_sizes: a tuple of views, the parts along `dim`
unbind: a tuple of views, without `dim`
split_copy, split_with_sizes_copy, unbind_copy: the parts, as copies
reshape, reshape_as, view, view_as, unflatten, flatten, ravel: the same elements in the new shape; a view where the strides allow it
resize, resize_as: a tensor of the new size
squeeze, unsqueeze, transpose, swapaxes, swapdims, t, permute, movedim, moveaxis, adjoint, expand, expand_as, broadcast_to: a view with other dimensions
narrow, select, diagonal, unfold, as_strided: a view of a part of the input
functional.unfold: (N, C times the size of a window, the number of windows)
view_as_real: a view with one more dimension of size 2
view_as_complex: a view without the last dimension
real, imag: a view of the parts of complex numbers
conj: a tensor of the input's shape
slice_inverse, slice_scatter, select_scatter, diagonal_scatter, as_strided_scatter: a copy of the input with `src` written into a part of it
alias_copy, as_strided_copy, diagonal_copy, expand_copy, permute_copy, select_copy, slice_copy, squeeze_copy, t_copy, transpose_copy, unfold_copy, unsqueeze_copy, view_as_complex_copy, view_as_real_copy, view_copy, narrow_copy: the result of the function without `_copy`, as a copy
clone, detach_copy: a copy of the input's shape
detach: a view outside of the graph, on the same memory
contiguous, pin_memory, resolve_conj, resolve_neg, dequantize: the tensor itself if it is so already, else a copy
repeat, tile: the input, several times along its dimensions
repeat_interleave: the elements, each several times
rot90: the input, rotated; two sizes are swapped for odd `k`
atleast_1d, atleast_2d, atleast_3d: a view with at least so many dimensions; of several tensors a tuple
broadcast_tensors: a tuple of views of one shape
broadcast_shapes: the shape, a `torch.Size`
diag: the diagonal of a matrix, or a matrix with the given diagonal
diag_embed: a tensor with one more dimension
diagflat: a square matrix
fill: a tensor of the input's shape, all of one value
gather: the shape of `index`
take: the shape of `index`
take_along_dim: the shape of `indices`, broadcast with the input
index_select: the input's shape with as many along `dim` as there are indices
masked_select: a vector with the elements where the mask is True
nonzero: a matrix with the indices of one element in each row; with `as_tuple` a vector for each dimension
nonzero_static: a matrix with `size` rows
argwhere: a matrix with the indices of one element in each row
segment_reduce: the input's shape, with the number of segments along `axis`
unravel_index: a tuple with one tensor for each dimension
index_add, index_copy, index_fill, index_put, index_reduce, put, masked_fill, masked_scatter, scatter, scatter_add, scatter_reduce: a copy of the input, with the values written
sum_to_size: a tensor of the requested size
embedding: the shape of the indices with one more dimension: the vector of each
embedding_bag: (bags, embedding_dim)
top_level.embedding_bag: a tuple: the bags, (bags, embedding_dim), the bag of each index, the sizes of the bags, and the indices of the largest elements
matmul: the product: the last two dimensions are matrices, those before are broadcast; of two vectors a scalar
mm, spmm, dsmm, hsmm, smm, sspaddmm, scaled_mm: a matrix (n, p) for (n, m) and (m, p)
grouped_mm, scaled_grouped_mm: the products of the groups
bmm, baddbmm: (b, n, p) for batches (b, n, m) and (b, m, p)
addmm, addbmm: a matrix (n, p)
addmv, mv: a vector with an element for each row
addr, outer, ger: a matrix with a row for each element of the first vector
chain_matmul, multi_dot: the product, a matrix
dot, inner, vdot: a scalar, or for `inner` of more dimensions all but the last of both
vecdot: the shape that both broadcast to, without `dim`
cross: the shape that both broadcast to
kron: a tensor whose sizes are the products of the sizes
einsum: a tensor with the dimensions that the equation names on its right
tensordot, tensorinv, tensorsolve: a tensor with the dimensions that are left
householder_product, orgqr: matrices of the shape of the input
ormqr: matrices of the shape of the last operand
det, logdet, cond: a number for each matrix
slogdet: a named tuple (sign, logabsdet), a number for each matrix
matrix_rank: an integer for each matrix
trace: a scalar
pinv, pinverse: (..., m, n) for matrices (..., n, m)
solve, cholesky_solve, lu_solve, ldl_solve, solve_triangular: the solutions, of the shape of the right side
triangular_solve: a named tuple (solution, cloned_coefficient)
solve_ex: a named tuple (result, info)
lstsq: a named tuple (solution, residuals, rank, singular_values)
cholesky_ex: a named tuple (L, info)
inv_ex: a named tuple (inverse, info)
lu: the factors (P, L, U)
legacy.lu: a pair: L and U in one matrix, and the pivots; with `get_infos` a named tuple (LU, pivots, info)
lu_unpack: a named tuple (P, L, U)
lu_factor: a named tuple (LU, pivots)
lu_factor_ex: a named tuple (LU, pivots, info)
ldl_factor: a named tuple (LD, pivots)
ldl_factor_ex: a named tuple (LD, pivots, info)
qr: a named tuple (Q, R)
geqrf: a named tuple (a, tau)
svd: a named tuple of three, with the singular values (..., k), k the smaller of both sizes
svdvals: (..., k), k the smaller of both sizes
eig, eigh, symeig: a named tuple of eigenvalues (..., n) and eigenvectors (..., n, n)
legacy.eig, legacy.lstsq, legacy.matrix_rank, legacy.solve, legacy.symeig: nothing: raises an error, as PyTorch, which has removed it
eigvals, eigvalsh: (..., n)
svd_lowrank, pca_lowrank: a tuple (U, S, V) of shapes (..., m, q), (..., q) and (..., n, q)
lobpcg: a pair: the eigenvalues (..., k), and their vectors (..., m, k) for A (..., m, m)
fft, ifft, hfft, ihfft, rfft, irfft: the input's shape, but for `dim`: `n` for a full spectrum, n // 2 + 1 for half of one
fft2, ifft2, fftn, ifftn, hfft2, hfftn, ihfft2, ihfftn, rfft2, rfftn, irfft2, irfftn: the input's shape, but for the sizes `s`; half spectra have n // 2 + 1 along the last
stft: (..., frequencies, frames)
istft: (..., length)
linear: the input's shape with the rows of `weight` as its last size
bilinear: the shape of the inputs with the first size of `weight` as its last
conv1d, conv_tbc: (N, C_out, L_out) or, without a batch, (C_out, L_out); `conv_tbc` has time first
conv2d: (N, C_out, H_out, W_out) or, without a batch, (C_out, H_out, W_out), H_out = (H + 2 padding - dilation (kernel - 1) - 1) // stride + 1
conv3d: (N, C_out, D_out, H_out, W_out), each (n + 2 padding - dilation (kernel - 1) - 1) // stride + 1
conv_transpose1d, conv_transpose2d, conv_transpose3d: (N, C_out, ...), each size (n - 1) stride - 2 padding + dilation (kernel - 1) + output_padding + 1
convolution: the result of the convolution with that number of dimensions
avg_pool1d, avg_pool2d, avg_pool3d, lp_pool1d, lp_pool2d, lp_pool3d: the input's shape, whose last dimensions are the number of windows
max_pool1d, max_pool2d, max_pool3d, fractional_max_pool2d, fractional_max_pool3d: the input's shape, whose last dimensions are the number of windows; with `return_indices` a pair with the indices
top_level.max_pool1d, top_level.max_pool2d, top_level.max_pool3d: the input's shape, whose last dimensions are the number of windows
max_pool1d_with_indices, max_pool2d_with_indices, max_pool3d_with_indices, fractional_max_pool2d_with_indices, fractional_max_pool3d_with_indices: a pair: the largest element of each window, and its position, an int64 index into the plane
adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d: the input's shape with `output_size` as its last dimensions
adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d: the input's shape with `output_size` as its last dimensions; with `return_indices` a pair with the indices
adaptive_max_pool1d_with_indices, adaptive_max_pool2d_with_indices, adaptive_max_pool3d_with_indices: a pair: the values, and their int64 indices into the plane
max_unpool1d, max_unpool2d, max_unpool3d: the input's shape, whose last dimensions are `output_size`
interpolate, upsample, upsample_bilinear, upsample_nearest: (N, C, ...) with the new sizes
pixel_shuffle: (..., C / r^2, H r, W r)
pixel_unshuffle: (..., C r^2, H / r, W / r)
fold: (N, C, *output_size)
pad, constant_pad_nd: the input's shape with the padding added
affine_grid, affine_grid_generator: (N, H, W, 2), or (N, D, H, W, 3)
grid_sample, grid_sampler, grid_sampler_2d, grid_sampler_3d: (N, C, H_out, W_out), or (N, C, D_out, H_out, W_out)
glu: the input's shape with half the size along `dim`
scaled_dot_product_attention: (..., L, E_v): for each query a mean of the values
multi_head_attention_forward: a pair: the output (L, N, E), and the weights (N, L, S) or None
binary_cross_entropy, binary_cross_entropy_with_logits, cosine_embedding_loss, cross_entropy, ctc_loss, gaussian_nll_loss, hinge_embedding_loss, huber_loss, kl_div, l1_loss, linear_cross_entropy, margin_ranking_loss, mse_loss, multi_margin_loss, multilabel_margin_loss: a scalar; with `reduction="none"` one loss for each element or sample
multilabel_soft_margin_loss, nll_loss, poisson_nll_loss, smooth_l1_loss, soft_margin_loss, triplet_margin_loss, triplet_margin_with_distance_loss: a scalar; with `reduction="none"` one loss for each element or sample
top_level.binary_cross_entropy_with_logits, top_level.cosine_embedding_loss, top_level.ctc_loss, top_level.hinge_embedding_loss, top_level.kl_div, top_level.margin_ranking_loss, top_level.poisson_nll_loss, top_level.triplet_margin_loss: one loss for each element or sample; a scalar if they are reduced
bfloat16, bool, byte, cdouble, cfloat, char, double, float, half, int, long, short, type_as: the tensor itself if it has the dtype, else a copy
to, to_dense: the tensor itself if nothing has to change, else a copy
type: without an argument the name of the type; else the tensor in that type
as_subclass: the same memory as a tensor of that class
cpu: the tensor itself
cuda, ipu, mtia, xpu: nothing: raises an error, since there is no such device
item: a Python number
tolist: a Python number or nested lists
numpy: an array on the same memory
size: a `torch.Size`, or with `dim` an int
stride: a tuple of ints, or with `dim` an int
dim_order: a tuple of ints, from the slowest dimension to the fastest
storage, untyped_storage: the memory, as a storage object
storage_type: the class of its storage
to_dlpack: a capsule
is_coalesced, is_complex, is_conj, is_floating_point, is_inference, is_neg, is_signed: True or False
numel: an integer
coalesce: a sparse tensor without repeated indices
indices: int64, (sparse_dim, nse)
values: the values of a sparse or nested tensor, or of a dict
to_padded_tensor: a dense tensor
ccol_indices, col_indices, crow_indices, row_indices: a vector of int64
sparse_mask, to_sparse, to_sparse_bsc, to_sparse_bsr, to_sparse_coo, to_sparse_csc, to_sparse_csr: a sparse tensor
sparse_compressed_tensor, sparse_coo_tensor, sparse_csc_tensor, sparse_csr_tensor: a sparse tensor
to_mkldnn, int_repr, q_per_channel_axis, q_per_channel_scales, q_per_channel_zero_points, q_scale, q_zero_point, qscheme, region_activation_memory_budget: nothing: raises an error, since it is not available
module_load: the tensor to put into the module
get_autocast_cpu_dtype, get_autocast_dtype, get_autocast_gpu_dtype, get_default_dtype, promote_types, result_type: a dtype
get_default_device: a device
get_device_module: a module
get_file_path, get_float32_matmul_precision, typename: a string
sym_float, sym_max, sym_min: a number
manual_seed, set_state, clone_state, graphsafe_set_state: a generator
get_rng_state, get_state, graphsafe_get_state: the state: a vector of bytes, or of a generator, itself
initial_seed, seed: an integer
grad: a tuple with a gradient for each input, None where an input was not used
func.grad: a function that takes the same arguments and returns the gradient
func.hessian, jacfwd, jacrev: a function that takes the same arguments and returns the derivatives
grad_and_value: a function that takes the same arguments and returns the gradient and the value
func.jvp: the outputs, and the product with the Jacobian
func.vjp: the outputs, and a function that multiplies a vector by the Jacobian
linearize: the outputs, and a function that multiplies a tangent by the Jacobian
hessian, jacobian: a tensor, or nested tuples where there are several inputs or outputs
hvp, vhp, jvp, vjp: a pair: the outputs, and the product
vmap, functionalize: a function that takes the same arguments
stack_module_state: two dicts, parameters and buffers, each stacked
functional_call: the result of the module
debug_unwrap: the tensor without the levels of transforms
get_gradient_edge: a `GradientEdge`: a node, and which of its outputs
allow_mutation_on_saved_tensors, disable_saved_tensors_hooks, cached, swap_in_optimizer_params_and_state, set_checkpoint_debug_enabled, set_checkpoint_early_stop: a context manager
noop_context_fn, create_selective_checkpoint_contexts: two context managers, for the forward pass and for its recomputation
checkpoint, checkpoint_sequential: the result of the function
detach_variable: a tuple of detached copies
get_device_states: two empty lists: there is one device
custom_fwd, custom_bwd, profile_hook_step, register_kl: the decorated function
apply: the result of `forward`
forward: the result of the module or function
backward: a gradient for each input of forward, or None
Tensor.backward: None
setup_context: None
Function.jvp: a tangent for each output
get_worker_info: the worker that this process is, or None in the main process
random_split: a list of `Subset`
default_collate, default_convert: the same structure, of tensors
register_parametrization, remove_parametrizations, remove_spectral_norm, remove_weight_norm, spectral_norm, weight_norm, orthogonal: the module itself
init.orthogonal: the tensor itself
random_structured, random_unstructured, custom_from_mask, identity, l1_unstructured, ln_structured, remove: the module itself
convert_conv2d_weight_memory_format, convert_conv3d_weight_memory_format, transfer_parametrizations_and_params: the module itself
skip_init: the module, with uninitialised parameters
fuse_conv_bn_eval, fuse_linear_bn_eval: a new module that replaces both
fuse_conv_bn_weights, fuse_linear_bn_weights: a pair of parameters, weight and bias
clip_grad_norm, clip_grad_norm_, get_total_norm: the norm of all gradients together, before clipping: a scalar
norm_except_dim: the norms, of size 1 in all dimensions but one
parameters_to_vector: a vector
type_before_parametrizations: a class
constant, dirac, kaiming_normal, kaiming_uniform, sparse, uniform, xavier_normal, xavier_uniform: the tensor itself
init.normal, init.eye, init.ones, init.zeros: the tensor itself
calculate_gain: a number
pad_packed_sequence: a pair: the padded sequences, and their lengths
pad_sequence: (T, B, ...), or (B, T, ...) with `batch_first`
pack_padded_sequence, pack_sequence: a `PackedSequence`
unpack_sequence, unpad_sequence: a list of tensors, one for each sequence
invert_permutation: the permutation that undoes this one, or None
transform_to, biject_to: a transform
identity_transform: the values themselves
cdf, icdf, log_prob: a number for each distribution of the batch, at the values
entropy, perplexity, kl_divergence: a number for each distribution of the batch
sample, rsample, sample_n: `sample_shape`, then the shape of the batch, then that of an event
enumerate_support: the values along the first dimension, then the shape of the batch
distributions.expand: a distribution of the new batch shape
draw, fold_modules: a `Drawing`
inspect.fold: a `Drawing`
svg, html, inspect.dot: the text of the file
png, pdf: the bytes of the file
layout: the positions of the boxes and edges
extra_repr: a string
children, modules, buffers, parameters: an iterator
named_children, named_modules, named_buffers, named_parameters: an iterator of pairs of a name and a value
get_parameter: the parameter
get_buffer: the buffer
get_submodule: the module at that path
get_extra_state: anything that can be saved
state_dict: a dict of the state by name
load_state_dict: the missing and the unexpected keys; None of an optimiser
items: pairs of a key and a value
keys: the keys
get, setdefault, pop: the value
popitem: a pair of a key and a value
copy, fromkeys: a new dict
step: the result of the closure, or None
get_last_lr, get_lr: a list with the rate of each group of parameters
"""

_SHAPES = """
Linear, LazyLinear: (..., in_features) to (..., out_features)
Bilinear: (..., in1_features) and (..., in2_features) to (..., out_features)
Identity: any shape, unchanged
Conv1d, LazyConv1d: (N, C_in, L) to (N, C_out, L_out), L_out = (L + 2 padding - dilation (kernel_size - 1) - 1) // stride + 1; N may be left out
Conv2d, LazyConv2d: (N, C_in, H, W) to (N, C_out, H_out, W_out), H_out = (H + 2 padding - dilation (kernel_size - 1) - 1) // stride + 1; N may be left out
Conv3d, LazyConv3d: (N, C_in, D, H, W) to (N, C_out, D_out, H_out, W_out), D_out = (D + 2 padding - dilation (kernel_size - 1) - 1) // stride + 1; N may be left out
ConvTranspose1d, ConvTranspose2d, ConvTranspose3d, LazyConvTranspose1d, LazyConvTranspose2d, LazyConvTranspose3d: (N, C_in, ...) to (N, C_out, ...), each size (n - 1) stride - 2 padding + dilation (kernel_size - 1) + output_padding + 1; N may be left out
MaxPool1d, MaxPool2d, MaxPool3d, AvgPool1d, AvgPool2d, AvgPool3d, LPPool1d, LPPool2d, LPPool3d, FractionalMaxPool2d, FractionalMaxPool3d: (N, C, ...) to (N, C, ...) with the number of windows in the last dimensions; N may be left out
MaxUnpool1d, MaxUnpool2d, MaxUnpool3d: (N, C, ...) to (N, C, ...) with the size before pooling
AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveAvgPool3d, AdaptiveMaxPool1d, AdaptiveMaxPool2d, AdaptiveMaxPool3d: (N, C, ...) to (N, C, *output_size); N may be left out
BatchNorm1d, LazyBatchNorm1d: (N, C) or (N, C, L), unchanged
BatchNorm2d, LazyBatchNorm2d, InstanceNorm2d, LazyInstanceNorm2d: (N, C, H, W), unchanged
BatchNorm3d, LazyBatchNorm3d, InstanceNorm3d, LazyInstanceNorm3d: (N, C, D, H, W), unchanged
InstanceNorm1d, LazyInstanceNorm1d: (N, C, L), unchanged
SyncBatchNorm, GroupNorm, LocalResponseNorm, CrossMapLRN2d: (N, C, ...), unchanged
LayerNorm, RMSNorm: (..., *normalized_shape), unchanged
CELU, ELU, GELU, Hardshrink, Hardsigmoid, Hardswish, Hardtanh, LeakyReLU, LogSigmoid, Mish, PReLU, RReLU, ReLU, ReLU6, SELU, SiLU, Sigmoid, Softplus, Softshrink, Softsign, Tanh, Tanhshrink, Threshold: any shape, unchanged
Softmax, Softmin, LogSoftmax: any shape, unchanged
Softmax2d: (N, C, H, W), unchanged
GLU: (..., n, ...) to (..., n / 2, ...) along `dim`
Dropout, AlphaDropout, FeatureAlphaDropout: any shape, unchanged
Dropout1d, Dropout2d, Dropout3d: (N, C, ...), unchanged
Embedding: indices of any shape to the same shape with one more dimension, of embedding_dim
EmbeddingBag: indices (B, n), or a vector and offsets (B), to (B, embedding_dim)
RNN, GRU, RNNBase: input (L, N, input_size) and h_0 (layers, N, hidden_size) to output (L, N, hidden_size) and h_n; two directions double the last size and the layers
LSTM: input (L, N, input_size) and (h_0, c_0), each (layers, N, hidden_size), to output (L, N, hidden_size) and (h_n, c_n); two directions double the last size and the layers
RNNCell, GRUCell, RNNCellBase: input (N, input_size) and hidden (N, hidden_size) to hidden (N, hidden_size); N may be left out
LSTMCell: input (N, input_size) and (h, c), each (N, hidden_size), to (h, c)
MultiheadAttention: query (L, N, E), key (S, N, kdim) and value (S, N, vdim) to output (L, N, E) and weights (N, L, S); N comes first with batch_first
Transformer: source (S, N, E) and target (T, N, E) to (T, N, E); N comes first with batch_first
TransformerEncoder, TransformerEncoderLayer: (S, N, E), unchanged; N comes first with batch_first
TransformerDecoder, TransformerDecoderLayer: target (T, N, E) and memory (S, N, E) to (T, N, E); N comes first with batch_first
Flatten: (N, ...) to (N, the product of the other sizes)
Unflatten: the size of `dim` becomes `unflattened_size`
Fold: (N, C times the size of a window, windows) to (N, C, *output_size)
Unfold: (N, C, ...) to (N, C times the size of a window, windows)
PixelShuffle: (..., C r^2, H, W) to (..., C, H r, W r)
PixelUnshuffle: (..., C, H r, W r) to (..., C r^2, H, W)
ChannelShuffle: (N, C, ...), unchanged
Upsample, UpsamplingBilinear2d, UpsamplingNearest2d: (N, C, ...) to (N, C, ...) with the new sizes
CircularPad1d, ConstantPad1d, ReflectionPad1d, ReplicationPad1d, ZeroPad1d: (N, C, W) to (N, C, W + padding); N may be left out
CircularPad2d, ConstantPad2d, ReflectionPad2d, ReplicationPad2d, ZeroPad2d: (N, C, H, W) to (N, C, H + padding, W + padding); N may be left out
CircularPad3d, ConstantPad3d, ReflectionPad3d, ReplicationPad3d, ZeroPad3d: (N, C, D, H, W) to the same with the padding added; N may be left out
CosineSimilarity, PairwiseDistance: two tensors (..., D) to (...)
L1Loss, MSELoss, HuberLoss, SmoothL1Loss, BCELoss, BCEWithLogitsLoss, KLDivLoss, PoissonNLLLoss, SoftMarginLoss, HingeEmbeddingLoss, MultiLabelSoftMarginLoss: input and target of one shape to a scalar; with reduction="none" to a loss for each element or sample
GaussianNLLLoss: input, target and variance of one shape to a scalar; with reduction="none" to a loss for each element
CrossEntropyLoss, NLLLoss, NLLLoss2d: input (N, C, ...) and classes (N, ...) to a scalar; with reduction="none" to (N, ...)
LinearCrossEntropyLoss: input (N, in_features) and classes (N) to a scalar
AdaptiveLogSoftmaxWithLoss: input (N, in_features) and classes (N) to a named tuple (output (N), loss)
MultiMarginLoss, MultiLabelMarginLoss: input (N, C) and the target to a scalar; with reduction="none" to (N)
MarginRankingLoss: two inputs and a target, all (N), to a scalar; with reduction="none" to (N)
CosineEmbeddingLoss: two inputs (N, D) and a target (N) to a scalar; with reduction="none" to (N)
TripletMarginLoss, TripletMarginWithDistanceLoss: anchor, positive and negative, all (N, D), to a scalar; with reduction="none" to (N)
CTCLoss: log_probs (T, N, C), targets (N, S), input_lengths (N) and target_lengths (N) to a scalar; with reduction="none" to (N)
DataParallel, Sequential: those of the module inside; of a Sequential, from those of the first to those of the last
"""

_BY_ANNOTATION = {
    "None": "None",
    "NoReturn": "nothing: raises an error",
    "bool": "True or False",
    "int": "an integer",
    "Self": "itself",
    "Work | None": "with `async_op` a `Work`, otherwise None",
    "_M": "the module itself",
    "RemovableHandle": "a handle whose `remove()` removes the hook",
    "Iterator[None]": "a context manager",
}
_SAME = "a tensor of the input's shape"
_BROADCAST = "a tensor of the shape that the operands broadcast to"

_results: dict[str, str] = {}
_shapes: dict[str, str] = {}


def _read(table: str, into: dict[str, str]) -> None:
    lines = [line.partition(": ") for line in table.strip().splitlines()]
    into.update({name: words for names, _, words in lines for name in names.split(", ")})  # at once, for other threads


def result(
    path: str, name: str, annotation: object, elementwise: bool = False, names: Iterable[str] = ()
) -> str | None:
    """The result of a function, in words. `path` is the module that defines it, `names` are the names of its arguments.

    >>> result("penlight.ops", "mm", "Tensor")
    'a matrix (n, p) for (n, m) and (m, p)'
    """
    if not _results:
        _read(_TABLE, _results)
    for part in path.split("."):
        if (words := _results.get(f"{part}.{name}")) is not None:
            return words
    words = _BY_ANNOTATION.get(str(annotation)) or _results.get(name)
    if words is None and name.endswith("_"):
        return "the tensor itself"
    if words is None and elementwise:
        return _BROADCAST if "other" in names else _SAME
    return words


def shape(name: str) -> str | None:
    """The shapes of a module's input and output, in words.

    >>> shape("Linear")
    '(..., in_features) to (..., out_features)'
    """
    if not _shapes:
        _read(_SHAPES, _shapes)
    return _shapes.get(name)

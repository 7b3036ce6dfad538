"""The meaning of arguments, shared by all functions that have them: `help` lists them from here.

A docstring describes what is specific to a function; it need not repeat the meaning of `dim` or `keepdim`. A line of the table is an
argument name, or `function.name` if the meaning differs there, and its meaning.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from types import FunctionType
from typing import Any

from .docstrings import indentation
from .returns import result, shape

_TABLE = """
A: a matrix, or a batch of them: the last two dimensions
A.lobpcg: a Hermitian matrix, or a batch of them
A_rows, n.eye: the number of rows
B: the right side, a vector or a matrix or a batch of them
B.lobpcg: a positive definite matrix; None is the identity
C.native_group_norm: the number of channels
HxW: the number of elements of a channel
LU: the factors of `lu_factor`, in one matrix
LU_data: the factors of `lu_factor`, in one matrix
LU_pivots: the pivots of `lu_factor`
M: the number of points
M.svd_lowrank: a matrix to subtract from A, broadcast with it
N.vander: the number of columns
N.native_group_norm: the size of the batch
UPLO: the triangle to read, "L" or "U"
a.kaiming_normal_, a.kaiming_uniform_, a.kaiming_normal, a.kaiming_uniform: the slope on the negative side of the leaky ReLU that follows
a.uniform_, a.uniform: the lower bound
a.sym_float, a.sym_int, a.sym_not: the number
a.sym_max, a.sym_min, b.sym_max, b.sym_min: the numbers to compare
accumulate: add to the elements instead of overwriting them
accuracy: accepted
activation: "relu", "gelu" or a function
affine: with a learnt weight and bias for each channel
align_corners: whether the corners of both grids are the centres of corner pixels
align_to_window: frames as long as the window, not as `n_fft`; only with `center=False`
alpha: the factor of the second operand
alpha.celu, alpha.CELU, alpha.elu, alpha.ELU, alpha.elu_, alpha.celu_: the scale of the negative part
alpha.LocalResponseNorm, alpha.local_response_norm, alpha.CrossMapLRN2d: the factor of the sum of squares
alpha.RMSprop: the decay rate of the mean of squares
alpha.Pareto: the shape
alpha.hamming_window: the constant of the window
ambiguity_check: refuse strides that fit several orders
amsgrad: divide by the largest second moment so far
anchor: the points to compare with
antialias: smooth before making smaller
append: values to append to the input first
approximate: "none", or "tanh" for an approximation by tanh
as_tuple: a tuple with the indices of each dimension, instead of a matrix
attn_dropout: the probability to drop a weight of attention
attn_mask: the keys that each query may attend to: True allows; or numbers to add to the scores
aweights: weights of the observations
axis: as `dim`, by NumPy's name
axis0, axis1: the dimensions to exchange
b.uniform_, b.uniform: the upper bound
b.lstsq: the right sides
b.set_warn_always: whether to repeat warnings that are otherwise issued once
b_hh: the bias of the state's part, or None
b_ih: the bias of the input's part, or None
base: the base of the power or logarithm
base_distribution: the distribution to transform
batch1, batch2: batches of matrices
batch_first: inputs and outputs are (batch, sequence, features), not (sequence, batch, features)
batch_shape: the shape of the batch of distributions
beta: the factor of the first operand
beta.softplus, beta.Softplus: the sharpness of the bend
beta.smooth_l1_loss, beta.SmoothL1Loss: the error at which the loss changes from a square to a line
beta.LocalResponseNorm, beta.local_response_norm, beta.CrossMapLRN2d: the exponent
beta.hamming_window: the factor of the cosine
betas: the decay rates of the running means of the gradient and of its square
bias: whether to add a learnt bias
bias.linear, bias.bilinear, bias.conv1d, bias.conv2d, bias.conv3d, bias.conv_transpose1d, bias.conv_transpose2d, bias.conv_transpose3d, bias.conv_tbc, bias.batch_norm, bias.layer_norm, bias.group_norm, bias.instance_norm, bias.convolution, bias.native_batch_norm, bias.native_group_norm, bias.native_layer_norm: a number to add for each output channel, or None
bidirectional: also process the sequence in reverse
bins: the number of bins, or their edges
blank: the label of the blank
boundaries: the edges of the buckets, ascending
capturable: accepted; there are no CUDA graphs here
ceil_mode: include a last window that is not full
center.pca_lowrank: subtract the mean of each column first
center.istft, center.stft: frame t is centred at t * hop_length, in a signal that is padded at both ends; otherwise it begins there
centered: subtract the square of the mean gradient from the mean square
check_errors: raise where the factorisation fails
check_invariants: accepted; indices are always checked
chunks: the number of parts
clip: refuse indices out of range, wrap or clip them
col: the number of columns
col_indices: the column of each value
compressed_indices: the offset of each row, or with CSC each column, in the values, and the end of the last
compute_mode: accepted; distances are computed exactly
compute_pivots: accepted
compute_uv: compute the singular vectors; otherwise they are zeros
concentration, concentration0, concentration1: the shape parameters of the distribution, positive
condition: True where to take the element of `input`
copy: whether to copy even if nothing has to change
correction: the number subtracted from the count of elements in the divisor
count_include_pad: the padding counts in the mean
covariance_matrix: the covariance, positive definite
create_graph: record the backward pass, so that its result can be differentiated again
cudnn_enable, cudnn_enabled: accepted; there is no cuDNN
d_model: the number of features
dampening: the reduction of a new gradient's weight in the momentum
data: numbers, a nested list, an array or a tensor
data.segment_reduce: the tensor to reduce
debug_mode: 0 or "default", 1 or "warn", 2 or "error"
decimals: the number of decimals; negative ones count to the left
delta: the error at which the loss changes from a square to a line
dense_dim: the number of dimensions of each stored value; None is none
density: divide so that the integral is 1
descending: the largest first
device: the device of the result or the parameters: "cpu", or "meta" for shapes without data
device.get_device_module: a device, its name, or None for the CPU
device.set_default_device: "cpu", "meta", or None for the CPU
diagonal: the diagonal: 0 is the main one, positive ones are above it
differentiable: record the step in the graph
dilation: the distance between elements of the kernel
dim: the dimension; a negative one counts from the last
dim.norm, dim.sum, dim.mean, dim.var, dim.std, dim.amax, dim.amin, dim.logsumexp, dim.all, dim.any, dim.nansum, dim.nanmean: the dimension, or several; None means all
dim0, dim1, dim2: dimensions
dim_feedforward: the width of the hidden layer
dims: the dimensions
distance_function: a function that returns the distances of two batches of points
div_value: the factor by which the projections of rarer clusters are smaller
divisor_override: divide by this instead of the size of the window
downscale_factor: the factor by which to shrink
driver: the algorithm of LAPACK
dropout: the probability to drop an element while training
dropout_p: the probability to drop a weight of attention
dtype: the dtype of the result, or of the parameters; None takes that of the input, or the default
dtype.set_autocast_cpu_dtype, dtype.set_autocast_dtype, dtype.set_autocast_gpu_dtype: the dtype to cast to
dx: the distance between the points
e.eig: accepted
edge_order: the order of the differences at the edges
eigenvectors: compute the eigenvectors too
elementwise_affine: with a learnt weight for each element
embedding_dim: the size of each vector
enabled: whether it has an effect
end: the end; not included
end_dim: the last of the dimensions to join
ens: accepted
eps: a small number that keeps divisions from failing
equal_nan: NaN equals NaN
equation: the labels of the dimensions, such as "ij,jk->ik"
error_if_nonfinite: raise if the norm is NaN or infinite
etas: the factors by which steps shrink and grow
event_shape: the shape of one sample
exponent: the exponent, a number or a tensor
filename: the path of the file
fill_value: the number to fill with
foreach: accepted; the update is the same
full: include the constant terms
func: a function of tensors
fused: accepted; the update is the same
fweights: the number of times that each observation counts
gain: a factor
gamma: the factor of the learning rate
generator: the random generator; None for the default one
get_infos: also return an error code for each matrix
gradient: the gradient with which the pass starts; None is 1 for a scalar
grad_outputs, grad_tensors: the gradients with which the pass starts: a tensor like each output
grid: the points to sample, coordinates from -1 to 1 in the last dimension, x first
group: the number of groups
group.get_rank, group.get_world_size, group.get_backend, group.get_backend_config, group.get_process_group_ranks, group.destroy_process_group: the process group; the default group, if it is not given
groups: the number of groups of channels, which are convolved separately
has_aux: the function also returns something that is not differentiated
has_biases: whether there are two biases behind the two weights of each layer and direction in `params`
head_bias: with a bias in the first cluster
hermitian: the matrices are symmetric, or Hermitian if complex
hidden_size: the number of features of the state
high: the end; not included
hop_length: the distance from one frame to the next; None is a quarter of `n_fft`
hx: the state before the first step; of an LSTM a pair of states, hidden and cell
ignore_index: the target to ignore
imag: the imaginary parts
in1_features, in2_features, in_features: the size of an input
in_channels: the channels of the input
include_last_offset: the last offset is the end of the last bag
include_self: include the elements of the tensor itself
index: indices along the dimension, integers
indices: indices of elements, integers
indices.embedding, indices.embedding_bag: integers, the rows to look up
indices.segment_reduce: refused, as in PyTorch
indices_or_sections, tensor_indices_or_sections, sections: the number of parts, or the indices at which to split
init: the first value
initial: the value with which each segment starts, and the result for an empty one
initial_accumulator_value: the initial sum of squares
initial_lr: the first learning rate
inplace: write the result into the input
input: the tensor to work on
input.linear, input.conv1d, input.conv2d, input.conv3d: the batch to transform
input.embedding, input.embedding_bag: integers, the rows to look up
input.cross_entropy, input.nll_loss: scores for each class, (batch, classes, ...)
input.lu_solve, input.triangular_solve: the right side, a matrix or a batch of them
input.istft: frequencies by frames, as `stft` returns them
input.stft: the signal, or a batch of signals
input1, input2: the batches to compare
input2.orgqr, input2.ormqr: the factors of the reflectors, as `geqrf` returns them
input3: the matrix to multiply with
input_lengths: the length of each sequence of probabilities
input_size: the number of features of the input
input_size.fold, input_size.unfold: the size of the images
interpolation: the choice between two elements: "linear", "lower", "higher", "nearest" or "midpoint"
invert: True for the elements that are not found
is_causal: each query attends only to the keys up to its position
is_coalesced: whether the indices are sorted and none occurs twice; None if unknown

k: the diagonal, or the number
k.topk: the number of elements
k.kthvalue: the rank: 1 is the smallest
k.lobpcg: the number of eigenvalues
keepdim: keep a reduced dimension with size 1
keepdims: as `keepdim`, by NumPy's name
kernel_size: the size of the window: one number, or one for each dimension
keys: the names
kthvalue: the rank
label_smoothing: the share of each target that is distributed over all classes
lambd: the threshold
largest.lobpcg: the largest eigenvalues, or if False the smallest
last_epoch: the epoch to continue from; -1 to begin
layer_norm_eps: a small number that keeps divisions from failing
layout: accepted; the result is strided
layout.sparse_compressed_tensor: `torch.sparse_csr` or `torch.sparse_csc`
left: multiply from the left
length: the number of elements
length.istft: the length of the signal; None is what the frames cover
lengths: the length of each sequence
lengths.segment_reduce: the length of each segment
loc: the location parameter
log_input: the input is the logarithm of the rate
log_probs: logarithms of probabilities, (time, batch, classes)
log_target: the target is a logarithm too
logits: logarithms of probabilities, up to a constant; instead of `probs`
low: the beginning
lower, upper.rrelu, upper.RReLU: the bounds of the slope of the negative side
lr: the learning rate
lr_decay: the decay of the learning rate
lr_lambda: a function from the epoch to the factor of the learning rate, or a list of such functions
margin: the difference by which the right one should be better
mask: True for the selected elements
mat, mat1, mat2: a matrix
max: the greatest value allowed, or of the range
max_iter: the maximum number of steps
max_norm: the maximum norm of a row; longer rows are scaled down
max_val, max_value: the greatest value
maximize: ascend instead of descend
mean: the mean of the distribution
mean.normal_: the mean
memory_format: the order of the elements in memory
min: the least value allowed, or of the range
min_val, min_value: the least value
minlength: the least length of the result
mode: the variant
mode.interpolate, mode.Upsample, mode.upsample: "nearest", "linear", "bilinear", "bicubic", "trilinear", "area" or "nearest-exact"
mode.grid_sample: "bilinear", "nearest" or "bicubic"
mode.pad: "constant", "reflect", "replicate" or "circular"
mode.EmbeddingBag, mode.embedding_bag: "sum", "mean" or "max" of a bag
mode.inference_mode, mode.set_grad_enabled: whether it has an effect
mode.qr, mode.linalg_qr: "reduced", "complete" or "r"
mode.kaiming_normal, mode.kaiming_uniform, mode.kaiming_normal_, mode.kaiming_uniform_: keep the variance of the forward pass, "fan_in", or of the backward pass, "fan_out"
mode.set_flush_denormal: accepted
mode.use_deterministic_algorithms: whether to request them
momentum: the weight of the previous updates; 0 is none
momentum.BatchNorm1d, momentum.BatchNorm2d, momentum.BatchNorm3d, momentum.batch_norm, momentum.instance_norm, momentum.native_batch_norm: the weight of a new batch in the running mean and variance
momentum_decay: how the momentum changes over the steps
n: the number, or how many times
n.fft, n.ifft, n.rfft, n.irfft, n.hfft, n.ihfft: the length along the dimension, cut or padded with zeros; None keeps it
n.special_polygamma, n.polygamma, n.polygamma_: the order of the derivative
n.lobpcg: the number of columns that PyTorch iterates on
n.set_num_interop_threads, n.set_num_threads: the number of threads
n_classes, num_classes: the number of classes
n_fft: the size of each Fourier transform
n_power_iterations: the number of steps of the power method
nan, neginf, posinf: its replacement in the result
negative: the points that should be far
negative_slope: the slope of the negative side
nesterov: use Nesterov momentum
nhead, num_heads: the number of heads; it divides the features
niter: the number of power iterations that improve the projection
nonlinearity: "tanh" or "relu"
nonlinearity.kaiming_normal_, nonlinearity.kaiming_uniform_, nonlinearity.calculate_gain: the name of the activation that follows, such as "relu"
norm: how the transform is scaled: "backward", "ortho" or "forward"
norm_first: normalise before attention and feed-forward, not after
norm_type: the order of the norm: 2 is the Euclidean one
normalized: scale to an orthonormal transform
normalized_shape: the sizes of the last dimensions, over which it normalises
num_channels, num_features: the number of channels of the input
num_embeddings: the number of vectors
num_groups: the number of groups of channels
num_layers: the number of stacked layers
num_parameters: 1, or one slope for each channel
num_samples: the number of samples to draw
obj: numbers, a nested list, an array or a tensor
obj.is_storage, obj.is_tensor, obj.typename: anything
offset: the diagonal: 0 is the main one, positive ones are above it
offsets: the index at which each bag begins
offsets.segment_reduce: the index at which each segment begins, and the end of the last
onesided: only the frequencies from 0 to the middle, which determine the others of a real signal; None decides by the dtype
optimizer: the optimiser whose learning rate is scheduled
options: settings
ord: the order of the norm
ortho_bparams, ortho_fparams, ortho_iparams: accepted; there is no iteration to control
other: the second operand: a tensor, or a number where one makes sense
out: a tensor to write the result into
out.geqrf, out.lu, out.lu_unpack, out.qr, out.slogdet, out.svd, out.triangular_solve: a tuple of tensors to write the results into
out_channels: the channels of the output
out_features: the size of the output
out_int32: return the indices as int32
output_padding: the amount to add on one side of the output
output_ratio: the size of the output relative to the input's
output_size: the size of the output
output_size.repeat_interleave: the size of the result along the dimension, if it is known
p: the probability to drop an element
p.norm, p.dist, p.cdist, p.pdist, p.normalize, p.pairwise_distance, p.PairwiseDistance, p.renorm, p.renorm_, p.native_norm, p.triplet_margin_loss, p.TripletMarginLoss, p.multi_margin_loss, p.MultiMarginLoss: the order of the norm: 2 is the Euclidean one
p.bernoulli, p.bernoulli_: the probability of 1
p.mvlgamma, p.multigammaln: the dimension
pad, padding: the amount to add at the edges: one number, or one for each side or dimension
pad.constant_pad_nd, pad.pad: the amount to add before and after, for the last dimension first; a negative one cuts
pad_mode: how the ends are padded: "reflect", "constant", "replicate" or "circular"
padding_idx: the row that gets no gradient
padding_mode: the values beyond the edges: "zeros", "reflect", "replicate" or "circular"
padding_mode.grid_sample: the values beyond the edges: "zeros", "border" or "reflection"
parameters: the parameters, or one of them
params: the parameters, or groups of them with settings of their own
params.lstm, params.gru, params.rnn_tanh, params.rnn_relu: the weights and biases of all layers and directions, one after the other
per_sample_weights: a factor for each element of a bag
periodic: the window continues into its repetition, for spectra; else symmetric, for filters
persistent: saved with the module
physical_layout: the order of the dimensions in memory, the one with the longest stride first
pin_memory: accepted; there is no accelerator to pin memory for
pivot, pivots: with row exchanges
plain_indices: the column, or with CSC the row, of each value
pos_weight: the weight of the positive class
positive: the points that should be near
precision.set_float32_matmul_precision: "highest", "high" or "medium"
precision_matrix: the inverse of the covariance
prepend: values to put before the input first
probs: probabilities; instead of `logits`
proj_size: the size of the output, if it is projected
q: the quantiles, between 0 and 1
q.pca_lowrank, q.svd_lowrank: the number of singular values
range: the least and the greatest value of each dimension
rate: the rate, positive
rcond: singular values below this times the largest count as 0
real: the real parts
recompute_scale_factor: compute the factor again from the sizes
recurse: include submodules
reduce.scatter, reduce.scatter_, reduce.index_reduce, reduce.index_reduce_, reduce.scatter_reduce, reduce.scatter_reduce_: how equal indices are combined: "sum", "prod", "mean", "amax", "amin"
reduce, size_average: deprecated; use `reduction`
reduce.segment_reduce: "sum", "mean", "max", "min" or "prod"
reduction: "mean", "sum", or "none" for a loss for each element
repeats: the number of repetitions, one number or one for each element
replacement: whether an element can be drawn more than once
requires_grad: whether the result is a leaf that requires grad
retain_graph: keep the saved tensors, for another backward pass
return_complex: the result is complex
return_counts: also return the number of occurrences of each
return_indices: also return the position of each maximum
return_inverse: also return the position of each element of the input in the result
rho: the decay rate of the mean of squares
right: the side to which an equal boundary belongs
rounding_mode: None, "trunc" towards zero, or "floor" downwards
row: the number of rows
row_indices: the row of each value
running_mean, running_var: the running mean and variance, updated while training
s: the sizes along the dimensions, cut or padded with zeros
scale: the scale parameter, positive
scale.scaled_dot_product_attention: the factor of the scores; None is 1 over the root of the features
scale_factor: the factor by which to enlarge: one number, or one for each dimension
scale_grad_by_freq: divide the gradient of a row by how often it occurs
scale_tril: the lower triangular factor of the covariance
seed: an integer
set_to_none: set gradients to None instead of zeros
shape: the sizes
shifts: the number of positions to shift by, one number or one for each dimension
side: "left" or "right" of equal elements
size: the sizes of the result
size.LocalResponseNorm, size.local_response_norm, size.CrossMapLRN2d: the number of channels in a window
size.interpolate, size.Upsample, size.upsample: the size of the output; instead of `scale_factor`
size.from_file: the number of elements
sizes: the sizes
some: the reduced form; else the full one
sorted: sort the result
sorted_sequence: the boundaries, ascending
sorter: the indices that sort the boundaries
source: the values to write
source.movedim, source.moveaxis: the positions of the dimensions
destination.movedim, destination.moveaxis: their new positions
spacing: the distance between the points
sparse: the gradient of the weight is a sparse tensor
sparse_grad: the gradient of the input is a sparse tensor
split_size, split_sizes, split_size_or_sections: the size of each part, or a list of sizes
src: the values to write, or one number
stable: equal elements keep their order
start: the start
start_dim: the first of the dimensions to join
std: the standard deviation
step: the difference between consecutive values
steps: the number of values
storage_offset: the offset of the first element in the storage
strict: refuse outputs that do not depend on the inputs
stride: the distance from one window to the next; one number, or one for each dimension
stride.as_strided, stride.as_strided_scatter, stride.empty_strided, stride.as_strided_: the distance in memory from one element to the next, for each dimension
swap: exchange anchor and positive if that is nearer to the negative
sym: symmetric, for filters; else periodic, for spectra
symmetric: as `hermitian` of `torch.linalg.matrix_rank`
t.set_default_tensor_type: the type, or its name
target: the desired result
target.cross_entropy, target.nll_loss: the class of each sample, or with `cross_entropy` probabilities of the classes
target.cosine_embedding_loss, target.hinge_embedding_loss, target.margin_ranking_loss: 1 or -1 for each sample
target_lengths: the length of each target
targets: the labels
tau: the temperature
tensor: the tensor to work on
tensor1, tensor2: the factors
tensor1.result_type, tensor2.result_type: a tensor or a number
tensors: the tensors
test_elements: the elements to look for
theta: the affine matrices, (batch, 2, 3) or (batch, 3, 4)
threshold: the value above which the function is linear, or passes its input
tolerance_change: end when the value changes by less
tolerance_grad: end when the gradient is smaller
total_iters: the number of steps after which it ends
track_running_stats: keep a running mean and variance for use after training
tracker: refused; there is no iteration to track
training: whether elements are dropped, or the batch's own mean is used
training.rrelu, training.rrelu_: whether slopes are drawn; else each is the middle of the range
transpose, adjoint: with the transposed, or conjugate transposed, matrix
transposed: compute the transposed convolution
type1, type2: dtypes
unbiased: divide by the number of elements minus one
unflattened_size: the sizes of the new dimensions
unitriangular: the diagonal is ones and is not read
unpack_data: return L and U
unpack_pivots: return P
unsafe.segment_reduce: do not check that the lengths add up
upper: the upper triangle
upscale_factor: the factor by which to enlarge
use_input_stats: normalise by the batch's own mean and variance
v: a vector, or the gradient with which the pass starts
v.eig: accepted
val: the number
validate_args: check the arguments; None for the default, which `Distribution.set_default_validate_args` sets
value: the number, or the values to write
value.constant_pad_nd, value.pad: the number to add
values: the values to write
values.sparse_compressed_tensor, values.sparse_coo_tensor, values.sparse_csc_tensor, values.sparse_csr_tensor: the values that are stored
var: the variances
vec, vec1, vec2: a vector
warn_only: warn instead of raising an error
weight: learnt weights
weight.cross_entropy, weight.CrossEntropyLoss, weight.nll_loss, weight.NLLLoss, weight.multi_margin_loss, weight.MultiMarginLoss: the weight of each class
weight.binary_cross_entropy, weight.BCELoss, weight.BCEWithLogitsLoss, weight.binary_cross_entropy_with_logits, weight.histogram, weight.histogramdd, weight.bincount, weights: the weight of each element
weight_decay: the factor of the parameter that is added to its gradient
win_length: the length of the window; None is `n_fft`
window: a vector of weights for each frame; None is ones
window_length: the number of values
with_replacement: an element can be repeated
x: the points, or a tensor
x1, x2: the tensors to compare
y: values at the points, or a tensor
zero_infinity: losses that are infinite count as 0
abs.polar: the absolute values
acc_dtype, acc_policy, batch_chunk_size, chunking_method, allow_retain_graph: how the work is divided; see PyTorch
add_zero_attn: add a key and a value of zeros
adjust_lr_fn: how the learning rate follows the shape of a matrix
angle.polar: the angles
anneal_strategy: "cos" or "linear"
argnums: the positions of the arguments to differentiate with respect to
assume_unique: accepted
average_attn_weights: average the weights over the heads
base_momentum, max_momentum: the least and the greatest momentum
beta2_decay: the exponent of the decay rate of the mean of squares
bias_k, bias_v: a key and a value to add
cache_size: 1 remembers the last pair, 0 none
callable: a function of one element of each tensor, to a number
category, itemsize, np_dtype: the description of the dtype
center: the position of the maximum
chunk_size: the maximum number at a time
constraint: the set that values must lie in
count.frombuffer: the number of elements; -1 for all
ctx: the context, which carries values from the forward to the backward pass
custom_decoder, custom_encoder: a module to use instead
cutoffs: the ends of the clusters
d.set_default_dtype: a dtype of floating point
decoder_layer, encoder_layer: the layer to repeat
decoupled_weight_decay: shrink the parameter itself, as in AdamW
destination: the dict to add the values to
dst_type: the dtype
embed_dim_to_check: the number of features of the query
enable_gqa: allow fewer heads of keys and values than of queries
enable_nested_tensor, mask_check: accepted; no fast path of nested tensors is here
event_dim: the number of dimensions of an event
force: also detach, and copy if necessary
from_: the dtype to convert from
full_matrices: with all singular vectors
grad_inputs: the tangents of the inputs
implicit: accepted
in_dims: the batch dimension of each input
in_proj_bias, in_proj_weight, k_proj_weight, out_proj_bias, out_proj_weight, q_proj_weight, v_proj_weight: weights and biases of the projections
info: the size of the batch, and how random numbers are drawn
inputs: the tensors to differentiate with respect to
inputs.setup_context: the arguments of the forward pass
iterable: the sizes
key: the name or the index
key.multi_head_attention_forward: the keys
key_padding_mask: True for keys to ignore
largest: the largest, or if False the smallest
legacy: accepted, in PyTorch's old order of arguments
linear_bias, linear_weight: the weights and biases of the last layer
m.eye: the number of columns; None is as many as rows
mask.sparse_mask: a sparse tensor with the indices to take
masked_grad: compute gradients only for stored elements
mat_a, mat_b: the matrices
maxnorm: the maximum norm
median: the median
memo: modules that were visited already
models: modules of one kind
module: the module
name: the name
name.identity, name.l1_unstructured, name.ln_structured, name.random_structured, name.random_unstructured, name.custom_from_mask, name.remove, name.spectral_norm, name.weight_norm, name.orthogonal, name.remove_spectral_norm, name.remove_weight_norm: the name of the parameter
name.dtype, name.layout, name.memory_format: the printed name
ndarray: the array, whose memory is shared
need_weights: also return the weights of attention
new_state: a state returned by `get_rng_state`
non_blocking: accepted; copies are finished when they return
ns_coefficients: the coefficients of the iteration that makes a matrix orthogonal
num_chunks: the number of gates
num_decoder_layers, num_encoder_layers: the number of layers
orig_func: a function to decorate
out_dtype: the dtype of the result
output: the result of the forward pass
output_device, device_ids: accepted; the module runs on the CPU
param: the parameter, or None
param_group: a dict with `params` and their settings
pow: the order of the norm
prefix: the prefix of the names
primals: the point at which to differentiate
query: the queries
remove_duplicate: list each only once
retain: whether to keep it
schedulers: the schedulers, in order
sequential: the modules to append
sigma: the width
state: a value returned by `get_extra_state`
state_dict: the values by name
static_k, static_v: keys and values to use instead
stream: refused; there are none
target.get_submodule, target.get_parameter, target.get_buffer, target.set_submodule: the path, with dots
the_template: the tensor whose shape to take
to: the dtype to convert to
tol: singular values below this count as 0
type.device: "cpu" or "meta"
use_separate_proj_weight: the projections have weights of their own
vectorize: compute all rows at once by `vmap`
allow_unused: return None for inputs that the outputs do not depend on, instead of an error
check_backward_ad, check_batched_forward_grad, check_batched_grad, check_forward_ad, check_fwd_over_rev, check_grad_dtypes, check_rev_over_rev, check_undefined_grad: whether to check this too
coefficients, a.general_cosine: the coefficients of the sum of cosines
concentration1.Beta: the first shape parameter
components: the number
df: the degrees of freedom
fast_mode: check only products with random vectors, not whole matrices
gen_non_contig_grad_outputs: use gradients that are not contiguous
grad_variables: deprecated; use `grad_tensors`
groups.dirac_: the number of groups of channels
is_grads_batched: `grad_outputs` are batches, for `vmap`
low.Uniform, high.Uniform: the ends
masked: accepted
materialize_grads: return zeros for inputs that the outputs do not depend on
nondet_tol: the allowed difference between two runs
only_inputs: accepted; it is always so
outer_jacobian_strategy, strategy: "reverse-mode" or "forward-mode"
outputs: the tensors to differentiate
raise_exception: raise an error for a wrong gradient, instead of returning False
sparsity: the share of zeros in each column
temperature: the temperature; samples are near one-hot if it is small
tensors.backward: the tensors to differentiate
total_count: the number of trials
volatile: deprecated; use `no_grad`
base_transform: the transform of one event
check_nan: raise an error where a NaN is made
enable: whether it has an effect
in_shape, out_shape: the shape of an event before and after
index.device: accepted; there is one CPU
mixture_distribution: the probabilities of the components, a `Categorical`
mode.set_multithreading_enabled: whether it has an effect
parts: the transforms, in order
reinterpreted_batch_ndims: the number of batch dimensions that belong to an event
transforms: the transforms, in order
tseq: the transforms of the parts
type_p, type_q: classes of distributions
actual, expected: the objects to compare: tensors, numbers, or containers of them
allow_subclasses: let tensors of different classes be equal
amount: the share of elements to prune, between 0 and 1, or their number
args.functional_call: the arguments of the call
backoff_factor: the factor of the scale after a step with infinities or NaN
bn: the batch norm that follows
boxes: the boxes
budget: the share of memory, from 0 to 1
bwd: the `backward` to decorate
cache_enabled: accepted; casts are not cached
cast_inputs: the dtype that floating-point tensors are cast to
constraint.biject_to, constraint.transform_to: the set to map to, a `Constraint`
context_fn: a function that returns two contexts, for the forward pass and for its recomputation
conv: the convolution
conv_b, linear_b: the bias of the layer, or None
conv_w, linear_w: the weight of the layer
ctx.setup_context: the context: `ctx.save_for_backward(...)` keeps tensors
data_source, dataset: the dataset to draw from
datasets: the datasets, in order
debug: record the ops of both runs, and list them in the error if they differ
depth.fold: the depth in the tree of modules
details: more about it, by name
determinism_check: "default" compares shapes and dtypes of both runs, "none" nothing
device_type: "cpu"; other devices are accepted without effect
drop_last: leave out a last batch that is not full
early_stop: end the recomputation when all tensors that are needed are there
enforce_sorted: the sequences are sorted by length, the longest first
error_message: the message of the error
exclude_zero: no element is 0
expand: over the batch too
functions.checkpoint_sequential: a `Sequential`, or a list of functions
fwd: the `forward` to decorate
growth_factor: the factor of the scale after `growth_interval` good steps
growth_interval: the number of good steps after which the scale grows
importance_scores: the scores to prune by, instead of the values
in_dims.vmap: the batch dimension of each input, or None
init_scale: the first scale
output.setup_context: the result of the forward pass
key.pop: the name to remove
kwargs.functional_call: the keyword arguments of the call
label: the text beside the arrow
leave_parametrized: keep the present value; otherwise the original one
lines: the lines below the title
links: the arrows
module_cls: the class of the module
modules.ParametrizationList: the parametrizations, in order
msg: the message of the error, or a function of the default message
atol: the absolute difference allowed
bn_b: the bias of the batch norm
bn_eps: its `eps`
bn_rm: its running mean
bn_rv: its running variance
bn_w: its weight
check_device: whether they must be on the same device
check_dtype: whether they must have the same dtype
check_layout: whether they must have the same layout
check_stride: whether they must have the same strides
data.PackedSequence: the elements of all sequences, grouped by time step
dim.LnStructured, dim.ln_structured, dim.RandomStructured, dim.random_structured: the dimension whose slices are pruned
from_module: the module to take them from
index.insert: the position
inf, nan.Log: "raise", "note" or "ignore"
input.pack_padded_sequence: the padded sequences
inputs.check_backward_validity, inputs.detach_variable: the arguments of the function
lengths.random_split: the sizes of the parts, or shares that add up to 1
mask.CustomFromMask, mask.custom_from_mask: 0 where the parameter is pruned
max_norm.clip_grad_norm, max_norm.clip_grad_norm_, max_norm.clip_grads_with_norm_: the greatest joint norm allowed
mode.register_multi_grad_hook: "all" calls it once with all gradients, "any" with the first that comes
module.Saving: the path of the module whose call saved it
n.LnStructured, n.ln_structured: the order of the norm: 2 is the Euclidean one
parameters.Memory: the bytes of leaves that are saved
parameters.global_unstructured: pairs of a module and the name of its parameter
parameters.update: the entries to add
prepend.register_forward_hook, prepend.register_forward_pre_hook, prepend.register_full_backward_hook, prepend.register_full_backward_pre_hook, prepend.register_load_state_dict_post_hook, prepend.register_load_state_dict_pre_hook, prepend.register_state_dict_post_hook, prepend.register_state_dict_pre_hook: run the hook before those that are already registered
recurse.debug_unwrap: unwrap all levels, not only the innermost
rtol: the relative difference allowed
sorted_indices: the order by length
strict.functional_call: every parameter and buffer must be given
to_module: the module to put them on
total: the number of parameters
trainable: the number of parameters that require grad
transpose.fuse_conv_bn_eval, transpose.fuse_conv_bn_weights: whether the convolution is a transposed one
unsorted_indices: the indices that restore the original order
func.profile_hook_step: the `step` to wrap
new_state.set_state: a state returned by `get_state`
value.append: the parameter to append
value.cdf, value.log_prob: the values at which to compute it
value.icdf: a probability
values.extend: the parameters to append
x.identity_transform: the values
noncontiguous: with gaps in memory
ownership_token: a node that is kept alive with it
packed_sequences: a `PackedSequence`
padded_sequences: the sequences, padded to one length
padding_side: the side on which to pad, "right" or "left"
padding_value: the value to pad with
parameter_and_buffer_dicts: tensors by name that replace the module's; a dict or several
parametrization: the module that computes the tensor
path.save: the file to write
pin_memory_device: accepted; there is no accelerator to pin memory for
pruning_method: a class such as `L1Unstructured`
randomness: "error", "different" for each of the batch, or "same" for all
remove.functionalize: "mutations", or "mutations_and_views"
root: the module whose batch norms are replaced
sample_shape: the shape of the samples, before that of the batch
shuffle: use a random order
tensor_name: the name of the parameter or buffer
tie_weights: keep shared parameters shared
title: the title
total_length: the length to pad to; None is that of the longest
train: whether dropout is active, as in training
types.Drawing: the classes of modules, by their paths
interrupted: the paths of modules that are not folded
unreached: the names of what is not in the graph
unsafe: do not check that dtype and shape stay the same
use_reentrant: True for PyTorch's older form, an inner backward pass; False, which is recommended, recomputes in hooks
args.main: the command line, `sys.argv` if it is None
attr.Attribute: the name of the attribute
autowrap_functions: functions whose calls become single nodes
autowrap_modules: modules whose functions become single nodes
allow_cache_entry_mutation: do not check that kept results are unchanged
bucket: the gradients, a `GradBucket`
callback: called with the reference when the object is gone
compute_crc32: True or False
data_format.image, dataformats: the order of the dimensions: N, C, H and W
devices.fork_rng: accepted and ignored
device_types: accepted and ignored
diag.tril_matrix_to_vec, diag.vec_to_tril_matrix: the last diagonal, 0 for the main one
dict.WeakIdKeyDictionary: the initial items
endianness.set_default_load_endianness: a `LoadEndianness`, or None for little-endian
error_index: the index of the process
error_pid: the process id
exit_code: the exit code
ext_tensor: an object with `__dlpack__`
f.get_unsafe_globals_in_checkpoint: a path or file
f.unserializable_hook: the hook
fn.custom_op: the function, or None for a decorator
fn_or_name: the function, or its name
garbage_collect_values: drop a result after its last use
grad_output.conv1d_input, grad_output.conv2d_input, grad_output.conv3d_input: the gradient of the result
grad_output.conv1d_weight, grad_output.conv2d_weight, grad_output.conv3d_weight: the gradient of the result
hooks_dict: the hooks, by number
input_mask: True where `input` has values
other_mask: True where `other` has values
is_binary: whether they belong to Bernoulli variables, not to categories
is_recompute: whether the forward pass is recomputed
labels.pr_curve: 0 or 1 for each sample
level.make_dual, level.unpack_dual: the level; None for the innermost one
max_bins: the maximum number of buckets; more are merged
mod.set_module: the name of the module
mutates_args: must be empty
new_style: as a tensor, not as a simple value
double_precision: in float64
num_thresholds: the number of thresholds
op.register_fake: the operator, or its name
op_output: the result of the op in the forward pass
owning_module: the module whose graph it is
param_shapes_constant: accepted and ignored
policy_fn_or_list: a function that returns a `CheckpointPolicy` for each op, or a list of ops whose results are kept
predictions.pr_curve: a probability for each sample
process_group: the ranks; None for all
ref_type: accepted and ignored
return_type.Node: an annotation of the result
safe_globals: classes and functions, or pairs of one and its full name
sample_rate: samples per second
schema.custom_op, tags.custom_op: accepted and ignored
scramble: randomise the digits
signal_name: the signal that ended it
t1, t2: the tensors
tag: the name in TensorBoard
tracer_cls, tracer_extras: kept for the graph module
weight_size: the shape of the weight
with_kwargs.register_module_forward_hook: pass the named arguments, too
always_call.register_module_forward_hook: run the hook also when the forward raises
wrapped: the function that computes it
op.register_autograd, op.register_kernel: the operator, or its name
backward.register_autograd: a function of `ctx` and the gradient of the result
setup_context.register_autograd: a function of `ctx`, the inputs and the output, called after the forward
filename.save_file, filename.safe_open: the path of the file
framework.safe_open: accepted and ignored
metadata.save, metadata.save_file: texts by name, kept in the file
fn.CustomOpDef: the function
args: the positional arguments
kwargs: the named arguments
type_expr: an annotation of the result
arg.insert_arg, arg.update_arg, arg.update_kwarg: the new argument, which may be a node
array.who_wrote: the memory
attr.getattr: the name of the attribute
attr_val: its value
batch_sizes: the number of sequences at each step of a packed sequence; None for tensors
bucket_counts: the number of values in each bucket
bucket_limits: the right edge of each bucket
buffer.from_buffer: an object with memory
close.add_figure: close the figure afterwards
codegen: accepted and ignored
concrete_args: arguments with fixed values, by name
count.from_buffer: the number of elements; -1 for all
data_format: the order of the dimensions
default_mask: the mask so far
default_value: the default of the input
delete_user_cb: a function that returns whether to replace the node in a user
device.is_pinned: accepted and ignored
do_power_iteration: whether to improve the estimate first
dtype.byteswap, dtype.from_buffer: the dtype of the elements
embeddings: the rows, a matrix
enable_io_processing: accepted and ignored
event.wait_event, stream.wait_stream, stream.record, stream.wait: accepted and ignored
expected_hidden_size: the required shape
factory: a function from a constraint to a transform
filename.from_file: the path
fn.register_fake, fn.register_kernel: the function
g.graph_copy: the graph whose nodes are copied
global_step: the number of the step
grace_period: the time to wait after the processes are asked to end
group_by_input_shape, group_by_input_shapes: one row for each combination of shapes
group_by_overload_name: accepted and ignored
group_by_stack_n: the number of stack lines that distinguish rows
header.table: a title
hparam_dict: the hyperparameters, by name
hparam_domain_discrete: the values that a hyperparameter can have, by its name
idx.insert_arg, idx.update_arg: its position
img_tensor: the image, or the images
impure_random: whether random draws count as effects
include_tensor_metadata: accepted and ignored
initial_env: known results, by node
input.forward, input_.forward, x.forward: the input
input_to_model: the arguments of its call
intermediates: accepted and ignored
is_impure_node: a function that returns whether a node must stay
is_module: whether it is a module
keep.run_graph: keep the saved values of the node
key.add_metadata, key.add_metadata_json, key.preset_metadata_json: the name
value.add_metadata, value.add_metadata_json, value.preset_metadata_json: the text
labels.add_pr_curve: 0 or 1 for each sample
log_input.forward: the input
m.add_submodule, m.call_module, m.is_leaf_module: the module
main_tag: the name of the chart
max_name_column_width, max_shapes_column_width, max_src_column_width: the maximum width of this column
max_try_correction: the maximum number of times that singular samples are drawn again
maybe_return_typename: a list that gets the type of the result
memory_is_causal, src_is_causal, tgt_is_causal: a hint that the mask is the causal one
memory_key_padding_mask, src_key_padding_mask, tgt_key_padding_mask: True where a key is padding
memory_mask, src_mask, tgt_mask: the keys that each query may attend to
memory.forward: the output of the encoder
tgt.forward: the target sequence
src.forward: the source sequence
method_name: the name of the method
metric.export_stacks: the time to write: "self_cpu_time_total" or another one
metric_dict: the results, by name
metrics.step: the quantity that is watched
mod.path_of_module: the module
model.add_graph: the module
module_name: the name of the module
module_qualified_name: its name
n.update: the number of steps
nbytes.from_file: the number of bytes
new_factor: the factor
new_input: the new node
new_interval: the number of steps
new_scale: the scale; None adjusts it by the last steps
num.add_histogram_raw: the number of values
numbers: the numbers of nodes
offset.from_buffer: the offset, in bytes
old_input: the node that it replaces
byte_order: "native", "little" or "big"
op.create_node: the kind of the node, such as "call_function"
kind.create_node, kind.create_proxy: the kind of the node, such as "call_function"
parameter_proxy_cache: the proxies of parameters so far
path.export_chrome_trace, path.export_memory_timeline, path.export_stacks: the file
permutation: the order of the batch
placeholder_names: a list that gets the names of inputs
predictions.add_pr_curve: a probability for each sample
preserve_rng_state: whether the recomputation draws the same random numbers
print_output: whether to print it
prob.icdf: probabilities
propagate_meta: copy the notes of the node, too
proxy_factory_fn: a function that makes the proxy; None for the default
qualified_name: the name with its dots
replace_with: the node that is used instead
replicas: the copies of the module
result.output: the result of the graph
result.set_exception: the exception
return_output_node: whether to return the output node, not its argument
root_fn: the function
roots.on_backward: the edges at which the backward pass starts
row_limit: the number of rows to show
run_function: the function to run, and to recompute in the backward pass
run_name: the name of the run's folder
scalar_value: the number
sched: the scheduler
sequence.cumsum: the datasets
snd_tensor: one channel of values from -1 to 1
sort.find_nodes: in the order of the graph
sort_by: the column
source.copy_: the storage to copy from
start_us, end_us: the interval, in microseconds
sum.add_histogram_raw, sum_squares: the sum, and that of squares
sz: the length of the sequence
t.compute_mask, t.prune: the tensor
tag_scalar_dict: the numbers, by the name of their line
text_string: the text, in Markdown
the_function: the function
time_unit: "s", "ms" or "us"
to_erase: the node, which must have no users
top_level_events_only: leave out events inside other events
use_python_export: accepted and ignored
use_strict_trace: accepted and ignored
value.check, x.check: the tensor to check
value.fill_: the number
var.forward: the variance
verbose.add_graph: print the graph
walltime: the time of the event, in seconds; now by default
x.cdf, x.log_prob: the values
use_trivialization: keep the first value, and learn the distance from it
value.set_materialize_grads: whether missing gradients arrive as zeros, not as None
value.set_default_validate_args: whether arguments are checked
mode.train: True for training, False for evaluation
mode.set_detect_anomaly: whether it is on
mode.hash_tensor: 0 combines the bits by exclusive or
mode.RNNBase: "LSTM", "GRU", "RNN_TANH" or "RNN_RELU"
mode.ReduceLROnPlateau: "min" or "max": whether the quantity is to fall or to rise
end.lerp, end.lerp_: the values where the weight is 1
end.range: the end; included
start.logspace, end.logspace: the first and the last exponent; both are included
weight.lerp, weight.lerp_: the position between `input` and `end`, from 0 to 1
weight.huber_loss, weight.l1_loss, weight.mse_loss: a factor for each element
weight.MultiLabelSoftMarginLoss, weight.multilabel_soft_margin_loss, weight.NLLLoss2d: a factor for each class
weight.embedding, weight.embedding_bag: a matrix with a vector in each row
p.geometric_, p.geometric: the probability of success
p.cond: the order of the norm; None is the 2-norm
p.kl_divergence: the distribution that is averaged over
q.kl_divergence: the distribution to compare with
k.rot90: the number of right angles
k.LocalResponseNorm, k.CrossMapLRN2d, k.local_response_norm: the number added to the sum of squares
key.scaled_dot_product_attention: the keys, (..., S, E)
value.scaled_dot_product_attention, value.multi_head_attention_forward: the values, (..., S, E_v)
n.matrix_power: the exponent; a negative one inverts
n.randperm: the number of integers, from 0 on
n.fftfreq, n.rfftfreq: the length of the signal
n.chebyshev_polynomial_t, n.chebyshev_polynomial_u, n.chebyshev_polynomial_v, n.chebyshev_polynomial_w, n.hermite_polynomial_h, n.hermite_polynomial_he, n.laguerre_polynomial_l, n.legendre_polynomial_p: the degree
n.shifted_chebyshev_polynomial_t, n.shifted_chebyshev_polynomial_u, n.shifted_chebyshev_polynomial_v, n.shifted_chebyshev_polynomial_w: the degree
size.unfold: the length of a window
tensor.register_buffer: the tensor, or None
tensor.dot: the second vector
tensor.resize_as: the tensor whose size to take
tensor.is_set_to, tensor.map_: the tensor to compare with, or the second argument of the function
values.heaviside, values.heaviside_: the result where the input is 0
values.ParameterList: the parameters
value.addcdiv, value.addcdiv_, value.addcmul, value.addcmul_: the factor of the added term
w_hh: the weight of the state, (gates * hidden_size, hidden_size)
w_ih: the weight of the input, (gates * hidden_size, input_size)
"""
_meanings: dict[str, str] = {}
_explained: set[type] = set()  # classes with completed methods
_OURS = ("penlight", "torch")
_PLAIN = ("input", "other")  # whose words in the table fit everywhere
_NOT_PASSED = ("self", "cls")
_words = re.compile(r"\w+").findall


def meaning(function: str, argument: str) -> str | None:
    """The meaning of a function's argument.

    >>> meaning("topk", "k"), meaning("sum", "keepdim")
    ('the number of elements', 'keep a reduced dimension with size 1')
    """
    if not _meanings:
        lines = [line.partition(": ") for line in _TABLE.strip().splitlines()]
        # In one step, because other threads then find it complete.
        _meanings.update({name: words for names, _, words in lines for name in names.split(", ")})
    return _meanings.get(f"{argument}.{function}") or _meanings.get(argument)


def explain(names: Mapping[str, Any]) -> None:
    """Complete the docstrings of the public functions and classes (and their methods) that a module defines, or of the methods of a class."""
    home = names.get("__name__", "")
    for name, value in list(names.items()):
        function = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
        if (
            name[0] == "_"
            or not isinstance(function, (type, FunctionType))
            or not function.__module__.startswith(_OURS)
            or not function.__module__.startswith(home)
        ):
            continue
        function.__doc__ = explained(function, name)
        for part in function.__mro__ if isinstance(function, type) else ():
            if part not in _explained and part.__module__.startswith(_OURS):
                _explained.add(part)
                for n, member in list(vars(part).items()):  # another thread may add members
                    if isinstance(member, FunctionType) and member.__doc__ is None and n[0] != "_":
                        inherited = next((vars(b)[n].__doc__ for b in part.__mro__[1:] if n in vars(b)), None)
                        member.__doc__ = inherited and inherited.partition("\n\n    Args:")[0]
                explain({n: member for n, member in list(vars(part).items()) if not isinstance(member, type)})


@lru_cache(1024)  # torch.exp and Tensor.exp share one
def explained(
    function: Any, name: str, out: bool = False, in_place: str | None = None, elementwise: bool = False
) -> str | None:
    """The docstring of a function or class, with the missing sections on its arguments (`out=` if `out`) and its return value.
    `in_place` is the docstring of an in-place form. Arguments that the sentences explain are listed as "see above".

    >>> def is_small(input, keepdim=False) -> bool:
    ...     "Whether it is small."
    >>> print(explained(is_small, "is_small"))
    Whether it is small.
    <BLANKLINE>
        Args:
            input: the tensor to work on
            keepdim: keep a reduced dimension with size 1
    <BLANKLINE>
        Returns:
            True or False
    """
    doc = in_place or function.__doc__
    if doc is None:
        return doc
    is_class = isinstance(function, type)
    code = _code(function, "__init__") or _code(function, "__new__") if is_class else _code(function)
    names = () if code is None else code.co_varnames[is_class : code.co_argcount + code.co_kwonlyargcount]
    margin = indentation(doc)
    sections = []
    if "Args:" not in doc:
        listed: dict[str, str] = {}
        for n in (*names, "out") if out else names:
            words = meaning(name, n)
            said = f"`{n}`" in doc or (words is None and n in doc and n not in _NOT_PASSED and n in _words(doc))
            if said and (n not in _PLAIN or words is None):
                listed[n] = "see above"
            elif words:
                listed[n] = words
        if {*listed.values()} - {"see above"}:
            sections.append(("Args:", [f"{margin}    {n}: {words}" for n, words in listed.items()]))
    if is_class:
        words = shape(name) if ".nn." in function.__module__ else None
        if words:
            sections.append(("Shape:", [f"{margin}    {words}"]))
    elif "Returns:" not in doc:
        annotation = function.__annotations__.get("return")
        words = "the tensor itself" if in_place else result(function.__module__, name, annotation, elementwise, names)
        if words:
            sections.append(("Returns:", [f"{margin}    {words}"]))
    for title, lines in sections:
        doc = "\n".join((doc.rstrip(), "", margin + title, *lines, margin))
    return doc


def _code(function: Any, method: str = "") -> Any:
    made = getattr(function, method) if method else function
    while hasattr(made, "__wrapped__"):
        made = made.__wrapped__
    return getattr(made, "__code__", None)

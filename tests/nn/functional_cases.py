"""Calls of torch.nn.functional as data: a name, an expression, and the inputs a, b, c, ... of the expression.

An input is `kind:sizes`. Kinds: none (normal, requires grad), p (between 0.05 and 0.95), + (positive), k (normal with kinks of the
activations among them), f (normal, no grad), i5 (integers below 5), s (1 or -1), m (boolean). `*` for no dimensions.
A name that starts with `~` is of an op whose node has another name in PyTorch; see the notes at the ends of the lines.
"""

from __future__ import annotations

ACTIVATIONS = """
relu : F.relu(a) : k:4,9
relu6 : F.relu6(a) : k:4,9
elu : F.elu(a) : k:4,9
elu alpha : F.elu(a, 0.7) : k:4,9
selu : F.selu(a) : k:4,9
celu : F.celu(a, 2.0) : k:4,9
gelu : F.gelu(a) : k:4,9
gelu tanh : F.gelu(a, approximate="tanh") : k:4,9
silu : F.silu(a) : k:4,9
mish : F.mish(a) : k:4,9
softplus : F.softplus(a) : k:4,9
softplus beta : F.softplus(a, 2, 3) : k:4,9
logsigmoid : F.logsigmoid(a) : k:4,9
softsign : F.softsign(a) : k:4,9
tanhshrink : F.tanhshrink(a) : k:4,9
hardtanh : F.hardtanh(a) : k:4,9
hardtanh range : F.hardtanh(a, -2, 0.5) : k:4,9
hardswish : F.hardswish(a) : k:4,9
leaky_relu : F.leaky_relu(a) : k:4,9
leaky_relu steep : F.leaky_relu(a, 2.0) : k:4,9
leaky_relu negative : F.leaky_relu(a, -0.25) : k:4,9
softshrink : F.softshrink(a) : k:4,9
hardshrink : F.hardshrink(a) : k:4,9
threshold : F.threshold(a, 0.5, 7.0) : k:4,9
prelu one : F.prelu(a, b) : k:4,9 1
prelu channels : F.prelu(a, b) : 2,3,4 3
prelu vector : F.prelu(a, b) : 5 1
rrelu eval : F.rrelu(a) : k:4,9
rrelu training : F.rrelu(a, training=True) : k:4,9
glu : F.glu(a) : 3,6
glu dim : F.glu(a, 0) : 4,3
sigmoid : F.sigmoid(a) : k:4,9
tanh : F.tanh(a) : k:4,9
softmax : F.softmax(a, dim=1) : 3,4
softmax 0d : F.softmax(a, dim=0) : *
log_softmax : F.log_softmax(a, dim=0) : 3,4
softmin : F.softmin(a, dim=-1) : 3,4
gumbel_softmax : F.gumbel_softmax(a, tau=0.7) : 3,4
gumbel_softmax hard : F.gumbel_softmax(a, hard=True) : 3,4
normalize : F.normalize(a) : 3,4
normalize p : F.normalize(a, p=3.0, dim=0) : 3,4
relu in place : F.relu(a * 1, inplace=True) * 2 : k:4,9
elu in place : F.elu(a * 1, 0.7, inplace=True) * 2 : k:4,9
selu in place : F.selu(a * 1, inplace=True) * 2 : k:4,9
celu in place : F.celu(a * 1, 2.0, inplace=True) * 2 : k:4,9
leaky_relu in place : F.leaky_relu(a * 1, 0.1, inplace=True) * 2 : k:4,9
hardtanh in place : F.hardtanh(a * 1, inplace=True) * 2 : k:4,9
relu6 in place : F.relu6(a * 1, inplace=True) * 2 : k:4,9
silu in place : F.silu(a * 1, inplace=True) * 2 : k:4,9
mish in place : F.mish(a * 1, inplace=True) * 2 : k:4,9
hardswish in place : F.hardswish(a * 1, inplace=True) * 2 : k:4,9
threshold in place : F.threshold(a * 1, 0.5, 7.0, inplace=True) * 2 : k:4,9
rrelu in place : F.rrelu(a * 1, training=True, inplace=True) * 2 : k:4,9
elu_ : F.elu_(a * 1) : k:4,9
leaky_relu_ : F.leaky_relu_(a * 1, 0.1) : k:4,9
celu_ : F.celu_(a * 1) : k:4,9
rrelu_ : F.rrelu_(a * 1) : k:4,9
threshold_ : F.threshold_(a * 1, 0.5, 7.0) : k:4,9
dropout : F.dropout(a, 0.3) : 5,6
dropout in place : F.dropout(a * 1, 0.3, inplace=True) : 5,6
dropout off : F.dropout(a * 1, 0.3, training=False) : 5,6
dropout all : F.dropout(a, 1.0) : 5,6
dropout transposed : F.dropout(a.permute(2, 0, 1), 0.3) : 3,4,5
dropout1d : F.dropout1d(a, 0.4) : 4,5,3
dropout1d unbatched : F.dropout1d(a, 0.4) : 5,3
dropout2d : F.dropout2d(a, 0.4) : 4,5,2,2
dropout3d : F.dropout3d(a, 0.4) : 4,5,2,2,2
alpha_dropout : F.alpha_dropout(a, 0.4, training=True) : 5,6
feature_alpha_dropout : F.feature_alpha_dropout(a, 0.4, training=True) : 4,5,3
"""

WINDOWS = """
conv1d : F.conv1d(a, b, c) : 2,3,7 4,3,2 4
conv1d same : F.conv1d(a, b, padding="same", dilation=3) : 2,3,8 4,3,2
conv2d : F.conv2d(a, b, c) : 2,3,5,6 4,3,2,3 4
conv2d strided : F.conv2d(a, b, c, stride=2, padding=1, dilation=2) : 2,3,8,7 4,3,2,3 4
conv2d groups : F.conv2d(a, b, c, groups=2, padding=(1, 2)) : 2,4,5,5 6,2,3,3 6
conv2d depthwise : F.conv2d(a, b, groups=4) : 2,4,5,5 8,1,3,3
conv2d unbatched : F.conv2d(a, b, c) : 3,5,6 4,3,2,3 4
conv2d same : F.conv2d(a, b, c, padding="same") : 1,2,4,5 3,2,3,3 3
conv2d empty : F.conv2d(a, b, c) : 0,3,5,6 4,3,2,3 4
conv2d transposed input : F.conv2d(a.permute(1, 0, 3, 2), b) : 3,2,6,5 4,3,2,3
conv3d : F.conv3d(a, b, c) : 1,2,3,4,3 2,2,2,2,2 2
conv_transpose1d : F.conv_transpose1d(a, b, c) : 2,3,5 3,4,2 4
conv_transpose2d : F.conv_transpose2d(a, b, c, stride=2, padding=1, output_padding=1, groups=2, dilation=2) : 2,4,4,5 4,3,2,3 6
conv_transpose2d unbatched : F.conv_transpose2d(a, b, c) : 2,3,2 2,3,2,2 3
conv_transpose3d : F.conv_transpose3d(a, b, c) : 1,2,3,2,3 2,3,2,2,2 3
conv_tbc : F.conv_tbc(a, b, c, pad=1) : 6,2,3 2,3,4 4
max_pool1d : F.max_pool1d(a, 2) : 2,3,7
max_pool1d indices : F.max_pool1d(a, 3, 2, 1, ceil_mode=True, return_indices=True) : 3,8
max_pool2d : F.max_pool2d(a, 2) : 2,3,6,7
max_pool2d overlapping : F.max_pool2d(a, 3, stride=1, padding=1) : 2,3,5,4
max_pool2d indices : F.max_pool2d(a, (2, 1), dilation=2, return_indices=True) : 3,6,7
max_pool3d : F.max_pool3d(a, 2, stride=1) : 1,2,4,3,4
avg_pool1d : F.avg_pool1d(a, 3, 2, 1) : 2,3,7
avg_pool2d : F.avg_pool2d(a, 2) : 2,3,6,7
avg_pool2d border : F.avg_pool2d(a, 3, 2, 1, ceil_mode=True, count_include_pad=False) : 3,6,7
avg_pool2d divisor : F.avg_pool2d(a, 2, divisor_override=3) : 3,6,7
avg_pool3d : F.avg_pool3d(a, 2) : 1,2,4,4,5
lp_pool1d : F.lp_pool1d(a, 2.5, 2) : +:2,3,6
lp_pool2d : F.lp_pool2d(a, 2, 2, stride=1) : +:2,3,4,5
lp_pool3d : F.lp_pool3d(a, 3, (2, 1, 2)) : +:1,2,4,3,4
adaptive_avg_pool1d : F.adaptive_avg_pool1d(a, 3) : 2,3,7
adaptive_avg_pool2d : F.adaptive_avg_pool2d(a, (3, None)) : 2,3,5,4
adaptive_avg_pool2d one : F.adaptive_avg_pool2d(a, 1) : 2,3,5,4
adaptive_avg_pool3d : F.adaptive_avg_pool3d(a, 2) : 1,2,3,5,4
adaptive_max_pool1d : F.adaptive_max_pool1d(a, 3) : 2,3,7
adaptive_max_pool2d : F.adaptive_max_pool2d(a, (3, 2), return_indices=True) : 2,3,5,4
adaptive_max_pool3d : F.adaptive_max_pool3d(a, 2) : 1,2,3,5,4
fractional_max_pool2d : F.fractional_max_pool2d(a, 2, output_size=3) : 2,3,7,6
fractional_max_pool2d ratio : F.fractional_max_pool2d(a, 2, output_ratio=(0.5, 0.6), return_indices=True) : 3,7,6
fractional_max_pool2d more samples : F.fractional_max_pool2d(a, 2, output_size=3, _random_samples=b.detach()) : 3,7,6 p:2,3,2
fractional_max_pool3d : F.fractional_max_pool3d(a, 2, output_size=2) : 1,2,5,5,6
max_unpool1d : F.max_unpool1d(*F.max_pool1d(a, 2, return_indices=True), 2) : 2,3,6
max_unpool2d : F.max_unpool2d(*F.max_pool2d(a, 2, return_indices=True), 2, output_size=(5, 7)) : 2,3,5,7
max_unpool3d : F.max_unpool3d(*F.max_pool3d(a, 2, return_indices=True), 2) : 1,2,4,4,2
unfold : F.unfold(a, 2, padding=1, stride=2) : 2,3,5,4
unfold unbatched : F.unfold(a, (2, 3), dilation=2) : 3,5,7
fold : F.fold(a, (4, 5), 2) : 2,12,12
fold unbatched : F.fold(a, (4, 5), 2, padding=1, stride=2) : 12,9
pad : F.pad(a, (1, -1, 0, 2), value=3.0) : 2,3,4
pad reflect : F.pad(a, (2, 1), "reflect") : 2,3,4
pad reflect 2d : F.pad(a, (1, 2, 2, 0), "reflect") : 2,3,4,4
pad reflect 3d : F.pad(a, (1, 1, 0, 2, 1, 1), "reflect") : 2,3,3,4
pad replicate : F.pad(a, (2, 5, 1, -1), "replicate") : 2,3,4
~pad circular : F.pad(a, (2, 1, 1, 3), "circular") : 2,3,4,4
interpolate nearest : F.interpolate(a, scale_factor=1.7) : 2,3,4,5
interpolate exact : F.interpolate(a, size=(3, 8), mode="nearest-exact") : 2,3,4,5
interpolate linear : F.interpolate(a, size=7, mode="linear", align_corners=True) : 2,3,5
interpolate bilinear : F.interpolate(a, scale_factor=(1.7, 0.6), mode="bilinear") : 2,3,4,5
interpolate recomputed : F.interpolate(a, scale_factor=1.7, mode="bilinear", recompute_scale_factor=True) : 2,3,4,5
interpolate trilinear : F.interpolate(a, scale_factor=2, mode="trilinear") : 1,2,3,2,3
interpolate bicubic : F.interpolate(a, size=(7, 3), mode="bicubic", align_corners=False) : 2,3,4,5
interpolate area : F.interpolate(a, size=(3, 2), mode="area") : 2,3,4,5
interpolate smooth : F.interpolate(a, size=(2, 3), mode="bilinear", antialias=True) : 2,3,6,5
interpolate smooth cubic : F.interpolate(a, size=(2, 3), mode="bicubic", antialias=True) : 2,3,6,5
grid_sample : F.grid_sample(a, b, align_corners=False) : 2,3,4,5 2,3,4,2
grid_sample border : F.grid_sample(a, b, "bicubic", "border", True) : 2,3,4,5 2,3,4,2
grid_sample reflection : F.grid_sample(a, b, "nearest", "reflection", False) : 2,3,4,5 2,3,4,2
grid_sample 3d : F.grid_sample(a, b, align_corners=True) : 2,2,3,4,5 2,3,2,2,3
affine_grid : F.affine_grid(a, (2, 1, 3, 4), align_corners=False) : 2,2,3
affine_grid 3d : F.affine_grid(a, (2, 1, 3, 4, 2), align_corners=True) : 2,3,4
pixel_shuffle : F.pixel_shuffle(a, 2) : 2,8,3,2
pixel_unshuffle : F.pixel_unshuffle(a, 2) : 3,4,6
channel_shuffle : F.channel_shuffle(a, 3) : 2,6,4,2
"""

LAYERS = """
linear : F.linear(a, b, c) : 3,4 5,4 5
linear many : F.linear(a, b, c) : 2,3,4 5,4 5
linear vector : F.linear(a, b) : 4 5,4
bilinear : F.bilinear(a, b, c, d) : 2,3 2,4 5,3,4 5
bilinear many : F.bilinear(a, b, c) : 2,2,3 2,2,4 5,3,4
layer_norm : F.layer_norm(a, (5,), b, c) : 4,5 5 5
layer_norm two : F.layer_norm(a, (3, 4), eps=0.1) : 2,3,4
layer_norm empty : F.layer_norm(a, (4,), b, c) : 0,4 4 4
~rms_norm : F.rms_norm(a, (5,), b) : 4,5 5 : one fused op
~rms_norm eps : F.rms_norm(a, (3, 4), eps=0.1) : 2,3,4 : one fused op
batch_norm : F.batch_norm(a, None, None, b, c, True) : 4,3 3 3
batch_norm images : F.batch_norm(a, None, None, b, c, True) : 2,3,3,2 3 3
batch_norm eval : F.batch_norm(a, torch.tensor([0.1, 0.2, 0.3]).double(), torch.tensor([1.1, 1.2, 0.3]).double(), b, c) : 2,3,4 3 3
batch_norm plain : F.batch_norm(a, None, None, training=True, eps=0.1) : 3,2,4
instance_norm : F.instance_norm(a, weight=b, bias=c) : 2,3,4 3 3
group_norm : F.group_norm(a, 2, b, c) : 2,4,3 4 4
group_norm plain : F.group_norm(a, 3) : 2,6
local_response_norm : F.local_response_norm(a, 3, 0.5) : 2,5,3
local_response_norm images : F.local_response_norm(a, 2, 0.5) : 2,5,3,2
embedding : F.embedding(b, a) : 5,3 i5:3,4
embedding padding : F.embedding(b, a, padding_idx=1) : 5,3 i5:3,4
embedding frequency : F.embedding(b, a, scale_grad_by_freq=True) : 5,3 i5:3,4
embedding_bag : F.embedding_bag(b, a) : 5,3 i5:3,4
embedding_bag sum : F.embedding_bag(b, a, torch.tensor([0, 2, 2, 5]), mode="sum", padding_idx=1) : 5,3 i5:7
embedding_bag max : F.embedding_bag(b, a, torch.tensor([0, 2, 5, 7]), mode="max", include_last_offset=True) : 5,3 i5:7
embedding_bag weights : F.embedding_bag(c, a, mode="sum", per_sample_weights=b) : 5,3 3,4 i5:3,4
attention : F.scaled_dot_product_attention(a, b, c) : 2,3,4,5 2,3,6,5 2,3,6,5
attention causal : F.scaled_dot_product_attention(a, b, c, is_causal=True, scale=0.3) : 2,3,4,5 2,3,6,5 2,3,6,5
attention mask : F.scaled_dot_product_attention(a, b, c, attn_mask=d) : 2,3,4,5 2,3,6,5 2,3,6,5 m:2,1,1,6
attention float mask : F.scaled_dot_product_attention(a, b, c, attn_mask=d) : 2,3,4,5 2,3,6,5 2,3,6,5 f:4,6
attention mask with gradient : F.scaled_dot_product_attention(a, b, c, attn_mask=d) : 2,3,4,5 2,3,6,5 2,3,6,5 4,6
attention dropout : F.scaled_dot_product_attention(a, b, c, dropout_p=0.4) : 2,3,4,5 2,3,6,5 2,3,6,5
attention values : F.scaled_dot_product_attention(a, b, c) : 2,3,4,5 2,3,6,5 2,3,6,7
attention 3d : F.scaled_dot_product_attention(a, b, c) : 3,4,5 3,6,5 3,6,5
attention 2d : F.scaled_dot_product_attention(a, b, c) : 4,5 6,5 6,5
attention groups : F.scaled_dot_product_attention(a, b, c, enable_gqa=True) : 2,4,4,5 2,2,6,5 2,2,6,5
heads : F.multi_head_attention_forward(a, a, a, 6, 2, b, c, None, None, False, 0.0, d, e) : 4,3,6 18,6 18 6,6 6
heads fused : F.multi_head_attention_forward(a, f, f, 6, 2, b, c, None, None, False, 0.0, d, e, need_weights=False)[0] : 4,3,6 18,6 18 6,6 6 5,3,6
heads masks : F.multi_head_attention_forward(a, f, f, 6, 2, b, c, None, None, True, 0.0, d, e, key_padding_mask=g, attn_mask=h) : 4,3,6 18,6 18 6,6 6 5,3,6 f:3,5 f:4,5
heads biases : F.multi_head_attention_forward(a, f, f, 6, 2, b, c, g, h, False, 0.3, d, e, average_attn_weights=False) : 4,3,6 18,6 18 6,6 6 5,3,6 1,1,6 1,1,6
heads unbatched : F.multi_head_attention_forward(a, a, a, 6, 2, b, c, None, None, False, 0.0, d, e) : 4,6 18,6 18 6,6 6
heads separate : F.multi_head_attention_forward(a, b, b, 6, 2, None, None, None, None, False, 0.0, c, None, use_separate_proj_weight=True, q_proj_weight=d, k_proj_weight=e, v_proj_weight=f) : 4,3,6 5,3,4 6,6 6,6 6,4 6,4
"""

LOSSES = """
mse_loss : F.mse_loss(a, b) : 3,4 3,4
mse_loss none : F.mse_loss(a, b, reduction="none") : 3,4 3,4
mse_loss weight : F.mse_loss(a, b, weight=c) : 3,4 3,4 +:3,4
mse_loss float32 : F.mse_loss(a.float(), b.float(), reduction="sum") : 3,4 3,4
l1_loss : F.l1_loss(a, b) : 3,4 3,4
l1_loss weight : F.l1_loss(a, b, reduction="sum", weight=c) : 3,4 3,4 +:3,4
smooth_l1_loss : F.smooth_l1_loss(a, b) : 3,4 3,4
smooth_l1_loss beta : F.smooth_l1_loss(a, b, beta=0.3, reduction="none") : 3,4 3,4
smooth_l1_loss zero : F.smooth_l1_loss(a, b, beta=0.0) : 3,4 3,4
huber_loss : F.huber_loss(a, b, delta=0.7) : 3,4 3,4
huber_loss weight : F.huber_loss(a, b, weight=c) : 3,4 3,4 +:3,4
binary_cross_entropy : F.binary_cross_entropy(a, b) : p:3,4 p:3,4
binary_cross_entropy weight : F.binary_cross_entropy(a, b, torch.tensor([0.5, 1.0, 2.0, 3.0]).double(), reduction="none") : p:3,4 p:3,4
bce logits : F.binary_cross_entropy_with_logits(a, b) : 3,4 p:3,4
bce logits weights : F.binary_cross_entropy_with_logits(a, b, c, reduction="sum", pos_weight=d) : 3,4 p:3,4 f:3,1 f:4
kl_div : F.kl_div(a, b, reduction="batchmean") : 3,4 p:3,4
kl_div log : F.kl_div(a, b, reduction="sum", log_target=True) : 3,4 3,4
poisson_nll_loss : F.poisson_nll_loss(a, b, full=True) : 3,4 +:3,4
poisson_nll_loss rates : F.poisson_nll_loss(a, b, log_input=False, reduction="none") : +:3,4 +:3,4
gaussian_nll_loss : F.gaussian_nll_loss(a, b, c) : 3,4 3,4 +:3,4
gaussian_nll_loss full : F.gaussian_nll_loss(a, b, c, full=True, reduction="none") : 3,4 3,4 +:3,1
nll_loss : F.nll_loss(a, b) : 5,3 i3:5
nll_loss ignoring : F.nll_loss(a, b, ignore_index=1, reduction="sum") : 5,3 i3:5
nll_loss weight : F.nll_loss(a, b, torch.tensor([0.5, 1.0, 2.0]).double()) : 5,3 i3:5
nll_loss single : F.nll_loss(a, b) : 3 i3:*
nll_loss images : F.nll_loss(a, b, reduction="none") : 2,3,2,4 i3:2,2,4
nll_loss sequences : F.nll_loss(a, b) : 2,3,4 i3:2,4
cross_entropy : F.cross_entropy(a, b) : 5,3 i3:5
cross_entropy sum : F.cross_entropy(a, b, reduction="sum") : 5,3 i3:5
cross_entropy none : F.cross_entropy(a, b, reduction="none") : 5,3 i3:5
cross_entropy ignoring : F.cross_entropy(a, b, ignore_index=1) : 5,3 i3:5
cross_entropy weight : F.cross_entropy(a, b, torch.tensor([0.5, 1.0, 2.0]).double()) : 5,3 i3:5
cross_entropy smooth : F.cross_entropy(a, b, label_smoothing=0.2) : 5,3 i3:5
cross_entropy smooth weight : F.cross_entropy(a, b, torch.tensor([0.5, 1.0, 2.0]).double(), ignore_index=1, label_smoothing=0.2) : 5,3 i3:5
cross_entropy single : F.cross_entropy(a, b) : 3 i3:*
cross_entropy images : F.cross_entropy(a, b) : 2,3,2,4 i3:2,2,4
cross_entropy sequences : F.cross_entropy(a, b, reduction="none") : 2,3,4 i3:2,4
~cross_entropy soft : F.cross_entropy(a, b) : 5,3 p:5,3 : DivBackward1
cross_entropy soft none : F.cross_entropy(a, b, torch.tensor([0.5, 1.0, 2.0]).double(), reduction="none", label_smoothing=0.1) : 5,3 p:5,3
cross_entropy far : F.cross_entropy(a * 100, b) : 5,3 i3:5
linear_cross_entropy : F.linear_cross_entropy(a, b, d, linear_bias=c) : 5,4 3,4 3 i3:5
hinge_embedding_loss : F.hinge_embedding_loss(a, b) : 6 s:6
margin_ranking_loss : F.margin_ranking_loss(a, b, c, margin=0.3) : 6 6 s:6
cosine_embedding_loss : F.cosine_embedding_loss(a, b, c, margin=0.1) : 6,3 6,3 s:6
soft_margin_loss : F.soft_margin_loss(a, b) : 6 s:6
multilabel_soft_margin_loss : F.multilabel_soft_margin_loss(a, b) : 3,4 p:3,4
multi_margin_loss : F.multi_margin_loss(a, b) : 3,4 i4:3
multi_margin_loss squared : F.multi_margin_loss(a, b, p=2, margin=0.5, weight=torch.tensor([0.5, 1.0, 2.0, 0.1]).double(), reduction="none") : 3,4 i4:3
multilabel_margin_loss : F.multilabel_margin_loss(a, torch.tensor([[0, 3, -1, 1], [-1, 2, 2, 1], [0, 1, 2, 3]])) : 3,4
triplet_margin_loss : F.triplet_margin_loss(a, b, c) : 3,4 3,4 3,4
triplet_margin_loss swap : F.triplet_margin_loss(a, b, c, swap=True, p=1.5, margin=0.5, reduction="none") : 3,4 3,4 3,4
triplet distance : F.triplet_margin_with_distance_loss(a, b, c, distance_function=lambda x, y: (x - y).abs().sum(1)) : 3,4 3,4 3,4
cosine_similarity : F.cosine_similarity(a, b) : 3,4 3,4
cosine_similarity broadcast : F.cosine_similarity(a, b, dim=0) : 3,4 4
pairwise_distance : F.pairwise_distance(a, b, p=3, keepdim=True) : 3,4 4
pdist : F.pdist(a) : 4,3
ctc_loss : F.ctc_loss(a.log_softmax(2), b, torch.tensor([7, 5, 6]), torch.tensor([3, 4, 2]), blank=4) : 7,3,5 i4:3,4
ctc_loss concatenated : F.ctc_loss(a.log_softmax(2), b, (7, 5, 6), (3, 4, 2), blank=4, reduction="none", zero_infinity=True) : 7,3,5 i4:9
ctc_loss single : F.ctc_loss(a.log_softmax(1), b, torch.tensor(7), torch.tensor(4), blank=4) : 7,5 i4:4
"""

# What must raise, and with which words. x, o, z make random numbers, ones and zeros; L makes tensors.
ERRORS = """
F.gelu(x(2), approximate="x")
F.gelu(L([1, 2]))
F.silu([1.0])
F.elu(L([True]))
F.glu(x(2, 3))
F.glu(x(2, 2), 5)
F.celu(x(2), 0.0)
F.softshrink(x(2), -1.0)
F.hardtanh(x(2), 1.0, -1.0)
F.rrelu(x(2), 0.5, 0.2, True)
F.prelu(x(2, 4), x(3))
F.prelu(x(2, 4), x(4).double())
F.threshold(x(2), "a", 1)
F.dropout(x(2), 2.0)
F.dropout1d(x(2))
F.dropout2d(x(2))
F.relu(x(2).requires_grad_(), inplace=True)
F.conv2d(x(2, 3), x(4, 3, 2, 2))
F.conv2d(x(2, 3, 5, 5), x(4, 2, 2, 2))
F.conv2d(x(2, 3, 5, 5), x(4, 3, 2, 2), x(5))
F.conv2d(x(2, 3, 2, 2), x(4, 3, 5, 5))
F.conv2d(x(2, 3, 5, 5), x(4, 3, 2, 2), stride=0)
F.conv2d(x(2, 3, 5, 5), x(4, 3, 2, 2), padding=-1)
F.conv2d(x(2, 4, 5, 5), x(5, 2, 2, 2), groups=2)
F.conv2d(x(2, 3, 5, 5), x(4, 3, 2, 2).double())
F.conv2d(x(2, 3, 5, 5), x(4, 3, 2, 2), padding="foo")
F.conv2d(x(2, 3, 5, 5), x(4, 3, 2, 2), padding="same", stride=2)
F.conv_transpose2d(x(2, 3, 5, 5), x(4, 3, 2, 2))
F.conv_transpose2d(x(2, 3, 5, 5), x(3, 4, 2, 2), stride=2, output_padding=2)
F.max_pool2d(x(3, 3), 2)
F.max_pool2d(x(1, 3, 3), 4)
F.max_pool2d(x(1, 3, 3), 2, padding=2)
F.max_pool1d(x(1, 3, 3), 4)
F.max_pool2d(x(1, 3, 3), (2, 2, 2))
F.avg_pool2d(x(1, 3, 3), 2, divisor_override=0)
F.adaptive_avg_pool2d(x(4, 5), 2)
F.adaptive_max_pool2d(x(1, 3, 0, 5), 2)
F.fractional_max_pool2d(x(1, 3, 8, 8), 2)
F.fractional_max_pool2d(x(3, 8, 8), 2, 3, _random_samples=x(3, 2))
F.fractional_max_pool3d(x(2, 3, 8, 8, 8), 2, 3, _random_samples=x(1, 3, 3))
F.fractional_max_pool2d(x(3, 8, 8), 2, 3, _random_samples=x(2, 2, 2))
F.fractional_max_pool3d(x(3, 8, 8, 8), 2, 3, _random_samples=x(2, 3, 2))
F.max_unpool2d(x(1, 1, 2, 2), L([[[[0, 3], [10, 15]]]]), 2, output_size=(8, 8))
F.pad(x(2, 3), (1,))
F.pad(x(2, 3), (1, 1), "foo")
F.pad(x(3), (1, 1), "reflect")
F.pad(x(1, 2, 3), (3, 1), "reflect")
F.pad(x(1, 2, 3), (4, 1), "circular")
F.unfold(x(2, 3, 4, 4), 5)
F.fold(x(2, 12, 8), 4, 2)
F.interpolate(x(1, 1, 4))
F.interpolate(x(1, 1, 4), size=2, mode="bilinear")
F.interpolate(x(1, 1, 4, 4), size=2, align_corners=True)
F.grid_sample(x(1, 1, 4, 4), x(2, 2, 2, 2), align_corners=False)
F.affine_grid(x(1, 3, 3), (1, 1, 4, 4), False)
F.pixel_shuffle(x(1, 3, 2, 2), 2)
F.channel_shuffle(x(1, 3, 2, 2), 2)
F.layer_norm(x(2, 3), (4,))
F.layer_norm(x(2, 3), (3,), o(4))
F.layer_norm(L([[1, 2]]), (2,))
F.rms_norm(x(2, 3), (4,))
F.batch_norm(x(2, 3), None, None)
F.batch_norm(x(1, 3), None, None, training=True)
F.batch_norm(x(4, 3), None, None, training=True, eps=0.0)
F.batch_norm(x(4, 3), torch.zeros(3), torch.ones(3), eps=-1.0)
F.batch_norm(x(2, 3), z(4), o(3))
F.batch_norm(x(2, 3), z(3), o(3), o(4))
F.batch_norm(x(2, 3).double(), z(3), o(3))
F.instance_norm(x(2, 3, 1))
F.group_norm(x(2, 3, 4), 2)
F.local_response_norm(x(2, 3), 2)
F.embedding(L([0, 3]), x(3, 2))
F.embedding(L([0, -1]), x(3, 2))
F.embedding(L([0.0, 1.0]), x(3, 2))
F.embedding(L([0, 1]), x(3, 2), padding_idx=3)
F.embedding_bag(L([0, 1]), x(3, 2))
F.embedding_bag(L([[0, 1, 2]]), x(3, 2), mode="foo")
F.one_hot(L([0, 2]), 2)
F.one_hot(L([0, -2]))
F.bilinear(x(2, 3), x(2, 3), x(5, 3, 4), x(5))
F.scaled_dot_product_attention(x(5), x(5), x(5))
F.scaled_dot_product_attention(x(2, 3, 4, 5), x(2, 3, 6, 5), x(2, 3, 6, 5), attn_mask=o(4, 5))
F.mse_loss(z(3), z(2))
F.mse_loss(z(3), z(3), reduction="foo")
F.smooth_l1_loss(z(3), z(3), beta=-1.0)
F.huber_loss(z(3), z(3), delta=0.0)
F.binary_cross_entropy(z(3), z(2))
F.binary_cross_entropy(L([1.5]), L([1.0]))
F.binary_cross_entropy_with_logits(z(3), z(1))
F.binary_cross_entropy_with_logits(z(3), z(3), pos_weight=o(3).requires_grad_())
F.nll_loss(z(2, 3), L([1, 3]))
F.nll_loss(z(2, 3), L([1]))
F.nll_loss(z(2, 3), L([1.0, 0.0]))
F.nll_loss(z(2, 3), L([1, 1]), o(2))
F.cross_entropy(z(2, 3), L([1, 3]))
F.cross_entropy(z(2, 3), L([1, -1]))
F.cross_entropy(z(2, 3), L([[1], [0]]))
F.cross_entropy(z(2, 3), L([1, 0]), label_smoothing=2.0)
F.cross_entropy(z(2, 3), o(2, 3), ignore_index=1)
F.gaussian_nll_loss(z(2), o(2), -o(2))
F.margin_ranking_loss(z(2), z(2, 2), o(2))
F.cosine_embedding_loss(o(2, 3), o(2, 3), o(2, 2))
F.multi_margin_loss(x(2, 3), L([0, 3]))
F.multilabel_margin_loss(x(2, 3), L([[0, -1], [1, 2]]))
F.triplet_margin_loss(x(2, 3), x(2, 3), x(2, 3), margin=-1.0)
F.ctc_loss(x(5, 2, 4), L([[1, 2], [2, 3]]), L([5, 5]), L([2, 2]), blank=7)
F.ctc_loss(x(5, 2, 4), L([[1, 2], [2, 3]]), L([6, 5]), L([2, 2]))
F.pdist(x(1, 3, 2))
"""

# What must warn.
WARNINGS = """
F.mse_loss(z(3), z(2, 3))
F.mse_loss(z(3), z(3), size_average=False)
F.l1_loss(z(3), z(3), None, False)
F.cross_entropy(z(2, 3), L([1, 0]), reduction="elementwise_mean")
F.kl_div(z(2, 3), o(2, 3))
F.softmax(x(2, 2))
F.dropout2d(x(2, 3, 4))
F.dropout3d(x(2, 3))
F.upsample(x(1, 1, 2, 2), scale_factor=2)
F.grid_sample(x(1, 1, 4, 4), x(1, 2, 2, 2))
F.embedding_bag(x(3, 2), L([[0, 1]]))
"""


class Case:
    """A line of one of the tables above."""

    def __init__(self, line: str) -> None:
        name, expression, inputs, *_ = [part.strip() for part in line.split(" : ")]
        self.same_node = not name.startswith("~")
        self.name, self.expression, self.inputs = name.removeprefix("~"), expression, inputs.split()


CASES = [Case(line) for table in (ACTIVATIONS, WINDOWS, LAYERS, LOSSES) for line in table.strip().splitlines()]

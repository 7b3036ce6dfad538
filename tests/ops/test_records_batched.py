"""Every record's samples under vmap: the same as one after the other."""

from __future__ import annotations

import pytest
import records
from recording import X, seed_of
from running import build, coarsest, flatten, gradients_close, is_tensor, quiet, resolve

import penlight

MANY = 4  # samples of a record

# Records that vmap has nothing to do with, or refuses as PyTorch's does; by the reason.
NOTHING = {
    "no tensor comes out": "Tensor.size Tensor.stride Tensor.numel Tensor.nelement Tensor.dim Tensor.ndimension Tensor.element_size "
    "Tensor.storage_offset Tensor.is_contiguous Tensor.is_floating_point Tensor.is_complex Tensor.is_signed Tensor.get_device Tensor.numpy "
    "Tensor.tolist Tensor.item is_tensor allclose equal is_nonzero is_same_size Tensor.data_ptr",
    "no tensor goes in": "tril_indices triu_indices broadcast_shapes fft.fftfreq fft.rfftfreq zeros ones full arange linspace logspace eye tensor "
    "promote_types rand randn randint randperm empty empty_permuted",
    "a list of tensors goes in: tests/func/test_batched_ops.py": "hstack vstack dstack column_stack row_stack cat concat concatenate stack "
    "linalg.multi_dot",
    "the tensor is not the first argument: tests/func/test_batched_ops.py": "einsum polygamma special.polygamma",
    "the shape of the result depends on the data": "nonzero_static unique unique_consecutive argwhere nonzero histogramdd masked_select",
    "random: tests/func/test_randomness.py": "rand_like randn_like randint_like normal bernoulli multinomial poisson Tensor.uniform_ Tensor.normal_ "
    "Tensor.random_ Tensor.bernoulli_ Tensor.exponential_ Tensor.cauchy_ Tensor.geometric_ Tensor.log_normal_ nn.functional.gumbel_softmax",
    "removed from PyTorch: always an error": "solve lstsq symeig eig matrix_rank",
    "changes what a tensor is": "Tensor.requires_grad_ Tensor.retain_grad Tensor.resize_ Tensor.resize_as_ Tensor.share_memory_",
}
WITHOUT = {name for names in NOTHING.values() for name in names.split()}


def one_call(name, args, kwargs):
    """The function, or the method of what is given first: that of a batched tensor is its own."""
    if name.startswith("Tensor."):
        return lambda t: getattr(t.clone(), name.removeprefix("Tensor."))(*args, **kwargs)
    return lambda t: resolve(penlight, name)(t.clone(), *args, **kwargs)


def batched(record, place):
    """The results of three samples one by one, and under vmap; None if the sample is not one to compare."""
    sample = record.samples[place]
    if not sample.args or not isinstance(sample.args[0], X):
        return None
    built = [build(penlight, sample, seed_of(f"{record.name} {turn}", place), grad=False) for turn in range(3)]
    run = one_call(record.name, built[0][0][1:], built[0][1])
    tensors = [args[0] for args, _, _ in built]
    try:
        with quiet():
            loop = [flatten(run(t)) for t in tensors]
    except (RuntimeError, NotImplementedError, TypeError, IndexError, ValueError):
        return None  # a dtype or value that is refused
    if not all(map(is_tensor, loop[0])) or len({tuple(tuple(o.shape) for o in one) for one in loop}) > 1:
        return None
    try:
        with quiet():
            return loop, flatten(penlight.func.vmap(run)(penlight.stack(tensors)))
    except RuntimeError as refusal:
        words = (
            "dynamic shape",
            "Batch norm got a batched",
            "random",
            *(["data-dependent"] if record.name == "repeat_interleave" else []),
        )
        if any(w in str(refusal) for w in words):
            return None
        raise


@pytest.mark.parametrize("name", [n for n in records.RECORDS if n not in WITHOUT])
def test_vmap_is_a_loop(name):
    record = records.RECORDS[name]
    seen = 0
    for place in range(len(record.samples)):
        if seen == MANY:
            break
        found = batched(record, place)
        if found is None:
            continue
        seen += 1
        loop, together = found
        if not record.equal:
            continue
        for number, result in enumerate(together):
            wanted = penlight.stack([one[number] for one in loop])
            assert result.dtype is wanted.dtype and result.shape == wanted.shape
            difference = gradients_close(result, wanted, record.rtol, coarsest(record.samples[place]))
            assert not difference, f"{record.samples[place]!r}: {difference}"
    assert seen, "no sample of this record can be batched"


def test_the_list_of_those_without_is_needed():
    assert not WITHOUT - set(records.RECORDS)

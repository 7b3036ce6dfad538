"""What the own tests of libraries found (tools/libraries.py)."""

from __future__ import annotations


def test_a_part_of_a_storage_is_a_storage(same):
    def program(torch, say):
        m, n = torch.arange(10.0), torch.empty([])
        n.set_(source=m.untyped_storage()[:32])
        say(n, n.untyped_storage().nbytes(), m.untyped_storage().nbytes(), n.data_ptr() == m.data_ptr())
        k = torch.empty(0).set_(m.untyped_storage()[16:48])
        say(k, k.storage_offset(), k.data_ptr() - m.data_ptr(), k[1:].storage_offset())
        k += 1
        say(m, m.untyped_storage()[3:3].nbytes())

    same(program)


def test_storages_on_the_meta_device(same):
    def program(torch, say):
        storage = torch.zeros(2, 2, device="meta").untyped_storage()
        say(storage.data_ptr(), storage.nbytes(), storage.device, type(storage).__name__)

    same(program)


def test_ctc_of_targets_that_contain_the_blank(same):
    def program(torch, say):
        F = torch.nn.functional
        logits = (torch.arange(24.0).view(2, 4, 3).transpose(0, 1) - 12) / 100
        for targets, lengths in (([[1, 2, 1, 0], [1, 2, 0, 2]], [4, 4]), ([[0, 2, 0, 1], [1, 0, 2, 0]], [2, 3])):
            logs = F.log_softmax(logits, -1).requires_grad_()
            loss = F.ctc_loss(
                logs, torch.tensor(targets), torch.tensor([4, 4]), torch.tensor(lengths), reduction="none"
            )
            loss.sum().backward()
            say(loss, logs.grad)

    same(program)


def test_questions_about_attention_on_gpus(same):
    def program(torch, say):
        q = torch.ones(1, 2, 3, 4)
        cuda = torch.backends.cuda
        params = cuda.SDPAParams(q, q, q, None, 0.0, False, False)
        say(params.query is q, params.attn_mask, params.dropout, params.is_causal, params.enable_gqa)
        say(cuda.can_use_flash_attention(params, True), cuda.can_use_efficient_attention(params))
        say(cuda.can_use_cudnn_attention(params))

    same(program)


def test_modules_have_one_base(same):
    def program(torch, say):
        say(torch.nn.Module.__mro__, torch.nn.Linear.__mro__)

        class Cooperative:
            def __init__(self, seen="nothing"):
                self.seen = seen

        class Both(torch.nn.Module, Cooperative):
            call_super_init = True

        both = Both(seen=3)
        both.layer = torch.nn.ReLU()
        say(both.seen, both)
        del both.seen
        say(hasattr(both, "seen"))

    same(program)

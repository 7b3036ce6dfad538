"""Small programs by topic, whose printed outcome on PyTorch 2.13.0 is pinned in `outcomes.json`.

`python -m tests.pinned.snippets` (with PyTorch installed) writes the outcomes anew. A line that raises prints the error and
the program goes on with the next line.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import warnings
from pathlib import Path
from typing import Any

OUTCOMES = Path(__file__).with_name("outcomes.json")

TOPICS: dict[str, str] = {
    "numbers that fit": """
        x = torch.zeros(2, dtype=torch.uint8); m = torch.tensor([True, False]); x.fill_(-5), x.masked_fill(m, 255), torch.full((1,), -255, dtype=torch.uint8)
        x.fill_(300)
        x.masked_fill(m, -256)
        x[0] = 256
        x[0] = 2.9; x
        x.index_fill(0, torch.tensor([0]), -2.7)
        x.scatter(0, torch.tensor([0]), 1e10)
        torch.full((2,), float("nan"), dtype=torch.int32)
        torch.full_like(x, 1000)
        torch.tensor(300, dtype=torch.uint8)
        torch.tensor([1, 300], dtype=torch.int8)
        torch.tensor([-5, 2.9], dtype=torch.int16), torch.tensor([-1], dtype=torch.uint8), torch.scalar_tensor(-1, dtype=torch.uint8)
        torch.tensor([1j], dtype=torch.float32)
        torch.scalar_tensor(1e300, dtype=torch.float32)
        h = torch.zeros(2, dtype=torch.float16); h.masked_fill(m, -1e9)
        h.masked_fill(m, -6e4), h.masked_fill(m, float("-inf")), h[:1].fill_(1e9), torch.full((1,), -1e9, dtype=torch.float16)
        h.fill_(1e9)
        torch.zeros(2).masked_fill(m, 1e39)
        torch.zeros(2).fill_(1 + 2j)
        torch.zeros(2).fill_(1 + 0j), torch.zeros(2, dtype=torch.bool).fill_(2.5)
        torch.nn.functional.pad(x, (1, 0), value=-5)
        torch.nn.functional.pad(h, (1, 0), value=1e6)
        torch.tensordot(torch.full((1, 1), 3, dtype=torch.int32), torch.ones(4, 2, dtype=torch.int32), dims=[[1], [0]])
        torch.nn.functional.hinge_embedding_loss(torch.tensor([1, 2, 3]), torch.tensor([1, -1, 1]), margin=8.4, reduction="sum")
        torch.nn.functional.hinge_embedding_loss(torch.tensor([1, 2]), torch.tensor([1, -1]))
        torch.rsub(2, torch.ones(1))
    """,
    "creation": """
        torch.tensor([1, 2.5]), torch.tensor([True, False]), torch.tensor(3), torch.tensor([[1, 2], [3, 4]]).dtype, torch.tensor(1j)
        torch.tensor([]), torch.tensor([[], []]).shape, torch.tensor([1, 2], dtype=torch.float16), torch.tensor([1.7, -1.7], dtype=torch.int32)
        torch.zeros(2, 3), torch.zeros((2, 3), dtype=torch.int64), torch.ones([2]), torch.full((2,), 7), torch.full((2, 2), 1.5), torch.full((), True)
        torch.eye(2), torch.eye(2, 3), torch.arange(5), torch.arange(1, 4), torch.arange(0, 1, 0.25), torch.arange(5, 0, -2), torch.arange(3.0)
        torch.linspace(0, 1, 5), torch.linspace(-1, 1, 4), torch.linspace(0, 10, 3, dtype=torch.int64), torch.logspace(0, 2, 3), torch.linspace(3, 3, 1)
        torch.zeros_like(torch.ones(2, dtype=torch.int32)), torch.full_like(torch.ones(2), 3), torch.ones_like(torch.zeros(2, 2).t()).stride()
        torch.ones(2).new_zeros(3), torch.ones(2, dtype=torch.int64).new_tensor([1.5]), torch.ones(2).new_full((2,), 4), torch.ones(1).new_ones(2, dtype=torch.bool)
        torch.as_tensor([1, 2]), torch.scalar_tensor(3), torch.empty(0).shape, torch.empty(2, 0, 3).shape, torch.Tensor([1, 2]), torch.Tensor(2, 3).shape
        torch.tensor([1, [2]])
        torch.tensor("a")
        torch.zeros(-1)
        torch.zeros("a")
        torch.arange(0, 5, -1)
        torch.full((2,), None)
        torch.tensor([1, 2, 3], dtype="float32")
        torch.ones(2, dtype=torch.int64, requires_grad=True)
        torch.zeros(2, device="cpu"), torch.zeros(2, device=torch.device("cpu")).device, torch.device("cuda", 1), torch.device("cuda:0").index
        torch.device("foo")
        torch.tensor([1.0], requires_grad=True), torch.tensor(2.0, requires_grad=True).requires_grad, torch.tensor([[1, 2], [3]])
    """,
    "promotion": """
        torch.tensor([1]) + 1.5, torch.tensor([1]) * 2, torch.tensor([1.0]) + torch.tensor([1.0], dtype=torch.float64), torch.tensor([True]) + 1
        (torch.ones(2) * torch.tensor(2.0, dtype=torch.float64)).dtype, (torch.ones(2, dtype=torch.int64) * torch.tensor(2.5)).dtype
        (torch.ones(1, dtype=torch.uint8) + torch.ones(1, dtype=torch.int8)).dtype, (torch.ones(1, dtype=torch.float16) + torch.ones(1)).dtype
        torch.promote_types(torch.int64, torch.float16), torch.promote_types(torch.float64, torch.complex64), torch.promote_types(torch.bool, torch.uint8)
        torch.tensor([7]) / 2, torch.tensor([7]) // 2, torch.tensor([-7]) // 2, torch.tensor([-7]) % 3, torch.tensor([7.5]) % 2, torch.tensor([1]) / torch.tensor([4])
        torch.exp(torch.tensor([1])), torch.sqrt(torch.tensor([4])), torch.tensor([2]) ** 3, torch.tensor([2]) ** 0.5, 2 ** torch.tensor([3]), 2.0 ** torch.tensor([3])
        torch.ones(2, dtype=torch.bool).sum(), torch.ones(2, dtype=torch.int32).sum().dtype, torch.ones(2, dtype=torch.int32).prod().dtype, torch.arange(3).cumsum(0).dtype
        torch.tensor([250], dtype=torch.uint8) + 10, torch.tensor([1.0]) == 1, torch.tensor([1]) == 1.0, torch.tensor([1, 2]) > torch.tensor(1.5)
        torch.tensor([1 + 2j]) + 1, (torch.ones(1) + 1j).dtype, (torch.ones(1, dtype=torch.float64) * 1j).dtype, torch.tensor([1 + 2j]).abs(), torch.tensor([3 + 4j]).real
        torch.ones(2, dtype=torch.int64).mean()
        torch.ones(2, dtype=torch.bool) - True
        -torch.ones(2, dtype=torch.bool)
        torch.ones(2, dtype=torch.int64).add_(1.5)
        torch.zeros(3).add_(torch.ones(2, 3))
        torch.ones(2) + torch.ones(3)
        torch.ones(2) + "a"
        torch.add("a", torch.ones(2))
        torch.exp(2.0)
        torch.ones(2) < "a"
        torch.ones(2) == "a", torch.ones(2) == None, torch.ones(2) != None
        torch.tensor(5) // 0
        torch.float32, torch.float32.itemsize, torch.int8.is_signed, torch.complex64.is_complex, torch.half, torch.double, torch.long, torch.can_cast(torch.float32, torch.int64)
        torch.tensor([1.9, -1.9]).to(torch.int64), torch.tensor([0.0, 2.0]).bool(), torch.tensor([1]).double(), torch.ones(1).type(), torch.ones(1).type(torch.LongTensor)
    """,
    "attributes": """
        x = torch.arange(6.0).view(2, 3)
        x.shape, x.size(), x.size(0), x.size(-1), x.stride(), x.dim(), x.ndim, x.numel(), x.nelement(), len(x), x.element_size(), x.nbytes, x.is_contiguous()
        x.t().is_contiguous(), x.t().stride(), x[1].storage_offset(), x[:, 1].stride(), x[:, 1:].storage_offset(), x[1:, 2].shape, x.unsqueeze(0).stride(), x.expand(4, 2, 3).stride()
        x.is_floating_point(), x.is_complex(), x.dtype, x.device, x.layout, x.requires_grad, x.is_leaf, x.grad_fn, x.grad, x.output_nr, x._version, x._is_view(), x[0]._is_view()
        x.view(-1)._base is not None, x.data_ptr() == x[0].data_ptr(), x.tolist(), x[0, 0].item(), float(x[1, 2]), int(x[1, 2]), bool(x[0, 1]), x[0].numpy(), [y.tolist() for y in x]
        f"{x[0, 1]:.2f}", f"{x[0]}", "%d" % x[1, 0], str(x[0, 0]), repr(x), format(x[1, 1], ".3e"), 2.0 in x, 7 in x, hash(x) == id(x), x.T.shape, x.mT.shape
        x.size(5)
        x.item()
        float(x)
        bool(x)
        len(torch.tensor(1))
        list(torch.tensor(1))
        f"{x:.2f}"
        "a" in x
        x.foo
        torch.Size([2, 3]), torch.Size([2, 3]).numel(), torch.Size([2, 3])[1:], torch.Size([1]) + torch.Size([2]), tuple(torch.Size([2]))
        x.name_of_mine = 3; x.name_of_mine
        import copy, pickle; y = copy.deepcopy(x); y[0, 0] = 9; x[0, 0].item(), pickle.loads(pickle.dumps(x)).tolist(), copy.copy(x).data_ptr() == x.data_ptr()
        w = torch.ones(2, requires_grad=True); pickle.loads(pickle.dumps(w * 2)).is_leaf, copy.deepcopy(w), pickle.loads(pickle.dumps(w))
        copy.deepcopy(w * 2)
        x.requires_grad = 1
        torch.ones(2, dtype=torch.int64).requires_grad_()
        w.numpy()
        w.detach().numpy(), w.tolist(), w.data, w.detach().requires_grad
    """,
    "indexing": """
        x = torch.arange(12).view(3, 4)
        x[0], x[-1], x[0, 1], x[:, 1], x[1:, ::2], x[..., 0], x[None].shape, x[:, None].shape, x[0:0].shape, x[..., None].shape, x[2, ...], x[-2:, -2:]
        x[[0, 2]], x[torch.tensor([2, 0])], x[[0, 1], [1, 2]], x[:, [3, 0]], x[x > 6], x[torch.tensor([True, False, True])], x[0][x[0] > 1], x[[True, False, True], 1]
        x[torch.tensor([[0, 1], [2, 0]])].shape, x[None, [0, 1]].shape, x[[0], :, None].shape, x[:, torch.tensor(1)], x[torch.tensor(1), torch.tensor(2)], x[1, [0, 3]], x[[0, 2], 1:3]
        y = torch.zeros(3, 4); y[0] = 1; y[:, 1] = torch.tensor([5.0, 6.0, 7.0]); y[1, 2:] = 9; y[y > 8] = -1; y[[0, 2], [3, 3]] = 4; y[..., 0] += 2; y
        y[torch.tensor([0, 1])] = torch.arange(4.0); y[2] = 3; y[None, 0] = 8; y
        z = torch.zeros(2, 3, 4); z[:, [0, 2]].shape, z[0, :, [1, 2]].shape, z[:, 0, [1, 2]].shape, z[[0, 1], :, [1, 2]].shape, z[..., [0, 1], None].shape, z[True].shape, z[False].shape
        x[5]
        x[:, 4]
        x[0, 0, 0]
        x[::-1]
        x[1.0]
        x["a"] if False else x[torch.tensor([0.5])]
        x[torch.tensor([5])]
        x[torch.tensor([True])]
        y[0] = torch.ones(5)
        y[[0, 1]] = torch.ones(3)
        torch.tensor(1.0)[0]
        torch.tensor(1.0)[torch.tensor(0)]
        torch.tensor(1.0)[...], torch.tensor(1.0)[None], torch.tensor([1.0, 2.0])[torch.tensor(1)]
        x.gather(1, torch.tensor([[0], [1], [2]])), x.index_select(1, torch.tensor([3, 0])), x.masked_select(x % 2 == 0), x.take if False else x.nonzero()[:3].tolist()
        torch.zeros(2, 3).scatter(1, torch.tensor([[0], [2]]), 5.0), torch.zeros(3).scatter_add(0, torch.tensor([0, 0, 2]), torch.ones(3)), torch.zeros(3).index_add(0, torch.tensor([1, 1]), torch.ones(2))
        torch.where(x > 5, x, 0), torch.where(x > 10), x.masked_fill(x > 3, -1)[0], x.tril(), x.triu(1), torch.diag(torch.tensor([1, 2])), x.diagonal(), x.diagonal(1)
    """,
    "views": """
        x = torch.arange(6.0); v = x.view(2, 3); v[0, 0] = 7; x, x._version, v._version, v._base is x
        x.reshape(3, 2), x.view(-1, 2).shape, x.view((3, 2)).shape, v.t().reshape(6), v.transpose(0, 1).shape, v.permute(1, 0).shape, v.flatten(), v.unsqueeze(1).shape, v.squeeze().shape
        x.view(4)
        x.view(-1, -1)
        v.t().view(6)
        x.expand(2, 6).shape, torch.ones(3, 1).expand(3, 2), torch.ones(1, 3).expand(2, -1), torch.ones(2).expand_as(torch.ones(3, 2)).shape, torch.ones(2, 1).broadcast_to((2, 3)).shape
        x.expand(5)
        x.split(4), x.chunk(4), x.unbind()[0], v.split([1, 2], 1), x.tensor_split(4), v.narrow(1, 1, 2), v.select(0, 1), x.unfold(0, 3, 2), v.movedim(0, 1).shape, v.swapaxes(0, 1).shape
        x.split([1, 2])
        x.chunk(0)
        v.narrow(1, 2, 2)
        v.select(0, 2)
        v.permute(0)
        v.transpose(0, 4)
        torch.cat([v, v]), torch.cat([v, v], 1).shape, torch.stack([v, v], 2).shape, torch.cat([torch.ones(1), torch.ones(1, dtype=torch.float64)]).dtype, torch.cat([torch.tensor([]), torch.ones(2)])
        torch.cat([])
        torch.cat([torch.ones(2, 3), torch.ones(3, 2)])
        torch.stack([torch.ones(2), torch.ones(3)])
        x.as_strided((2, 2), (1, 2)), x.flip(0), x.roll(2), v.repeat(2, 1).shape, x.tile(2).shape, v.T, v.flatten(0, 1).shape, x.unflatten(0, (2, -1)).shape
        a = torch.ones(3, requires_grad=True); b = a * 1; c = b[1:]; c.mul_(10); b.sum().backward(); a.grad, b.grad_fn.name(), c.grad_fn.name()
        a = torch.ones(4, requires_grad=True); b = a * 1; w = b.view(2, 2); u = w[0]; u.mul_(3); b[3] = 0; (w.sum() + u.sum()).backward(); a.grad
        a = torch.ones(3, requires_grad=True); b = torch.zeros(3); b[0] = a[1] * 2; b[1:] = a[:2]; b.requires_grad, b.sum().backward(), a.grad
        a = torch.ones(3, requires_grad=True); p, q, r = (a * 1).unbind(); p.add_(1)
        a = torch.ones(3, requires_grad=True); b = a * 1; p, q, r = b.unbind(); b.mul_(2); p + 1
        a[0] = 5
        a.add_(1)
        a.view(3).add_(1)
        b = a * 1; m = torch.no_grad(); m.__enter__(); n = b[:2]; m.__exit__(None, None, None); n.add_(1)
        torch.ones(1).expand(3).add_(1)
        y = a.exp(); y.add_(1); y.sum().backward()
        y = a * 2; z = y.sin(); y.add_(1); z.sum().backward()
        d = (a * 2).detach(); d.add_(1); d.requires_grad, d._version, (a * 2)[:1].detach_()
        c = torch.ones(4); c[1:].add_(c[:-1])
        e = torch.zeros(5, 1)[::2]; e.view(3, 1, 1).stride(), e.view(1, 3).stride(), e.reshape(1, 3, 1).stride(), torch.zeros(4, 6)[:, ::2].view(1, 2, 1, 2, 3, 1).stride()
    """,
    "backward": """
        x = torch.tensor([1.0, 2.0], requires_grad=True); y = (x * x).sum(); y.backward(); x.grad
        y.backward()
        g = x.grad; (x * 3).sum().backward(); x.grad, x.grad is g
        x.grad = None; (x**3).sum().backward(create_graph=True); x.grad.grad_fn is not None, torch.autograd.grad(x.grad.sum(), x)
        x.grad = None; z = x * 2; z.backward(torch.tensor([1.0, 10.0])); x.grad, z.is_leaf, z.grad_fn.name(), z.grad_fn.next_functions[0][1]
        (x * 2).backward()
        torch.ones(2).sum().backward()
        (x * 2).backward(torch.ones(3))
        torch.autograd.grad((x * 2).sum(), torch.ones(2, requires_grad=True))
        torch.autograd.grad((x * 2).sum(), torch.ones(2, requires_grad=True), allow_unused=True), torch.autograd.grad((x * 2).sum(), [x, torch.ones(1, requires_grad=True)], materialize_grads=True)
        torch.autograd.grad((x * 2).sum(), torch.ones(2))
        torch.autograd.grad([x.sum(), (x * x).sum()], [x]), torch.autograd.grad(x * x, x, grad_outputs=torch.tensor([1.0, 0.5])), torch.autograd.grad((x**4).sum(), x, create_graph=True)[0].grad_fn is None
        a = torch.tensor(2.0, requires_grad=True); d1 = torch.autograd.grad(a**5, a, create_graph=True)[0]; d2 = torch.autograd.grad(d1, a, create_graph=True)[0]; d3 = torch.autograd.grad(d2, a)[0]; d1.item(), d2.item(), d3.item()
        x.grad = None; w = torch.ones(2, requires_grad=True); (x * w).sum().backward(inputs=[w]); x.grad, w.grad
        y = x * 2; y.retain_grad(); (y * y).sum().backward(); y.grad, y.retains_grad, x.retains_grad
        torch.ones(2).retain_grad()
        t = torch.ones(2, 3, requires_grad=True); t.t().contiguous().sum().backward(); t.grad.stride(), torch.autograd.grad(t.sum(), t, is_grads_batched=False)[0].shape
        p = torch.ones(3, 2).t().detach().requires_grad_(); (p * 2).sum().backward(); p.grad.stride()
        gg = torch.ones(2); x.grad = None; (x * 1).backward(gg); gg.add_(1); x.grad
        x.grad = torch.ones(3)
        x.grad = 3
        torch.autograd.grad((x * 2).sum(), x, grad_outputs=[torch.ones(2)])
        torch.autograd.backward([x.sum(), x.sum()], [torch.tensor(1.0), torch.tensor(2.0)]), torch.autograd.grad(x[:1].sum() + x[1:].prod(), x)
        h = []; v = torch.ones(2, requires_grad=True); u = v * 2; u.register_hook(lambda g: h.append("u") or g * 10); v.register_hook(lambda g: h.append("v")); u.grad_fn.register_prehook(lambda g: h.append("pre")); u.grad_fn.register_hook(lambda i, o: h.append("node")); v.register_post_accumulate_grad_hook(lambda p: h.append("post")); u.sum().backward(); h, v.grad
        k = v.register_hook(lambda g: g * 0); k.remove(); v.grad = None; v.sum().backward(); v.grad
        torch.ones(1).register_hook(print)
        v.grad = torch.ones(2, dtype=torch.float64)
        v.grad = torch.ones(2, dtype=torch.float16)
        v.register_hook(lambda g: torch.ones(3)); v.sum().backward()
        s = (v * 2).sum(); f = s.grad_fn; f(torch.tensor(1.0)), f.next_functions[0][0](torch.ones(2))[0], f.next_functions[0][0].next_functions[0][0].variable is v, f.next_functions[0][0].next_functions[0][0].name()
        q = torch.ones(2, requires_grad=True); (q * q).grad_fn._saved_self, q.exp().grad_fn._saved_result, q.sum().grad_fn._saved_self_sym_sizes, (q**2).grad_fn._saved_exponent, (q * 2).grad_fn._saved_other, f.metadata
    """,
    "modes": """
        x = torch.ones(1, requires_grad=True); torch.is_grad_enabled()
        with torch.no_grad(): print((x * 2).requires_grad, torch.is_grad_enabled())
        with torch.no_grad(), torch.enable_grad(): print((x * 2).requires_grad)
        with torch.set_grad_enabled(False): print((x * 2).requires_grad)
        f = torch.no_grad()(lambda: (x * 2).requires_grad); f(), torch.is_grad_enabled()
        g = torch.no_grad()(lambda: [(yield (x * 2).requires_grad), (yield 2)]); it = g(); next(it), torch.is_grad_enabled(), next(it)
        with torch.inference_mode(): i = torch.ones(2) * 2; print(i.is_inference(), i.requires_grad, torch.is_inference_mode_enabled())
        i.requires_grad_()
        i.add_(1)
        i * x, (i + 1).is_inference(), i.clone().is_inference()
        import threading; r = []; torch.set_grad_enabled(False); t = threading.Thread(target=lambda: r.append(torch.is_grad_enabled())); t.start(); t.join(); torch.set_grad_enabled(True); r
        with torch.no_grad(): x += 1
        x, x._version
        y = (x * 2).requires_grad_(False)
        z = x.detach().requires_grad_(); z.is_leaf, z.grad_fn
    """,
    "forward mode refusals": """
        fw = torch.autograd.forward_ad; x = torch.arange(4.0); t = torch.ones(4); fw.enter_dual_level(); d = fw.make_dual(x, t)
        fw.make_dual(d, t)
        fw.make_dual(x, d)
        fw.make_dual(x, torch.ones(3))
        fw.make_dual(x, x.long())
        torch.exp(d, out=torch.ones(4))
        torch.exp(x, out=d)
        torch.sum(d, 0, out=torch.ones(()))
        torch.eq(d, d, out=torch.ones(4, dtype=torch.bool))
        torch.linalg.inv(fw.make_dual(torch.eye(2), torch.eye(2)), out=torch.eye(2))
        torch.fft.fft(d, out=torch.ones(4, dtype=torch.complex64))
        torch.floor_divide(d, d)
        torch.heaviside(x, d)
        torch.linalg.ldl_factor(fw.make_dual(torch.eye(2), torch.eye(2)))
        fw.make_dual(torch.ones(1).expand(2), torch.ones(2))
        fw.unpack_dual(fw.make_dual(torch.ones(5)[:3], torch.ones(3)).as_strided((4,), (1,), 0)).tangent
        fw.unpack_dual(fw.make_dual(torch.ones(2, 3).t(), torch.ones(3, 2))).tangent.stride()
        def custom(forward, jvp): Mine = type("Mine", (torch.autograd.Function,), dict(forward=staticmethod(forward), jvp=staticmethod(jvp))); r = Mine.apply(fw.make_dual(torch.arange(4.0), torch.ones(4))); return fw.unpack_dual(r[0] if isinstance(r, tuple) else r).tangent
        custom(lambda c, x: x * 2, lambda c, t: (t, t))
        custom(lambda c, x: x * 2, lambda c, t: t[:2])
        custom(lambda c, x: (x * 2, 3), lambda c, t: t)
        custom(lambda c, x: (x * 2, 3), lambda c, t: (t, None))
        custom(lambda c, x: (x * 2, x > 0), lambda c, t: (t, t))
        custom(lambda c, x: x, lambda c, t: t)
        custom(lambda c, x: x, lambda c, t: t * 2)
        custom(lambda c, x: x[:2], lambda c, t: torch.ones(4)[:2])
        custom(lambda c, x: x[:2], lambda c, t: t[:2])
        custom(lambda c, x: (c.mark_dirty(x), x.mul_(2))[1], lambda c, t: t * 2)
        custom(lambda c, x: (c.mark_dirty(x), x.mul_(2))[1], lambda c, t: None)
        custom(lambda c, x: (c.mark_dirty(x), x.mul_(2))[1], lambda c, t: t.mul_(2))
        custom(lambda c, x: (c.save_for_backward(x), x * 2)[1], lambda c, t: print(c.saved_tensors) or t)
        custom(lambda c, x: (c.save_for_forward(x, None), x * 2)[1], lambda c, t: print(c.saved_tensors) or t)
        fw.exit_dual_level(); fw.exit_dual_level()
    """,
    "engine": """
        from collections import OrderedDict; class_of = lambda **members: type("Mine", (torch.autograd.Function,), {n: staticmethod(f) for n, f in members.items()}); log = []
        x = torch.ones(2, requires_grad=True); queue = torch.autograd.Variable._execution_engine.queue_callback; queue(print)
        def again(): log.append(1); queue(lambda: log.append(2))
        y = x * 2; _ = y.register_hook(lambda g: queue(again)); y.sum().backward(); log
        y.grad_fn(torch.ones(2), torch.ones(2))
        y.grad_fn()
        y.grad_fn(3)
        y.grad_fn(torch.ones(2), a=1)
        e = x.exp(); e.sum().backward(); e.grad_fn._saved_result
        x._backward_hooks = OrderedDict({0: lambda g: g * 5}); x.grad = None; (x * 1).sum().backward(); x.grad
        del x._backward_hooks
        del x.requires_grad
        del x.data
        del x.grad; x.grad
        Twice = class_of(forward=lambda ctx, x: (ctx.mark_dirty(x), x.mul_(2), x)[1:], backward=lambda ctx, a, b: (print(a, b), a + b)[1])
        z = x.detach().requires_grad_(); o, p = Twice.apply(z.clone()); (o + 3 * p).sum().backward(); o is p, o.output_nr, z.grad
        nn = torch.nn; [c.__name__ for c in nn.Module.__mro__], [c.__name__ for c in nn.Linear.__mro__]
        class_with = type("Net", (), dict(act=torch.tanh, total=torch.sum, flip=torch.fft.fftshift, norm=torch.linalg.norm)); class_with().act(x.detach()), class_with().norm(x.detach())
    """,
    "kinks": """
        z = torch.tensor([0.0, -0.0]); [[str(n) for n in f(z.to(d), -z.to(d)).tolist()] for f in (torch.fmax, torch.fmin) for d in (torch.float32, torch.float16, torch.bfloat16)]
        def d(f, *v): x = torch.tensor(v if len(v) > 1 else v[0], dtype=torch.float64, requires_grad=True); f(x).sum().backward(); return x.grad.tolist()
        d(torch.relu, 0.0), d(torch.abs, 0.0), d(torch.sqrt, 0.0), d(lambda x: x**0.5, 0.0), d(lambda x: x**0, 0.0), d(torch.sign, 0.0), d(torch.round, 0.5)
        d(lambda x: x.norm(), 0.0, 0.0), d(lambda x: x.std(), 1.0, 1.0), d(lambda x: x.max(), 1.0, 1.0), d(lambda x: x.amax(0), 1.0, 1.0), d(lambda x: x.max(0)[0], 1.0, 1.0)
        d(lambda x: torch.maximum(x, torch.tensor(1.0)), 1.0), d(lambda x: x.clamp(0, 1), 0.0), d(lambda x: x.prod(), 0.0, 3.0, 2.0), d(lambda x: x.prod(), 0.0, 0.0, 2.0)
        d(lambda x: torch.where(x > 0, x.log(), torch.zeros_like(x)), 0.0), d(lambda x: x.logsumexp(0), -float("inf"), -float("inf")), d(lambda x: torch.atan2(x, torch.tensor(0.0)), 0.0)
    """,
    "complex": """
        z = torch.tensor([1 + 2j, -3 + 0.5j], requires_grad=True); z, z.real, z.imag, z.conj(), z.abs()
        def d(f): z.grad = None; f(z).backward(); return z.grad
        d(lambda z: (z * z.conj()).real.sum()), d(lambda z: z.abs().sum()), d(lambda z: (z**2).real.sum()), d(lambda z: (z * z).imag.sum()), d(lambda z: z.exp().real.sum())
        d(lambda z: (z / (z + 1)).real.sum()), d(lambda z: z.sin().imag.sum()), d(lambda z: torch.view_as_real(z).sum()), d(lambda z: z.sum().abs()), d(lambda z: (z @ z).real), d(lambda z: z.log().real.sum())
        x = torch.tensor([1.0, 2.0], requires_grad=True); (x * (1 + 2j)).abs().sum().backward(); x.grad, (x * 1j).dtype
        z.sum().backward()
        torch.view_as_complex(torch.tensor([[1.0, 2.0]])), torch.tensor([1 + 1j]) == 1 + 1j, torch.tensor([3 + 4j]).sgn() if hasattr(torch, "sgn") else None
    """,
    "conjugate views": """
        x = torch.tensor([1 + 2j, 3 - 4j]); y = x.conj(); y, y.is_conj(), y.is_neg(), y._is_view(), y._base is x, y.data_ptr() == x.data_ptr(), y.conj().is_conj(), y.conj()._base is x
        x[0] = 5 + 5j; y
        y[1] = 1j; x
        y.mul_(2j); x, x._version
        y += 1; x, x._version
        y.copy_(torch.tensor([1 + 1j, 2 + 2j])); x, x.copy_(y), y
        y.resolve_conj(), y.resolve_conj().is_conj(), x.resolve_conj() is x, y.clone().is_conj(), (y * 1).is_conj(), y.detach().is_conj(), y.data.is_conj(), y.contiguous() is y
        y.numpy()
        y.numpy(force=True), y.tolist(), y[0].item()
        torch.view_as_real(y)
        y.view(torch.float32)
        y.real, y.imag, y.real.is_neg(), y.imag.is_neg(), y.imag._is_view(), y.imag.resolve_neg().numpy(), y.real.numpy()
        y.imag.numpy()
        y.imag.fill_(7); y.real.mul_(3); y.imag[0] = 1; x
        y.imag = torch.tensor([9.0, 8.0]); y.real = 2; x
        y[0].is_conj(), y.view(1, 2).is_conj(), y.reshape(2, 1).is_conj(), y.expand(3, 2).is_conj(), y[torch.tensor([0])].is_conj(), y.unbind()[0].is_conj(), y.split(1)[1].is_conj(), y.view(1, 2).t()[1:].is_conj()
        z = y.view(2, 1)[1:]; z.fill_(4j); x, z, z._base is x
        y[1:].storage_offset(), y[1:].data_ptr() - x.data_ptr(), y.is_contiguous(), y.stride(), len(y), y[1:].as_strided((1,), (1,), 0), y[1:].as_strided((1,), (1,), 0).is_conj()
        torch.is_conj(y), torch.conj(y).is_conj(), torch.resolve_conj(y), torch.is_neg(y.imag), torch.resolve_neg(y.imag)
        r = torch.arange(3.0); n = torch._neg_view(r); n, n.is_neg(), n + 1, -n, torch._neg_view(n).is_neg(), torch._neg_view(x).conj(), torch._neg_view(x).conj().is_neg()
        n[0] = 5; n.mul_(2); r, n.copy_(r), r
        n.numpy()
        m = torch.tensor([[1 + 2j, 3 - 1j], [0.5j, 2 + 2j]]); c = torch.tensor([[2 - 1j, 1j], [1 + 1j, 3]]).conj(); m.mH.is_conj(), m.H.is_conj(), m.adjoint().is_conj(), m.mH, torch.ones(2).conj().is_conj()
        m @ c, m.mH @ m, m + c, c.abs(), c.sum(), torch.cat([c, m]), torch.stack([c, c]).is_conj(), c.imag @ c.real, c.imag.sort()[0], torch.equal(c, c.conj_physical().conj()), torch.einsum("ij,jk", c, m), torch.fft.fft(c)
        [t.is_conj() for t in (torch.fft.ihfft(r), torch.fft.ifft(r), torch.fft.rfft(r), torch.svd(m)[2], torch.linalg.pinv(m), torch.linalg.svd(m)[2], m.mH @ m)], type(c).__name__, isinstance(c, torch.Tensor), torch.is_tensor(c)
        o = torch.zeros(2, 2, dtype=torch.complex64); torch.add(m, m, out=o.conj()); o
        c.t_(), c.is_conj(), c.masked_fill_(c.real > 1, 0), c.index_fill_(0, torch.tensor([0]), 1j), c.addmm_(m, m), c.__setitem__(c.real > 0, 0), c, c.is_conj()
        import copy, pickle; copy.deepcopy(c), copy.copy(c), pickle.loads(pickle.dumps(c)), torch.empty_like(c).is_conj(), c.new_zeros(1).is_conj()
        x = torch.tensor([1 + 2j, 3 - 4j], requires_grad=True); x.conj(), x.conj().imag, x.conj().real, x.conj().resolve_conj(), torch._neg_view(x)
        def d(f): x.grad = None; b = x * 1; f(b).backward(); return x.grad
        d(lambda b: (b.conj() * b.conj()).real.sum()), d(lambda b: (b.conj().imag * b.real).sum()), d(lambda b: (b.conj().mul_(3j), b.abs() ** 2)[1].sum()), d(lambda b: (b.conj(), b.mul_(2))[0].pow(3).real.sum())
        d(lambda b: (b.conj()[1:].mul_(x[:1]), b * b)[1].imag.sum()), d(lambda b: (b.conj().imag.mul_(2), b * b)[1].imag.sum()), d(lambda b: (torch._neg_view(b).mul_(3), b * b)[1].imag.sum())
        x.conj().mul_(2)
        w = x.detach().conj().requires_grad_(); w.is_leaf, w.is_conj(), (w * w).real.sum().backward(), w.grad
        h = x.conj(); s = (h * h).real.sum(); torch.no_grad()(lambda: x.mul_(2))(), s.backward()
        torch.func.vmap(lambda a: a.conj() * 2)(x.detach()), torch.func.jvp(torch.conj, (x.detach(),), (x.detach(),)), torch.nn.Parameter(x.detach().conj())
        with torch.inference_mode(): q = torch.ones(2, dtype=torch.complex64) * 1j; k = q.conj(); print(k, k.is_conj(), k[0].is_conj(), k.is_inference(), k.mul_(2), q)
    """,
    "strides of selected and joined": """
        a = torch.arange(24.0).view(2, 3, 4); p = a.permute(2, 0, 1); i = torch.tensor([0, 1]); k = torch.tensor([[0, 1, 1], [1, 0, 0]]); n = i[:0]
        p[i].stride(), p[:, i].stride(), p[..., i].stride(), p[i, i].stride(), p[:, i, i].stride(), p[i, :, i].stride(), p[:, k].stride(), p[None, i].stride()
        p[:, i[:1]].stride(), p[:, n].stride(), p[n].stride(), a[:, :, ::2][:, i].stride(), a.expand(2, 3, 4)[:, i].stride(), a[:1].expand(2, 3, 4)[:, i].stride()
        a[k.t()].stride(), a[:, k.t()].stride(), a[k.t(), k.t() * 0].stride(), a[:, i].stride(), a[..., i].stride(), a[i, :, i].stride(), p[:, i].tolist()
        p[p > 3].stride(), p[:, torch.tensor([True, False])].stride(), a.transpose(0, 1)[i].stride(), a.transpose(1, 2)[:, i[:, None], i].stride()
        c = torch.arange(120.0).view(2, 3, 4, 5).to(memory_format=torch.channels_last); c[:, i].stride(), c[i].stride(), c[..., i].stride()
        torch.stack([c, c]).stride(), torch.stack([c, c], 1).stride(), torch.stack([c, c], 2).stride(), torch.stack([c, c], -1).stride(), torch.stack([c, c.contiguous()]).stride()
        torch.stack([c, c + 1], 1)[0, 1, 2, 3], torch.vstack([a[0].t(), a[0].t()]).stride(), torch.dstack([p, p]).stride(), torch.vstack([c, c]).stride()
    """,
    "storages as objects": """
        x = torch.arange(4.0); s = x.untyped_storage(); x.untyped_storage() is s, x[1:].untyped_storage() is s, x.detach().untyped_storage() is s, x.clone().untyped_storage() is s
        {s: 1}[x.view(2, 2).untyped_storage()], s == x.untyped_storage(), s == torch.ones(1).untyped_storage(), x.storage().untyped() is s, x.storage() is x.storage()
        import weakref, sys; weakref.ref(s)() is s, sys.getsizeof(s) - sys.getsizeof(torch.ones(2).untyped_storage()), sys.getsizeof(x.storage()) - sys.getsizeof(torch.ones(2).storage())
        x.storage_type(), x.long().storage_type(), torch.empty(0, dtype=torch.float64).storage_type(), torch.ones(1, dtype=torch.uint16).storage_type()
        torch.ones(1, 2, 1).squeeze_(0, 2).shape, torch.ones(1, 2, 1).squeeze_((0, 2)).shape, (torch.ones(1, 2, 1, requires_grad=True) * 1).squeeze_(0, 2)
        torch.ones(1, 2, 1).squeeze_(0, 0)
        torch.tensor([torch.tensor([0, 1]), torch.tensor([1, 0])])
        torch.tensor([torch.ones(2), torch.ones(2)])
        torch.conv_tbc(torch.ones(3, 1, 2), torch.ones(1, 2, 2, dtype=torch.float64), torch.ones(2))
        torch.segment_reduce(torch.arange(4.0), "amax", lengths=torch.tensor([1, 3])), torch.segment_reduce(torch.arange(4.0), "amin", lengths=torch.tensor([1, 3]))
        m = torch.tensor([[1.0, 0, 2], [0, 0, 3], [1, 0, 0]]); r, c = m.to_sparse_csr(), m.to_sparse_csc(); [(a @ b).layout for a in (r, c) for b in (r, c)], (c @ c).to_dense()
        [torch.sparse.mm(r, m, how) for how in ("max", "min", "amax", "amin", "mean")]
        torch.sparse.mm(c, m, "max")
    """,
    "compressed matrices with dense dimensions": """
        T = torch.tensor; v = torch.arange(6.0).view(3, 2) + 1; r = torch.sparse_csr_tensor(T([0, 2, 3]), T([0, 1, 1]), v); c = torch.sparse_csc_tensor(T([0, 2, 3]), T([0, 1, 1]), v, (2, 2, 2))
        r.shape, r.dense_dim(), r.sparse_dim(), r._nnz(), r.values(), r.to_dense(), c.to_dense(), (r * 2).to_dense(), r.to_sparse_csc().to_dense().tolist() == r.to_dense().tolist()
        r, c.to_sparse_coo(), torch.zeros_like(r).shape, r.sum()
        x = torch.tensor([[[1.0, 2], [0, 0]], [[0, 0], [3, 4]]]); x.to_sparse_csr(dense_dim=1).values(), x.to_sparse_csc(dense_dim=1).ccol_indices(), x.to_sparse(2).to_sparse_csr().shape, x.to_sparse(layout=torch.sparse_csr, dense_dim=1).shape
        y = x.clone().requires_grad_(); (y.to_sparse_csr(dense_dim=1).to_dense() ** 2).sum().backward(); y.grad
        r.transpose(0, 1)
        torch.mm(r, torch.ones(2, 1))
        torch.sparse.sampled_addmm(r, torch.ones(2, 2), torch.ones(2, 2))
    """,
    "gradients through sparse products": """
        m = torch.tensor([[1.0, 0, 2], [0, 0, 3], [4, 5, 0]]).requires_grad_(); s = m.to_sparse(); w = torch.arange(9.0).view(3, 3)
        for p in (s @ s, s @ s @ s, s @ s + s, s @ s.t()): g = torch.autograd.grad((p.to_dense() * w).sum(), m); print(g[0])
        torch.autograd.grad(((s @ s).coalesce().values() ** 2).sum(), m)[0], torch.autograd.grad((s.to_dense() * w).sum(), m)[0], torch.autograd.grad(((s @ s).to_dense(masked_grad=False) * w).sum(), m)[0]
        torch.autograd.grad(((m.to_sparse_csr() @ m.to_sparse_csr()).to_dense() * w).sum(), m)[0]
    """,
    "least squares of a batch and one matrix": """
        a = torch.tensor([[[2.0, 0], [0, 4], [0, 0]]], dtype=torch.float64).requires_grad_(); b = torch.tensor([[2.0, 4], [4, 8], [1, 1]], dtype=torch.float64).requires_grad_()
        r = torch.linalg.lstsq(a, b, driver="gelsd"); r.solution.shape, r.solution[0].detach(), r.residuals.shape, r.rank, r.singular_values
        r = torch.linalg.lstsq(a[:, :2], b[:2]); r.solution.shape, (r.solution[1].detach() * 10).round(), torch.autograd.grad(r.solution.sum(), b)[0]
        torch.linalg.lstsq(a, b[:2])
    """,
    "forward mode writes": """
        fw = torch.autograd.forward_ad; level = fw.enter_dual_level(); n = torch.ones(3); make = lambda: fw.make_dual(torch.ones(3), n)
        for name in ("normal_", "uniform_", "exponential_", "random_", "cauchy_", "log_normal_"): _ = torch.manual_seed(0); d = getattr(make(), name)(); print(name, fw.unpack_dual(d), torch.rand(1))
        _ = torch.manual_seed(0); d = make().bernoulli_(); e = make().geometric_(0.5); f = make().bernoulli_(torch.full((3,), 0.5)); fw.unpack_dual(d), fw.unpack_dual(e), fw.unpack_dual(f)
        d = make(); _ = d.fill_(2.0); e = make(); _ = e.fill_(make()[0]); f = make(); _ = f[:2].fill_(3.0); fw.unpack_dual(d), fw.unpack_dual(e), fw.unpack_dual(f)
        make().resize_(4)
        fw.exit_dual_level(level=level); torch.ones(3).resize_(2)
    """,
    "derivatives in inference mode": """
        n = torch.ones(2)
        with torch.inference_mode(): v, t = torch.func.jvp(lambda x: x**3, (n,), (n,)); print(v, t, v.is_inference(), t.is_inference(), torch.is_inference_mode_enabled())
        with torch.inference_mode(): print(torch.func.jacfwd(torch.sin)(n), torch.func.hessian(lambda x: (x**3).sum())(n), torch.func.jacrev(torch.sin)(n))
        with torch.inference_mode(): print(torch.func.jvp(torch.func.grad(lambda x: (x**3).sum()), (n,), (n,)), torch.func.vmap(lambda x: torch.func.jvp(torch.exp, (x,), (x,))[1])(n))
        with torch.inference_mode(): f = lambda x: (print(torch.is_inference_mode_enabled(), torch.is_grad_enabled()), x)[1]; _ = torch.func.jvp(f, (n,), (n,)); _ = torch.func.grad(lambda x: f(x).sum())(n)
    """,
    "NumPy scalars as numbers": """
        import numpy as np; x, i = torch.tensor([1.0, 3.0]), torch.tensor([1, 3]); numbers = [np.int64(2), np.int32(2), np.float64(2), np.float32(2), np.float16(2), np.bool_(True), np.uint8(2)]
        for v in numbers: print(x.clamp(v), i.clamp(v), x.clamp(max=v), i.clamp(v, v), x.clamp_min(v), i.clamp_max(v), torch.clip(x, v))
        for v in numbers: print(torch.addcmul(x, x, x, value=v), torch.addcdiv(x, x, x, value=v), torch.lerp(x, x + 1, v), torch.copysign(-x, v), torch.copysign(i, v))
        for v in numbers: print(torch.full((1,), v), torch.where(x > 1, v, v), torch.where(i > 1, i, v), torch.where(x > 1, x, v), torch.nn.functional.threshold(x, v, v), torch.nn.functional.softshrink(x, v))
        for v in numbers: print(i // v, i % v, i**v, torch.pow(v, i), x.clone().pow_(v), torch.fmod(i, v), i + v, v * i, torch.special.xlog1py(x, v), torch.gradient(x, spacing=v))
        for v in numbers[:2]: print(i.clone().pow_(v), i.clone().clamp_(v), i.clone().mul_(v))
        for v in numbers: m = torch.nn.BatchNorm1d(2, momentum=v); _ = m(torch.stack([x, -x])); print(m.running_var, m.running_mean.dtype)
        i.clone().clamp_(np.float64(2))
        torch.Tensor(np.int64(3)).shape, torch.FloatTensor(np.int64(2), 3).shape, torch.LongTensor(np.int32(2), torch.tensor(3)).shape, x.new(np.int64(2)).shape
        torch.Tensor(np.float64(3))
        [torch.tensor(d).dtype for d in ([[0.0, 1.0], x], [[0, 1], x], [[0.0, 1.0], x.double()], [[1j, 1], x], [[True, False], i], [[x[0], 1.0], [1, 2]], [[np.float32(1), 1.0], x])]
        torch.isclose(torch.tensor(-1.0), torch.tensor(0.2), np.int64(1), np.int64(1)), torch._foreach_addcmul([x], [x], [x], np.float64(2))
    """,
    "NumPy integers as sizes": """
        import numpy as np; F = torch.nn.functional; x = torch.arange(24.0).view(2, 3, 4); counts = [(np.int64(1), np.int64(2)), (np.int32(1), np.int32(2)), (np.uint8(1), np.uint8(2))]
        for one, two in counts: print(torch.nn.MaxPool1d(two)(x)[0], torch.nn.AvgPool1d(two, one)(x)[0], F.max_pool1d(x, two, stride=one).shape, F.adaptive_avg_pool1d(x, two)[0], F.lp_pool1d(x, two, two).shape)
        for one, two in counts: print(F.unfold(x[None], two).shape, F.fold(torch.ones(1, 4, 1), two, two), torch.nn.Unfold(two, stride=one)(x[None]).shape, torch.nn.Fold(two, two)(torch.ones(1, 4, 1)).shape, F.pixel_shuffle(torch.ones(1, 4, 2, 2), two).shape)
        for one, two in counts: print(F.group_norm(x[:, :2], two)[0], torch.nn.GroupNorm(two, 2)(x[:, :2]).shape, F.cross_entropy(x[0], torch.tensor([0, 1, 2]), ignore_index=one), torch.nn.CrossEntropyLoss(ignore_index=two)(x[0], torch.tensor([0, 1, 2])))
        for one, two in counts: print(torch.nn.Conv1d(3, two, two, stride=one, padding=one)(x).shape, F.conv1d(x, torch.ones(2, 3, 2), stride=two).shape, torch.nn.LSTM(two, two, two)(x[:, :, :2])[0].shape, F.interpolate(x, two).shape)
        __name__ = "program"; t = torch.tensor(2); torch.randperm(t).shape, torch.linspace(0, 1, t), torch.eye(t), torch.combinations(x[0, 0], t).shape, F.adaptive_avg_pool1d(x, t).shape, F.avg_pool1d(x, t, t).shape
        F.max_pool1d(x, np.int64(9))
        F.group_norm(x, np.int64(2))
    """,
    "scattering nothing": """
        x = torch.ones(2, 3); i = torch.zeros(0, dtype=torch.int64); x.scatter(0, i, torch.ones(4)).sum(), x.scatter_add(0, i[:, None], torch.ones(5, 5, 5)).sum(), x.scatter_reduce(1, i, torch.ones(()), "prod").sum(), x.scatter(0, torch.zeros(5, 0, dtype=torch.int64), torch.ones(2, 2)).sum()
        x.clone().scatter_(1, torch.zeros(0, 9, dtype=torch.int64), 2.0).sum(), x.clone().scatter_add_(0, i, torch.ones(1)).sum(), x.gather(0, i)
        x.scatter(0, i, torch.ones(4, dtype=torch.float64))
    """,
    "modules on the meta device, swapped": """
        torch.__future__.set_swap_module_params_on_conversion(True); m = torch.nn.Linear(2, 2, device="meta"); p = m.weight; print(m.load_state_dict({"weight": torch.ones(2, 2), "bias": torch.zeros(2)}, assign=True)); m.weight is p, m.weight, m(torch.ones(1, 2))
        import warnings; warnings.simplefilter("ignore"); m = torch.nn.Linear(2, 2, device="meta"); print(m.load_state_dict({"weight": torch.ones(2, 2), "bias": torch.zeros(2)})); m.weight.is_meta, type(m.weight).__name__
        m = torch.nn.Linear(2, 2); p = m.weight; _ = m.load_state_dict({"weight": torch.ones(2, 2), "bias": torch.zeros(2)}); torch.__future__.set_swap_module_params_on_conversion(False); m.weight is p, p
        torch.ones(2).module_load(torch.zeros(2, device="meta"), assign=True).device, torch.zeros(2, device="meta").module_load(torch.ones(2)).device, torch.zeros(2, device="meta").module_load(torch.ones(2), assign=True)
    """,
    "random": """
        _ = torch.manual_seed(0); torch.rand(3), torch.randn(4), torch.randint(10, (5,)), torch.randperm(6), torch.randn(2, 3), torch.bernoulli(torch.full((4,), 0.5)), torch.rand(2, dtype=torch.float64)
        torch.randn(20), torch.randint(5, 9, (2, 2)), torch.normal(0.0, 2.0, (3,)), torch.rand_like(torch.ones(2)), torch.randn_like(torch.ones(2)), torch.initial_seed()
        g = torch.Generator().manual_seed(42); torch.rand(2, generator=g), torch.randn(1, generator=g), g.initial_seed()
        s = torch.get_rng_state(); a = torch.rand(1); torch.set_rng_state(s); bool(a == torch.rand(1)), s.shape, s.dtype
        torch.randint(5, 5, (1,))
        torch.normal(torch.tensor([1.0, 2.0]), torch.tensor([0.1, 0.2])), torch.randperm(3, dtype=torch.int32), torch.randn(3, requires_grad=True).requires_grad
    """,
}


def run(library: Any, program: str) -> list[str]:
    """What each line printed, or the error that it raised."""
    names: dict[str, Any] = {"torch": library}
    outcomes = []
    for line in (text.strip() for text in program.strip().splitlines()):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                _run_line(line, names)
            except Exception as error:
                print(f"{type(error).__name__}: {error}", file=printed)
        outcomes.append(re.sub(r"0x[0-9a-f]+", "ADDRESS", printed.getvalue().rstrip()))
    return outcomes


def _run_line(line: str, names: dict[str, Any]) -> None:
    """Run a line; print the value of its last part if that is an expression."""
    if line.startswith(("def ", "with ")):
        head, _, body = line.partition(": ")
        exec(head + ":\n" + "\n".join("    " + part for part in body.split("; ")), names)
        return
    *before, last = line.split("; ") if "lambda: [(yield" not in line else [*line.split("; ")]
    for part in before:
        exec(part, names)
    try:
        code = compile(last, "<snippet>", "eval")
    except SyntaxError:
        exec(last, names)
        return
    value = eval(code, names)
    if value is not None:
        for item in value if isinstance(value, tuple) and type(value) is tuple else (value,):
            print(item if not isinstance(item, type(print)) else "<builtin>")


def pinned() -> dict[str, list[str]]:
    return json.loads(OUTCOMES.read_text())


if __name__ == "__main__":
    import torch

    OUTCOMES.write_text(json.dumps({topic: run(torch, text) for topic, text in TOPICS.items()}, indent=1) + "\n")

"""Functions that have several names."""

from __future__ import annotations

import pickle


def test_functions_with_several_names_know_by_which_they_were_called(same):
    def program(torch, say):
        class Watched(torch.Tensor):
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                say(func.__name__, [name for name in names if func is getattr(torch, name)])
                return super().__torch_function__(func, types, args, kwargs or {})

        names = [
            "clip",
            "clamp",
            "arccos",
            "acos",
            "absolute",
            "abs",
            "multiply",
            "mul",
            "negative",
            "neg",
            "fix",
            "trunc",
            "concat",
            "concatenate",
            "cat",
            "greater",
            "gt",
            "row_stack",
            "vstack",
        ]
        x = torch.ones(2).as_subclass(Watched)
        for name in names:
            function = getattr(torch, name)
            say(function.__name__, pickle.loads(pickle.dumps(function)) is function)
        torch.clip(x, 0, 1), torch.clamp(x, 0, 1), torch.arccos(x), torch.multiply(x, 2), torch.concat([x, x])

    same(program)

"""The members of a module (parameters, buffers, submodules): registering, finding and iterating."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import penlight
from penlight import Tensor
from penlight._common.docstrings import example
from penlight.kernels.lazy import lazy_import
from penlight.nn.parameter import Buffer, Parameter

from . import _hooks as hooks

_module = lazy_import(globals(), "_module", ".module")

Hook = Callable[..., Any]


class Tables:
    """The tables of every module: its members and its hooks. The parts of `Module` work on these."""

    training: bool
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _non_persistent_buffers_set: set[str]
    _modules: dict[str, Any]
    _is_full_backward_hook: bool | None
    _backward_pre_hooks: OrderedDict[int, Hook]
    _backward_hooks: OrderedDict[int, Hook]
    _forward_hooks: OrderedDict[int, Hook]
    _forward_hooks_with_kwargs: OrderedDict[int, bool]
    _forward_hooks_always_called: OrderedDict[int, bool]
    _forward_pre_hooks: OrderedDict[int, Hook]
    _forward_pre_hooks_with_kwargs: OrderedDict[int, bool]
    _state_dict_hooks: OrderedDict[int, Hook]
    _state_dict_pre_hooks: OrderedDict[int, Hook]
    _load_state_dict_pre_hooks: OrderedDict[int, Hook]
    _load_state_dict_post_hooks: OrderedDict[int, Hook]


HOOK_TABLES = tuple(name for name in Tables.__annotations__ if "_hooks" in name)


class Registry(Tables):
    """The tables of a module, and the attribute access that maintains them.

    Its members are copied into `Module`; it is not used alone.
    """

    call_super_init: bool = False
    _quick_members: bool = True  # see Note [Members as descriptors]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init:
            own = type(self).__name__
            if kwargs:
                raise TypeError(f"{own}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'")
            if args:
                raise TypeError(f"{own}.__init__() takes 1 positional argument but {len(args) + 1} were given")
        # Directly into the instance: the tables that `__setattr__` consults do not exist yet.
        fields = self.__dict__
        fields["training"] = True
        fields["_parameters"] = {}
        fields["_buffers"] = {}
        fields["_non_persistent_buffers_set"] = set()
        fields["_is_full_backward_hook"] = None
        for name in HOOK_TABLES:
            fields[name] = OrderedDict()
        fields["_modules"] = {}
        if self.call_super_init:
            super(_module.Module, self).__init__(*args, **kwargs)

    # Registering by name

    def _check_new_name(self, kind: str, name: Any, table: dict[str, Any]) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {penlight.typename(name)}")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain "."' + (f", got: {name}" if kind == "module" else ""))
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if name not in table and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Adds a tensor that is part of the state but not trained; it is saved only if `persistent`.

        >>> m = torch.nn.Module()
        >>> m.register_buffer("running_mean", torch.zeros(3))
        >>> m.running_mean
        tensor([0., 0., 0.])
        """
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        self._check_new_name("buffer", name, self._buffers)
        if tensor is not None and not _is_tensor_like(tensor):
            raise TypeError(
                f"cannot assign '{penlight.typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        self._buffers[name] = hooks.run_registration_hooks(hooks._global_buffer_registration_hooks, self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)
        make_quick(self, "_buffers", name, Registry.__getattr__)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Adds a parameter; with None, only the name of an absent one.

        >>> m = torch.nn.Module()
        >>> m.register_parameter("bias", None)
        >>> print(m.bias, list(m.parameters()))
        None []
        """
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        self._check_new_name("parameter", name, self._parameters)
        if param is not None:
            _check_parameter(name, param)
            param = hooks.run_registration_hooks(hooks._global_parameter_registration_hooks, self, name, param)
        self._parameters[name] = param
        make_quick(self, "_parameters", name, Registry.__getattr__)

    def add_module(self, name: str, module: Any) -> None:
        """Adds a submodule under a name, as an attribute.

        >>> m = torch.nn.Module()
        >>> m.add_module("act", torch.nn.ReLU())
        >>> m.act
        ReLU()
        """
        if module is not None and not isinstance(module, _module.Module):
            raise TypeError(f"{penlight.typename(module)} is not a Module subclass")
        self._check_new_name("module", name, self._modules)
        self._set_child(name, module)

    def register_module(self, name: str, module: Any) -> None:
        """The same as `add_module`.

        >>> model = torch.nn.Module()
        >>> model.register_module("act", torch.nn.ReLU())
        >>> model.act
        ReLU()
        """
        self.add_module(name, module)

    # Attribute access. Members are usually read by a descriptor: see Note [Members as descriptors].

    def __getattr__(self, name: str) -> Any:
        fields = self.__dict__
        if "_modules" in fields:
            table = fields["_parameters"]
            if name in table:
                return table[name]
            table = fields["_buffers"]
            if name in table:
                return table[name]
            table = fields["_modules"]
            if name in table:
                return table[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        fields = self.__dict__
        if "_modules" not in fields:
            self._refuse_before_init(value)
            super(_module.Module, self).__setattr__(name, value)
        elif isinstance(value, Tensor) and isinstance(value, Parameter):
            self._set_parameter(name, value)
        elif name in fields["_parameters"]:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{penlight.typename(value)}' as parameter '{name}' "
                    "(torch.nn.Parameter or None expected)"
                )
            self.register_parameter(name, None)
        elif isinstance(value, _module.Module):
            self._clear_name(name, fields, fields["_buffers"])
            self._set_child(name, value)
        elif name in fields["_modules"]:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{penlight.typename(value)}' as child module '{name}' "
                    "(torch.nn.Module or None expected)"
                )
            self._set_child(name, None)
        elif name in fields["_buffers"] or (isinstance(value, Tensor) and isinstance(value, Buffer)):
            self._set_buffer(name, value)
        else:
            super(_module.Module, self).__setattr__(name, value)

    def _refuse_before_init(self, value: Any) -> None:
        for kind, what in ((Parameter, "parameters"), (_module.Module, "module"), (Buffer, "buffer")):
            if isinstance(value, kind):
                raise AttributeError(f"cannot assign {what} before Module.__init__() call")

    def _clear_name(self, name: str, *tables: dict[str, Any]) -> None:
        for table in tables:
            table.pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def _set_parameter(self, name: str, value: Parameter) -> None:
        if name in self.__dict__ or name in self._buffers or name in self._modules:
            # The present value is removed only if the new one will be accepted.
            if hasattr(type(self), name):
                raise KeyError(f"attribute '{name}' already exists")
            _check_parameter(name, value)
            self._clear_name(name, self.__dict__, self._buffers, self._modules)
        self.register_parameter(name, value)

    def _set_child(self, name: str, value: Any) -> None:
        self._modules[name] = hooks.run_registration_hooks(hooks._global_module_registration_hooks, self, name, value)
        make_quick(self, "_modules", name, Registry.__getattr__)

    def _set_buffer(self, name: str, value: Any) -> None:
        if value is not None and not _is_tensor_like(value):
            raise TypeError(
                f"cannot assign '{penlight.typename(value)}' as buffer '{name}' "
                "(torch.nn.Buffer, torch.Tensor or None expected)"
            )
        if isinstance(value, Buffer):
            persistent = value.persistent
        else:
            persistent = name not in self._non_persistent_buffers_set
        if type(self).register_buffer is Registry.register_buffer:
            self.register_buffer(name, value, persistent)
            return
        # A subclass's own register_buffer may predate the argument.
        if "persistent" in inspect.signature(self.register_buffer).parameters:
            self.register_buffer(name, value, persistent)
        elif persistent:
            self.register_buffer(name, value)
        else:
            raise RuntimeError(
                "Registering a non-persistent buffer on a Module subclass that implements register_buffer() "
                "without the persistent argument is not allowed."
            )

    def __delattr__(self, name: str) -> None:
        tables: tuple[dict[str, Any], ...] = (self._parameters, self._buffers, self._modules)
        for table in tables:
            if name in table:
                self._clear_name(name, table)
                return
        super(_module.Module, self).__delattr__(name)

    def __dir__(self) -> list[str]:
        of_class = set(dir(type(self))) - member_names(type(self))
        names = [*of_class, *self.__dict__, *self._parameters, *self._modules, *self._buffers]
        return sorted(name for name in names if not name[0].isdigit())

    # Finding by dotted path

    @example('torch.nn.Sequential(torch.nn.Sequential(torch.nn.Tanh())).get_submodule("0.0")', "Tanh()")
    def get_submodule(self, target: str) -> Any:
        """The submodule at a dotted path; "" is the module itself."""
        found: Any = self
        for step in target.split(".") if target else ():
            if not hasattr(found, step):
                raise AttributeError(f"{found._get_name()} has no attribute `{step}`")
            found = getattr(found, step)
            if not isinstance(found, _module.Module):
                raise AttributeError(f"`{step}` is not an nn.Module")
        return found

    def set_submodule(self, target: str, module: Any, strict: bool = False) -> None:
        """Puts a module at a dotted path; with `strict`, one must exist there already.

        >>> m = torch.nn.Sequential(torch.nn.Sequential(torch.nn.Tanh()))
        >>> m.set_submodule("0.0", torch.nn.ReLU())
        >>> m[0][0]
        ReLU()
        """
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, _module.Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if hasattr(parent, name):
            if not isinstance(getattr(parent, name), _module.Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        elif strict:
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        setattr(parent, name, module)

    def _get_member(self, target: str) -> tuple[Any, str, Any]:
        path, _, name = target.rpartition(".")
        owner = self.get_submodule(path)
        if not hasattr(owner, name):
            raise AttributeError(f"{owner._get_name()} has no attribute `{name}`")
        return owner, name, getattr(owner, name)

    @example('torch.nn.Sequential(torch.nn.Linear(2, 3)).get_parameter("0.bias").shape', "torch.Size([3])")
    def get_parameter(self, target: str) -> Parameter:
        """The parameter at a dotted path."""
        _, name, value = self._get_member(target)
        if not isinstance(value, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return value

    @example('torch.nn.Sequential(torch.nn.BatchNorm1d(2)).get_buffer("0.running_var")', "tensor([1., 1.])")
    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a dotted path."""
        owner, name, value = self._get_member(target)
        if name not in owner._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return value

    # Walking through

    def _named_members(self, get_members_fn: Callable[[Any], Iterable[tuple[str, Any]]], prefix: str = "",
                       recurse: bool = True, remove_duplicate: bool = True) -> Iterator[tuple[str, Any]]:  # fmt: skip
        seen = set()
        owners = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, owner in owners:
            for name, value in get_members_fn(owner):
                if value is None or value in seen:
                    continue
                if remove_duplicate:
                    seen.add(value)
                yield (f"{path}.{name}" if path else name), value

    @example("[tuple(p.shape) for p in torch.nn.Linear(2, 3).parameters()]", "[(3, 2), (3,)]")
    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters of the module and, if `recurse`, of its submodules, each once."""
        return (param for _, param in self.named_parameters(recurse=recurse))

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """The parameters with their dotted names.

        >>> [name for name, _ in torch.nn.Sequential(torch.nn.Linear(2, 3)).named_parameters()]
        ['0.weight', '0.bias']
        """
        return self._named_members(lambda owner: owner._parameters.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers of the module and, if `recurse`, of its submodules, each once.

        >>> [buffer.shape for buffer in torch.nn.BatchNorm1d(3).buffers()]
        [torch.Size([3]), torch.Size([3]), torch.Size([])]
        """
        return (buffer for _, buffer in self.named_buffers(recurse=recurse))

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """The buffers with their dotted names.

        >>> [name for name, _ in torch.nn.BatchNorm1d(2).named_buffers()]
        ['running_mean', 'running_var', 'num_batches_tracked']
        """
        return self._named_members(lambda owner: owner._buffers.items(), prefix, recurse, remove_duplicate)

    @example("list(torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Tanh()).children())", "[ReLU(), Tanh()]")
    def children(self) -> Iterator[Any]:
        """The direct submodules, each once."""
        return (child for _, child in self.named_children())

    @example("list(torch.nn.Sequential(torch.nn.ReLU()).named_children())", "[('0', ReLU())]")
    def named_children(self) -> Iterator[tuple[str, Any]]:
        """The direct submodules with their names."""
        seen = set()
        for name, child in self._modules.items():
            if child is not None and child not in seen:
                seen.add(child)
                yield name, child

    def modules(self, remove_duplicate: bool = True) -> Iterator[Any]:
        """The module and all its submodules, each once.

        >>> [type(m).__name__ for m in torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Tanh()).modules()]
        ['Sequential', 'ReLU', 'Tanh']
        """
        return (module for _, module in self.named_modules(remove_duplicate=remove_duplicate))

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """The module and all its submodules with their dotted names.

        >>> [name for name, _ in torch.nn.Sequential(torch.nn.Sequential(torch.nn.ReLU())).named_modules()]
        ['', '0', '0.0']
        """
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, child in self._modules.items():
            if child is not None:
                yield from child.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)


def _is_tensor_like(value: Any) -> bool:
    return isinstance(value, Tensor) or hasattr(value, "__torch_function__")


def _check_parameter(name: str, param: Any) -> None:
    if not isinstance(param, Parameter):
        raise TypeError(
            f"cannot assign '{penlight.typename(param)}' object to parameter '{name}' "
            "(torch.nn.Parameter or None required)"
        )
    if param.grad_fn:
        raise ValueError(
            f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. "
            f"To express '{name}' as a function of another Tensor, compute the value in the forward() method."
        )


# ----- Quick reading of members ----------------------------------------------------------------------------------------

# Note [Members as descriptors]: a member of a module is in one of its tables, not in its `__dict__`. So reading `self.weight` first fails,
# with an exception created and dropped, and then calls `__getattr__`: about 0.7 µs, several times in every forward. Therefore a class whose
# instances have a member gets a descriptor of that name, which reads the table directly (0.15 µs). It is not a data descriptor, it raises
# AttributeError for an instance without the member, and it serves one class only: any other definition of the attribute (in the instance, a
# subclass, or a user's `__getattr__`) takes precedence as it would without it.


class Member:
    """Reads a name from one table of a module."""

    __slots__ = ("name", "owner", "table")

    def __init__(self, name: str, table: str, owner: type[Any]) -> None:
        self.name = name
        self.table = table
        self.owner = owner

    def __get__(self, instance: Any, owner: type[Any]) -> Any:
        if owner is self.owner and instance is not None:
            try:
                return instance.__dict__[self.table][self.name]
            except KeyError:
                pass
        raise AttributeError(f"type object '{owner.__name__}' has no attribute '{self.name}'")


def make_quick(module: Any, table: str, name: str, plain_getattr: Any) -> None:
    """Gives the class of a module the descriptor for a member, unless something prevents it."""
    cls = type(module)
    if name in cls.__dict__ or not cls._quick_members or not name.isidentifier():
        return
    if cls.__getattr__ is not plain_getattr:
        return
    for base in cls.__mro__:
        if name in base.__dict__ and type(base.__dict__[name]) is not Member:
            return
    type.__setattr__(cls, name, Member(name, table, cls))


def member_names(cls: type[Any]) -> set[str]:
    """The names for which a class has descriptors: those of members that some instance has or had."""
    return {name for base in cls.__mro__ for name, value in list(vars(base).items()) if type(value) is Member}

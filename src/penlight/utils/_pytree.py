"""torch.utils._pytree: nested tuples, lists, dicts etc. as a flat list of leaves and a description of the structure.

>>> from penlight.utils import _pytree as pytree
>>> leaves, spec = pytree.tree_flatten({"a": 1, "b": (2, 3)})
>>> leaves, pytree.tree_unflatten([10, 20, 30], spec)
([1, 2, 3], {'a': 10, 'b': (20, 30)})
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, NamedTuple

from ..size import Size

__all__ = [
    "Context", "FlattenFn", "GetAttrKey", "LeafSpec", "MappingKey", "PyTree", "PyTreeSpec", "SequenceKey", "TreeSpec",
    "UnflattenFn", "is_namedtuple", "is_namedtuple_class", "is_namedtuple_instance", "key_get", "keystr",
    "register_dataclass", "register_pytree_node", "tree_all", "tree_all_only", "tree_any", "tree_any_only",
    "tree_flatten", "tree_flatten_with_path", "tree_is_leaf", "tree_iter", "tree_leaves", "tree_leaves_with_path",
    "tree_map", "tree_map_", "tree_map_only", "tree_map_only_", "tree_map_with_path", "tree_structure",
    "tree_unflatten", "treespec_pprint",
]  # fmt: skip

PyTree = Any
Context = Any
FlattenFn = Callable[[Any], tuple[list[Any], Context]]
UnflattenFn = Callable[[Iterable[Any], Context], Any]
IsLeaf = Callable[[Any], bool] | None

# ----- Keys: the way from the root to a leaf ------------------------------------------------------------------------


class MappingKey(NamedTuple):
    """A step into a dict."""

    key: Hashable

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        return mapping[self.key]


class SequenceKey(NamedTuple):
    """A step into a tuple or list."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx}]"

    def get(self, sequence: Any) -> Any:
        return sequence[self.idx]


class GetAttrKey(NamedTuple):
    """A step to an attribute."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        return getattr(obj, self.name)


def keystr(kp: Iterable[Any]) -> str:
    """A path in Python syntax: `['a'][0].b`."""
    return "".join(str(k) for k in kp)


def key_get(obj: Any, kp: Iterable[Any]) -> Any:
    """The part of a tree at a path."""
    for k in kp:
        obj = k.get(obj)
    return obj


# ----- The kinds of nodes -------------------------------------------------------------------------------------------


class NodeDef(NamedTuple):
    """How one kind of container is flattened and rebuilt."""

    type: type
    flatten_fn: FlattenFn
    unflatten_fn: UnflattenFn
    flatten_with_keys_fn: Any


SUPPORTED_NODES: dict[Any, NodeDef] = {}


def _register(cls: Any, flatten: Any, unflatten: Any, keys: Any = None) -> None:
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten, unflatten, keys)


def register_pytree_node(cls: type, flatten_fn: FlattenFn, unflatten_fn: UnflattenFn, *,
                         serialized_type_name: str | None = None, to_dumpable_context: Any = None,
                         from_dumpable_context: Any = None, flatten_with_keys_fn: Any = None) -> None:  # fmt: skip
    """Make a user class a node: `flatten_fn(obj) -> (children, context)`, `unflatten_fn(children, context) -> obj`.

    >>> from penlight.utils import _pytree as pytree
    >>> class Pair:
    ...     def __init__(self, a, b): self.a, self.b = a, b
    >>> pytree.register_pytree_node(Pair, lambda p: ([p.a, p.b], None), lambda c, _: Pair(*c))
    >>> pytree.tree_leaves([Pair(1, 2), 3])
    [1, 2, 3]
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    _register(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)


def register_dataclass(
    cls: type, *, field_names: list[str] | None = None, drop_field_names: list[str] | None = None
) -> None:
    """Make a dataclass a node whose children are its fields."""
    names = [f.name for f in dataclasses.fields(cls) if f.init and f.name not in (drop_field_names or [])]
    names = names if field_names is None else field_names

    def flatten(obj: Any) -> Any:
        present = [n for n in names if hasattr(obj, n)]
        return [getattr(obj, n) for n in present], present

    def keys(obj: Any) -> Any:
        children, present = flatten(obj)
        return [(GetAttrKey(n), c) for n, c in zip(present, children)], present

    register_pytree_node(
        cls, flatten, lambda values, present: cls(**dict(zip(present, values))), flatten_with_keys_fn=keys
    )


# Under PyTorch's names, which libraries use for their own mappings.
def _dict_flatten(d: Any) -> tuple[list[Any], list[Any]]:
    return list(d.values()), list(d)


def _dict_unflatten(values: Iterable[Any], context: Any) -> dict[Any, Any]:
    return dict(zip(context, values))


def _dict_flatten_with_keys(d: Any) -> tuple[list[tuple[Any, Any]], list[Any]]:
    return [(MappingKey(k), v) for k, v in d.items()], list(d)


def _list_flatten(d: Any) -> tuple[Any, None]:
    return d, None


def _list_unflatten(values: Iterable[Any], context: Any) -> list[Any]:
    return list(values)


def _list_flatten_with_keys(d: Any) -> tuple[list[tuple[Any, Any]], None]:
    return [(SequenceKey(i), v) for i, v in enumerate(d)], None


def _namedtuple_flatten(d: Any) -> tuple[list[Any], type]:
    return list(d), type(d)


def _namedtuple_unflatten(values: Iterable[Any], context: Any) -> Any:
    return context(*values)


def _namedtuple_flatten_with_keys(d: Any) -> tuple[list[tuple[Any, Any]], type]:
    return [(GetAttrKey(name), v) for name, v in zip(type(d)._fields, d)], type(d)


for _kind in (tuple, Size):
    _register(_kind, lambda t: (list(t), None), lambda c, _: tuple(c), _list_flatten_with_keys)
_register(list, _list_flatten, _list_unflatten, _list_flatten_with_keys)
_register(dict, _dict_flatten, _dict_unflatten, _dict_flatten_with_keys)
_register(OrderedDict, _dict_flatten, lambda c, k: OrderedDict(zip(k, c)), _dict_flatten_with_keys)
_register(
    defaultdict,
    lambda d: (list(d.values()), [d.default_factory, list(d)]),
    lambda c, k: defaultdict(k[0], zip(k[1], c)),
    lambda d: (_dict_flatten_with_keys(d)[0], [d.default_factory, list(d)]),
)
_register(
    deque, lambda d: (list(d), d.maxlen), lambda c, n: deque(c, n), lambda d: (_list_flatten_with_keys(d)[0], d.maxlen)
)
_register(namedtuple, _namedtuple_flatten, _namedtuple_unflatten, _namedtuple_flatten_with_keys)

_DICTS: tuple[Any, ...] = (dict, OrderedDict, defaultdict)


def is_namedtuple_class(cls: type) -> bool:
    fields = getattr(cls, "_fields", None)
    return isinstance(cls, type) and issubclass(cls, tuple) and isinstance(fields, tuple)


def is_namedtuple_instance(obj: object) -> bool:
    return is_namedtuple_class(type(obj))


def is_namedtuple(obj: object) -> bool:
    """Whether this is a namedtuple or a class of them."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def _node_type(tree: Any) -> Any:
    kind = type(tree)
    return namedtuple if kind not in SUPPORTED_NODES and is_namedtuple_class(kind) else kind


def tree_is_leaf(tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether this is not a container (or `is_leaf` says so)."""
    return (is_leaf is not None and is_leaf(tree)) or _node_type(tree) not in SUPPORTED_NODES


# ----- The description of a nest ------------------------------------------------------------------------------------


class TreeSpec:
    """The structure of a tree without its leaves.

    >>> from penlight.utils import _pytree as pytree
    >>> pytree.tree_structure((1, [2]))
    TreeSpec(tuple, None, [*,
      TreeSpec(list, None, [*])])
    """

    __slots__ = ("_children", "_context", "num_children", "num_leaves", "num_nodes", "type")

    def __init__(self, type: Any, context: Context, children_specs: Iterable[TreeSpec]) -> None:
        self.type, self._context, self._children = type, context, list(children_specs)
        self.num_children = len(self._children)
        self.num_nodes: int = 1 + sum(c.num_nodes for c in self._children)
        self.num_leaves: int = sum(c.num_leaves for c in self._children) if type is not None else 1

    @property
    def context(self) -> Context:
        return self._context

    @property
    def children_specs(self) -> list[TreeSpec]:
        return self._children

    def children(self) -> list[TreeSpec]:
        return list(self._children)

    def child(self, index: int) -> TreeSpec:
        return self._children[index]

    def is_leaf(self) -> bool:
        return self.type is None

    def __repr__(self, indent: int = 0) -> str:
        if self.type is None:
            return "*"
        between = ",\n" + " " * (indent + 2)
        inside = between.join(c.__repr__(indent + 2) for c in self._children)
        return f"TreeSpec({self.type.__name__}, {self._context}, [{inside}])"

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return (
            self.type is other.type and self._context == other._context and self._children == other._children
        )  # fmt: skip

    def __hash__(self) -> int:
        return hash((self.type, repr(self._context), tuple(self._children)))

    def flatten_up_to(self, tree: PyTree) -> list[PyTree]:
        """The subtrees of another tree at the positions of this one's leaves."""
        out: list[PyTree] = []
        self._flatten_into(tree, out)
        return out

    def _flatten_into(self, tree: PyTree, out: list[PyTree]) -> None:
        if self.type is None:
            out.append(tree)
            return
        for spec, child in zip(self._children, _matched(self, tree)):
            spec._flatten_into(child, out)

    def unflatten(self, leaves: Iterable[Any]) -> PyTree:
        """A tree of this structure with these leaves."""
        leaves = leaves if isinstance(leaves, (list, tuple)) else list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec refers to a pytree that holds "
                f"{self.num_leaves} items ({self})."
            )
        return self._build(iter(leaves))

    def _build(self, leaves: Iterator[Any]) -> PyTree:
        if self.type is None:
            return next(leaves)
        return SUPPORTED_NODES[self.type].unflatten_fn([c._build(leaves) for c in self._children], self._context)


PyTreeSpec = TreeSpec
_LEAF = TreeSpec(None, None, [])


def LeafSpec() -> TreeSpec:
    """The description of a leaf alone."""
    return _LEAF


def _matched(spec: TreeSpec, tree: PyTree) -> list[Any]:
    """The children of a node of another tree, which must match the node that `spec` describes."""
    kind = _node_type(tree)
    if kind is not spec.type and not (kind in _DICTS and spec.type in _DICTS):
        raise ValueError(f"Node type mismatch; expected {spec.type!r}, but got {kind!r}.")
    if kind in _DICTS:
        keys = spec._context[1] if spec.type is defaultdict else spec._context
        if set(keys) != set(tree):
            missing, extra = set(keys) - set(tree), set(tree) - set(keys)
            parts = f"; missing key(s): {missing}" if missing else ""
            parts += f"; extra key(s): {extra}" if extra else ""
            raise ValueError(f"Node keys mismatch{parts}.")
        return [tree[k] for k in keys]
    children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    children = list(children)
    if len(children) != spec.num_children:
        raise ValueError(f"Node arity mismatch; expected {spec.num_children}, but got {len(children)}.")
    if kind is not deque and context != spec._context:
        raise ValueError(f"Node context mismatch for custom node type {kind!r}.")
    return children


def treespec_pprint(treespec: TreeSpec) -> str:
    """A structure printed with stars for leaves."""

    class Star:
        def __repr__(self) -> str:
            return "*"

    return repr(treespec.unflatten([Star()] * treespec.num_leaves))


# ----- Taking apart and putting together ----------------------------------------------------------------------------


def tree_flatten(tree: PyTree, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """The leaves from left to right, and the structure of the tree."""
    leaves: list[Any] = []
    return leaves, _flatten(tree, leaves, is_leaf)


def _flatten(tree: PyTree, leaves: list[Any], is_leaf: IsLeaf) -> TreeSpec:
    kind = type(tree)
    if kind not in SUPPORTED_NODES:
        kind = _node_type(tree)
    if kind not in SUPPORTED_NODES or (is_leaf is not None and is_leaf(tree)):
        leaves.append(tree)
        return _LEAF
    children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    return TreeSpec(kind, context, [_flatten(c, leaves, is_leaf) for c in children])


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """A tree of this structure with these leaves."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            f"Expected `treespec` to be an instance of PyTreeSpec but got item of type {type(treespec)}."
        )  # fmt: skip
    return treespec.unflatten(leaves)


def tree_iter(tree: PyTree, is_leaf: IsLeaf = None) -> Iterator[Any]:
    """The leaves from left to right."""
    return iter(tree_flatten(tree, is_leaf)[0])


def tree_leaves(tree: PyTree, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves from left to right."""
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: PyTree, is_leaf: IsLeaf = None) -> TreeSpec:
    """The structure of a tree."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """A tree of the same structure with `func` applied to each leaf (and to the leaves of the other trees at its position).

    >>> from penlight.utils import _pytree as pytree
    >>> pytree.tree_map(lambda a, b: a + b, {"x": 1, "y": [2]}, {"x": 10, "y": [20]})
    {'x': 11, 'y': [22]}
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten(list(map(func, leaves, *(spec.flatten_up_to(r) for r in rests))))


def tree_map_(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """Calls `func` with each leaf for its side effect; returns the tree itself."""
    leaves, spec = tree_flatten(tree, is_leaf)
    for args in zip(leaves, *(spec.flatten_up_to(r) for r in rests)):
        func(*args)
    return tree


def map_only(type_or_types: Any) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """A decorator that applies the function to instances of these types only; others are returned unchanged."""
    by_class = isinstance(type_or_types, (type, tuple))

    def decorate(func: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def apply(x: Any) -> Any:
            return func(x) if (isinstance(x, type_or_types) if by_class else type_or_types(x)) else x

        return apply

    return decorate


def tree_map_only(type_or_types: Any, func: Callable[[Any], Any], tree: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """`tree_map` for leaves of some types only."""
    return tree_map(map_only(type_or_types)(func), tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types: Any, func: Callable[[Any], Any], tree: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """`tree_map_` for leaves of some types only."""
    return tree_map_(map_only(type_or_types)(func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether a predicate holds for all leaves."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether a predicate holds for any leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(type_or_types: Any, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether a predicate holds for all leaves of some types."""
    return all(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def tree_any_only(type_or_types: Any, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether a predicate holds for any leaf of some types."""
    return any(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


# ----- With paths ---------------------------------------------------------------------------------------------------


def tree_leaves_with_path(tree: PyTree, is_leaf: IsLeaf = None) -> list[tuple[tuple[Any, ...], Any]]:
    """The leaves, each with its path."""
    out: list[tuple[tuple[Any, ...], Any]] = []
    _walk((), tree, out, is_leaf)
    return out


def _walk(path: tuple[Any, ...], tree: PyTree, out: list[Any], is_leaf: IsLeaf) -> None:
    if tree_is_leaf(tree, is_leaf):
        out.append((path, tree))
        return
    definition = SUPPORTED_NODES[_node_type(tree)]
    if definition.flatten_with_keys_fn is None:
        raise ValueError(
            f"Did not find a flatten_with_keys_fn for type: {definition.type}. Please pass a flatten_with_keys_fn argument to "
            "register_pytree_node."
        )
    for key, child in definition.flatten_with_keys_fn(tree)[0]:
        _walk((*path, key), child, out, is_leaf)


def tree_flatten_with_path(tree: PyTree, is_leaf: IsLeaf = None) -> tuple[list[tuple[tuple[Any, ...], Any]], TreeSpec]:
    """The leaves, each with its path, and the structure of the tree."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """`tree_map` whose function also receives the path: `func(path, leaf, ...)`."""
    found, spec = tree_flatten_with_path(tree, is_leaf)
    others = [spec.flatten_up_to(r) for r in rests]
    return spec.unflatten([func(path, leaf, *more) for (path, leaf), *more in zip(found, *others)])


# ----- Prefixes -----------------------------------------------------------------------------------------------------


def _broadcast_to_and_flatten(tree: PyTree, treespec: TreeSpec, is_leaf: IsLeaf = None) -> list[Any] | None:
    """One value for each leaf of the described tree, from a tree that is a prefix of it; None if it is not."""
    if tree_is_leaf(tree, is_leaf):
        return [tree] * treespec.num_leaves
    if treespec.is_leaf() or _node_type(tree) is not treespec.type:
        return None
    children, context = SUPPORTED_NODES[treespec.type].flatten_fn(tree)
    if len(children) != treespec.num_children or context != treespec.context:
        return None
    out: list[Any] = []
    for child, spec in zip(children, treespec.children()):
        found = _broadcast_to_and_flatten(child, spec, is_leaf)
        if found is None:
            return None
        out += found
    return out


_get_node_type = _node_type
_register_pytree_node = register_pytree_node


def is_structseq_instance(obj: object) -> bool:
    """Whether this is a struct sequence of a C function, such as the result of `os.stat`."""
    kind = type(obj)
    return issubclass(kind, tuple) and hasattr(kind, "n_sequence_fields") and hasattr(kind, "n_unnamed_fields")

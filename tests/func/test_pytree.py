"""utils._pytree: nests of containers, flat and back."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass

import pytest

from penlight.utils import _pytree as pytree

Point = namedtuple("Point", "x y")

TREES = [
    1, None, (1, 2), [1, [2, 3]], {"b": 1, "a": (2,)}, OrderedDict(b=1, a=2), defaultdict(list, {"x": 1}), deque([1, 2], maxlen=3), Point(1, (2,)), (), {},
    ((1, (2, {"a": 3, "b": [4, 5]})), 6),
]  # fmt: skip


@pytest.mark.parametrize("tree", TREES, ids=repr)
def test_there_and_back(tree):
    leaves, spec = pytree.tree_flatten(tree)
    assert pytree.tree_unflatten(leaves, spec) == tree
    assert type(pytree.tree_unflatten(leaves, spec)) is type(tree)
    assert (
        spec.num_leaves == len(leaves)
        and spec == pytree.tree_structure(tree)
        and hash(spec) == hash(pytree.tree_structure(tree))
    )


def test_specs_are_shown_as_in_pytorch():
    spec = pytree.tree_structure(((1, {"a": 3, "b": [4, 5]}), 6))
    assert repr(spec) == (
        "TreeSpec(tuple, None, [TreeSpec(tuple, None, [*,\n    TreeSpec(dict, ['a', 'b'], [*,\n      TreeSpec(list, None, [*,\n        *])])]),\n  *])"
    )  # fmt: skip
    assert pytree.treespec_pprint(spec) == "((*, {'a': *, 'b': [*, *]}), *)"
    assert repr(pytree.LeafSpec()) == "*" and (spec.num_nodes, spec.num_children, spec.is_leaf()) == (9, 2, False)


def test_map():
    assert pytree.tree_map(lambda a, b: a + b, {"a": 1, "b": [2]}, {"b": [20], "a": 10}) == {"a": 11, "b": [22]}
    assert pytree.tree_map(lambda a, b: (a, b), {"a": 1}, {"a": [20]}) == {"a": (1, [20])}
    assert pytree.tree_map_only(int, lambda x: x + 1, (1, "a")) == (2, "a")
    seen = []
    assert pytree.tree_map_(seen.append, (1, [2])) == (1, [2]) and seen == [1, 2]
    assert (
        pytree.tree_all(bool, (1, 2))
        and not pytree.tree_all(bool, (1, 0))
        and pytree.tree_any(bool, (1, 0))
        and not pytree.tree_any_only(str, bool, (1, ""))
    )
    assert pytree.tree_leaves((1, (2, 3)), is_leaf=lambda x: x == (2, 3)) == [1, (2, 3)]


@pytest.mark.parametrize(
    ("rest", "words"),
    [
        ({"a": 10, "b": [20, 3]}, "Node arity mismatch; expected 1, but got 2."),
        ({"a": 10, "c": [20]}, "Node keys mismatch; missing key(s): {'b'}; extra key(s): {'c'}."),
        ([1, 2], "Node type mismatch; expected <class 'dict'>, but got <class 'list'>."),
    ],
)
def test_map_refuses(rest, words):
    with pytest.raises(ValueError) as error:
        pytree.tree_map(lambda a, b: a, {"a": 1, "b": [2]}, rest)
    assert str(error.value) == words


def test_unflatten_refuses():
    with pytest.raises(ValueError, match="`leaves` has length 1 but the spec refers to a pytree that holds 2 items"):
        pytree.tree_unflatten([1], pytree.tree_structure((1, 2)))
    with pytest.raises(TypeError, match="Expected `treespec` to be an instance of PyTreeSpec"):
        pytree.tree_unflatten([1], 3)


def test_prefixes():
    spread = pytree._broadcast_to_and_flatten
    spec = pytree.tree_structure((1, [2, 3]))
    assert (
        spread(0, spec) == [0, 0, 0] and spread((0, 1), spec) == [0, 1, 1] and spread((None, 0), spec) == [None, 0, 0]
    )
    assert spread((0, [1]), spec) is None and spread([0, 1], spec) is None


def test_paths():
    found, _ = pytree.tree_flatten_with_path({"a": 1, "b": [2, Point(3, 4)]})
    assert [pytree.keystr(path) for path, _ in found] == ["['a']", "['b'][0]", "['b'][1].x", "['b'][1].y"]
    assert pytree.key_get({"b": [2, Point(3, 4)]}, found[3][0]) == 4
    assert pytree.tree_map_with_path(lambda path, v: f"{pytree.keystr(path)}={v}", (1, [2])) == ("[0]=1", ["[1][0]=2"])


def test_own_classes():
    class Pair:
        def __init__(self, x, y):
            self.x, self.y = x, y

    pytree.register_pytree_node(Pair, lambda p: ((p.x,), p.y), lambda children, y: Pair(*children, y))
    made = pytree.tree_map(lambda x: x + 1, [Pair(1, 2)])[0]
    assert (made.x, made.y) == (2, 2) and repr(pytree.tree_structure(Pair(1, 2))) == "TreeSpec(Pair, 2, [*])"
    with pytest.raises(ValueError, match="is already registered as pytree node"):
        pytree.register_pytree_node(Pair, None, None)

    @dataclass
    class Three:
        a: int
        b: int

    pytree.register_dataclass(Three)
    assert pytree.tree_map(lambda x: x * 2, Three(1, 2)) == Three(2, 4)


@pytest.mark.parity
def test_as_in_pytorch():
    theirs = pytest.importorskip("torch.utils._pytree")
    for tree in TREES:
        mine, yours = pytree.tree_flatten(tree), theirs.tree_flatten(tree)
        assert mine[0] == yours[0] and repr(mine[1]) == repr(yours[1])
        assert pytree.treespec_pprint(mine[1]) == theirs.treespec_pprint(yours[1])
        assert (mine[1].num_nodes, mine[1].num_leaves) == (yours[1].num_nodes, yours[1].num_leaves)

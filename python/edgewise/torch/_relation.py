# SPDX-License-Identifier: Apache-2.0
"""The edges along which messages pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import GetAttrKey, register_pytree_node
from torch.utils.data._utils.collate import default_collate_fn_map

from edgewise import Error

from . import _builders as builders
from ._library import operations

Lengths = int | Sequence[int] | Tensor


class _Handle(bytearray):
    """The memory of a handle. Torch keeps this object until no tensor, also none saved for backward, needs it."""

    forget: Callable[[int], None] = staticmethod(operations.forget_relation.default)
    number: int

    def __del__(self) -> None:
        if _Handle is not None:  # else Python is ending
            self.forget(self.number)


def _make_handle(number: int) -> Tensor:
    memory = _Handle(number.to_bytes(8, "little"))
    memory.number = number
    return torch.frombuffer(memory, dtype=torch.int64)


class Relation:
    """The edges of one kind, from source nodes to destination nodes: a destination attends to its sources.

    A row is the edges into one destination. A relation stores an interval of sources for each row, or a list of them
    (compressed sparse rows, CSR). It never changes; do not write to the tensors that it returns.

    Tensors of edges (`edge_bias`, attention weights) have the order in which the edges were given. The builders order
    edges by destination, and within a destination by source.

    Builders take a number of nodes, or for a batch of disconnected graphs the number of nodes of each: a list, a tensor
    of integers, or a jagged nested tensor whose lengths are meant.
    """

    # Not documented, because the builders check their arguments: the arrays of a relation, and the position among the
    # given edges of each stored edge (None: the same).
    def __init__(self, num_sources: int, row_begin: Tensor, sources: Tensor, num_edges: int,
                 order: Tensor | None = None) -> None:
        self._set_arrays(num_sources, row_begin, sources, num_edges, order)
        self._num_saved = 0
        if torch.compiler.is_compiling() or type(row_begin) is not Tensor or row_begin.device.type != "cpu":
            self._handle = torch.empty(0, dtype=torch.int64)
        else:
            try:
                number, self._num_saved = operations.keep_relation(row_begin, sources, num_sources)
            except RuntimeError as error:  # such as an unknown name in EDGEWISE_KERNELS
                raise Error(str(error)) from None
            self._handle = _make_handle(number)

    def _set_arrays(self, num_sources: int, row_begin: Tensor, sources: Tensor, num_edges: int,
                    order: Tensor | None) -> None:
        self._num_sources = num_sources
        self._row_begin = row_begin
        self._sources = sources
        self._num_edges = num_edges
        self._order = order
        is_traced = isinstance(row_begin, Tensor)  # else a placeholder of torch.utils._pytree
        self._num_destinations = row_begin.shape[0] - 1 if is_traced else 0
        self._position = order.argsort() if is_traced and order is not None else None

    @staticmethod
    def from_edge_index(edge_index: Tensor, size: int | tuple[int, int] | None = None) -> Relation:
        """Makes the relation of PyG's `edge_index`, [2, edges]: row 0 has the sources, row 1 the destinations.

        `size` is the number of nodes, or the numbers of sources and destinations; by default the `sparse_size` of PyG's
        EdgeIndex, and for other tensors one more than the largest number in `edge_index`. Equal edges are separate
        edges.
        """
        return Relation(*builders.from_edge_index(edge_index, size))

    @staticmethod
    def from_csr(row_begin: Tensor, sources: Tensor, num_sources: int | None = None) -> Relation:
        """Makes a relation of compressed sparse rows: row d has the sources `sources[row_begin[d]:row_begin[d + 1]]`.

        `num_sources` is by default the number of rows. Equal sources are separate edges.
        """
        return Relation(*builders.from_csr(row_begin, sources, num_sources))

    @staticmethod
    def from_dgl(graph: Any, etype: Any = None) -> Relation:
        """Makes the relation of a DGL graph, or of its edges of the type `etype`, in the order of the graph's edges."""
        return Relation(*builders.from_dgl(graph, etype))

    @staticmethod
    def from_mask(mask: Tensor) -> Relation:
        """Makes a relation from a mask of booleans [destinations, sources]: True means that there is an edge."""
        return Relation(*builders.from_mask(mask))

    @staticmethod
    def complete(lengths: Lengths) -> Relation:
        """Connects every node to every node of its graph, itself included: the self-attention of an encoder."""
        return Relation(*builders.complete(lengths))

    @staticmethod
    def causal(lengths: Lengths) -> Relation:
        """Connects node i of a graph to the nodes 0 … i: the self-attention of a decoder."""
        return Relation(*builders.causal(lengths))

    @staticmethod
    def bipartite(num_sources: Lengths, num_destinations: Lengths) -> Relation:
        """Connects every source of a graph to every destination of the same graph: cross-attention."""
        return Relation(*builders.bipartite(num_sources, num_destinations))

    @staticmethod
    def window(lengths: Lengths, before: int, after: int = 0, dilation: int = 1) -> Relation:
        """Connects node i to the nodes i + step · dilation for the steps -before … after, where they exist."""
        return Relation(*builders.window(lengths, before, after, dilation))

    @staticmethod
    def prefix(num_sources: int, lengths: Sequence[int] | Tensor) -> Relation:
        """Connects destination d to the first `lengths[d]` sources."""
        return Relation(*builders.prefix(num_sources, lengths))

    @staticmethod
    def batch(relations: Sequence[Relation]) -> Relation:
        """Joins relations without edges between them: nodes and edges of a part follow those of the part before."""
        parts = list(relations)
        for i, part in enumerate(parts):
            if not isinstance(part, Relation):
                raise TypeError(f"batch: relations[{i}] is {part!r:.80}, needs a Relation")
        return Relation(*builders.batch([
            (part._num_sources, part._row_begin, part._sources, part._num_edges, part._order) for part in parts]))

    @property
    def num_sources(self) -> int:
        return self._num_sources

    @property
    def num_destinations(self) -> int:
        return self._num_destinations

    @property
    def num_edges(self) -> int:
        return self._num_edges

    @property
    def has_intervals(self) -> bool:
        """Whether the relation stores an interval of sources for each row; its memory then does not grow with edges."""
        return self._sources.dim() == 2

    def in_degrees(self) -> Tensor:
        """Returns the number of edges into each destination, int64 [destinations]."""
        return self._row_begin.diff()

    def edge_index(self) -> Tensor:
        """Returns the edges as PyG's `edge_index`, int64 [2, edges], in the order of the relation's edges."""
        edges = builders.list_edges(self._row_begin, self._sources, self._num_edges)
        return edges if self._position is None else edges.index_select(1, self._position)

    def __eq__(self, other: object) -> bool:
        """Compares sizes, edges and the order of edges; the forms of storage may differ."""
        if not isinstance(other, Relation):
            return NotImplemented
        return (self._num_sources == other._num_sources and self._num_destinations == other._num_destinations
                and self._num_edges == other._num_edges and torch.equal(self.edge_index(), other.edge_index()))

    def __hash__(self) -> int:
        return hash((self._num_sources, self._num_destinations, self._num_edges))

    def __repr__(self) -> str:
        return (f"Relation(num_sources={self._num_sources}, num_destinations={self._num_destinations}, "
                f"num_edges={self._num_edges})")

    def __copy__(self) -> Relation:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Relation:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self._num_sources, self._row_begin, self._sources, self._num_edges, self._order)

    # Tensors of edges, in the order of the rows and in the order in which the edges were given.
    def _to_rows(self, edges: Tensor) -> Tensor:
        return edges if self._order is None else edges.index_select(0, self._order)

    def _from_rows(self, edges: Tensor) -> Tensor:
        return edges if self._position is None else edges.index_select(0, self._position)


def _restore(num_sources: int, row_begin: Tensor, sources: Tensor, num_edges: int, order: Tensor | None) -> Relation:
    """Makes a relation from a pickle, which may come from anywhere: torch.load calls this function."""
    builders.check_arrays("Relation", num_sources, row_begin, sources, num_edges, order)
    return Relation(num_sources, row_begin, sources, num_edges, order)


def _leaves_of(relation: Relation) -> dict[str, Any]:
    order = relation._order
    if order is None and not relation.has_intervals:
        # A program that torch.export has traced needs the same leaves for all relations of a form.
        order = torch.arange(relation._num_edges, dtype=torch.int64)
    return {"num_sources": relation._num_sources, "row_begin": relation._row_begin, "sources": relation._sources,
            "num_edges": relation._num_edges, "order": order, "handle": relation._handle}


def _flatten(relation: Relation) -> tuple[list[Any], None]:
    return list(_leaves_of(relation).values()), None


def _flatten_with_keys(relation: Relation) -> tuple[list[tuple[Any, Any]], None]:
    return [(GetAttrKey(name), leaf) for name, leaf in _leaves_of(relation).items()], None


def _unflatten(leaves: Iterable[Any], context: None) -> Relation:
    """Makes a relation of leaves, which torch may have replaced by tensors that it traces or by other objects."""
    relation = object.__new__(Relation)
    num_sources, row_begin, sources, num_edges, order, handle = leaves
    relation._set_arrays(num_sources, row_begin, sources, num_edges, order)
    relation._handle = handle
    relation._num_saved = 0
    return relation


def _collate(relations: Sequence[Relation], *, collate_fn_map: Any = None) -> Relation:
    return Relation.batch(relations)


# A relation may then be an argument of a program of torch.export, an element that torch's DataLoader collates, and part
# of what torch.load reads with weights_only=True.
register_pytree_node(Relation, _flatten, _unflatten, serialized_type_name="edgewise.torch.Relation",
                     to_dumpable_context=lambda context: None, from_dumpable_context=lambda context: None,
                     flatten_with_keys_fn=_flatten_with_keys)
default_collate_fn_map[Relation] = _collate
torch.serialization.add_safe_globals([_restore])

# SPDX-License-Identifier: Apache-2.0
"""What functions of users get: the nodes or the edges of a call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from torch import Tensor

from ._checks import fail
from ._edge_lists import EdgeList
from ._edge_sum import edge_sum
from ._frames import Columns, Frame, LazyColumns, describe

CanonicalType = tuple[str, str, str]


class NodeBatch:
    """The nodes that a function is called with. In a reduce function, all have the same in-degree."""

    def __init__(self, node_type: str, numbers: Tensor, data: LazyColumns, mailbox: Columns | None = None) -> None:
        self._node_type = node_type
        self._numbers = numbers
        self._data = data
        self._mailbox = mailbox

    @property
    def data(self) -> Columns:
        """The columns of the nodes, [nodes, …]."""
        return self._data

    @property
    def mailbox(self) -> Columns:
        """The messages that the nodes received, [nodes, in-degree, …], by ascending edge number."""
        if self._mailbox is None:
            fail("mailbox: the call is outside of a reduce function, needs to be inside, where nodes have messages")
        return self._mailbox

    def nodes(self) -> Tensor:
        """Returns the numbers of the nodes, int64 [nodes]."""
        return self._numbers

    def batch_size(self) -> int:
        return len(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def ntype(self) -> str:
        return self._node_type


class EdgeBatch:
    """The edges that a function is called with."""

    def __init__(self, edge_type: CanonicalType, edges: EdgeList, frames: EndFrames) -> None:
        self._edge_type = edge_type
        self._edges = edges
        self._src = LazyColumns(frames["u"], lambda column: edge_sum(edges, "e", "copy", ("u", column)))
        self._dst = LazyColumns(frames["v"], lambda column: edge_sum(edges, "e", "copy", ("v", column)))
        self._data = LazyColumns(frames["e"], edges.rows_of)

    @property
    def src(self) -> Columns:
        """The columns of the nodes at the sources of the edges, [edges, …]."""
        return self._src

    @property
    def dst(self) -> Columns:
        """The columns of the nodes at the destinations of the edges, [edges, …]."""
        return self._dst

    @property
    def data(self) -> Columns:
        """The columns of the edges, [edges, …]."""
        return self._data

    def edges(self) -> tuple[Tensor, Tensor, Tensor]:
        """Returns sources, destinations and numbers of the edges, int64 [edges] each."""
        return self._edges.sources, self._edges.destinations, edge_numbers(self._edges)

    def batch_size(self) -> int:
        return self._edges.num_edges

    def __len__(self) -> int:
        return self._edges.num_edges

    @property
    def canonical_etype(self) -> CanonicalType:
        return self._edge_type


EndFrames = Mapping[str, Frame]  # of the sources "u", the destinations "v" and the edges "e"

NodeFunction = Callable[[NodeBatch], Columns]
EdgeFunction = Callable[[EdgeBatch], Columns]


def edge_numbers(edges: EdgeList) -> Tensor:
    if edges.numbers is not None:
        return edges.numbers
    return edges.sources.new_ones(edges.num_edges).cumsum(0) - 1


def call(function: Any, batch: NodeBatch | EdgeBatch, prefix: str) -> dict[str, Tensor]:
    """Calls a function that returns columns, and checks them. Error texts begin with `prefix`."""
    if not callable(function):
        raise TypeError(f"{prefix} is {function!r:.80}, needs one that can be called")
    row = "node" if isinstance(batch, NodeBatch) else "edge"
    columns = function(batch)
    if not isinstance(columns, Mapping):
        raise TypeError(f"{prefix} returned {describe(columns)}, needs a dict of columns")
    for name, values in columns.items():
        if not isinstance(values, Tensor) or values.dim() == 0 or values.shape[0] != len(batch):
            fail(f"{prefix} returned {name!r} as {describe(values)} for {len(batch)} {row}s, needs one row per {row}")
    return dict(columns)


def call_predicate(predicate: Any, batch: NodeBatch | EdgeBatch, prefix: str) -> Tensor:
    """Calls a function that returns a mask, and returns which rows are not zero, bool [rows]."""
    if not callable(predicate):
        raise TypeError(f"{prefix} is {predicate!r:.80}, needs one that can be called")
    mask = predicate(batch)
    if not isinstance(mask, Tensor) or mask.shape != (len(batch),):
        fail(f"{prefix} returned {describe(mask)}, needs a mask [{len(batch)}]")
    return mask != 0

# SPDX-License-Identifier: Apache-2.0
"""The edges along which a call of a graph passes messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from ._relation import Relation


@dataclass
class Bucket:
    """The nodes with one in-degree, and where their messages begin in the order of the mailboxes."""

    in_degree: int
    nodes: Tensor  # int64 [nodes], ascending
    begin: int

    def take(self, messages: Tensor) -> Tensor:
        """Returns the messages of the nodes, [nodes, in-degree, …], of messages in the order of the mailboxes."""
        count = len(self.nodes) * self.in_degree
        return torch.unflatten(messages[self.begin:self.begin + count], 0, (len(self.nodes), self.in_degree))


@dataclass
class Mailboxes:
    """Messages grouped by the node that receives them, and these nodes grouped by their in-degree."""

    order: Tensor  # int64 [edges]: the position in the list of each message, bucket by bucket and node by node
    buckets: list[Bucket]
    receivers: Tensor  # int64: the nodes of all buckets, in their order


class EdgeList:
    """All edges between two types of nodes, or some of them, in ascending order of their numbers.

    `numbers` has the row of each edge in tensors of edges, int64 [edges]; None: edge i has row i. What is derived of
    the edges is kept.
    """

    def __init__(self, num_sources: int, num_destinations: int, ends: tuple[Tensor, Tensor] | None = None,
                 relation: Relation | None = None, numbers: Tensor | None = None) -> None:
        assert ends is not None or relation is not None
        self.num_sources = num_sources
        self.num_destinations = num_destinations
        self.numbers = numbers
        self._ends = ends
        self._relation = relation
        self._stored_numbers: Tensor | None = None
        self._alone: EdgeList | None = None

    @staticmethod
    def of_relation(relation: Relation, numbers: Tensor | None = None) -> EdgeList:
        return EdgeList(relation.num_sources, relation.num_destinations, relation=relation, numbers=numbers)

    @property
    def num_edges(self) -> int:
        return len(self._ends[0]) if self._ends is not None else self.relation.num_edges

    @property
    def ends(self) -> tuple[Tensor, Tensor]:
        """The sources and the destinations, int64 [edges] each."""
        if self._ends is None:
            sources, destinations = self.relation.edge_index().unbind()
            self._ends = sources, destinations
        return self._ends

    @property
    def relation(self) -> Relation:
        if self._relation is None:
            assert self._ends is not None
            self._relation = Relation.from_edge_index(torch.stack(self._ends),
                                                      (self.num_sources, self.num_destinations))
        return self._relation

    @property
    def sources(self) -> Tensor:
        return self.ends[0]

    @property
    def destinations(self) -> Tensor:
        return self.ends[1]

    @cached_property
    def in_degrees(self) -> Tensor:
        if self._relation is not None:
            return self._relation.in_degrees()
        return self.destinations.bincount(minlength=self.num_destinations)

    @cached_property
    def out_degrees(self) -> Tensor:
        return self.sources.bincount(minlength=self.num_sources)

    @cached_property
    def is_receiver(self) -> Tensor | None:
        """Which destinations have edges, bool [destinations]; None: all."""
        has_edges = self.in_degrees > 0
        return None if bool(has_edges.all()) else has_edges

    @cached_property
    def mailboxes(self) -> Mailboxes:
        degrees = self.in_degrees
        nodes = degrees.nonzero()[:, 0]
        receivers = nodes[degrees[nodes].argsort(stable=True)]
        place = torch.empty(self.num_destinations, dtype=torch.int64)
        place[receivers] = torch.arange(len(receivers))
        order = place[self.destinations].argsort(stable=True)
        buckets, first, begin = [], 0, 0
        values, counts = torch.unique_consecutive(degrees[receivers], return_counts=True)
        for degree, count in zip(values.tolist(), counts.tolist()):
            buckets.append(Bucket(degree, receivers[first:first + count], begin))
            first, begin = first + count, begin + count * degree
        # Without messages, a reduce function is called once, so that its columns have a type and a shape.
        return Mailboxes(order, buckets or [Bucket(1, receivers, 0)], receivers)

    @property
    def stored_positions(self) -> Tensor | None:
        """The position in the list of each edge that the relation stores, int64 [edges]; None: the same."""
        return self.relation._order

    # Not cached_property, here and in `alone`: torch.compile cannot trace its lock.
    @property
    def stored_numbers(self) -> Tensor | None:
        """The row in tensors of edges of each edge that the relation stores, int64 [edges]; None: the same."""
        order = self.stored_positions
        if self.numbers is None or order is None:
            return order if self.numbers is None else self.numbers
        if self._stored_numbers is None:
            self._stored_numbers = self.numbers[order]
        return self._stored_numbers

    @property
    def alone(self) -> EdgeList:
        """The same edges, for tensors that have a row for each of these edges only."""
        if self.numbers is None:
            return self
        if self._alone is None:
            self._alone = EdgeList(self.num_sources, self.num_destinations, self._ends, self.relation)
        return self._alone

    @cached_property
    def reversed(self) -> EdgeList:
        """The same edges from their destinations to their sources."""
        return EdgeList(self.num_destinations, self.num_sources, (self.destinations, self.sources),
                        numbers=self.numbers)

    def rows_of(self, column: Tensor) -> Tensor:
        """Returns the rows of a tensor of edges that belong to these edges."""
        return column if self.numbers is None else column.index_select(0, self.numbers)

    def select(self, numbers: Tensor) -> EdgeList:
        """Returns the edges with these numbers, which ascend. This list has all edges."""
        assert self.numbers is None
        ends = self.sources.index_select(0, numbers), self.destinations.index_select(0, numbers)
        return EdgeList(self.num_sources, self.num_destinations, ends, numbers=numbers)

    def into(self, nodes: Tensor) -> Tensor:
        """Returns the numbers of the edges into distinct nodes, ascending. Takes O(these edges log these edges)."""
        relation = self.relation
        counts = relation.in_degrees()[nodes]
        first = relation._row_begin[:-1][nodes]
        ends = counts.cumsum(0)
        rows = torch.arange(int(ends[-1]) if len(ends) > 0 else 0)
        rows = rows + (first - ends + counts).repeat_interleave(counts)
        return (rows if relation._order is None else relation._order[rows]).sort().values

    @cached_property
    def _by_ends(self) -> tuple[Tensor, Tensor]:
        """The edges in the order of their sources and destinations: a key that has both, and the numbers."""
        keys, order = (self.sources * max(self.num_destinations, 1) + self.destinations).sort(stable=True)
        return keys, order

    def find(self, sources: Tensor, destinations: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the number of the first edge between each two nodes, and whether there is one."""
        keys, order = self._by_ends
        wanted = sources * max(self.num_destinations, 1) + destinations
        place = torch.searchsorted(keys, wanted)
        exists = place < len(keys)
        place = place.where(exists, 0)
        if len(keys) == 0:
            return place, exists
        return order[place], exists & (keys[place] == wanted)

    @staticmethod
    def batch(lists: Sequence[EdgeList], numbers: Tensor | None = None) -> EdgeList:
        """Joins lists without edges between them: nodes of a list follow those of the list before."""
        if all(part._relation is not None for part in lists):
            return EdgeList.of_relation(Relation.batch([part.relation for part in lists]), numbers)
        sources, destinations, num_sources, num_destinations = [], [], 0, 0
        for part in lists:
            sources.append(part.sources + num_sources)
            destinations.append(part.destinations + num_destinations)
            num_sources += part.num_sources
            num_destinations += part.num_destinations
        return EdgeList(num_sources, num_destinations, (torch.cat(sources), torch.cat(destinations)), numbers=numbers)

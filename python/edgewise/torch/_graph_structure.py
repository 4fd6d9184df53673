# SPDX-License-Identifier: Apache-2.0
"""The nodes and edges of a graph: types, numbers, named sets, and the parts of a batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import torch
from torch import Tensor

from ._batches import CanonicalType, edge_numbers
from ._checks import fail
from ._edge_lists import EdgeList
from ._frames import describe_names
from ._numbers import TensorMemo, as_numbers, pair, sort_distinct

Numbers = Any  # a tensor of integers, a sequence of them, or one


class Structure:
    """Everything of a graph but its columns. Parts of a batch are numbered one after the other."""

    def __init__(self, node_counts: Mapping[str, Sequence[int]], edge_lists: Mapping[CanonicalType, EdgeList],
                 edge_counts: Mapping[CanonicalType, Sequence[int]]) -> None:
        self.node_counts = {name: list(counts) for name, counts in node_counts.items()}  # of each part
        self.edge_counts = {name: list(counts) for name, counts in edge_counts.items()}
        self.edge_lists = dict(edge_lists)
        self.node_sets: dict[str, tuple[str, Tensor]] = {}
        self.edge_sets: dict[str, tuple[CanonicalType, EdgeList]] = {}
        # Distinct numbers of nodes, and lists of edges, of tensors that were given before.
        self.known_nodes: dict[str, TensorMemo] = {name: TensorMemo() for name in node_counts}
        self.known_edges: dict[CanonicalType, TensorMemo] = {name: TensorMemo() for name in edge_lists}

    @staticmethod
    def of_one_part(node_counts: Mapping[str, int], edge_lists: Mapping[CanonicalType, EdgeList]) -> Structure:
        return Structure({name: [count] for name, count in node_counts.items()}, edge_lists,
                         {name: [edges.num_edges] for name, edges in edge_lists.items()})

    def num_nodes(self, node_type: str) -> int:
        return sum(self.node_counts[node_type])

    def restricted_to(self, edge_type: CanonicalType) -> Structure:
        """Returns the structure with one type of edges and the types of their ends."""
        ends = (edge_type[0], edge_type[2])
        result = Structure({name: counts for name, counts in self.node_counts.items() if name in ends},
                           {edge_type: self.edge_lists[edge_type]}, {edge_type: self.edge_counts[edge_type]})
        result.node_sets = {name: nodes for name, nodes in self.node_sets.items() if nodes[0] in ends}
        result.edge_sets = {name: edges for name, edges in self.edge_sets.items() if edges[0] == edge_type}
        return result

    # --- Types. ------------------------------------------------------------------------------------------------------

    def source_types(self) -> list[str]:
        sources = {name[0] for name in self.edge_lists}
        return [name for name in self.node_counts if name in sources] if sources else list(self.node_counts)

    def destination_types(self) -> list[str]:
        destinations = {name[2] for name in self.edge_lists}
        return [name for name in self.node_counts if name in destinations] if destinations else list(self.node_counts)

    def node_type(self, caller: str, given: Any, among: Sequence[str] | None = None) -> str:
        """Returns the type of nodes that is meant: the only one, if no type is given."""
        names = list(self.node_counts) if among is None else list(among)
        if given is None and len(names) == 1:
            return names[0]
        if given is None:
            fail(f"{caller}: ntype is missing, the graph has the types of nodes {describe_names(iter(names))}, needs "
                 "one of them")
        if given not in self.node_counts:
            fail(f"{caller}: ntype is {given!r:.80}, needs one of {describe_names(self.node_counts)}")
        name: str = given
        return name

    def edge_type(self, caller: str, given: Any) -> CanonicalType:
        """Returns the type of edges that is meant: the only one, if no type is given."""
        names = list(self.edge_lists)
        if given is None:
            if len(names) != 1:
                self._fail_edge_type(caller, "etype is missing")
            return names[0]
        if isinstance(given, tuple) and given in self.edge_lists:
            return given
        found = [name for name in names if name[1] == given]
        if len(found) == 1:
            return found[0]
        self._fail_edge_type(caller, f"etype is {given!r:.80}" + (", which several types have" if found else ""))

    def _fail_edge_type(self, caller: str, has: str) -> NoReturn:
        fail(f"{caller}: {has}, needs one of the graph's types of edges: {', '.join(map(str, self.edge_lists))}")

    # --- Numbers. ----------------------------------------------------------------------------------------------------

    def select_nodes(self, caller: str, given: Any, node_type: str, name: str = "nodes") -> Tensor | None:
        """Returns distinct numbers of nodes, or None for all. Names of sets are numbers, too."""
        if given is None or isinstance(given, str) and given == ALL:
            return None
        if isinstance(given, str):
            return self.node_set(caller, given, node_type)

        def derive() -> Tensor:
            numbers = as_numbers(caller, name, given, self.num_nodes(node_type))
            sort_distinct(caller, name, numbers)
            return numbers

        return self.known_nodes[node_type].get(given, derive)

    def select_edges(self, caller: str, given: Any, edge_type: CanonicalType) -> EdgeList:
        """Returns the edges with these numbers, or of a named set, or between each two nodes of a pair of tensors."""
        everything = self.edge_lists[edge_type]
        if given is None or isinstance(given, str) and given == ALL:
            return everything
        if isinstance(given, str):
            return self.edge_set(caller, given, edge_type)
        return self.known_edges[edge_type].get(
            given, lambda: everything.select(sort_distinct(caller, "edges", self.numbers_of_edges(
                caller, given, edge_type))))

    def numbers_of_edges(self, caller: str, given: Any, edge_type: CanonicalType) -> Tensor:
        """Returns the numbers of edges in the order given."""
        if isinstance(given, tuple) and len(given) == 2:
            return self.find(caller, given[0], given[1], edge_type)
        if isinstance(given, str):
            return edge_numbers(self.edge_set(caller, given, edge_type))
        return as_numbers(caller, "edges", given, self.edge_lists[edge_type].num_edges)

    def find(self, caller: str, sources: Numbers, destinations: Numbers, edge_type: CanonicalType) -> Tensor:
        """Returns the numbers of the edges between each two nodes."""
        edges = self.edge_lists[edge_type]
        u, v = pair(caller, as_numbers(caller, "sources", sources, edges.num_sources),
                    as_numbers(caller, "destinations", destinations, edges.num_destinations))
        numbers, exists = edges.find(u, v)
        missing = (~exists).nonzero()
        if len(missing) > 0:
            i = int(missing[0, 0])
            fail(f"{caller}: the edge from {int(u[i])} to {int(v[i])} is missing, needs to be in the graph")
        return numbers

    # --- Named sets. -------------------------------------------------------------------------------------------------

    def node_set(self, caller: str, name: str, node_type: str | None = None) -> Tensor:
        found = self.node_sets.get(name)
        if found is None or node_type not in (None, found[0]):
            fail(f"{caller}: the set of nodes {name!r:.80} is missing, the sets are {describe_names(self.node_sets)}")
        return found[1]

    def edge_set(self, caller: str, name: str, edge_type: CanonicalType | None = None) -> EdgeList:
        found = self.edge_sets.get(name)
        if found is None or edge_type not in (None, found[0]):
            fail(f"{caller}: the set of edges {name!r:.80} is missing, the sets are {describe_names(self.edge_sets)}")
        return found[1]

    def name_nodes(self, name: str, node_type: str, numbers: Tensor) -> None:
        self.node_sets[name] = node_type, numbers
        self.known_nodes[node_type].get(numbers, lambda: numbers)

    def name_edges(self, name: str, edge_type: CanonicalType, edges: EdgeList) -> None:
        if edges.numbers is None:
            edges = EdgeList(edges.num_sources, edges.num_destinations, edges._ends, edges._relation,
                             edge_numbers(edges))
        self.edge_sets[name] = edge_type, edges
        # A call that gets these numbers, not the name, finds the same list.
        self.known_edges[edge_type].get(edges.numbers, lambda: edges)

    # --- Changes: they return another structure. ---------------------------------------------------------------------

    def with_nodes(self, node_type: str, count: int) -> Structure:
        self._check_is_no_batch("add_nodes")
        counts = {name: sum(part) for name, part in self.node_counts.items()}
        counts[node_type] += count
        lists = {}
        for name, edges in self.edge_lists.items():
            is_other = node_type not in (name[0], name[2])
            lists[name] = edges if is_other else EdgeList(counts[name[0]], counts[name[2]], edges.ends)
        return Structure.of_one_part(counts, lists)

    def with_edges(self, edge_type: CanonicalType, sources: Tensor, destinations: Tensor) -> Structure:
        self._check_is_no_batch("add_edges")
        edges = self.edge_lists[edge_type]
        ends = torch.cat((edges.sources, sources)), torch.cat((edges.destinations, destinations))
        lists = {**self.edge_lists, edge_type: EdgeList(edges.num_sources, edges.num_destinations, ends)}
        return Structure.of_one_part({name: sum(part) for name, part in self.node_counts.items()}, lists)

    def _check_is_no_batch(self, caller: str) -> None:
        parts = max((len(counts) for counts in self.node_counts.values()), default=1)
        if parts != 1 or self.node_sets or self.edge_sets:
            fail(f"{caller}: the graph has {parts} parts and {len(self.node_sets) + len(self.edge_sets)} named sets, "
                 "needs one part and no sets; change a graph before it is batched, and name sets afterwards")


ALL = "__ALL__"  # as in DGL

# SPDX-License-Identifier: Apache-2.0
"""The nodes, the edges and the columns of graphs, with the names of DGL."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import torch
from torch import Tensor

from ._batches import CanonicalType, edge_numbers
from ._checks import fail
from ._frames import Frame, FrameView, TypedView, describe
from ._graph_access import EdgeAccess, NodeAccess
from ._graph_structure import ALL, Numbers, Structure
from ._numbers import as_numbers, pair
from ._relation import Relation

AnyGraph = TypeVar("AnyGraph", bound="GraphData")


class GraphData:
    """What a graph has besides message passing."""

    def __init__(self, structure: Structure, node_frames: dict[str, Frame] | None = None,
                 edge_frames: dict[CanonicalType, Frame] | None = None) -> None:
        self._structure = structure
        self._node_frames = node_frames or {
            name: Frame(structure.num_nodes(name), "node") for name in structure.node_counts}
        self._edge_frames = edge_frames or {
            name: Frame(edges.num_edges, "edge") for name, edges in structure.edge_lists.items()}

    # --- Nodes and edges. --------------------------------------------------------------------------------------------

    @property
    def ntypes(self) -> list[str]:
        return list(self._structure.node_counts)

    @property
    def etypes(self) -> list[str]:
        return [name[1] for name in self._structure.edge_lists]

    @property
    def canonical_etypes(self) -> list[CanonicalType]:
        return list(self._structure.edge_lists)

    @property
    def srctypes(self) -> list[str]:
        return self._structure.source_types()

    @property
    def dsttypes(self) -> list[str]:
        return self._structure.destination_types()

    def to_canonical_etype(self, etype: Any) -> CanonicalType:
        return self._structure.edge_type("to_canonical_etype", etype)

    def num_nodes(self, ntype: str | None = None) -> int:
        """Returns the number of nodes, of a type or of all types."""
        if ntype is None:
            return sum(map(self._structure.num_nodes, self.ntypes))
        return self._structure.num_nodes(self._structure.node_type("num_nodes", ntype))

    def num_edges(self, etype: Any = None) -> int:
        """Returns the number of edges, of a type or of all types."""
        if etype is None:
            return sum(edges.num_edges for edges in self._structure.edge_lists.values())
        return self._structure.edge_lists[self._structure.edge_type("num_edges", etype)].num_edges

    def num_src_nodes(self, ntype: str | None = None) -> int:
        return self._structure.num_nodes(self._structure.node_type("num_src_nodes", ntype, self.srctypes))

    def num_dst_nodes(self, ntype: str | None = None) -> int:
        return self._structure.num_nodes(self._structure.node_type("num_dst_nodes", ntype, self.dsttypes))

    number_of_nodes, number_of_edges = num_nodes, num_edges
    number_of_src_nodes, number_of_dst_nodes = num_src_nodes, num_dst_nodes

    @property
    def nodes(self) -> NodeAccess:
        """`nodes()` returns the numbers of the nodes; `nodes[key].data` has the columns of a type, a set or numbers."""
        return NodeAccess(self)

    @property
    def edges(self) -> EdgeAccess:
        """`edges()` returns sources and destinations; `edges[key].data` has the columns of a type, a set or numbers."""
        return EdgeAccess(self)

    all_edges = edges

    def edge_ids(self, u: Numbers, v: Numbers, etype: Any = None) -> Tensor:
        """Returns the number of an edge from each source to the destination beside it: the first of several."""
        return self._structure.find("edge_ids", u, v, self._structure.edge_type("edge_ids", etype))

    def find_edges(self, eid: Numbers, etype: Any = None) -> tuple[Tensor, Tensor]:
        """Returns sources and destinations of edges."""
        edge_type = self._structure.edge_type("find_edges", etype)
        numbers = self._structure.numbers_of_edges("find_edges", eid, edge_type)
        sources, destinations = self._structure.edge_lists[edge_type].ends
        return sources[numbers], destinations[numbers]

    @property
    def is_multigraph(self) -> bool:
        """Whether several edges of a type have the same ends."""
        return any(bool((edges._by_ends[0].diff() == 0).any()) for edges in self._structure.edge_lists.values())

    def in_degrees(self, v: Numbers = ALL, etype: Any = None) -> Tensor:
        edge_type = self._structure.edge_type("in_degrees", etype)
        return self._degrees("in_degrees", v, edge_type[2], self._structure.edge_lists[edge_type].in_degrees)

    def out_degrees(self, u: Numbers = ALL, etype: Any = None) -> Tensor:
        edge_type = self._structure.edge_type("out_degrees", etype)
        return self._degrees("out_degrees", u, edge_type[0], self._structure.edge_lists[edge_type].out_degrees)

    def _degrees(self, caller: str, nodes: Numbers, node_type: str, degrees: Tensor) -> Tensor:
        numbers = self._structure.select_nodes(caller, nodes, node_type)
        return degrees if numbers is None else degrees[numbers]

    def relation(self, edges: Numbers = ALL, etype: Any = None) -> Relation:
        """Returns edges as a relation between all nodes, for `attend`; its order is that of the edges' numbers."""
        return self._structure.select_edges("relation", edges, self._structure.edge_type("relation", etype)).relation

    def name_nodes(self, name: str, nodes: Numbers, ntype: str | None = None) -> None:
        """Gives a name to a set of nodes, which calls take in the place of numbers."""
        node_type = self._structure.node_type("name_nodes", ntype)
        numbers = self._structure.select_nodes("name_nodes", nodes, node_type)
        self._structure.name_nodes(name, node_type, self.nodes(node_type) if numbers is None else numbers)

    def name_edges(self, name: str, edges: Numbers, etype: Any = None) -> None:
        """Gives a name to a set of edges, which calls take in the place of numbers."""
        edge_type = self._structure.edge_type("name_edges", etype)
        self._structure.name_edges(name, edge_type, self._structure.select_edges("name_edges", edges, edge_type))

    def node_set(self, name: str) -> Tensor:
        """Returns the numbers of the nodes of a set."""
        return self._structure.node_set("node_set", name)

    def edge_set(self, name: str) -> Tensor:
        """Returns the numbers of the edges of a set, ascending."""
        return edge_numbers(self._structure.edge_set("edge_set", name))

    # --- Columns. ----------------------------------------------------------------------------------------------------

    @property
    def ndata(self) -> Any:
        """The columns of the nodes; if there are several types, each column is a dict by type."""
        return self._view(self._node_frames, "ndata")

    @property
    def edata(self) -> Any:
        """The columns of the edges; if there are several types, each column is a dict by type."""
        return self._view(self._edge_frames, "edata")

    @property
    def srcdata(self) -> Any:
        """The columns of the types of nodes that are sources."""
        return self._view({name: self._node_frames[name] for name in self.srctypes}, "srcdata")

    @property
    def dstdata(self) -> Any:
        """The columns of the types of nodes that are destinations."""
        return self._view({name: self._node_frames[name] for name in self.dsttypes}, "dstdata")

    def _view(self, frames: Mapping[Any, Frame], caller: str) -> FrameView | TypedView:
        if len(frames) == 1:
            return FrameView(next(iter(frames.values())))
        resolve = self._structure.edge_type if caller == "edata" else self._structure.node_type
        return TypedView(frames, lambda name: resolve(caller, name))

    def _frames_of(self, edge_type: CanonicalType) -> dict[str, Frame]:
        return {"u": self._node_frames[edge_type[0]], "v": self._node_frames[edge_type[2]],
                "e": self._edge_frames[edge_type]}

    @contextlib.contextmanager
    def local_scope(self) -> Iterator[None]:
        """Undoes what is written to columns inside a `with` block, when the block ends."""
        before = self._columns()
        try:
            yield
        finally:
            self._restore(before)

    def local_var(self: AnyGraph) -> AnyGraph:
        """Returns a graph with the same nodes, edges and columns; what is written to one is not in the other."""
        return type(self)(self._structure, {name: frame.copy() for name, frame in self._node_frames.items()},
                     {name: frame.copy() for name, frame in self._edge_frames.items()})

    clone = local_var

    def __copy__(self: AnyGraph) -> AnyGraph:
        return self.local_var()

    def __getitem__(self: AnyGraph, etype: Any) -> AnyGraph:
        """Returns the graph of one type of edges, which shares its columns with this one."""
        edge_type = self._structure.edge_type("graph", etype)
        structure = self._structure.restricted_to(edge_type)
        return type(self)(structure, {name: self._node_frames[name] for name in structure.node_counts},
                     {edge_type: self._edge_frames[edge_type]})

    def _columns(self) -> list[tuple[Frame, dict[str, Tensor]]]:
        return [(frame, dict(frame.columns))
                for frame in (*self._node_frames.values(), *self._edge_frames.values())]

    def _restore(self, columns: list[tuple[Frame, dict[str, Tensor]]]) -> None:
        for frame, before in columns:
            frame.columns.clear()
            frame.columns.update(before)

    @contextlib.contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        before = self._columns()
        try:
            yield
        except BaseException:
            self._restore(before)
            raise

    # --- Changes, and parts of a batch. ------------------------------------------------------------------------------

    def add_nodes(self, num: int, data: Mapping[str, Tensor] | None = None, ntype: str | None = None) -> None:
        """Adds nodes after the others. Columns that `data` does not have are zero at the new nodes."""
        node_type = self._structure.node_type("add_nodes", ntype)
        frame = self._node_frames[node_type].with_rows(num, data or {})
        self._structure = self._structure.with_nodes(node_type, num)
        self._node_frames = {**self._node_frames, node_type: frame}

    def add_edges(self, u: Numbers, v: Numbers, data: Mapping[str, Tensor] | None = None, etype: Any = None) -> None:
        """Adds an edge from each source to the destination beside it. Each call takes O(all edges)."""
        edge_type = self._structure.edge_type("add_edges", etype)
        counts = self._structure.num_nodes(edge_type[0]), self._structure.num_nodes(edge_type[2])
        ends = pair("add_edges", as_numbers("add_edges", "u", u, counts[0]), as_numbers("add_edges", "v", v, counts[1]))
        frame = self._edge_frames[edge_type].with_rows(len(ends[0]), data or {})
        self._structure = self._structure.with_edges(edge_type, ends[0], ends[1])
        self._edge_frames = {**self._edge_frames, edge_type: frame}

    @property
    def batch_size(self) -> int:
        """The number of graphs that were joined, or 1."""
        return max((len(counts) for counts in self._structure.node_counts.values()), default=1)

    def batch_num_nodes(self, ntype: str | None = None) -> Tensor:
        """Returns the number of nodes of each joined graph, int64 [graphs]."""
        return torch.tensor(self._structure.node_counts[self._structure.node_type("batch_num_nodes", ntype)],
                            dtype=torch.int64)

    def batch_num_edges(self, etype: Any = None) -> Tensor:
        """Returns the number of edges of each joined graph, int64 [graphs]."""
        return torch.tensor(self._structure.edge_counts[self._structure.edge_type("batch_num_edges", etype)],
                            dtype=torch.int64)

    @property
    def device(self) -> torch.device:
        return torch.device("cpu")

    def to(self: AnyGraph, device: Any) -> AnyGraph:
        """Returns the graph, which is on the CPU."""
        if torch.device(device).type != "cpu":
            fail(f"to: device is {device}, needs the CPU, the only device that graphs are on")
        return self

    def __repr__(self) -> str:
        nodes = {name: self._structure.num_nodes(name) for name in self.ntypes}
        edges = {name: edges.num_edges for name, edges in self._structure.edge_lists.items()}
        if len(nodes) == len(edges) == 1:
            counts = f"num_nodes={self.num_nodes()}, num_edges={self.num_edges()}"
        else:
            counts = f"num_nodes={nodes}, num_edges={edges}"
        columns = {name: {column: describe(values) for column, values in frame.columns.items()}
                   for name, frame in (("ndata", next(iter(self._node_frames.values()), None)),
                                       ("edata", next(iter(self._edge_frames.values()), None)))
                   if frame is not None and len(nodes) == len(edges) == 1}
        return f"Graph({counts}{''.join(f', {name}={value}' for name, value in columns.items() if value)})"

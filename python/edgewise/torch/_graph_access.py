# SPDX-License-Identifier: Apache-2.0
"""What `graph.nodes` and `graph.edges` are: to call, and to index by types, sets and numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from ._batches import edge_numbers
from ._checks import fail
from ._frames import FrameView

if TYPE_CHECKING:
    from ._graph_data import GraphData


class Space(NamedTuple):
    """Some nodes or edges of a graph."""

    data: FrameView


class NodeAccess:
    """`graph.nodes()` returns the numbers of all nodes; `graph.nodes[key].data` has columns.

    A key is a type of nodes, the name of a set, or numbers of nodes of the only type.
    """

    def __init__(self, graph: GraphData) -> None:
        self._graph = graph

    def __call__(self, ntype: str | None = None) -> Tensor:
        structure = self._graph._structure
        if ntype in structure.node_sets and ntype not in structure.node_counts:
            return structure.node_set("nodes", ntype)
        count = structure.num_nodes(structure.node_type("nodes", ntype))
        return torch.arange(count)

    def __getitem__(self, key: Any) -> Space:
        structure, frames = self._graph._structure, self._graph._node_frames
        if isinstance(key, str) and key in frames:
            return Space(FrameView(frames[key]))
        if isinstance(key, str) and key in structure.node_sets:
            node_type, numbers = structure.node_sets[key]
            return Space(FrameView(frames[node_type], numbers))
        node_type = structure.node_type("nodes", None)
        if isinstance(key, slice):
            key = torch.arange(structure.num_nodes(node_type))[key]
        return Space(FrameView(frames[node_type], structure.select_nodes("nodes", key, node_type)))


class EdgeAccess:
    """`graph.edges()` returns the ends of all edges; `graph.edges[key].data` has columns.

    A key is a type of edges, the name of a set, numbers of edges of the only type, or a pair of sources and
    destinations.
    """

    def __init__(self, graph: GraphData) -> None:
        self._graph = graph

    def __call__(self, form: str = "uv", order: str = "eid", etype: Any = None) -> Any:
        """Returns sources and destinations ("uv"), also numbers ("all"), or numbers alone ("eid")."""
        structure = self._graph._structure
        edges = structure.edge_lists[structure.edge_type("edges", etype)]
        parts = *edges.ends, edge_numbers(edges)
        if order == "srcdst":
            parts = *(part[edges._by_ends[1]] for part in parts),  # type: ignore[assignment]
        elif order not in ("eid", None):
            fail(f"edges: order is {order!r:.80}, needs 'eid' or 'srcdst'")
        if form not in ("uv", "all", "eid"):
            fail(f"edges: form is {form!r:.80}, needs 'uv', 'all' or 'eid'")
        return parts if form == "all" else parts[2] if form == "eid" else parts[:2]

    def __getitem__(self, key: Any) -> Space:
        structure, frames = self._graph._structure, self._graph._edge_frames
        if isinstance(key, str) and key in structure.edge_sets:
            edge_type, edges = structure.edge_sets[key]
            return Space(FrameView(frames[edge_type], edges.numbers))
        if isinstance(key, str) or isinstance(key, tuple) and len(key) == 3:
            return Space(FrameView(frames[structure.edge_type("edges", key)]))
        edge_type = structure.edge_type("edges", None)
        if isinstance(key, slice):
            key = torch.arange(structure.edge_lists[edge_type].num_edges)[key]
        return Space(FrameView(frames[edge_type], structure.numbers_of_edges("edges", key, edge_type)))

# SPDX-License-Identifier: Apache-2.0
"""Makes graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from ._batches import CanonicalType
from ._builders import MAX_NODES, _from_intervals, check_count, lengths_of
from ._checks import fail
from ._edge_lists import EdgeList
from ._graph import Graph
from ._graph_structure import Structure
from ._joined import as_relation
from ._numbers import as_numbers
from ._relation import Relation

NODES, EDGES = "_N", "_E"  # the types of a graph with one of each, as in DGL
ENCODER, DECODER = "encoder", "decoder"


def graph(data: Any, num_nodes: int | None = None) -> Graph:
    """Makes a graph with one type of nodes and one of edges.

    `data` is a Relation, a pair of sources and destinations (tensors or lists), PyG's `edge_index` [2, edges], or an
    empty list. Edges are numbered in the order given, and several may have the same ends. `num_nodes` is by default one
    more than the largest number.
    """
    edges = _edge_list("graph", data, num_nodes, num_nodes)
    count = max(edges.num_sources, edges.num_destinations)
    if isinstance(data, Relation) and edges.num_sources != edges.num_destinations:
        fail(f"graph: data has {edges.num_sources} sources and {edges.num_destinations} destinations, needs as many of "
             "each; use heterograph")
    if edges.num_sources != count or edges.num_destinations != count:
        edges = EdgeList(count, count, edges.ends)
    return Graph(Structure.of_one_part({NODES: count}, {(NODES, EDGES, NODES): edges}))


def heterograph(data_dict: Mapping[CanonicalType, Any], num_nodes_dict: Mapping[str, int] | None = None) -> Graph:
    """Makes a graph with several types of nodes and edges.

    The keys are `(source type, edge type, destination type)`, the values are those of `graph`. The types are sorted by
    their names.
    """
    lists: dict[CanonicalType, EdgeList] = {}
    counts: dict[str, int] = {}
    for key in sorted(data_dict):
        if not isinstance(key, tuple) or len(key) != 3 or not all(isinstance(name, str) for name in key):
            raise TypeError(f"heterograph: a key is {key!r:.80}, needs three names: source type, edge type, "
                            "destination type")
        given = num_nodes_dict or {}
        lists[key] = edges = _edge_list("heterograph", data_dict[key], given.get(key[0]), given.get(key[2]))
        for name, count in ((key[0], edges.num_sources), (key[2], edges.num_destinations)):
            counts[name] = max(counts.get(name, 0), count)
    for name, count in (num_nodes_dict or {}).items():
        counts[name] = check_count("heterograph", f"num_nodes_dict[{name!r}]", count)
    for key, edges in lists.items():
        sizes = counts[key[0]], counts[key[2]]
        if (edges.num_sources, edges.num_destinations) != sizes:
            lists[key] = EdgeList(*sizes, edges.ends)
    return Graph(Structure.of_one_part({name: counts[name] for name in sorted(counts)}, lists))


def pair_graph(num_inputs: int | Sequence[int] | Tensor, num_outputs: int | Sequence[int] | Tensor) -> Graph:
    """Makes the graph of a sentence pair, or of a batch of pairs: one part for each.

    The nodes of a part are those of the set "encoder", one for each input token, then those of "decoder". Its edges are
    those of the sets "ee" (complete), "ed" (from each encoder node to each decoder node) and "dd" (causal, self loops
    included). Calls with a set use its relation of intervals.
    """
    given = lengths_of("pair_graph", "num_inputs", num_inputs), lengths_of("pair_graph", "num_outputs", num_outputs)
    n, m = (lengths if isinstance(lengths, Tensor) else torch.tensor([lengths]) for lengths in given)
    if n.shape != m.shape:
        fail(f"pair_graph: num_inputs has {len(n)} pairs and num_outputs has {len(m)}, needs as many of each")
    total = int((n + m).sum())
    if total > MAX_NODES:
        fail(f"pair_graph: the pairs have {total} nodes, needs at most {MAX_NODES}")

    # Of each node: where its part and its part's decoder begin, and whether it is a decoder's.
    begin = (n + m).cumsum(0) - (n + m)
    nodes = torch.arange(total)
    part_begin, decoder_begin = begin.repeat_interleave(n + m), (begin + n).repeat_interleave(n + m)
    is_decoder = nodes >= decoder_begin
    zero = torch.zeros_like(nodes)
    rows = {"ee": (part_begin.where(~is_decoder, zero), decoder_begin.where(~is_decoder, zero)),
            "ed": (part_begin.where(is_decoder, zero), decoder_begin.where(is_decoder, zero)),
            "dd": (decoder_begin.where(is_decoder, zero), (nodes + 1).where(is_decoder, zero))}

    counts = {"ee": n * n, "ed": n * m, "dd": m * (m + 1) // 2}
    part_edges = sum(counts.values(), torch.zeros_like(n))
    first = part_edges.cumsum(0) - part_edges
    sources = torch.empty(int(part_edges.sum()), dtype=torch.int64)
    destinations = torch.empty_like(sources)
    sets = {}
    for name, (row_begin, row_end) in rows.items():
        count = counts[name]
        shift = first - (count.cumsum(0) - count)
        numbers = torch.arange(int(count.sum())) + shift.repeat_interleave(count)
        edges = EdgeList.of_relation(Relation(*_from_intervals(total, row_begin, row_end)), numbers)
        sources[numbers], destinations[numbers] = edges.ends
        sets[name] = edges
        first = first + count
    edge_type = NODES, EDGES, NODES
    structure = Structure({NODES: (n + m).tolist()}, {edge_type: EdgeList(total, total, (sources, destinations))},
                          {edge_type: part_edges.tolist()})
    structure.name_nodes(ENCODER, NODES, nodes[~is_decoder])
    structure.name_nodes(DECODER, NODES, nodes[is_decoder])
    for name, edges in sets.items():
        structure.name_edges(name, edge_type, edges)
    return Graph(structure)


def _edge_list(function: str, data: Any, num_sources: int | None, num_destinations: int | None) -> EdgeList:
    if isinstance(data, Relation) or isinstance(data, (list, tuple)) and data and isinstance(data[0], Relation):
        return EdgeList.of_relation(as_relation(function, data))
    if isinstance(data, (list, tuple)) and len(data) == 0:
        data = [], []
    if not isinstance(data, Tensor) and not (isinstance(data, (list, tuple)) and len(data) == 2):
        raise TypeError(f"{function}: data is {data!r:.80}, needs a Relation, a pair of sources and destinations, or "
                        "a tensor [2, edges]")
    if len(data) != 2:
        fail(f"{function}: data has {len(data)} rows, needs 2: sources and destinations")
    bounds = [MAX_NODES if count is None else check_count(function, "num_nodes", count)
              for count in (num_sources, num_destinations)]
    sources = as_numbers(function, "sources", data[0], bounds[0])
    destinations = as_numbers(function, "destinations", data[1], bounds[1])
    if len(sources) != len(destinations):
        fail(f"{function}: there are {len(sources)} sources and {len(destinations)} destinations, needs as many of "
             "each")
    counts = [int(nodes.max()) + 1 if len(nodes) > 0 else 0 for nodes in (sources, destinations)]
    return EdgeList(counts[0] if num_sources is None else num_sources,
                    counts[1] if num_destinations is None else num_destinations, (sources, destinations))

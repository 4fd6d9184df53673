# SPDX-License-Identifier: Apache-2.0
"""Joins graphs, and takes them apart."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import accumulate
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.utils.data._utils.collate import default_collate_fn_map

from ._checks import fail
from ._edge_lists import EdgeList
from ._frames import Frame, describe, describe_names, has_same_rows
from ._graph import Graph
from ._graph_structure import ALL, Structure

Key = TypeVar("Key", bound=Hashable)


def batch(graphs: Sequence[Graph], ndata: Any = ALL, edata: Any = ALL) -> Graph:
    """Joins graphs into one, without edges between them: nodes and edges of a graph follow those of the graph before.

    Columns are joined, too: all, those with the names in a list, or none (None). Sets that all graphs have are sets of
    the result. The parts of a graph that is a batch become parts of the result.
    """
    graphs = list(graphs)
    if not graphs:
        fail("batch: graphs is empty, needs at least one graph")
    for i, part in enumerate(graphs):
        if not isinstance(part, Graph):
            raise TypeError(f"batch: graphs[{i}] is {part!r:.80}, needs a Graph")
        for name, own, needed in (("types of nodes", part.ntypes, graphs[0].ntypes),
                                  ("types of edges", part.canonical_etypes, graphs[0].canonical_etypes)):
            if own != needed:
                fail(f"batch: graphs[{i}] has the {name} {own}, needs those of graphs[0]: {needed}")
    structures = [part._structure for part in graphs]
    first = structures[0]
    structure = Structure(
        {name: [count for part in structures for count in part.node_counts[name]] for name in first.node_counts},
        {name: EdgeList.batch([part.edge_lists[name] for part in structures]) for name in first.edge_lists},
        {name: [count for part in structures for count in part.edge_counts[name]] for name in first.edge_lists})
    _join_sets(structures, structure)
    return type(graphs[0])(structure, _join_frames([part._node_frames for part in graphs], ndata),
                           _join_frames([part._edge_frames for part in graphs], edata))


def _join_sets(parts: Sequence[Structure], joined: Structure) -> None:
    for name, (node_type, _) in parts[0].node_sets.items():
        if all(part.node_sets.get(name, ("",))[0] == node_type for part in parts):
            joined.name_nodes(name, node_type, _shifted(
                [part.node_sets[name][1] for part in parts], [part.num_nodes(node_type) for part in parts]))
    for name, (edge_type, _) in parts[0].edge_sets.items():
        if all(part.edge_sets.get(name, ("",))[0] == edge_type for part in parts):
            lists = [part.edge_sets[name][1] for part in parts]
            numbers = _shifted([edges.numbers for edges in lists],
                               [part.edge_lists[edge_type].num_edges for part in parts])
            joined.name_edges(name, edge_type, EdgeList.batch(lists, numbers))


def _shifted(numbers: Sequence[Any], counts: Sequence[int]) -> Tensor:
    """Joins numbers, each part shifted by the counts of the parts before."""
    begins = torch.tensor([0, *accumulate(counts)][:-1])
    sizes = torch.tensor([len(part) for part in numbers])
    return torch.cat(list(numbers)) + begins.repeat_interleave(sizes)


def _join_frames(parts: Sequence[Mapping[Key, Frame]], names: Any) -> dict[Key, Frame]:
    return {key: _join_columns([part[key] for part in parts], names) for key in parts[0]}


def _join_columns(frames: Sequence[Frame], names: Any) -> Frame:
    result = Frame(sum(frame.num_rows for frame in frames), frames[0].row_name)
    if names is None:
        return result
    filled = [frame for frame in frames if frame.num_rows > 0] or list(frames)
    if isinstance(names, str) and names == ALL:
        names = list(filled[0].columns)
        for frame in filled:
            if frame.columns.keys() != filled[0].columns.keys():
                fail(f"batch: a graph has the {frame.row_name} columns {describe_names(filled[0].columns)} and another "
                     f"{describe_names(frame.columns)}, needs the same; name those to join")
    for name in names:
        columns = [frame.get(name) for frame in filled]
        for column in columns:
            if not has_same_rows(column, columns[0]):
                fail(f"batch: {frames[0].row_name} column {name!r} is {describe(columns[0])} in a graph and "
                     f"{describe(column)} in another, needs rows of one type and shape")
        result.columns[name] = torch.cat(columns)
    return result


def unbatch(g: Graph, node_split: Any = None, edge_split: Any = None) -> list[Graph]:
    """Takes a batch apart into its graphs, with their columns and sets.

    `node_split` and `edge_split` are other numbers of nodes and edges for each graph: a tensor or a list, or a dict of
    them by type.
    """
    structure = g._structure
    node_counts = _counts_of("node_split", node_split, structure.node_counts)
    edge_counts = _counts_of("edge_split", edge_split, structure.edge_counts)
    parts = {len(counts) for counts in (*node_counts.values(), *edge_counts.values())}
    if len(parts) > 1:
        fail(f"unbatch: the numbers of graphs are {', '.join(map(str, sorted(parts)))}, needs one number for nodes and "
             "edges")
    count = parts.pop() if parts else 1
    node_begins, edge_begins = (
        {key: [0, *accumulate(sizes)] for key, sizes in counts.items()} for counts in (node_counts, edge_counts))
    node_frames = {key: _split_frame(frame, node_begins[key]) for key, frame in g._node_frames.items()}
    edge_frames = {key: _split_frame(frame, edge_begins[key]) for key, frame in g._edge_frames.items()}
    graphs = []
    for i in range(count):
        lists = {}
        for key, edges in structure.edge_lists.items():
            begin, end = edge_begins[key][i:i + 2]
            u, v = node_begins[key[0]][i], node_begins[key[2]][i]
            sizes = node_counts[key[0]][i], node_counts[key[2]][i]
            ends = edges.sources[begin:end] - u, edges.destinations[begin:end] - v
            for name, nodes, size in zip(("source", "destination"), ends, sizes):
                if bool(((nodes < 0) | (nodes >= size)).any()):
                    fail(f"unbatch: an edge of part {i} has a {name} in another part, needs both ends in one")
            lists[key] = EdgeList(*sizes, ends)
        part = Structure.of_one_part({key: counts[i] for key, counts in node_counts.items()}, lists)
        for name, (node_type, numbers) in structure.node_sets.items():
            part.name_nodes(name, node_type, _part_of(numbers, node_begins[node_type][i:i + 2]))
        for name, (edge_type, edges) in structure.edge_sets.items():
            assert edges.numbers is not None
            numbers = _part_of(edges.numbers, edge_begins[edge_type][i:i + 2])
            part.name_edges(name, edge_type, part.edge_lists[edge_type].select(numbers))
        graphs.append(type(g)(part, {key: frames[i] for key, frames in node_frames.items()},
                              {key: frames[i] for key, frames in edge_frames.items()}))
    return graphs


def _counts_of(name: str, given: Any, counts: Mapping[Key, list[int]]) -> dict[Key, list[int]]:
    if given is None:
        return dict(counts)
    if not isinstance(given, Mapping):
        if len(counts) != 1:
            fail(f"unbatch: {name} is {given!r:.80}, needs a dict with numbers for each type")
        given = {next(iter(counts)): given}
    result = {}
    for key, sizes in counts.items():
        result[key] = [int(size) for size in given[key]]
        if sum(result[key]) != sum(sizes) or min(result[key], default=0) < 0:
            fail(f"unbatch: {name} has the sum {sum(result[key])}, needs {sum(sizes)}, and no negative number")
    return result


def _split_frame(frame: Frame, begins: Sequence[int]) -> list[Frame]:
    sizes = [end - begin for begin, end in zip(begins, begins[1:])]
    columns = {name: torch.split(column, sizes) for name, column in frame.columns.items()}
    return [Frame(size, frame.row_name, {name: parts[i] for name, parts in columns.items()})
            for i, size in enumerate(sizes)]


def _part_of(numbers: Tensor, bounds: Sequence[int]) -> Tensor:
    begin, end = bounds
    return numbers[(numbers >= begin) & (numbers < end)] - begin


def _collate(graphs: Sequence[Graph], *, collate_fn_map: Any = None) -> Graph:
    return batch(graphs)


default_collate_fn_map[Graph] = _collate  # a DataLoader then joins graphs

# SPDX-License-Identifier: Apache-2.0
"""Makes the arrays of relations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ._checks import check_tensor, fail, type_name

# The number of sources; the first edge of each row, int64 [rows + 1]; intervals, int32 [rows, 2], or the source of each
# edge, int32 [edges]; the number of edges; and the position among the given edges of each stored edge, or None.
Arrays = tuple[int, Tensor, Tensor, int, Tensor | None]

MAX_NODES = 2**31 - 1
_INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


def check_count(function: str, name: str, count: Any) -> int:
    integers: Any = (int, torch.SymInt)
    if isinstance(count, bool) or not isinstance(count, integers):
        raise TypeError(f"{function}: {name} is {count!r:.80}, needs an int")
    if not 0 <= count <= MAX_NODES:
        fail(f"{function}: {name} is {count}, needs a number from 0 to {MAX_NODES}")
    number: int = count
    return number


def check_integers(function: str, name: str, tensor: Tensor, dimensions: int, meaning: str) -> Tensor:
    """Returns a contiguous int64 tensor."""
    check_tensor(function, name, tensor)
    if tensor.dtype not in _INTEGERS:
        fail(f"{function}: {name} has type {type_name(tensor.dtype)}, needs integers")
    if tensor.dim() != dimensions:
        fail(f"{function}: {name} has shape {list(tensor.shape)}, needs {dimensions} dimensions: {meaning}")
    return tensor.to(torch.int64).contiguous()


def _check_range(function: str, name: str, numbers: Tensor, bound: int) -> None:
    if torch.compiler.is_compiling() or numbers.numel() == 0:
        return
    wrong = ((numbers < 0) | (numbers >= bound)).nonzero()
    if len(wrong) > 0:
        i = int(wrong[0, 0])
        fail(f"{function}: {name}[{i}] is {int(numbers[i])}, needs a number in [0, {bound})")


def _as_tensor(function: str, name: str, numbers: Sequence[Any]) -> Tensor:
    return torch.tensor([check_count(function, f"{name}[{i}]", count) for i, count in enumerate(numbers)],
                        dtype=torch.int64)


def lengths_of(function: str, name: str, lengths: Any) -> int | Tensor:
    """Returns a number of nodes, or the numbers of nodes of several graphs, int64 [graphs]."""
    if isinstance(lengths, Tensor):
        if lengths.is_nested:
            return jagged_lengths(function, name, lengths)
        numbers = check_integers(function, name, lengths, 1, "graphs")
    elif isinstance(lengths, Sequence) and not isinstance(lengths, (str, bytes)):
        numbers = _as_tensor(function, name, lengths)
    else:
        return check_count(function, name, lengths)
    _check_range(function, name, numbers, MAX_NODES + 1)
    if not torch.compiler.is_compiling() and int(numbers.sum()) > MAX_NODES:
        fail(f"{function}: the sum of {name} is {int(numbers.sum())}, needs at most {MAX_NODES}")
    return numbers


def jagged_lengths(function: str, name: str, tensor: Tensor) -> Tensor:
    if tensor.layout != torch.jagged:
        fail(f"{function}: {name} is a nested tensor of layout {tensor.layout}, needs torch.jagged")
    jagged: Any = tensor
    if jagged.lengths() is not None:
        fail(f"{function}: {name} is a jagged tensor with lengths of its own, needs rows that follow each other; make "
             "it contiguous")
    lengths: Tensor = jagged.offsets().diff()
    return lengths


def _begin_of(lengths: Tensor) -> Tensor:
    """Returns where each graph begins, and the number of all nodes at the end, int64 [graphs + 1]."""
    return torch.cat((lengths.new_zeros(1), lengths.cumsum(0)))


def _from_intervals(num_sources: int, begin: Tensor, end: Tensor, num_edges: int | None = None) -> Arrays:
    row_begin = _begin_of(end - begin)
    intervals = torch.stack((begin, end), 1).to(torch.int32)
    return num_sources, row_begin, intervals, int(row_begin[-1]) if num_edges is None else num_edges, None


def bipartite(num_sources: Any, num_destinations: Any) -> Arrays:
    sources = lengths_of("bipartite", "num_sources", num_sources)
    destinations = lengths_of("bipartite", "num_destinations", num_destinations)
    return _bipartite("bipartite", sources, destinations)


def _bipartite(function: str, sources: int | Tensor, destinations: int | Tensor) -> Arrays:
    if isinstance(sources, Tensor) and isinstance(destinations, Tensor):
        if sources.shape != destinations.shape:
            fail(f"{function}: num_sources has {len(sources)} graphs and num_destinations has {len(destinations)}, "
                 "needs as many of each")
        begin = _begin_of(sources)
        return _from_intervals(int(begin[-1]), begin[:-1].repeat_interleave(destinations),
                               begin[1:].repeat_interleave(destinations))
    if isinstance(sources, Tensor) or isinstance(destinations, Tensor):
        fail(f"{function}: num_sources and num_destinations are one number and several, needs the same kind of both")
    begin = torch.zeros(destinations, dtype=torch.int64)
    return _from_intervals(sources, begin, begin + sources, sources * destinations)


def complete(lengths: Any) -> Arrays:
    counts = lengths_of("complete", "lengths", lengths)
    return _bipartite("complete", counts, counts)


def _nodes_of(lengths: int | Tensor) -> tuple[int, Tensor, Tensor | int, Tensor | int]:
    """Returns the number of all nodes, their numbers, and for each node where its graph begins and ends."""
    if not isinstance(lengths, Tensor):
        return lengths, torch.arange(lengths, dtype=torch.int64), 0, lengths
    begin = _begin_of(lengths)
    total = int(begin[-1])
    return (total, torch.arange(total, dtype=torch.int64), begin[:-1].repeat_interleave(lengths),
            begin[1:].repeat_interleave(lengths))


def causal(lengths: Any) -> Arrays:
    counts = lengths_of("causal", "lengths", lengths)
    total, nodes, begin, _ = _nodes_of(counts)
    if isinstance(begin, int):
        return _from_intervals(total, torch.zeros_like(nodes), nodes + 1, total * (total + 1) // 2)
    return _from_intervals(total, begin, nodes + 1)


def window(lengths: Any, before: Any, after: Any, dilation: Any) -> Arrays:
    counts = lengths_of("window", "lengths", lengths)
    for name, steps, least in (("before", before, 0), ("after", after, 0), ("dilation", dilation, 1)):
        if isinstance(steps, bool) or not isinstance(steps, int):
            raise TypeError(f"window: {name} is {steps!r:.80}, needs an int")
        if steps < least:
            fail(f"window: {name} is {steps}, needs {least} or more")
    total, nodes, begin, end = _nodes_of(counts)
    # Steps to existing nodes only, so that large numbers cannot overflow.
    dilation = min(dilation, MAX_NODES)
    back = ((nodes - begin) // dilation).clamp(max=min(before, MAX_NODES))
    ahead = ((end - 1 - nodes) // dilation).clamp(max=min(after, MAX_NODES))
    if dilation == 1:
        num_edges = total + _steps(total, before) + _steps(total, after) if isinstance(begin, int) else None
        return _from_intervals(total, nodes - back, nodes + ahead + 1, num_edges)
    counts = back + ahead + 1
    row_begin = _begin_of(counts)
    num_edges = int(row_begin[-1])
    step = torch.arange(num_edges, dtype=torch.int64) - (row_begin[:-1] + back).repeat_interleave(counts)
    sources = nodes.repeat_interleave(counts) + step * dilation
    return total, row_begin, sources.to(torch.int32), num_edges, None


def _steps(total: int, reach: int) -> int:
    """Returns the sum of min(reach, i) over the nodes i < total."""
    reach = min(reach, max(total - 1, 0))
    return reach * total - reach * (reach + 1) // 2


def prefix(num_sources: Any, lengths: Any) -> Arrays:
    count = check_count("prefix", "num_sources", num_sources)
    if isinstance(lengths, Tensor):
        numbers = check_integers("prefix", "lengths", lengths, 1, "destinations")
    elif isinstance(lengths, Sequence) and not isinstance(lengths, (str, bytes)):
        numbers = _as_tensor("prefix", "lengths", lengths)
    else:
        raise TypeError(f"prefix: lengths is {lengths!r:.80}, needs a list or tensor with a number for each "
                        "destination")
    _check_range("prefix", "lengths", numbers, count + 1)
    return _from_intervals(count, torch.zeros_like(numbers), numbers)


def from_csr(row_begin: Any, sources: Any, num_sources: Any) -> Arrays:
    begin = check_integers("from_csr", "row_begin", row_begin, 1, "rows + 1")
    numbers = check_integers("from_csr", "sources", sources, 1, "edges")
    if len(begin) == 0:
        fail("from_csr: row_begin is empty, needs one number more than there are rows")
    rows = check_count("from_csr", "the number of rows", begin.shape[0] - 1)
    count = rows if num_sources is None else check_count("from_csr", "num_sources", num_sources)
    if not torch.compiler.is_compiling():
        if int(begin[0]) != 0:
            fail(f"from_csr: row_begin[0] is {int(begin[0])}, needs 0")
        falling = (begin.diff() < 0).nonzero()
        if len(falling) > 0:
            i = int(falling[0, 0])
            fail(f"from_csr: row_begin[{i + 1}] is {int(begin[i + 1])}, needs at least {int(begin[i])}, the number "
                 "before it")
        if int(begin[-1]) != len(numbers):
            fail(f"from_csr: row_begin ends with {int(begin[-1])}, needs {len(numbers)}, the number of sources given")
    _check_range("from_csr", "sources", numbers, count)
    # A copy, since a relation never changes.
    return count, begin.clone() if begin is row_begin else begin, numbers.to(torch.int32), len(numbers), None


def from_edge_index(edge_index: Any, size: Any) -> Arrays:
    function = "from_edge_index"
    as_tensor = getattr(edge_index, "as_tensor", None)  # of PyG's EdgeIndex
    edges = check_integers(function, "edge_index", as_tensor() if callable(as_tensor) else edge_index, 2,
                           "sources and destinations, edges")
    if edges.shape[0] != 2:
        fail(f"{function}: edge_index has shape {list(edges.shape)}, needs 2 rows: sources and destinations")
    if size is None:
        num_sources, num_destinations = _sizes_of(edge_index, edges)
    elif isinstance(size, (int, torch.SymInt)):
        num_sources = num_destinations = check_count(function, "size", size)
    elif isinstance(size, Sequence) and len(size) == 2:
        num_sources, num_destinations = (check_count(function, f"size[{i}]", count) for i, count in enumerate(size))
    else:
        raise TypeError(f"{function}: size is {size!r:.80}, needs a number of nodes or two: sources and destinations")
    return _sort_edges(function, edges[0], edges[1], num_sources, num_destinations)


def _sizes_of(edge_index: Tensor, edges: Tensor) -> tuple[int, int]:
    """Returns the sparse_size of PyG's EdgeIndex, where it has one, and else one more than the largest number."""
    sparse_size = getattr(edge_index, "sparse_size", None)
    sizes = tuple(sparse_size()) if callable(sparse_size) else (None, None)
    if None not in sizes:
        return sizes
    largest = int(edges.max()) if edges.numel() > 0 else -1
    if largest >= MAX_NODES:
        fail(f"from_edge_index: edge_index has the node {largest}, needs nodes up to {MAX_NODES - 1}")
    return tuple(largest + 1 if size is None else size for size in sizes)  # type: ignore[return-value]


def _sort_edges(function: str, sources: Tensor, destinations: Tensor, num_sources: int,
                num_destinations: int) -> Arrays:
    _check_range(function, "sources", sources, num_sources)
    _check_range(function, "destinations", destinations, num_destinations)
    # Not bincount and not a condition in torch.compile, which cannot trace what depends on the numbers.
    counts = torch.zeros(num_destinations, dtype=torch.int64)
    counts = counts.scatter_add(0, destinations, torch.ones_like(destinations))
    row_begin = _begin_of(counts)
    order = None
    if torch.compiler.is_compiling() or bool((destinations.diff() < 0).any()):
        order = destinations.argsort(stable=True)
        sources = sources[order]
    return num_sources, row_begin, sources.to(torch.int32).contiguous(), len(sources), order


def from_dgl(graph: Any, etype: Any) -> Arrays:
    needed = ("edges", "num_src_nodes", "num_dst_nodes")
    if not all(callable(getattr(graph, name, None)) for name in needed):
        raise TypeError(f"from_dgl: graph is {graph!r:.80}, needs a graph of DGL")
    if etype is None:
        sources, destinations = graph.edges(order="eid")
        num_sources, num_destinations = graph.num_src_nodes(), graph.num_dst_nodes()
    else:
        source_type, _, destination_type = graph.to_canonical_etype(etype)
        sources, destinations = graph.edges(order="eid", etype=etype)
        num_sources, num_destinations = graph.num_src_nodes(source_type), graph.num_dst_nodes(destination_type)
    return _sort_edges("from_dgl", check_integers("from_dgl", "sources", sources, 1, "edges"),
                       check_integers("from_dgl", "destinations", destinations, 1, "edges"),
                       check_count("from_dgl", "graph.num_src_nodes()", num_sources),
                       check_count("from_dgl", "graph.num_dst_nodes()", num_destinations))


def from_mask(mask: Any) -> Arrays:
    check_tensor("from_mask", "mask", mask)
    if mask.dtype != torch.bool:
        fail(f"from_mask: mask has type {type_name(mask.dtype)}, needs bool")
    if mask.dim() != 2:
        fail(f"from_mask: mask has shape {list(mask.shape)}, needs 2 dimensions: destinations, sources")
    sources = mask.nonzero()[:, 1].to(torch.int32).contiguous()
    return mask.shape[1], _begin_of(mask.sum(1)), sources, len(sources), None


def check_arrays(function: str, num_sources: int, row_begin: Tensor, sources: Tensor, num_edges: int,
                 order: Tensor | None) -> None:
    """Checks what the constructor of a relation does not check: the number of edges and their order."""
    counts = row_begin.diff() if sources.dim() == 1 else sources.diff(dim=1)[:, 0]
    if num_edges != int(row_begin[-1]) or not torch.equal(row_begin, _begin_of(counts.to(torch.int64))):
        fail(f"{function}: num_edges is {num_edges}, needs the number of edges of the rows")
    if order is None:
        return
    check_integers(function, "order", order, 1, "edges")
    if not torch.equal(order.sort().values, torch.arange(num_edges)):
        fail(f"{function}: order has {len(order)} numbers, needs each number in [0, {num_edges}) once")


def batch(parts: list[Arrays]) -> Arrays:
    if not parts:
        return _from_intervals(0, torch.zeros(0, dtype=torch.int64), torch.zeros(0, dtype=torch.int64), 0)
    has_intervals = all(sources.dim() == 2 for _, _, sources, _, _ in parts)
    has_orders = any(order is not None for *_, order in parts)
    for name, count in (("sources", sum(part[0] for part in parts)),
                        ("destinations", sum(len(part[1]) - 1 for part in parts))):
        if count > MAX_NODES:
            fail(f"batch: the relations have {count} {name}, needs at most {MAX_NODES}")
    first_source = first_edge = 0
    row_begins, all_sources, orders = [torch.zeros(1, dtype=torch.int64)], [], []
    for num_sources, row_begin, sources, num_edges, order in parts:
        if not has_intervals and sources.dim() == 2:
            sources = list_edges(row_begin, sources, num_edges)[0].to(torch.int32)
        row_begins.append(row_begin[1:] + first_edge)
        all_sources.append(sources + first_source)
        if has_orders:
            orders.append((torch.arange(num_edges) if order is None else order) + first_edge)
        first_source += num_sources
        first_edge += num_edges
    return (first_source, torch.cat(row_begins), torch.cat(all_sources), first_edge,
            torch.cat(orders) if has_orders else None)


def list_edges(row_begin: Tensor, sources: Tensor, num_edges: int) -> Tensor:
    """Returns the sources and destinations of all edges, int64 [2, edges], in the order of the rows."""
    counts = row_begin.diff()
    destinations = torch.arange(len(counts), dtype=torch.int64).repeat_interleave(counts, output_size=num_edges)
    if sources.dim() == 2:
        shift = (sources[:, 0] - row_begin[:-1]).repeat_interleave(counts, output_size=num_edges)
        return torch.stack((torch.arange(num_edges, dtype=torch.int64) + shift, destinations))
    return torch.stack((sources.to(torch.int64), destinations))

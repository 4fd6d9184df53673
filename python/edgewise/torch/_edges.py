# SPDX-License-Identifier: Apache-2.0
"""Softmax over the edges into a node, and sums of messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, overload

import torch
from torch import Tensor

from . import _checks as checks
from . import _operations as operations
from ._batches import CanonicalType
from ._edge_lists import EdgeList
from ._edge_sum import softmax_over_rows
from ._graph import Graph
from ._joined import AnyRelation, as_relation


@overload
def edge_softmax(relation: AnyRelation | Graph, score: Tensor, edges: Any = None, norm_by: str = "dst") -> Tensor: ...
@overload
def edge_softmax(relation: Graph, score: Mapping[Any, Tensor], edges: None = None,
                 norm_by: str = "dst") -> dict[CanonicalType, Tensor]: ...
def edge_softmax(relation: AnyRelation | Graph, score: Any, edges: Any = None, norm_by: str = "dst") -> Any:
    """Returns the softmax of the scores over the edges into each destination, for each head.

    Scores and result are [edges], [edges, heads] or [edges, …], in the order of the relation's edges, in float32,
    bfloat16 (computed in float32) or float64. An edge of score -inf gets weight 0. Has gradients of any order.

    Of a Graph, `edges` selects edges, as in its calls; the scores are those of these edges. With `norm_by="src"`, the
    softmax is over the edges of each source. A dict of scores by type of edges gives a dict of weights: all edges into
    a node have one softmax.
    """
    checks.check_no_transform("edge_softmax")
    if norm_by not in ("dst", "src"):
        checks.fail(f"edge_softmax: norm_by is {norm_by!r:.80}, needs 'dst' or 'src'")
    if isinstance(relation, Graph):
        return _softmax_of_graph(relation, score, edges, norm_by)
    relation = as_relation("edge_softmax", relation)
    if edges is not None:
        checks.fail("edge_softmax: edges is given, needs a Graph, whose edges it selects")
    if norm_by == "src":
        return _softmax_of_list(EdgeList.of_relation(relation), score, norm_by)
    given_type = score.dtype if isinstance(score, torch.Tensor) else None
    score = checks.widen_float16(score)
    checks.check_floating_point("edge_softmax", "score", score)
    if score.dim() == 0:
        checks.fail("edge_softmax: score has no dimensions, needs at least one: edges")
    checks.check_rows("edge_softmax", "score", score, relation._num_edges, "edge")
    weight = softmax_over_rows(EdgeList.of_relation(relation), score)
    return weight.to(given_type)


def _softmax_of_graph(graph: Graph, score: Any, edges: Any, norm_by: str) -> Any:
    structure = graph._structure
    if not isinstance(score, Mapping):
        edge_type = structure.edge_type("edge_softmax", None)
        return _softmax_of_list(structure.select_edges("edge_softmax", edges, edge_type), score, norm_by)
    if edges is not None:
        checks.fail("edge_softmax: edges is given with scores of several types, needs to be None: all edges")
    # One softmax for all types: the nodes of a type follow those of the type before. The other side may be anything.
    begins, count = {}, 0
    for node_type in structure.node_counts:
        begins[node_type], count = count, count + structure.num_nodes(node_type)
    types = [structure.edge_type("edge_softmax", name) for name in score]
    lists = [structure.edge_lists[edge_type] for edge_type in types]
    nodes = torch.cat([(part.destinations if norm_by == "dst" else part.sources)
                       + begins[edge_type[2 if norm_by == "dst" else 0]] for edge_type, part in zip(types, lists)])
    weights = _softmax_of_list(EdgeList(count, count, (nodes, nodes)), torch.cat(list(score.values())), "dst")
    return dict(zip(types, torch.split(weights, [part.num_edges for part in lists])))


def _softmax_of_list(edges: EdgeList, score: Tensor, norm_by: str) -> Tensor:
    checks.check_floating_point("edge_softmax", "score", score)
    if score.dim() == 0:
        checks.fail("edge_softmax: score has no dimensions, needs at least one: edges")
    if score.shape[0] != edges.num_edges:
        checks.fail(f"edge_softmax: score has {score.shape[0]} rows, needs {edges.num_edges}, one for each edge")
    return softmax_over_rows(edges, score, "v" if norm_by == "dst" else "u")


def aggregate(relation: AnyRelation, weight: Tensor, value: Tensor) -> Tensor:
    """Returns out[d] = sum over the edges into d of weight[e] * value[s], [destinations, heads, size].

    `weight` is [edges, heads] or [edges, 1], in the order of the relation's edges, and `value` is [sources, heads,
    size]. The result has the type of `value`; for bfloat16, sums are computed in float32. A destination without edges
    gets zeros.
    """
    checks.check_no_transform("aggregate")
    relation = as_relation("aggregate", relation)
    given_type = value.dtype if isinstance(value, torch.Tensor) else None
    weight, value = checks.widen_float16(weight), checks.widen_float16(value)
    checks.check_floating_point("aggregate", "weight", weight)
    checks.check_floating_point("aggregate", "value", value)
    checks.check_dimensions("aggregate", "weight", weight, 2, "edges, heads")
    checks.check_dimensions("aggregate", "value", value, 3, "sources, heads, size of a head's value")
    checks.check_rows("aggregate", "weight", weight, relation._num_edges, "edge")
    checks.check_rows("aggregate", "value", value, relation._num_sources, "source")
    dtype = checks.accumulator_type(value.dtype)
    if torch.float64 in (weight.dtype, dtype):
        checks.check_same_type("aggregate", "weight", weight, "value", value)
    heads = value.shape[1]
    if weight.shape[1] not in (1, heads):
        checks.fail(f"aggregate: weight has {weight.shape[1]} heads, needs {heads}, the heads of value, or 1")
    rows = relation._to_rows(weight.to(dtype).expand(-1, heads)).contiguous()
    out = operations.aggregate(rows, value.to(dtype).contiguous(), relation._row_begin, relation._sources,
                               relation._handle)
    return out.to(given_type)

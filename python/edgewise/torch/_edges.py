# SPDX-License-Identifier: Apache-2.0
"""Softmax over the edges into a node, and sums of messages."""

from __future__ import annotations

import torch
from torch import Tensor

from . import _checks as checks
from . import _operations as operations
from ._relation import Relation


def edge_softmax(relation: Relation, score: Tensor) -> Tensor:
    """Returns the softmax of the scores over the edges into each destination, for each head.

    Scores and result are [edges], [edges, heads] or [edges, …], in the order of the relation's edges, in float32,
    bfloat16 (computed in float32) or float64. An edge of score -inf gets weight 0.
    """
    checks.check_no_transform("edge_softmax")
    checks.check_relation("edge_softmax", relation)
    given_type = score.dtype if isinstance(score, torch.Tensor) else None
    score = checks.widen_float16(score)
    checks.check_floating_point("edge_softmax", "score", score)
    if score.dim() == 0:
        checks.fail("edge_softmax: score has no dimensions, needs at least one: edges")
    checks.check_rows("edge_softmax", "score", score, relation._num_edges, "edge")
    heads = 1
    for size in score.shape[1:]:
        heads *= size
    rows = relation._to_rows(score.reshape(relation._num_edges, heads))
    weight = operations.edge_softmax(
        rows.to(checks.accumulator_type(score.dtype)).contiguous(), relation._row_begin, relation._sources,
        relation._handle, relation._num_sources)
    return relation._from_rows(weight).to(given_type).reshape(score.shape)


def aggregate(relation: Relation, weight: Tensor, value: Tensor) -> Tensor:
    """Returns out[d] = sum over the edges into d of weight[e] * value[s], [destinations, heads, size].

    `weight` is [edges, heads] or [edges, 1], in the order of the relation's edges, and `value` is [sources, heads,
    size]. The result has the type of `value`; for bfloat16, sums are computed in float32. A destination without edges
    gets zeros.
    """
    checks.check_no_transform("aggregate")
    checks.check_relation("aggregate", relation)
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

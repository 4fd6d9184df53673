# SPDX-License-Identifier: Apache-2.0
"""Attention along the edges of a relation."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from . import _checks as checks
from . import _operations as operations
from ._builders import jagged_lengths
from ._joined import AnyRelation, as_relation
from ._relation import Relation
from ._score_attention import Inputs, attend_with_score, score_weights
from .score import Edge, Expression, ScoreFunction


def attend(relation: AnyRelation, query: Tensor, key: Tensor, value: Tensor, edge_bias: Tensor | None = None,
           dropout: float = 0.0, *, scale: float | None = None, clamp: float | None = None,
           score: ScoreFunction | None = None, edge_key: Tensor | None = None, edge_value: Tensor | None = None
           ) -> Tensor:
    """Passes one message along every edge and averages them at its destination.

        weight[e] = softmax, over the edges into d, of scale * <query[d], key[s]> + edge_bias[e]
        out[d]    = sum over the edges into d of weight[e] * value[s]

    `query` is [destinations, heads, head size], `key` is [sources, heads, head size] and `value` is [sources, heads,
    size of a head's value]; one head of key or value may serve all heads of the query. The tensors may be jagged
    nested tensors [graphs, nodes, heads, size] instead; the result is then jagged, too. A destination without edges
    gets zeros. The types are float32, bfloat16 and float64. Under autocast for the CPU, the result has the type of
    autocast, except for float64; for float16, the kernels compute in float32.

    `edge_bias` is [edges, heads], [edges, 1] or [edges], in the order of the relation's edges. For bfloat16, sums and
    softmax are computed in float32, and `edge_bias` is converted to float32. An edge of score -inf has the effect of
    an absent edge.

    `dropout` is the share of weights that are set to zero, in [0, 1); the others are multiplied by 1 / (1 - dropout).
    Like torch.nn.functional.dropout, it draws from torch's generator of the CPU. `scale` is by default
    1 / sqrt(head size). `clamp` bounds the scaled scores to [-clamp, clamp]; the gradient of a bounded score is zero.

    `score` is a function of an Edge, which returns an expression to use in the place of the scaled score, such as

        lambda edge: 50 * (edge.score / 50).tanh() - edge.head(slopes) * edge.distance

    An edge whose value is -inf is dropped. Tensors in the expression have gradients, of any order.

    `edge_key` and `edge_value`, [edges, heads, size] or [edges, 1, size], are added to the key and to the value of each
    edge's source: features of edges, or relative positions. Their edges have the order of the relation's.
    """
    checks.check_no_transform("attend")
    if type(relation) is not Relation:
        relation = as_relation("attend", relation)
    if not _needs_no_change(relation, query, key, value):
        if isinstance(query, Tensor) and query.is_nested:
            return _attend_jagged(relation, query, key, value, edge_bias, dropout, scale=scale, clamp=clamp,
                                  score=score, edge_key=edge_key, edge_value=edge_value)
        query, key, value = _check_and_convert(relation, query, key, value)
    checks.check_scale("attend", scale)
    checks.check_clamp("attend", clamp)
    checks.check_dropout("attend", dropout)
    if score is not None or edge_key is not None or edge_value is not None:
        score = _score_function("attend", relation, query, edge_bias, clamp, score)
        inputs = Inputs(query, key, value, _edge_vectors("attend", "edge_key", relation, edge_key, "query", query),
                        _edge_vectors("attend", "edge_value", relation, edge_value, "value", value))
        out = attend_with_score(relation, inputs, _scale_of(query, scale), score, dropout)
        return out.to(torch.float16) if checks.has_float16_autocast() and out.dtype == torch.float32 else out
    bias = None if edge_bias is None else _edge_bias("attend", relation, query, edge_bias)

    has_gradients = torch.is_grad_enabled() and (query.requires_grad or key.requires_grad or value.requires_grad
                                                 or (bias is not None and bias.requires_grad))
    saves_weights = has_gradients and clamp is None and query.dtype != torch.float64
    seed = torch.randint(2**63 - 1, (1,), dtype=torch.int64) if dropout > 0 else None
    out = operations.attend(
        query.contiguous(), key.contiguous(), value.contiguous(), bias, relation._row_begin, relation._sources,
        relation._handle, seed, _scale_of(query, scale), clamp, dropout,
        relation._num_saved if saves_weights else 0)
    return out.to(torch.float16) if out.dtype == torch.float32 and checks.has_float16_autocast() else out


def _needs_no_change(relation: Relation, query: Tensor, key: Tensor, value: Tensor) -> bool:
    """Whether no check of the relation and of _check_and_convert can fail, and nothing has to be converted.

    Takes a quarter of the time of these checks.
    """
    if type(relation) is not Relation or torch.is_autocast_enabled("cpu"):
        return False
    if not type(query) is type(key) is type(value) is Tensor:
        return False
    if query.is_nested or key.is_nested or value.is_nested:
        return False
    rows, shape = query.shape[1:], value.shape
    return (query.is_cpu and key.is_cpu and value.is_cpu and query.layout is key.layout is value.layout is torch.strided
            and query.dtype is key.dtype is value.dtype and query.dtype in checks.FLOATING_POINT
            and len(rows) == 2 and rows[1] > 0 and len(shape) == 3 and shape[:2] == (relation._num_sources, rows[0])
            and query.shape[0] == relation._num_destinations and key.shape == (relation._num_sources, *rows))


def _check_and_convert(relation: Relation, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Returns query, key and value in one type and with the same heads."""
    query, key, value = map(checks.widen_float16, (query, key, value))
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        checks.check_floating_point("attend", name, tensor)
    query, key, value = _autocast(query), _autocast(key), _autocast(value)
    key = _check_query_and_key("attend", relation, query, key)
    checks.check_same_type("attend", "value", value, "query", query)
    checks.check_dimensions("attend", "value", value, 3, "sources, heads, size of a head's value")
    checks.check_rows("attend", "value", value, relation._num_sources, "source")
    return query, key, _expand_heads("attend", "value", value, query)


def attention_weights(relation: AnyRelation, query: Tensor, key: Tensor, edge_bias: Tensor | None = None, *,
                      scale: float | None = None, clamp: float | None = None,
                      score: ScoreFunction | None = None, edge_key: Tensor | None = None) -> Tensor:
    """Returns the weights that `attend` uses, before dropout: [edges, heads], in the order of the relation's edges.

    The weights are float64 if query and key are, else float32. The arguments are those of `attend`.
    """
    checks.check_no_transform("attention_weights")
    relation = as_relation("attention_weights", relation)
    query, key = (checks.widen_float16(_rows("attention_weights", name, tensor))
                  for name, tensor in (("query", query), ("key", key)))
    for name, tensor in (("query", query), ("key", key)):
        checks.check_floating_point("attention_weights", name, tensor)
    checks.check_same_type("attention_weights", "key", key, "query", query)
    dtype = checks.accumulator_type(query.dtype)
    query, key = query.to(dtype), key.to(dtype)
    key = _check_query_and_key("attention_weights", relation, query, key)
    checks.check_scale("attention_weights", scale)
    checks.check_clamp("attention_weights", clamp)
    if score is not None or edge_key is not None:
        score = _score_function("attention_weights", relation, query, edge_bias, clamp, score)
        vectors = _edge_vectors("attention_weights", "edge_key", relation, edge_key, "query", query)
        return score_weights(relation, Inputs(query, key, edge_key_EHK=vectors), _scale_of(query, scale), score)
    bias = None if edge_bias is None else _edge_bias("attention_weights", relation, query, edge_bias)
    weight = operations.attention_weights(
        query.contiguous(), key.contiguous(), bias, relation._row_begin, relation._sources, relation._handle,
        relation._num_edges, _scale_of(query, scale), clamp)
    return relation._from_rows(weight)


def _scale_of(query: Tensor, scale: float | None) -> float:
    return 1 / math.sqrt(query.shape[2]) if scale is None else scale


def _score_function(function: str, relation: Relation, query: Tensor, edge_bias: Tensor | None, clamp: float | None,
                    score: ScoreFunction | None) -> ScoreFunction | None:
    """Returns the score function, or one that stands for edge_bias and clamp."""
    for name, is_given in (("edge_bias", edge_bias is not None), ("clamp", clamp is not None)):
        if is_given and score is not None:
            checks.fail(f"{function}: {name} is given with score, needs to be a part of it")
    if score is not None or (edge_bias is None and clamp is None):
        return score
    bias = None if edge_bias is None else _check_edge_bias(function, relation, query, edge_bias)

    def biased(edge: Edge) -> Expression:
        product = edge.score if clamp is None else edge.score.clamp(-clamp, clamp)
        return product if bias is None else product + edge.column(bias)

    return biased


def _edge_vectors(function: str, name: str, relation: Relation, vectors: Tensor | None, like_name: str, like: Tensor
                  ) -> Tensor | None:
    """Returns keys or values of edges as [edges, heads, size]."""
    if vectors is None:
        return None
    vectors = checks.widen_float16(vectors)
    checks.check_floating_point(function, name, vectors)
    vectors = _autocast(vectors) if function == "attend" else vectors.to(checks.accumulator_type(vectors.dtype))
    checks.check_same_type(function, name, vectors, like_name, like)
    checks.check_dimensions(function, name, vectors, 3, "edges, heads, size")
    checks.check_rows(function, name, vectors, relation._num_edges, "edge")
    if vectors.shape[2] != like.shape[2]:
        checks.fail(f"{function}: {name} has shape {list(vectors.shape)} and {like_name} {list(like.shape)}, needs the "
                    "same size")
    return _expand_heads(function, name, vectors, like)


def _attend_jagged(relation: Relation, query: Tensor, key: Tensor, value: Tensor, edge_bias: Tensor | None,
                   dropout: float, **options: Any) -> Tensor:
    for name, tensor in (("key", key), ("value", value)):
        if not isinstance(tensor, Tensor) or not tensor.is_nested:
            raise TypeError(f"attend: {name} is no jagged tensor, needs to be one, as query is")
    rows = [_rows("attend", name, tensor) for name, tensor in (("query", query), ("key", key), ("value", value))]
    out = attend(relation, rows[0], rows[1], rows[2], edge_bias, dropout, **options)
    jagged: Any = query
    return torch.nested.nested_tensor_from_jagged(out, offsets=jagged.offsets())


def _rows(function: str, name: str, tensor: Tensor) -> Tensor:
    """Returns the nodes of all graphs of a jagged tensor, one after the other, and other tensors as they are."""
    if not isinstance(tensor, Tensor) or not tensor.is_nested:
        return tensor
    jagged_lengths(function, name, tensor)
    return tensor.values()


def _autocast(tensor: Tensor) -> Tensor:
    """Converts to the type of autocast for the CPU, or to float32 for float16, for which there are no kernels."""
    if torch.is_autocast_enabled("cpu") and tensor.dtype in (torch.float32, torch.bfloat16):
        dtype = torch.get_autocast_dtype("cpu")
        return tensor.to(torch.float32 if dtype == torch.float16 else dtype)
    return tensor


def _check_query_and_key(function: str, relation: Relation, query: Tensor, key: Tensor) -> Tensor:
    """Returns the key with as many heads as the query has."""
    checks.check_same_type(function, "key", key, "query", query)
    checks.check_dimensions(function, "query", query, 3, "destinations, heads, head size")
    checks.check_dimensions(function, "key", key, 3, "sources, heads, head size")
    checks.check_rows(function, "query", query, relation._num_destinations, "destination")
    checks.check_rows(function, "key", key, relation._num_sources, "source")
    if query.shape[2] != key.shape[2] or query.shape[2] == 0:
        checks.fail(f"{function}: key has shape {list(key.shape)} and query {list(query.shape)}, needs the same head "
                    "size of at least 1")
    return _expand_heads(function, "key", key, query)


def _expand_heads(function: str, name: str, tensor: Tensor, query: Tensor) -> Tensor:
    heads = query.shape[1]
    if tensor.shape[1] == heads:
        return tensor
    if tensor.shape[1] != 1:
        checks.fail(f"{function}: {name} has {tensor.shape[1]} heads, needs {heads}, the heads of query, or 1")
    return tensor.expand(-1, heads, -1)


def _edge_bias(function: str, relation: Relation, query: Tensor, edge_bias: Tensor) -> Tensor:
    """Returns the bias as [edges, heads] in the order of the rows."""
    edge_bias = _check_edge_bias(function, relation, query, edge_bias)
    return relation._to_rows(edge_bias.expand(-1, query.shape[1])).contiguous()


def _check_edge_bias(function: str, relation: Relation, query: Tensor, edge_bias: Tensor) -> Tensor:
    """Returns the bias as [edges, heads] or [edges, 1] in the order of the relation's edges."""
    edge_bias = checks.widen_float16(edge_bias)
    checks.check_floating_point(function, "edge_bias", edge_bias)
    if edge_bias.dim() == 1:
        edge_bias = edge_bias.unsqueeze(1)
    checks.check_dimensions(function, "edge_bias", edge_bias, 2, "edges, heads")
    checks.check_rows(function, "edge_bias", edge_bias, relation._num_edges, "edge")
    needed = checks.accumulator_type(query.dtype)
    if edge_bias.dtype != needed:
        if torch.float64 in (edge_bias.dtype, needed):
            checks.check_same_type(function, "edge_bias", edge_bias, "query", query)
        edge_bias = edge_bias.to(needed)
    heads = query.shape[1]
    if edge_bias.shape[1] not in (1, heads):
        checks.fail(f"{function}: edge_bias has {edge_bias.shape[1]} heads, needs {heads}, the heads of query, or 1")
    return edge_bias

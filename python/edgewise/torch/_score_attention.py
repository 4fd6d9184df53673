# SPDX-License-Identifier: Apache-2.0
"""Attention with a score function, and with keys and values of edges: the definition in the operations of message
passing, and the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from ._checks import accumulator_type, fail
from ._edge_lists import EdgeList
from ._edge_sum import edge_sum, softmax_over_rows
from ._library import operations
from ._relation import Relation
from ._score_program import DOMAINS, Program, compile_score, run_program
from .score import ScoreFunction, evaluate_on_edges, expression_of

# Legend: D destinations, S sources, E edges, H heads, K size of a head.

_PADDING = 16  # numbers before and after a column that is not of edges, which the kernels may read


class Inputs(NamedTuple):
    """The tensors of a call; those of edges may be absent, and attention weights have no values."""

    query_DHK: Tensor
    key_SHK: Tensor
    value_SHK: Tensor | None = None
    edge_key_EHK: Tensor | None = None
    edge_value_EHK: Tensor | None = None


class _Call(NamedTuple):
    edges: EdgeList
    program: Program  # empty without a score function
    seed: Tensor | None
    scale: float
    dropout: float
    num_saved: int  # weights that forward saves for backward, for each head


def score_weights(relation: Relation, inputs: Inputs, scale: float, score: ScoreFunction | None) -> Tensor:
    """Returns the weights [E, H]. Tensors of edges are in the order of the relation's edges, here and below."""
    edges = EdgeList.of_relation(relation)
    query_DHK, key_SHK, _, edge_key_EHK, _ = inputs
    if not torch.compiler.is_compiling():
        program, columns = _compile(edges, query_DHK, score)
        if not _needs_gradient(*inputs, *columns):
            return relation._from_rows(operations.attention_weights_score.default(
                query_DHK, key_SHK, None if edge_key_EHK is None else relation._to_rows(edge_key_EHK),
                _lay_out_all(program, columns), relation._row_begin, relation._sources, relation._handle,
                relation._num_edges, program.nodes, program.constants, program.domains, program.firsts, scale))
    return softmax_over_rows(edges, _scores(edges, inputs, scale, score))


def attend_with_score(relation: Relation, inputs: Inputs, scale: float, score: ScoreFunction | None, dropout: float
                      ) -> Tensor:
    edges = EdgeList.of_relation(relation)
    if torch.compiler.is_compiling():
        return _average(edges, _scores(edges, inputs, scale, score), inputs, dropout)
    program, columns = _compile(edges, inputs.query_DHK, score)
    of_edges = [None if tensor is None else relation._to_rows(tensor) for tensor in inputs[3:]]
    seed = torch.randint(2**63 - 1, (1,), dtype=torch.int64) if dropout > 0 else None
    # The kernels that have vectors of edges, and those of float64, save nothing.
    saves_weights = (all(tensor is None for tensor in of_edges) and inputs.query_DHK.dtype != torch.float64
                     and _needs_gradient(*inputs, *columns))
    call = _Call(edges, program, seed, scale, dropout, relation._num_saved if saves_weights else 0)
    apply: Any = _AttendScore.apply
    out: Tensor = apply(call, *inputs[:3], *of_edges, *columns)
    return out


def _needs_gradient(*tensors: Tensor | None) -> bool:
    return torch.is_grad_enabled() and any(tensor is not None and tensor.requires_grad for tensor in tensors)


def _compile(edges: EdgeList, query_DHK: Tensor, score: ScoreFunction | None) -> tuple[Program, list[Tensor]]:
    if score is None:
        return Program(), []
    heads = query_DHK.shape[1]
    return compile_score(expression_of(score, edges, heads), edges, heads, accumulator_type(query_DHK.dtype))


def _scores(edges: EdgeList, inputs: Inputs, scale: float, score: ScoreFunction | None) -> Tensor:
    product_EH = _products(edges, inputs, scale)
    if score is None:
        return product_EH
    return evaluate_on_edges(expression_of(score, edges, inputs.query_DHK.shape[1]), edges, product_EH)


def _products(edges: EdgeList, inputs: Inputs, scale: float) -> Tensor:
    query_DHK, key_SHK, _, edge_key_EHK, _ = inputs
    dtype, row = accumulator_type(query_DHK.dtype), (query_DHK.shape[1], 1)
    query = "v", query_DHK.to(dtype)
    product_EH1 = edge_sum(edges, "e", "mul", ("u", key_SHK.to(dtype)), query, row)
    if edge_key_EHK is not None:
        product_EH1 = product_EH1 + edge_sum(edges, "e", "mul", ("e", edge_key_EHK.to(dtype)), query, row)
    return scale * product_EH1.squeeze(-1)


def _average(edges: EdgeList, score_EH: Tensor, inputs: Inputs, dropout: float) -> Tensor:
    _, _, value_SHK, _, edge_value_EHK = inputs
    assert value_SHK is not None
    kept_EH1 = F.dropout(softmax_over_rows(edges, score_EH), dropout).unsqueeze(-1)
    out = edge_sum(edges, "v", "mul", ("e", kept_EH1), ("u", value_SHK.to(kept_EH1.dtype)))
    if edge_value_EHK is not None:
        out = out + edge_sum(edges, "v", "mul", ("e", kept_EH1), ("e", edge_value_EHK.to(kept_EH1.dtype)))
    return out.to(value_SHK.dtype)


class _AttendScore(torch.autograd.Function):
    """The inputs are query, key, value, edge_key and edge_value, and the columns of a program, [n, 1] or [n, H].

    Inputs of edges are in the order in which the relation stores edges.
    """

    @staticmethod
    def forward(ctx: Any, call: _Call, query: Tensor, key: Tensor, value: Tensor, edge_key: Tensor | None,
                edge_value: Tensor | None, *columns: Tensor) -> Tensor:
        edges, program, seed, scale, dropout, num_saved = call
        laid_out = _lay_out_all(program, columns)
        needed = [int(is_needed) for is_needed in ctx.needs_input_grad[6:]]
        relation = edges.relation
        constants = (relation._row_begin, relation._sources, relation._handle, seed, program.nodes, program.constants,
                     program.domains, program.firsts, needed, scale, dropout)
        out, *others = operations.attend_score.default(query, key, value, edge_key, edge_value, laid_out, *constants,
                                                       num_saved)
        ctx.save_for_backward(query, key, value, edge_key, edge_value, out, *others, *columns)
        ctx.call, ctx.laid_out, ctx.constants = call, laid_out, constants
        result: Tensor = out
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        *inputs, out, log_normalizer, saved_weights = ctx.saved_tensors[:8]
        columns = ctx.saved_tensors[8:]
        if torch.is_grad_enabled():  # the gradient is differentiated in turn, which the definition can
            return _AttendScore._differentiate_definition(ctx, grad, Inputs(*inputs), columns)
        needed = ctx.needs_input_grad
        *grads, grad_columns = operations.attend_score_backward.default(
            grad, *inputs, out, log_normalizer, saved_weights, ctx.laid_out, *ctx.constants, needed[4], needed[5])
        by_column = [_gradient(domain, grad_column) if is_needed else None
                     for domain, grad_column, is_needed in zip(ctx.call.program.domains, grad_columns, needed[6:])]
        return None, *(each if is_needed else None for each, is_needed in zip(grads, needed[1:6])), *by_column

    @staticmethod
    def _differentiate_definition(ctx: Any, grad: Tensor, inputs: Inputs, columns: Sequence[Tensor]
                                  ) -> tuple[Tensor | None, ...]:
        edges, program, _, scale, dropout, _ = ctx.call
        if dropout > 0:
            fail("attend: a second derivative is asked for (create_graph) with dropout, needs dropout 0")
        with torch.enable_grad():
            given = Inputs(*inputs[:3], *(None if tensor is None else edges.relation._from_rows(tensor)
                                          for tensor in inputs[3:]))
            score_EH = _products(edges, given, scale)
            if program.nodes:
                score_EH = run_program(program, list(columns), edges, score_EH)
            out = _average(edges, score_EH, given, 0.0)
        needed = ctx.needs_input_grad[1:]
        wanted = [tensor for tensor, is_needed in zip((*inputs, *columns), needed)
                  if is_needed and tensor is not None]
        found = iter(torch.autograd.grad(out, wanted, grad, create_graph=True, allow_unused=True))
        return None, *(next(found) if is_needed else None for is_needed in needed)


def _lay_out_all(program: Program, columns: Sequence[Tensor]) -> list[Tensor]:
    return [_lay_out(domain, column) for domain, column in zip(program.domains, columns)]


def _lay_out(domain: int, column: Tensor) -> Tensor:
    """Returns a column in the layout of the kernels: [E, 1] or [E, H] for edges, else [1 or H, n] with padding."""
    if DOMAINS[domain] == "edges":
        return column.contiguous()
    return F.pad(column.t(), (_PADDING, _PADDING)).contiguous()


def _gradient(domain: int, grad: Tensor) -> Tensor:
    return grad if DOMAINS[domain] == "edges" else grad.t()

# SPDX-License-Identifier: Apache-2.0
"""Attention with a score function: its definition in the operations of message passing, and its kernel."""

from __future__ import annotations

from typing import Any

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


def score_weights(relation: Relation, query_DHK: Tensor, key_SHK: Tensor, scale: float,
                  score: ScoreFunction) -> Tensor:
    """Returns the weights [E, H], in the order of the relation's edges."""
    edges = EdgeList.of_relation(relation)
    expression = expression_of(score, edges, query_DHK.shape[1])
    product_EH = _products(edges, query_DHK, key_SHK, scale)
    return softmax_over_rows(edges, evaluate_on_edges(expression, edges, product_EH))


def attend_with_score(relation: Relation, query_DHK: Tensor, key_SHK: Tensor, value_SHK: Tensor, scale: float,
                      score: ScoreFunction, dropout: float) -> Tensor:
    edges = EdgeList.of_relation(relation)
    expression = expression_of(score, edges, query_DHK.shape[1])
    if torch.compiler.is_compiling():
        product_EH = _products(edges, query_DHK, key_SHK, scale)
        return _average(edges, evaluate_on_edges(expression, edges, product_EH), value_SHK, dropout)
    program, columns = compile_score(expression, edges, query_DHK.shape[1], accumulator_type(query_DHK.dtype))
    seed = torch.randint(2**63 - 1, (1,), dtype=torch.int64) if dropout > 0 else None
    apply: Any = _AttendScore.apply
    out: Tensor = apply((edges, program, seed, scale, dropout), query_DHK, key_SHK, value_SHK, *columns)
    return out


def _products(edges: EdgeList, query_DHK: Tensor, key_SHK: Tensor, scale: float) -> Tensor:
    dtype = accumulator_type(query_DHK.dtype)
    product_EH1 = edge_sum(edges, "e", "mul", ("u", key_SHK.to(dtype)), ("v", query_DHK.to(dtype)),
                           (query_DHK.shape[1], 1))
    return scale * product_EH1.squeeze(-1)


def _average(edges: EdgeList, score_EH: Tensor, value_SHK: Tensor, dropout: float) -> Tensor:
    kept_EH1 = F.dropout(softmax_over_rows(edges, score_EH), dropout).unsqueeze(-1)
    out = edge_sum(edges, "v", "mul", ("e", kept_EH1), ("u", value_SHK.to(kept_EH1.dtype)))
    return out.to(value_SHK.dtype)


class _AttendScore(torch.autograd.Function):
    """The inputs are query, key, value and the columns of a program, [n, 1] or [n, H]."""

    @staticmethod
    def forward(ctx: Any, call: tuple[EdgeList, Program, Tensor | None, float, float], query: Tensor, key: Tensor,
                value: Tensor, *columns: Tensor) -> Tensor:
        edges, program, seed, scale, dropout = call
        laid_out = [_lay_out(domain, column) for domain, column in zip(program.domains, columns)]
        needed = [int(is_needed) for is_needed in ctx.needs_input_grad[4:]]
        relation = edges.relation
        constants = (relation._row_begin, relation._sources, relation._handle, seed, program.nodes, program.constants,
                     program.domains, program.firsts, needed, scale, dropout)
        out, log_normalizer = operations.attend_score.default(query, key, value, laid_out, *constants)
        ctx.save_for_backward(query, key, value, out, log_normalizer, *columns)
        ctx.call, ctx.laid_out, ctx.constants = call, laid_out, constants
        result: Tensor = out
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, out, log_normalizer, *columns = ctx.saved_tensors
        if torch.is_grad_enabled():  # the gradient is differentiated in turn, which the definition can
            return _AttendScore._differentiate_definition(ctx, grad, query, key, value, columns)
        *grads, grad_columns = operations.attend_score_backward.default(
            grad, query, key, value, out, log_normalizer, ctx.laid_out, *ctx.constants)
        program: Program = ctx.call[1]
        needed = ctx.needs_input_grad
        by_column = [_gradient(domain, grad_column) if is_needed else None
                     for domain, grad_column, is_needed in zip(program.domains, grad_columns, needed[4:])]
        return None, *(each if is_needed else None for each, is_needed in zip(grads, needed[1:4])), *by_column

    @staticmethod
    def _differentiate_definition(ctx: Any, grad: Tensor, query: Tensor, key: Tensor, value: Tensor,
                                  columns: list[Tensor]) -> tuple[Tensor | None, ...]:
        edges, program, _, scale, dropout = ctx.call
        if dropout > 0:
            fail("attend: a second derivative is asked for (create_graph) with dropout, needs dropout 0")
        with torch.enable_grad():
            score_EH = run_program(program, columns, edges, _products(edges, query, key, scale))
            out = _average(edges, score_EH, value, 0.0)
        needed = ctx.needs_input_grad[1:]
        wanted = [tensor for tensor, is_needed in zip((query, key, value, *columns), needed) if is_needed]
        found = iter(torch.autograd.grad(out, wanted, grad, create_graph=True, allow_unused=True))
        return None, *(next(found) if is_needed else None for is_needed in needed)


def _lay_out(domain: int, column: Tensor) -> Tensor:
    """Returns a column in the layout of the kernels: [E, 1] or [E, H] for edges, else [1 or H, n] with padding."""
    if DOMAINS[domain] == "edges":
        return column.contiguous()
    return F.pad(column.t(), (_PADDING, _PADDING)).contiguous()


def _gradient(domain: int, grad: Tensor) -> Tensor:
    return grad if DOMAINS[domain] == "edges" else grad.t()

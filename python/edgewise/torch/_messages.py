# SPDX-License-Identifier: Apache-2.0
"""Sums and extrema of messages over the edges of a relation, by the library's kernels.

A message is computed on each edge from the rows of two tensors. No tensor has a row for each message, forward or
backward. All results have gradients of any order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from . import _builders as builders
from ._checks import accumulator_type
from ._library import operations
from ._relation import Relation

_OPERATORS = ("copy", "add", "sub", "mul", "div")
_library: Any = torch.library


def _fake_edge_sum(left: Tensor, *arguments: Any) -> Tensor:
    num_rows, row_shape = arguments[-2:]
    return left.new_empty((num_rows, *row_shape))


def _fake_edge_extremum(left: Tensor, right: Tensor | None, left_numbers: Tensor | None, right_numbers: Tensor | None,
                        row_begin: Tensor, *arguments: Any) -> tuple[Tensor, Tensor]:
    needs_entries, row_shape = arguments[-2:]
    out = left.new_empty((row_begin.shape[0] - 1, *row_shape))
    return out, left.new_empty((out.numel() if needs_entries else 0,), dtype=torch.int32)


def _fake_edge_extremum_backward(grad_out: Tensor, entry: Tensor, left: Tensor, right: Tensor | None,
                                 *arguments: Any) -> tuple[Tensor, Tensor]:
    dtype = accumulator_type(left.dtype)
    return left.new_empty(left.shape, dtype=dtype), left.new_empty((0,) if right is None else right.shape, dtype=dtype)


for _name in ("edge_sum", "edge_extremum", "edge_extremum_backward"):
    _library.register_fake(f"edgewise::{_name}", globals()[f"_fake_{_name}"])


@dataclass(frozen=True)
class RowsOf:
    """The owners of a tensor's rows: the sources "u", the destinations "v" or the edges "e".

    Rows of edges are those of the relation's rows, one after the other, unless `numbers` has the row of each of these
    edges, int64 [edges].
    """

    letter: str
    numbers: Tensor | None = None

    def number(self) -> int:
        return "uve".index(self.letter)


@dataclass(frozen=True)
class _Formula:
    """How a message is computed."""

    relation: Relation
    operation: str
    left: RowsOf
    right: RowsOf | None

    def operand_arguments(self, left: Tensor, right: Tensor | None) -> tuple[Any, ...]:
        return (left, right, self.left.numbers, None if self.right is None else self.right.numbers)

    def relation_arguments(self) -> tuple[Any, ...]:
        relation = self.relation
        return relation._row_begin, relation._sources, relation._handle, relation._num_sources

    def operator_arguments(self) -> tuple[int, int, int]:
        return (_OPERATORS.index(self.operation), self.left.number(),
                0 if self.right is None else self.right.number())


class _Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, formula: _Formula, target: RowsOf, num_rows: int, row_shape: tuple[int, ...], left: Tensor,
                right: Tensor | None) -> Tensor:
        ctx.formula, ctx.target = formula, target
        ctx.save_for_backward(left, right)
        result: Tensor = operations.edge_sum.default(
            *formula.operand_arguments(left, right), target.numbers, *formula.relation_arguments(),
            *formula.operator_arguments(), target.number(), num_rows, row_shape)
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        formula: _Formula = ctx.formula
        left, right = ctx.saved_tensors
        has_factor = formula.operation in ("mul", "div")
        grad_left = grad_right = None
        if ctx.needs_input_grad[4]:
            grad_left = _sum_gradient(ctx, formula.operation if has_factor else "copy", grad, formula.right, right,
                                      formula.left, left)
        if right is not None and ctx.needs_input_grad[5]:
            assert formula.right is not None
            grad_right = _sum_gradient(ctx, "mul" if has_factor else "copy", grad, formula.left, left, formula.right,
                                       right)
            if formula.operation in ("sub", "div"):
                grad_right = -grad_right
            if formula.operation == "div":
                grad_right = grad_right / (right * right)
        return None, None, None, None, grad_left, grad_right


def _sum_gradient(ctx: Any, operation: str, grad: Tensor, factor_rows: RowsOf | None, factor: Tensor | None,
                  rows_of: RowsOf, operand: Tensor) -> Tensor:
    """Returns the sum of the gradients of an operand's rows."""
    is_copy = operation == "copy"
    return edge_sum(ctx.formula.relation, rows_of, operation, (ctx.target, grad),
                    None if is_copy or factor_rows is None or factor is None else (factor_rows, factor),
                    tuple(operand.shape[1:]), operand.shape[0])


Operand = tuple[RowsOf, Tensor]


def edge_sum(relation: Relation, target: RowsOf, operation: str, left: Operand, right: Operand | None,
             row_shape: Sequence[int], num_rows: int | None = None) -> Tensor:
    """Returns out[t] = sum over the edges e of row t of operation(left[i(e)], right[j(e)]).

    The operation is "copy" (of `left`), "add", "sub", "mul" or "div". For the target "e" nothing is summed over edges.
    Rows are aligned at their last dimensions, whose sizes are equal or 1; a dimension that `row_shape` has as 1 is
    summed. `num_rows` is the number of rows of a result with numbers, in which rows of no edge are zeros. Tensors have
    one type: float32, float64 or bfloat16, whose sums are computed in float32.
    """
    if num_rows is None:
        num_rows = {"u": relation._num_sources, "v": relation._num_destinations, "e": relation._num_edges}[target.letter]
    formula = _Formula(relation, operation, left[0], None if right is None else right[0])
    result: Tensor = _Sum.apply(formula, target, num_rows, tuple(row_shape), left[1],  # type: ignore[no-untyped-call]
                                None if right is None else right[1])
    return result


class _Extremum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, formula: _Formula, is_maximum: bool, row_shape: tuple[int, ...], left: Tensor,
                right: Tensor | None) -> Tensor:
        ctx.formula = formula
        out, entry = operations.edge_extremum.default(
            *formula.operand_arguments(left, right), *formula.relation_arguments(), *formula.operator_arguments(),
            is_maximum, any(ctx.needs_input_grad), row_shape)
        ctx.save_for_backward(left, right, entry)
        result: Tensor = out
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        formula: _Formula = ctx.formula
        left, right, entry = ctx.saved_tensors
        if torch.is_grad_enabled():
            return None, None, None, *_differentiable_gradients(formula, grad, left, right, entry)
        grad_left, grad_right = operations.edge_extremum_backward.default(
            grad, entry, *formula.operand_arguments(left, right), *formula.relation_arguments(),
            *formula.operator_arguments())
        return None, None, None, grad_left.to(left.dtype), None if right is None else grad_right.to(right.dtype)


def edge_extremum(relation: Relation, kind: str, operation: str, left: Operand, right: Operand | None,
                  row_shape: Sequence[int]) -> Tensor:
    """Returns the maximum ("max") or minimum ("min") over the edges into each destination, of each element.

    The operands are those of `edge_sum`; `row_shape` is the shape of a message. The gradient of an element goes to the
    first edge that has the extremum. A destination without edges gets zeros.
    """
    formula = _Formula(relation, operation, left[0], None if right is None else right[0])
    result: Tensor = _Extremum.apply(formula, kind == "max", tuple(row_shape),  # type: ignore[no-untyped-call]
                                     left[1], None if right is None else right[1])
    return result


def _differentiable_gradients(formula: _Formula, grad: Tensor, left: Tensor, right: Tensor | None,
                              entry: Tensor) -> tuple[Tensor | None, Tensor | None]:
    """Computes the gradients of an extremum by operations of torch, which have gradients themselves."""
    relation, row_shape = formula.relation, grad.shape[1:]
    sources = builders.list_edges(relation._row_begin, relation._sources, relation._num_edges)[0]
    chosen = entry.view(grad.shape[0], -1).to(torch.int64)
    exists = chosen >= 0
    edge = relation._row_begin[:-1].unsqueeze(1) + chosen
    edge = torch.where(exists, edge, 0)
    given = torch.where(exists, grad.reshape(chosen.shape), 0)

    def element(rows_of: RowsOf, operand: Tensor) -> Tensor:
        """Returns the number of the operand's element that each element of the result comes from."""
        if rows_of.letter == "v":
            rows = torch.arange(chosen.shape[0]).unsqueeze(1).expand_as(chosen)
        elif rows_of.letter == "u":
            rows = sources[edge]
        else:
            rows = edge if rows_of.numbers is None else rows_of.numbers[edge]
        size = operand[:1].numel() if operand.shape[0] > 0 else 0
        within = torch.arange(size).view(operand.shape[1:]).expand(row_shape).reshape(-1)
        return (rows * size + within).reshape(-1)

    def scatter(values: Tensor, index: Tensor, operand: Tensor) -> Tensor:
        sums = torch.zeros(operand.numel(), dtype=accumulator_type(operand.dtype))
        return sums.index_add(0, index, values.reshape(-1).to(sums.dtype)).view(operand.shape).to(operand.dtype)

    if not exists.any():
        return torch.zeros_like(left), None if right is None else torch.zeros_like(right)
    left_index = element(formula.left, left)
    if right is None or formula.right is None:
        return scatter(given, left_index, left), None
    right_index = element(formula.right, right)
    left_values = left.reshape(-1)[left_index].view_as(given)
    right_values = right.reshape(-1)[right_index].view_as(given)
    grad_left = grad_right = given
    if formula.operation == "sub":
        grad_right = -given
    elif formula.operation == "mul":
        grad_left, grad_right = given * right_values, given * left_values
    elif formula.operation == "div":
        grad_left, grad_right = given / right_values, -given * left_values / (right_values * right_values)
    return scatter(grad_left, left_index, left), scatter(grad_right, right_index, right)

# SPDX-License-Identifier: Apache-2.0
"""The two operations that carry all built-in messages and reductions, on the kernels of messages.

An operand is the letter of its rows and a tensor with these rows: "u" the sources, "v" the destinations, "e" the edges.
All results have gradients of any order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from . import _edge_sum_plain as plain
from ._checks import FLOATING_POINT, accumulator_type
from ._edge_lists import EdgeList
from ._library import operations

_library: Any = torch.library

Operand = tuple[str, Tensor]

# The numbers of the kinds of rows and of the operations, as in operations.h.
_ROWS = {"u": 0, "v": 1, "e": 2}
_NUMBERS = {"copy": 0, "add": 1, "sub": 2, "mul": 3, "div": 4}


@dataclass(frozen=True)
class _Rows:
    """What the kernel knows of a tensor's rows: whose they are, and for edges, which row each has and how many there
    are."""

    end: str
    numbers: Tensor | None
    count: int


@dataclass(frozen=True)
class _Sum:
    edges: EdgeList
    operation: str
    left: _Rows
    right: _Rows | None
    out: _Rows
    row_shape: tuple[int, ...]


def edge_sum(edges: EdgeList, target: str, operation: str, left: Operand, right: Operand | None = None,
             row_shape: Sequence[int] | None = None) -> Tensor:
    """Returns out[t] = sum over the edges e of row t of operation(left[i(e)], right[j(e)]).

    `target` is "u", "v" or "e"; for "e" nothing is summed over edges, and there is a row for each edge of the list. The
    operation is "copy" (of `left`), "add", "sub", "mul" or "div". Rows are aligned at their last dimensions, whose
    sizes are equal or 1. `row_shape` is by default the shape of the operation's result; a dimension that it has as 1
    is summed. Sums of bfloat16 are computed in float32. A row without edges gets zeros.
    """
    left, right = _promote(left, right)
    if not _has_kernel(left[1]):
        return plain.edge_sum(edges, target, operation, left, right, row_shape)
    shape = _row_shape(left, right) if row_shape is None else tuple(row_shape)
    out = _Rows("e", edges.stored_positions, edges.num_edges) if target == "e" else _rows(edges, target, None)
    return _apply(_Sum(edges, operation, _rows(edges, *left), None if right is None else _rows(edges, *right), out,
                       shape), left[1], None if right is None else right[1])


def edge_extremum(edges: EdgeList, kind: str, operation: str, left: Operand, right: Operand | None = None) -> Tensor:
    """Returns the maximum ("max") or minimum ("min") over the edges into each destination, of each element.

    The operands are those of `edge_sum`. The gradient of an element goes to the first edge that has the extremum. A
    destination without edges gets zeros.
    """
    left, right = _promote(left, right)
    if not _has_kernel(left[1]):
        return plain.edge_extremum(edges, kind, operation, left, right)
    call = _Sum(edges, operation, _rows(edges, *left), None if right is None else _rows(edges, *right),
                _rows(edges, "v", None), _row_shape(left, right))
    apply: Any = _Extremum.apply
    result: Tensor = apply(left[1], None if right is None else right[1], call, kind)
    return result


def softmax_over_rows(edges: EdgeList, score: Tensor, target: str = "v") -> Tensor:
    """Returns the softmax of scores [edges of the list, …] over the edges of each destination, or source ("u").

    Sums of bfloat16 are computed in float32. An edge of score -inf gets 0.
    """
    edges = edges.alone
    values = score.to(torch.float32) if score.dtype == torch.bfloat16 else score
    largest = edge_extremum(edges if target == "v" else edges.reversed, "max", "copy", ("e", values.detach()))
    shift = largest.where(largest.isfinite(), 0)
    weight = edge_sum(edges, "e", "sub", ("e", values), (target, shift)).exp()
    total = edge_sum(edges, target, "copy", ("e", weight))
    return edge_sum(edges, "e", "div", ("e", weight), (target, total.where(total != 0, 1))).to(score.dtype)


def _has_kernel(tensor: Tensor) -> bool:
    return tensor.dtype in FLOATING_POINT and hasattr(operations, "edge_sum")


def _promote(left: Operand, right: Operand | None) -> tuple[Operand, Operand | None]:
    """Returns both operands in one type."""
    if right is None or left[1].dtype == right[1].dtype:
        return left, right
    dtype = torch.promote_types(left[1].dtype, right[1].dtype)
    return (left[0], left[1].to(dtype)), (right[0], right[1].to(dtype))


def _row_shape(left: Operand, right: Operand | None) -> tuple[int, ...]:
    shape = left[1].shape[1:]
    return tuple(shape if right is None else torch.broadcast_shapes(shape, right[1].shape[1:]))


def _rows(edges: EdgeList, end: str, tensor: Tensor | None) -> _Rows:
    if end == "e":
        assert tensor is not None
        return _Rows(end, edges.stored_numbers, tensor.shape[0])
    return _Rows(end, None, edges.num_sources if end == "u" else edges.num_destinations)


def _apply(call: _Sum, left: Tensor, right: Tensor | None) -> Tensor:
    apply: Any = _SumFunction.apply
    result: Tensor = apply(left, right, call)
    return result


def _relation_arguments(edges: EdgeList) -> tuple[Tensor, Tensor, Tensor, int]:
    relation = edges.relation
    return relation._row_begin, relation._sources, relation._handle, edges.num_sources


def _message_arguments(call: _Sum) -> tuple[int, int, int]:
    return (_NUMBERS[call.operation], _ROWS[call.left.end], 0 if call.right is None else _ROWS[call.right.end])


class _SumFunction(torch.autograd.Function):
    """The gradients of sums are sums, so that there are gradients of any order."""

    @staticmethod
    def forward(ctx: Any, left: Tensor, right: Tensor | None, call: _Sum) -> Tensor:
        ctx.save_for_backward(left, right)
        ctx.call = call
        operation, left_rows, right_rows = _message_arguments(call)
        out: Tensor = operations.edge_sum.default(
            left, right, call.left.numbers, None if call.right is None else call.right.numbers, call.out.numbers,
            *_relation_arguments(call.edges), operation, left_rows, right_rows, _ROWS[call.out.end], call.out.count,
            list(call.row_shape))
        return out

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        left, right = ctx.saved_tensors
        call: _Sum = ctx.call
        grad_left = grad_right = None
        if ctx.needs_input_grad[0]:
            operation = call.operation if call.operation in ("mul", "div") else "copy"
            grad_left = _gradient(call, operation, grad, call.left, left, call.right, right)
        if ctx.needs_input_grad[1]:
            assert call.right is not None
            operation = "mul" if call.operation in ("mul", "div") else "copy"
            grad_right = _gradient(call, operation, grad, call.right, right, call.left, left)
            if call.operation == "sub":
                grad_right = -grad_right
            if call.operation == "div":  # -left / right², where right is the same for all edges of its row
                grad_right = -grad_right / (right * right)
        return grad_left, grad_right, None


def _gradient(call: _Sum, operation: str, grad: Tensor, rows: _Rows, operand: Tensor, other_rows: _Rows | None,
              other: Tensor | None) -> Tensor:
    """Returns the sum over the edges of each row of an operand of grad, times or divided by the other operand."""
    if operation == "copy":
        other_rows = other = None
    return _apply(_Sum(call.edges, operation, call.out, other_rows, rows, tuple(operand.shape[1:])), grad, other)


class _Extremum(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, left: Tensor, right: Tensor | None, call: _Sum, kind: str) -> Tensor:
        operation, left_rows, right_rows = _message_arguments(call)
        needs_entries = any(ctx.needs_input_grad)
        out, entry = operations.edge_extremum.default(
            left, right, call.left.numbers, None if call.right is None else call.right.numbers,
            *_relation_arguments(call.edges), operation, left_rows, right_rows, kind == "max", needs_entries,
            list(call.row_shape))
        ctx.save_for_backward(left, right, entry)
        ctx.call, ctx.kind = call, kind
        result: Tensor = out
        return result

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        left, right, entry = ctx.saved_tensors
        call: _Sum = ctx.call
        if torch.is_grad_enabled():  # the gradient is differentiated in turn, which the definition can
            operands = (call.left.end, left), None if call.right is None else (call.right.end, right)
            needed = [operand for operand, is_needed in zip((left, right), ctx.needs_input_grad) if is_needed]
            with torch.enable_grad():
                out = plain.edge_extremum(call.edges, ctx.kind, call.operation, *operands)
            found = iter(torch.autograd.grad(out, needed, grad, create_graph=True, allow_unused=True))
            return *(next(found) if is_needed else None for is_needed in ctx.needs_input_grad[:2]), None, None
        operation, left_rows, right_rows = _message_arguments(call)
        grad_left, grad_right = operations.edge_extremum_backward.default(
            grad, entry, left, right, call.left.numbers, None if call.right is None else call.right.numbers,
            *_relation_arguments(call.edges), operation, left_rows, right_rows)
        return (grad_left.to(left.dtype) if ctx.needs_input_grad[0] else None,
                grad_right.to(right.dtype) if ctx.needs_input_grad[1] else None, None, None)


def _fake_edge_sum(left: Tensor, right: Any, left_numbers: Any, right_numbers: Any, numbers: Any, row_begin: Tensor,
                   sources: Tensor, handle: Tensor, num_sources: int, op: int, left_rows: int, right_rows: int,
                   rows_of: int, num_rows: int, row_shape: Sequence[int]) -> Tensor:
    return left.new_empty((num_rows, *row_shape))


def _fake_edge_extremum(left: Tensor, right: Any, left_numbers: Any, right_numbers: Any, row_begin: Tensor,
                        sources: Tensor, handle: Tensor, num_sources: int, op: int, left_rows: int, right_rows: int,
                        is_maximum: bool, needs_entries: bool, row_shape: Sequence[int]) -> tuple[Tensor, Tensor]:
    out = left.new_empty((row_begin.shape[0] - 1, *row_shape))
    return out, left.new_empty((out.numel() if needs_entries else 0,), dtype=torch.int32)


def _fake_edge_extremum_backward(grad_out: Tensor, entry: Tensor, left: Tensor, right: Tensor | None, *others: Any
                                 ) -> tuple[Tensor, Tensor]:
    dtype = accumulator_type(left.dtype)
    return left.new_empty(left.shape, dtype=dtype), left.new_empty((0,) if right is None else right.shape, dtype=dtype)


if hasattr(operations, "edge_sum"):
    for _name in ("edge_sum", "edge_extremum", "edge_extremum_backward"):
        _library.register_fake(f"edgewise::{_name}", globals()[f"_fake_{_name}"])

# SPDX-License-Identifier: Apache-2.0
"""What torch knows of the operations of messages: the shapes of their results, and their gradients of any order.

Rows are those of sources (0), destinations (1) or edges (2); `…numbers` have the row of each edge that the relation
stores in a tensor of edges. The operators are the left operand (0), sum (1), difference (2), product (3), quotient (4).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from . import _edge_sum_plain as plain
from ._builders import list_edges
from ._checks import accumulator_type
from ._edge_lists import EdgeList
from ._library import operations
from ._operations import Constants, Gradients, Needed, Saved, _library, _make_differentiable, _refuse_vmap

OPERATORS = ("copy", "add", "sub", "mul", "div")
ENDS = "uve"
_COPY, _SUB, _MUL, _DIV = 0, 2, 3, 4


def _fake_edge_sum(left: Tensor, right: Any, left_numbers: Any, right_numbers: Any, numbers: Any, row_begin: Tensor,
                   sources: Tensor, handle: Tensor, num_sources: int, op: int, left_rows: int, right_rows: int,
                   rows_of: int, num_rows: int, row_shape: Sequence[int]) -> Tensor:
    return left.new_empty((num_rows, *row_shape))


def _fake_edge_sums(tensors: Sequence[Tensor], numbers: Sequence[Tensor], row_begin: Tensor, sources: Tensor,
                    handle: Tensor, num_sources: int, messages: Sequence[int], row_shapes: Sequence[int],
                    by_source: bool) -> list[Tensor]:
    num_rows, begin, results = num_sources if by_source else row_begin.shape[0] - 1, 0, []
    for _, left, _, _, _, _, _, dimensions in _sums_of(messages):
        results.append(tensors[left].new_empty((num_rows, *row_shapes[begin:begin + dimensions])))
        begin += dimensions
    return results


def _fake_edge_extremum(left: Tensor, right: Any, left_numbers: Any, right_numbers: Any, row_begin: Tensor,
                        sources: Tensor, handle: Tensor, num_sources: int, op: int, left_rows: int, right_rows: int,
                        is_maximum: bool, needs_entries: bool, row_shape: Sequence[int]) -> tuple[Tensor, Tensor]:
    out = left.new_empty((row_begin.shape[0] - 1, *row_shape))
    return out, left.new_empty((out.numel() if needs_entries else 0,), dtype=torch.int32)


def _fake_edge_extremum_backward(grad_out: Tensor, entry: Tensor, left: Tensor, right: Tensor | None, *others: Any
                                 ) -> tuple[Tensor, Tensor]:
    dtype = accumulator_type(left.dtype)
    return left.new_empty(left.shape, dtype=dtype), left.new_empty((0,) if right is None else right.shape, dtype=dtype)


def _edge_sum_gradients(grad: Tensor, saved: Saved, constants: Constants, needed: Needed) -> Gradients:
    """The gradient of a row is the sum over its edges of grad, times or divided by the other operand: a sum again."""
    left, right, _ = saved
    left_numbers, right_numbers, numbers, *relation, op, left_rows, right_rows, rows_of, _, _ = constants

    def gradient(operator: int, other: Tensor | None, other_numbers: Any, other_rows: int, operand: Tensor,
                 operand_numbers: Any, operand_rows: int) -> Tensor:
        if operator == _COPY:
            other = other_numbers = None
        return edge_sum(grad, other, numbers, other_numbers, operand_numbers, *relation, operator, rows_of, other_rows,
                        operand_rows, operand.shape[0], list(operand.shape[1:]))

    has_product = op in (_MUL, _DIV)
    grad_left = grad_right = None
    if needed[0] and left is not None:
        grad_left = gradient(op if has_product else _COPY, right, right_numbers, right_rows, left, left_numbers,
                             left_rows)
    if needed[1] and right is not None:
        grad_right = gradient(_MUL if has_product else _COPY, left, left_numbers, left_rows, right, right_numbers,
                              right_rows)
        if op == _SUB:
            grad_right = -grad_right
        if op == _DIV:  # -left / right², where right is the same for all edges of its row
            grad_right = -grad_right / (right * right)
    return grad_left, grad_right


def _sums_of(messages: Sequence[int]) -> list[Sequence[int]]:
    return [messages[i:i + 8] for i in range(0, len(messages), 8)]


class _EdgeSums(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, call: Constants, *tensors: Tensor) -> tuple[Tensor, ...]:
        ctx.save_for_backward(*tensors)
        ctx.call = call
        ctx.set_materialize_grads(False)
        return tuple(operations.edge_sums.default(tensors, *call))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> Gradients:
        numbers, *relation, messages, _, by_source = ctx.call
        tensors = ctx.saved_tensors
        totals: list[Tensor | None] = [None] * len(tensors)

        def part(parts: Sequence[Tensor], i: int) -> Tensor | None:
            return None if i < 0 else parts[i]

        for grad, (op, left, left_rows, left_numbers, right, right_rows, right_numbers, _) in zip(
                grads, _sums_of(messages)):
            if grad is None:
                continue
            constants = (part(numbers, left_numbers), part(numbers, right_numbers), None, *relation, op, left_rows,
                         right_rows, 0 if by_source else 1, 0, ())
            needed = ctx.needs_input_grad[1 + left], right >= 0 and ctx.needs_input_grad[1 + right]
            found = _edge_sum_gradients(grad, (part(tensors, left), part(tensors, right), None), constants, needed)
            for i, gradient in zip((left, right), found):
                if gradient is not None:
                    total = totals[i]
                    totals[i] = gradient if total is None else total + gradient
        return None, *totals


def edge_sums(tensors: Sequence[Tensor], *call: Any) -> Sequence[Tensor]:
    """Computes several sums in one pass over the rows of a relation."""
    if not torch.is_grad_enabled():
        results: list[Tensor] = operations.edge_sums.default(tensors, *call)
        return results
    apply: Any = _EdgeSums.apply
    outputs: tuple[Tensor, ...] = apply(call, *tensors)
    return outputs


def _edge_softmax_gradients(grad: Tensor, saved: Saved, constants: Constants, needed: Needed) -> Gradients:
    _, weight = saved
    assert weight is not None
    if not torch.is_grad_enabled():
        grad_score: Tensor = operations.edge_softmax_backward.default(grad, weight, *constants)
        return (grad_score,)

    # The gradient is differentiated in turn: weight * (grad - mean), with the mean of each destination.
    def sum_of_products(other: Tensor, other_rows: int, rows_of: int, num_rows: int) -> Tensor:
        return edge_sum(weight, other, None, None, None, *constants, OPERATORS.index("mul"), ENDS.index("e"),
                        other_rows, rows_of, num_rows, list(weight.shape[1:]))

    num_destinations = constants[0].shape[0] - 1
    mean = sum_of_products(grad, ENDS.index("e"), ENDS.index("v"), num_destinations)
    return (weight * grad - sum_of_products(mean, ENDS.index("v"), ENDS.index("e"), weight.shape[0]),)


def _edge_extremum_gradients(grad: Tensor, saved: Saved, constants: Constants, needed: Needed) -> Gradients:
    left, right, _, entry = saved
    left_numbers, right_numbers, *relation, op, left_rows, right_rows, is_maximum, _, _ = constants
    assert left is not None
    if torch.is_grad_enabled():  # the gradient is differentiated in turn, which the definition can
        return _differentiate_definition(grad, left, right, constants, needed)
    grads = operations.edge_extremum_backward.default(grad, entry, left, right, left_numbers, right_numbers, *relation,
                                                      op, left_rows, right_rows)
    return grads[0].to(left.dtype), None if right is None else grads[1].to(right.dtype)


def _differentiate_definition(grad: Tensor, left: Tensor, right: Tensor | None, constants: Constants, needed: Needed
                              ) -> Gradients:
    numbers, (row_begin, sources, _, num_sources), (op, *ends, is_maximum, _, _) = (
        constants[:2], constants[2:6], constants[6:])
    ends_of_edges = list_edges(row_begin, sources, int(row_begin[-1]))
    edges = EdgeList(num_sources, len(row_begin) - 1, (ends_of_edges[0], ends_of_edges[1]))
    operands = [None if tensor is None else
                (ENDS[end], tensor if rows is None else tensor.index_select(0, rows))
                for tensor, end, rows in zip((left, right), ends, numbers)]
    assert operands[0] is not None
    out = plain.edge_extremum(edges, "max" if is_maximum else "min", OPERATORS[op], operands[0], operands[1])
    wanted = [tensor for tensor, is_needed in zip((left, right), needed) if is_needed and tensor is not None]
    found = iter(torch.autograd.grad(out, wanted, grad, create_graph=True))
    return tuple(next(found) if is_needed else None for is_needed in needed[:2])


edge_sum: Callable[..., Tensor] = _make_differentiable("edge_sum", 2, _edge_sum_gradients)
edge_softmax: Callable[..., Tensor] = _make_differentiable("edge_softmax", 1, _edge_softmax_gradients)
edge_extremum: Callable[..., Tensor] = _make_differentiable("edge_extremum", 2, _edge_extremum_gradients)
for _name in ("edge_sum", "edge_sums", "edge_extremum", "edge_extremum_backward"):
    _library.register_fake(f"edgewise::{_name}", globals()[f"_fake_{_name}"])
for _name in ("edge_sum", "edge_extremum"):
    _refuse_vmap(_name)

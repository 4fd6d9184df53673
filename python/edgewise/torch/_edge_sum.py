# SPDX-License-Identifier: Apache-2.0
"""The two operations that carry all built-in messages and reductions, on the kernels of messages.

An operand is the letter of its rows and a tensor with these rows: "u" the sources, "v" the destinations, "e" the edges.
All results have gradients of any order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from . import _edge_sum_plain as plain
from . import _message_operations as kernels
from ._checks import FLOATING_POINT, accumulator_type
from ._edge_lists import EdgeList
from ._edge_sum_plain import broadcast_shapes

Operand = tuple[str, Tensor]


def edge_sum(edges: EdgeList, target: str, operation: str, left: Operand, right: Operand | None = None,
             row_shape: Sequence[int] | None = None) -> Tensor:
    """Returns out[t] = sum over the edges e of row t of operation(left[i(e)], right[j(e)]).

    `target` is "u", "v" or "e"; for "e" nothing is summed over edges, and there is a row for each edge of the list. The
    operation is "copy" (of `left`), "add", "sub", "mul" or "div". Rows are aligned at their last dimensions, whose
    sizes are equal or 1. `row_shape` is by default the shape of the operation's result; a dimension that it has as 1
    is summed, not with "add" and "sub". Messages and sums of bfloat16 are computed in float32. A row without edges gets
    zeros.
    """
    assert row_shape is None or operation not in ("add", "sub")
    left, right = _promote(left, right)
    if not _has_kernel(left[1]):
        return plain.edge_sum(edges, target, operation, left, right, row_shape)
    shape = _row_shape(left, right) if row_shape is None else row_shape
    numbers, rows = None, edges.num_sources if target == "u" else edges.num_destinations
    if target == "e":
        numbers, rows = edges.stored_positions, edges.num_edges
    return kernels.edge_sum(left[1], None if right is None else right[1], _numbers(edges, left), _numbers(edges, right),
                            numbers, *_relation(edges), *_message(operation, left, right), kernels.ENDS.index(target),
                            rows, list(shape))


class Sum(NamedTuple):
    """The arguments of `edge_sum` besides the rows of the result."""

    edges: EdgeList
    operation: str
    left: Operand
    right: Operand | None = None
    row_shape: Sequence[int] | None = None

    def compute(self, target: str) -> Tensor:
        return edge_sum(self.edges, target, self.operation, self.left, self.right, self.row_shape)


def edge_sums(target: str, sums: Sequence[Sum]) -> list[Tensor]:
    """Returns several sums over the edges of sources ("u") or destinations ("v"), whose lists have the same relation.

    Sums of one type are computed in one pass over the edges.
    """
    promoted = [each._replace(left=left, right=right) for each in sums
                for left, right in [_promote(each.left, each.right)]]
    by_type: dict[torch.dtype, list[int]] = {}
    for i, each in enumerate(promoted):
        by_type.setdefault(each.left[1].dtype, []).append(i)
    results: dict[int, Tensor] = {}
    for dtype, group in by_type.items():
        if len(group) > 1 and dtype in FLOATING_POINT:
            results.update(zip(group, _sum_together(target, [promoted[i] for i in group])))
        else:
            results.update((i, promoted[i].compute(target)) for i in group)
    return [results[i] for i in range(len(sums))]


def _sum_together(target: str, sums: Sequence[Sum]) -> Sequence[Tensor]:
    tensors: list[Tensor] = []
    numbers: list[Tensor] = []
    messages: list[int] = []
    row_shapes: list[int] = []

    def place(parts: list[Tensor], tensor: Tensor | None) -> int:
        """Returns the position of a tensor in a list that has each tensor once."""
        if tensor is None:
            return -1
        position = next((i for i, part in enumerate(parts) if part is tensor), len(parts))
        if position == len(parts):
            parts.append(tensor)
        return position

    for edges, operation, left, right, row_shape in sums:
        assert edges.relation is sums[0].edges.relation
        shape = _row_shape(left, right) if row_shape is None else row_shape
        op, left_rows, right_rows = _message(operation, left, right)
        messages += [op, place(tensors, left[1]), left_rows, place(numbers, _numbers(edges, left)),
                     place(tensors, None if right is None else right[1]), right_rows,
                     place(numbers, _numbers(edges, right)), len(shape)]
        row_shapes += shape
    return kernels.edge_sums(tensors, numbers, *_relation(sums[0].edges), messages, row_shapes, target == "u")


def edge_extremum(edges: EdgeList, kind: str, operation: str, left: Operand, right: Operand | None = None) -> Tensor:
    """Returns the maximum ("max") or minimum ("min") over the edges into each destination, of each element.

    The operands are those of `edge_sum`. The gradient of an element goes to the first edge that has the extremum. A
    destination without edges gets zeros.
    """
    left, right = _promote(left, right)
    if not _has_kernel(left[1]):
        return plain.edge_extremum(edges, kind, operation, left, right)
    tensors = left[1], None if right is None else right[1]
    needs_entries = torch.is_grad_enabled() and any(tensor is not None and tensor.requires_grad for tensor in tensors)
    return kernels.edge_extremum(*tensors, _numbers(edges, left), _numbers(edges, right), *_relation(edges),
                                 *_message(operation, left, right), kind == "max", needs_entries,
                                 list(_row_shape(left, right)))


def softmax_over_rows(edges: EdgeList, score: Tensor, target: str = "v") -> Tensor:
    """Returns the softmax of scores [edges of the list, …] over the edges of each destination, or source ("u").

    Sums of bfloat16 are computed in float32. An edge of score -inf gets 0.
    """
    relation = edges.relation if target == "v" else edges.alone.reversed.relation
    heads = 1
    for size in score.shape[1:]:
        heads *= size
    rows = relation._to_rows(score.reshape(relation._num_edges, heads)).to(accumulator_type(score.dtype))
    weight = kernels.edge_softmax(rows.contiguous(), relation._row_begin, relation._sources, relation._handle,
                                  relation._num_sources)
    return relation._from_rows(weight).to(score.dtype).reshape(score.shape)


def _has_kernel(tensor: Tensor) -> bool:
    return tensor.dtype in FLOATING_POINT


def _promote(left: Operand, right: Operand | None) -> tuple[Operand, Operand | None]:
    """Returns both operands in one type."""
    if right is None or left[1].dtype == right[1].dtype:
        return left, right
    dtype = torch.promote_types(left[1].dtype, right[1].dtype)
    return (left[0], left[1].to(dtype)), (right[0], right[1].to(dtype))


def _row_shape(left: Operand, right: Operand | None) -> tuple[int, ...]:
    shape = tuple(left[1].shape[1:])
    return shape if right is None else broadcast_shapes(shape, tuple(right[1].shape[1:]))


def _numbers(edges: EdgeList, operand: Operand | None) -> Tensor | None:
    return edges.stored_numbers if operand is not None and operand[0] == "e" else None


def _relation(edges: EdgeList) -> tuple[Any, ...]:
    relation = edges.relation
    return relation._row_begin, relation._sources, relation._handle, edges.num_sources


def _message(operation: str, left: Operand, right: Operand | None) -> tuple[int, int, int]:
    return (kernels.OPERATORS.index(operation), kernels.ENDS.index(left[0]),
            0 if right is None else kernels.ENDS.index(right[0]))

# SPDX-License-Identifier: Apache-2.0
"""The definitions of `edge_sum` and `edge_extremum`, in plain operations of torch, which derives their gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from typing import Any

import torch
from torch import Tensor

from ._edge_lists import EdgeList

Operand = tuple[str, Tensor]

_OPERATIONS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div}


def edge_sum(edges: EdgeList, target: str, operation: str, left: Operand, right: Operand | None = None,
             row_shape: Sequence[int] | None = None) -> Tensor:
    """Defines `_edge_sum.edge_sum`."""
    dtype, values = left[1].dtype, _edge_values(edges, operation, left, right)
    summed = [] if row_shape is None else [dimension for dimension, size in enumerate(row_shape, 1)
                                           if size == 1 and values.shape[dimension] != 1]
    if summed:
        values = values.sum(summed, keepdim=True)
    if target == "e":
        return values.to(dtype)
    rows, index = ((edges.num_sources, edges.sources) if target == "u" else
                   (edges.num_destinations, edges.destinations))
    return values.new_zeros((rows, *values.shape[1:])).index_add(0, index, values).to(dtype)


def edge_extremum(edges: EdgeList, kind: str, operation: str, left: Operand, right: Operand | None = None) -> Tensor:
    """Defines `_edge_sum.edge_extremum`."""
    dtype, values = left[1].dtype, _edge_values(edges, operation, left, right)
    if len(values) == 0:
        return values.sum(0, keepdim=True).expand(edges.num_destinations, *values.shape[1:]).to(dtype)
    chosen = _choose_edges(edges, kind, values.detach())
    has_edge = chosen < len(values)
    return values.gather(0, chosen.where(has_edge, 0)).where(has_edge, 0).to(dtype)


def broadcast_shapes(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the shape of an operation's result. Raises RuntimeError for shapes that do not align."""
    shapes: Any = torch.broadcast_shapes
    return tuple(shapes(left, right))


def _edge_values(edges: EdgeList, operation: str, left: Operand, right: Operand | None) -> Tensor:
    values = _gather(edges, left)
    if right is None:
        return values
    others = _gather(edges, right)
    dimensions = max(values.dim(), others.dim())
    return _OPERATIONS[operation](_with_dimensions(values, dimensions), _with_dimensions(others, dimensions))


def _gather(edges: EdgeList, operand: Operand) -> Tensor:
    end, column = operand[0], operand[1].to(torch.float32) if operand[1].dtype == torch.bfloat16 else operand[1]
    if end == "e":
        return edges.rows_of(column)
    return column.index_select(0, edges.sources if end == "u" else edges.destinations)


def _with_dimensions(values: Tensor, count: int) -> Tensor:
    """Inserts dimensions of size 1 after the first, which is that of the edges."""
    return values.reshape(values.shape[0], *(1,) * (count - values.dim()), *values.shape[1:])


def _choose_edges(edges: EdgeList, kind: str, values: Tensor) -> Tensor:
    """Returns the position in the list of the first edge with the extremum, or the number of edges without any."""
    shape = (edges.num_destinations, *values.shape[1:])
    column = (-1, *(1,) * (values.dim() - 1))
    index = edges.destinations.view(column).expand_as(values)
    extremum = values.new_zeros(shape).scatter_reduce(0, index, values, f"a{kind}", include_self=False)
    is_chosen = values == extremum.index_select(0, edges.destinations)
    if values.is_floating_point():
        is_chosen |= values.isnan()
    positions = torch.arange(len(values)).view(column).where(is_chosen, len(values))
    return index.new_full(shape, len(values)).scatter_reduce(0, index, positions, "amin")

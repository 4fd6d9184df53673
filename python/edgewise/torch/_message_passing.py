# SPDX-License-Identifier: Apache-2.0
"""Computes messages and reductions: built-in ones fused, and functions of users over batches of edges and nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

import torch
from torch import Tensor

from ._batches import CanonicalType, EdgeBatch, EndFrames, NodeBatch, call
from ._checks import fail
from ._edge_lists import Bucket, EdgeList, Mailboxes
from ._edge_sum import Operand, Sum, edge_extremum, edge_sums
from ._edge_sum_plain import broadcast_shapes
from ._frames import LazyColumns, describe, describe_names, has_same_rows
from .function import Message, Reduction

AnyMessage = Message | Callable[[EdgeBatch], Mapping[str, Tensor]]
AnyReduction = Reduction | Callable[[NodeBatch], Mapping[str, Tensor]]


class _Operation:
    """The arguments of `edge_sum` that a built-in message has."""

    def __init__(self, message: Message, edges: EdgeList, frames: EndFrames) -> None:
        self.edges = edges
        self.name = "mul" if message.operation == "dot" else message.operation
        left, right = message.left, message.right
        self.left: Operand = (left[0], frames[left[0]].get(left[1]))
        self.right: Operand | None = None if right is None else (right[0], frames[right[0]].get(right[1]))
        self.row_shape = self._align(message)

    def _align(self, message: Message) -> tuple[int, ...]:
        """Returns the shape of a row of the result."""
        left = tuple(self.left[1].shape[1:])
        if self.right is None or message.right is None:
            return left
        right = tuple(self.right[1].shape[1:])
        if message.operation == "dot" and left[-1:] != right[-1:] or (message.operation == "dot" and not left):
            self._refuse(message, left, right, "needs a last dimension of one size")
        try:
            shape = broadcast_shapes(left, right)
        except RuntimeError:
            self._refuse(message, left, right, "needs last dimensions of one size or 1")
        return (*shape[:-1], 1) if message.operation == "dot" else shape

    def _refuse(self, message: Message, left: tuple[int, ...], right: tuple[int, ...], needs: str) -> NoReturn:
        assert message.right is not None
        count = self.edges.num_edges
        fail(f"{message.name}: on the edges {message.left[1]!r} is {[count, *left]} and {message.right[1]!r} is "
             f"{[count, *right]}, {needs}")

    def as_sum(self) -> Sum:
        row_shape = self.row_shape if self.name == "mul" else None  # a dot product sums its last dimension
        return Sum(self.edges, self.name, self.left, self.right, row_shape)

    def on_edges(self) -> Tensor:
        return self.as_sum().compute("e")

    def extremum(self, kind: str) -> Tensor:
        if self.row_shape[-1:] == (1,) and self._sums_last():
            return _Stored(self.on_edges(), self.edges).extremum(kind)
        return edge_extremum(self.edges, kind, self.name, self.left, self.right)

    def _sums_last(self) -> bool:
        return self.right is not None and self.left[1].shape[-1] != 1 and self.right[1].shape[-1] != 1


class _Stored(_Operation):
    """A message that is stored for all edges of a call, [edges, …]."""

    def __init__(self, values: Tensor, edges: EdgeList) -> None:
        self.edges = edges.alone
        self.name = "copy"
        self.left = "e", values
        self.right = None
        self.row_shape = tuple(values.shape[1:])


class Sent(Mapping[str, Tensor]):
    """The messages of a call. A built-in one is computed for the edges when a function of a user reads it."""

    def __init__(self, caller: str, messages: Sequence[AnyMessage], edge_type: CanonicalType, edges: EdgeList,
                 frames: EndFrames) -> None:
        self._edges = edges
        self._operations: dict[str, _Operation] = {}
        batch = EdgeBatch(edge_type, edges, frames)
        for message in messages:
            if isinstance(message, Message):
                self._add(caller, message.out, _Operation(message, edges, frames))
            else:
                for name, values in call(message, batch, f"{caller}: a message function").items():
                    self._add(caller, name, _Stored(values, edges))

    def _add(self, caller: str, name: str, operation: _Operation) -> None:
        if name in self._operations:
            fail(f"{caller}: {name!r} is sent twice, needs each name once")
        self._operations[name] = operation

    def operation(self, caller: str, reduction: Reduction) -> _Operation:
        if reduction.msg not in self._operations:
            fail(f"{caller}: the reduction to {reduction.out!r} reads message {reduction.msg!r}, but the messages sent "
                 f"are {describe_names(self._operations)}")
        return self._operations[reduction.msg]

    def __getitem__(self, name: str) -> Tensor:
        operation = self._operations[name]
        if not isinstance(operation, _Stored):
            operation = self._operations[name] = _Stored(operation.on_edges(), self._edges)
        return operation.left[1]

    def __iter__(self) -> Iterator[str]:
        return iter(self._operations)

    def __len__(self) -> int:
        return len(self._operations)


class _Mailbox(Mapping[str, Tensor]):
    """The messages of the nodes of a bucket. All buckets share the messages in the order of the mailboxes."""

    def __init__(self, sent: Sent, mailboxes: Mailboxes, bucket: Bucket, ordered: dict[str, Tensor]) -> None:
        self._sent, self._mailboxes, self._bucket, self._ordered = sent, mailboxes, bucket, ordered

    def __getitem__(self, name: str) -> Tensor:
        if name not in self._sent:
            fail(f"mailbox: message {name!r} is missing, the messages are {describe_names(self._sent)}")
        if name not in self._ordered:
            self._ordered[name] = self._sent[name].index_select(0, self._mailboxes.order)
        return self._bucket.take(self._ordered[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._sent)

    def __len__(self) -> int:
        return len(self._sent)


def compute_message(message: Message, edges: EdgeList, frames: EndFrames) -> Tensor:
    """Computes a built-in message on each edge of the list, [edges, …]."""
    return _Operation(message, edges, frames).on_edges()


def reduce_messages(caller: str, messages: Sequence[AnyMessage], reductions: Sequence[AnyReduction],
                    edge_type: CanonicalType, edges: EdgeList, frames: EndFrames) -> dict[str, Tensor]:
    """Sends messages along the edges and reduces them to columns with a row for each destination.

    The rows of nodes without messages are zero.
    """
    sent = Sent(caller, messages, edge_type, edges, frames)
    operations = {reduction.msg: sent.operation(caller, reduction) for reduction in reductions
                  if isinstance(reduction, Reduction)}
    totals = _sum_messages(operations, reductions)
    reduced: dict[str, Tensor] = {}
    for reduction in reductions:
        columns = ({reduction.out: _reduce(operations[reduction.msg], reduction, totals)}
                   if isinstance(reduction, Reduction) else
                   _call_reduction(caller, reduction, sent, edge_type, edges, frames))
        for name, values in columns.items():
            if name in reduced:
                fail(f"{caller}: {name!r} is written twice, needs each name once")
            reduced[name] = values
    return reduced


def _sum_messages(operations: Mapping[str, _Operation], reductions: Sequence[AnyReduction]) -> dict[str, Tensor]:
    """Returns the sums at the destinations by the names of their columns. Those of one type share a pass over edges."""
    summed = {reduction.out: operations[reduction.msg].as_sum() for reduction in reductions
              if isinstance(reduction, Reduction) and reduction.name in ("sum", "mean")}
    return dict(zip(summed, edge_sums("v", list(summed.values()))))


def _reduce(operation: _Operation, reduction: Reduction, totals: Mapping[str, Tensor]) -> Tensor:
    if reduction.name in ("max", "min"):
        return operation.extremum(reduction.name)
    total = totals[reduction.out]
    if reduction.name == "sum":
        return total
    if not total.is_floating_point():
        fail(f"mean: the message is {describe(operation.on_edges())}, needs a floating type")
    degrees = operation.edges.in_degrees.clamp(min=1).view(-1, *(1,) * (total.dim() - 1))
    return total / degrees


def _call_reduction(caller: str, function: Any, sent: Sent, edge_type: CanonicalType, edges: EdgeList,
                    frames: EndFrames) -> dict[str, Tensor]:
    """Calls a reduce function of a user once for each in-degree."""
    prefix = f"{caller}: a reduce function"
    mailboxes, ordered, results = edges.mailboxes, dict[str, Tensor](), []
    for bucket in mailboxes.buckets:
        nodes = bucket.nodes
        data = LazyColumns(frames["v"], lambda column, nodes=nodes: column.index_select(0, nodes))  # type: ignore
        results.append(call(function, NodeBatch(edge_type[2], nodes, data, _Mailbox(sent, mailboxes, bucket, ordered)),
                            prefix))
    first = results[0]
    for result in results[1:]:
        if result.keys() != first.keys():
            fail(f"{prefix} returned the columns {describe_names(first)} for one in-degree and "
                 f"{describe_names(result)} for another, needs the same")
        for name, values in result.items():
            if not has_same_rows(values, first[name]):
                fail(f"{prefix} returned {name!r} as {describe(first[name])} for one in-degree and {describe(values)} "
                     "for another, needs rows of one type and shape")
    return {name: _spread(torch.cat([result[name] for result in results]), mailboxes.receivers, edges.num_destinations)
            for name in first}


def _spread(values: Tensor, nodes: Tensor, count: int) -> Tensor:
    """Returns `count` rows: those of `nodes` have the values, the others are zero."""
    return values.new_zeros((count, *values.shape[1:])).index_copy(0, nodes, values)


def combine_types(results: Sequence[tuple[Tensor, Tensor | None]], reducer: Any) -> Tensor:
    """Reduces columns of one name that messages along several types of edges have given.

    A column has with it which of its nodes have messages; None: all, or it does not matter.
    """
    columns = [column for column, _ in results]
    if callable(reducer):
        reduced: Tensor = reducer(columns)
        return reduced
    if reducer == "stack":
        return torch.stack(columns, 1)
    if reducer in ("sum", "mean"):
        return torch.stack(columns).sum(0) if reducer == "sum" else torch.stack(columns).mean(0)
    if reducer not in ("max", "min"):
        fail(f"multi_update_all: cross_reducer is {reducer!r:.80}, needs 'sum', 'mean', 'max', 'min', 'stack' or a "
             "function")
    nothing = float("-inf" if reducer == "max" else "inf")
    for i, (column, is_receiver) in enumerate(results):
        if is_receiver is not None and columns[i].is_floating_point():
            shape = (-1, *(1,) * (column.dim() - 1))
            columns[i] = column.where(is_receiver.view(shape), nothing)
    stacked = torch.stack(columns)
    extremum = (stacked.max(0) if reducer == "max" else stacked.min(0)).values
    return extremum.where(extremum != nothing, 0)

# SPDX-License-Identifier: Apache-2.0
"""Numbers of nodes and edges, given as a tensor, a list or one number."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import Tensor

from ._builders import check_integers
from ._checks import fail

Value = TypeVar("Value")


def as_numbers(function: str, name: str, given: Any, bound: int) -> Tensor:
    """Returns int64 [count], and fails unless each number is in [0, bound)."""
    numbers = given
    if not isinstance(given, Tensor):
        try:
            numbers = torch.as_tensor(given)
        except (TypeError, ValueError, RuntimeError):
            raise TypeError(f"{function}: {name} is {given!r:.80}, needs integers: a tensor, a list or one") from None
        if numbers.numel() == 0:
            numbers = numbers.to(torch.int64)
    numbers = check_integers(function, name, numbers.reshape(1) if numbers.dim() == 0 else numbers, 1, "numbers")
    if numbers.numel() > 0:
        least, most = (int(number) for number in numbers.aminmax())
        if least < 0 or most >= bound:
            fail(f"{function}: {name} has the number {least if least < 0 else most}, needs numbers in [0, {bound})")
    return numbers


def pair(function: str, sources: Tensor, destinations: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the ends of edges: one number of a side stands beside each number of the other."""
    counts = len(sources), len(destinations)
    if counts[0] != counts[1] and 1 not in counts:
        fail(f"{function}: there are {counts[0]} sources and {counts[1]} destinations, needs as many of each, or one")
    count = counts[1] if counts[0] == 1 else counts[0]
    return sources.expand(count), destinations.expand(count)


def sort_distinct(function: str, name: str, numbers: Tensor) -> Tensor:
    """Returns the numbers in ascending order, and fails if one occurs twice."""
    steps = numbers.diff()
    if bool((steps > 0).all()):
        return numbers
    ascending = numbers.sort().values
    repeated = (ascending.diff() == 0).nonzero()
    if len(repeated) > 0:
        fail(f"{function}: {name} has the number {int(ascending[repeated[0, 0]])} twice, needs distinct numbers")
    return ascending


class TensorMemo:
    """Keeps what was derived from tensors of numbers, while the tensors live and nobody writes to them."""

    _MOST = 64

    def __init__(self) -> None:
        self._entries: dict[int, tuple[weakref.ref[Tensor], int, Any]] = {}

    def get(self, tensor: Any, derive: Callable[[], Value]) -> Value:
        if not isinstance(tensor, Tensor) or tensor.is_inference():
            return derive()
        entry = self._entries.get(id(tensor))
        if entry is not None and entry[0]() is tensor and entry[1] == tensor._version:
            kept: Value = entry[2]
            return kept
        value = derive()
        self._entries = {key: entry for key, entry in list(self._entries.items())[-self._MOST:]
                         if entry[0]() is not None}
        self._entries[id(tensor)] = (weakref.ref(tensor), tensor._version, value)
        return value

    def __reduce__(self) -> tuple[Any, ...]:
        return TensorMemo, ()

# SPDX-License-Identifier: Apache-2.0
"""Checks of arguments. Errors have the form `<function>: <argument> <has>, <needs>`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NoReturn

import torch
from torch import Tensor

from edgewise import Error

if TYPE_CHECKING:
    from ._relation import Relation

FLOATING_POINT = (torch.float32, torch.bfloat16, torch.float64)
_NEEDED_TYPES = "float32, bfloat16 or float64"


def fail(text: str) -> NoReturn:
    raise Error(text)


def type_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def accumulator_type(dtype: torch.dtype) -> torch.dtype:
    """Returns the type of scores, weights and sums: float64 for float64, else float32."""
    return torch.float64 if dtype == torch.float64 else torch.float32


def check_relation(function: str, relation: Relation) -> None:
    from ._relation import Relation

    if isinstance(relation, Tensor):
        raise TypeError(f"{function}: relation is a tensor, needs a Relation; make one with Relation.from_edge_index")
    if not isinstance(relation, Relation):
        raise TypeError(f"{function}: relation is {relation!r:.80}, needs a Relation")


def check_no_transform(function: str) -> None:
    """Refuses torch.vmap, torch.func.grad and other transforms of functorch, for which the operations have no rules."""
    if not torch.compiler.is_compiling() and torch._C._functorch.peek_interpreter_stack() is not None:
        fail(f"{function}: the call is inside torch.vmap, torch.func.grad or another transform of torch.func, needs to "
             "be outside; batch graphs with Relation.batch, and differentiate with torch.autograd")


def check_tensor(function: str, name: str, tensor: Tensor) -> None:
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{function}: {name} is {tensor!r:.80}, needs a tensor")
    if tensor.device.type not in ("cpu", "meta"):
        fail(f"{function}: {name} is on {tensor.device}, needs the CPU; move it with .cpu()")
    if tensor.layout != torch.strided:
        fail(f"{function}: {name} has layout {tensor.layout}, needs torch.strided")


def check_floating_point(function: str, name: str, tensor: Tensor) -> None:
    check_tensor(function, name, tensor)
    if tensor.dtype not in FLOATING_POINT:
        fail(f"{function}: {name} has type {type_name(tensor.dtype)}, needs {_NEEDED_TYPES}")


def has_float16_autocast() -> bool:
    return torch.is_autocast_enabled("cpu") and torch.get_autocast_dtype("cpu") == torch.float16


def widen_float16(tensor: Tensor) -> Tensor:
    """Returns a float16 tensor under float16 autocast as float32, in which the operations then compute."""
    if isinstance(tensor, Tensor) and tensor.dtype == torch.float16 and has_float16_autocast():
        return tensor.to(torch.float32)
    return tensor


def check_same_type(function: str, name: str, tensor: Tensor, other_name: str, other: Tensor) -> None:
    if tensor.dtype != other.dtype:
        fail(f"{function}: {name} has type {type_name(tensor.dtype)}, needs {type_name(other.dtype)}, the type of "
             f"{other_name}")


def check_dimensions(function: str, name: str, tensor: Tensor, count: int, meaning: str) -> None:
    if tensor.dim() != count:
        fail(f"{function}: {name} has shape {list(tensor.shape)}, needs {count} dimensions: {meaning}")


def check_rows(function: str, name: str, tensor: Tensor, rows: int, row_of: str) -> None:
    if tensor.shape[0] != rows:
        fail(f"{function}: {name} has {tensor.shape[0]} rows, needs {rows}, one for each {row_of} of the relation")


def check_scale(function: str, scale: float | None) -> None:
    if scale is not None and not math.isfinite(scale):
        fail(f"{function}: scale is {scale}, needs a finite number")


def check_clamp(function: str, clamp: float | None) -> None:
    if clamp is not None and not clamp > 0:
        fail(f"{function}: clamp is {clamp}, needs a positive number")


def check_dropout(function: str, dropout: float) -> None:
    if not 0 <= dropout < 1:
        fail(f"{function}: dropout is {dropout}, needs at least 0 and less than 1")

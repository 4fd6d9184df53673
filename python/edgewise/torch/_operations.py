# SPDX-License-Identifier: Apache-2.0
"""What torch knows of the operations besides their implementation: the shapes of their results, and their gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from ._checks import accumulator_type, fail
from ._library import operations

_library: Any = torch.library

Gradients = tuple[Tensor | None, ...]
Saved = Sequence[Tensor | None]  # the inputs that have gradients, of which a bias may be absent, and the results
Constants = Sequence[Any]
Needed = Sequence[bool]  # for each input
GradientsOf = Callable[[Tensor, Saved, Constants, Needed], Gradients]


def _fake_attend(
        query: Tensor, key: Tensor, value: Tensor, edge_bias: Tensor | None, row_begin: Tensor, sources: Tensor,
        handle: Tensor, seed: Tensor | None, scale: float, clamp: float | None, dropout: float, num_saved: int
) -> tuple[Tensor, Tensor, Tensor]:
    rows, heads, _ = query.shape
    sums = accumulator_type(query.dtype)
    return (query.new_empty((rows, heads, value.shape[2])), query.new_empty((rows, heads), dtype=sums),
            query.new_empty((num_saved * heads,), dtype=sums))


def _fake_attend_backward(
        grad_out: Tensor, query: Tensor, key: Tensor, value: Tensor, edge_bias: Tensor | None, out: Tensor,
        log_normalizer: Tensor, saved_weights: Tensor, row_begin: Tensor, sources: Tensor, handle: Tensor,
        seed: Tensor | None, scale: float, clamp: float | None, dropout: float, needs_bias_gradient: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    bias_shape = edge_bias.shape if needs_bias_gradient and edge_bias is not None else (0,)
    grad_bias = query.new_empty(bias_shape, dtype=accumulator_type(query.dtype))
    return query.new_empty(query.shape), key.new_empty(key.shape), value.new_empty(value.shape), grad_bias


def _fake_attention_weights(
        query: Tensor, key: Tensor, edge_bias: Tensor | None, row_begin: Tensor, sources: Tensor, handle: Tensor,
        num_edges: int, scale: float, clamp: float | None
) -> Tensor:
    return query.new_empty((num_edges, query.shape[1]))


def _fake_attention_weights_backward(
        grad_weight: Tensor, weight: Tensor, query: Tensor, key: Tensor, row_begin: Tensor, sources: Tensor,
        handle: Tensor, scale: float, clamp: float | None
) -> tuple[Tensor, Tensor, Tensor]:
    return query.new_empty(query.shape), key.new_empty(key.shape), weight.new_empty(weight.shape)


def _fake_edge_softmax(score: Tensor, row_begin: Tensor, sources: Tensor, handle: Tensor, num_sources: int) -> Tensor:
    return score.new_empty(score.shape)


def _fake_edge_softmax_backward(
        grad_weight: Tensor, weight: Tensor, row_begin: Tensor, sources: Tensor, handle: Tensor, num_sources: int
) -> Tensor:
    return weight.new_empty(weight.shape)


def _fake_aggregate(weight: Tensor, value: Tensor, row_begin: Tensor, sources: Tensor, handle: Tensor) -> Tensor:
    return value.new_empty((row_begin.shape[0] - 1, value.shape[1], value.shape[2]))


def _fake_aggregate_backward(grad_out: Tensor, weight: Tensor, value: Tensor, row_begin: Tensor, sources: Tensor,
                             handle: Tensor) -> tuple[Tensor, Tensor]:
    return weight.new_empty(weight.shape), value.new_empty(value.shape)


def _attend_gradients(grad_out: Tensor, saved: Saved, constants: Constants, needed: Needed) -> Gradients:
    *others, grad_bias = operations.attend_backward.default(grad_out, *saved, *constants[:-1], needed[3])
    return *others, grad_bias if needed[3] else None


def _attention_weights_gradients(grad_weight: Tensor, saved: Saved, constants: Constants,
                                 needed: Needed) -> Gradients:
    query, key, _, weight = saved
    row_begin, sources, handle, _, scale, clamp = constants
    *others, grad_bias = operations.attention_weights_backward.default(
        grad_weight, weight, query, key, row_begin, sources, handle, scale, clamp)
    return *others, grad_bias if needed[2] else None


def _aggregate_gradients(grad_out: Tensor, saved: Saved, constants: Constants, needed: Needed) -> Gradients:
    weight, value, _ = saved
    grads: Gradients = operations.aggregate_backward.default(grad_out, weight, value, *constants)
    return grads


def _make_differentiable(name: str, num_inputs: int, gradients_of: GradientsOf) -> Callable[..., Tensor]:
    """Registers the gradients of an operation, and returns the function to call it by, which returns the first result.

    The operation's first `num_inputs` arguments have gradients, the other arguments are its constants.
    """
    operation = getattr(operations, name).default

    def results_of(output: Tensor | tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (output,) if isinstance(output, Tensor) else output

    def save(ctx: Any, inputs: tuple[Any, ...], output: Tensor | tuple[Tensor, ...]) -> None:
        results, constants = results_of(output), inputs[num_inputs:]
        tensors = [constant if isinstance(constant, Tensor) else None for constant in constants]
        ctx.save_for_backward(*inputs[:num_inputs], *results, *tensors)
        ctx.numbers = [None if isinstance(constant, Tensor) else constant for constant in constants]
        ctx.mark_non_differentiable(*results[1:])
        ctx.set_materialize_grads(False)

    def differentiate(ctx: Any, grad: Tensor | None, *_: None) -> Gradients:
        num_saved = len(ctx.saved_tensors) - len(ctx.numbers)
        saved, tensors = ctx.saved_tensors[:num_saved], ctx.saved_tensors[num_saved:]
        no_gradients = (None,) * len(ctx.numbers)
        if grad is None:
            return *(None,) * num_inputs, *no_gradients
        constants = [number if tensor is None else tensor for tensor, number in zip(tensors, ctx.numbers)]
        return *gradients_of(grad, saved, constants, ctx.needs_input_grad), *no_gradients

    _library.register_autograd(f"edgewise::{name}", differentiate, setup_context=save)

    # The registered gradients suffice, but calling them takes three times as long outside torch.compile. Each tensor
    # that torch.autograd.Function is given or returns costs time, so the constants are one argument.
    class Operation(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, constants: Constants, *inputs: Tensor | None) -> Tensor:
            results = results_of(operation(*inputs, *constants))
            ctx.save_for_backward(*inputs, *results)
            ctx.constants = constants
            ctx.set_materialize_grads(False)
            return results[0]

        @staticmethod
        def backward(ctx: Any, grad: Tensor | None) -> Gradients:
            if grad is None:
                return (None,) * (1 + num_inputs)
            return None, *gradients_of(grad, ctx.saved_tensors, ctx.constants, ctx.needs_input_grad[1:])

    apply: Any = Operation.apply

    def call(*arguments: Any) -> Tensor:
        if torch.compiler.is_compiling() or not torch.is_grad_enabled():
            return results_of(operation(*arguments))[0]
        result: Tensor = apply(arguments[num_inputs:], *arguments[:num_inputs])
        return result

    return call


attend = _make_differentiable("attend", 4, _attend_gradients)
attention_weights = _make_differentiable("attention_weights", 3, _attention_weights_gradients)
aggregate = _make_differentiable("aggregate", 2, _aggregate_gradients)


def _refuse_second_derivative(name: str) -> None:
    def refuse(ctx: Any, *grads: Tensor | None) -> Gradients:
        fail(f"{name}: a second derivative is asked for (create_graph), needs a first one; {name} can be "
             "differentiated once")

    _library.register_autograd(f"edgewise::{name}_backward", refuse)


def _refuse_vmap(name: str) -> None:
    def refuse(*arguments: Any) -> Any:
        fail(f"{name}: the call is inside torch.vmap, needs to be outside; batch graphs with Relation.batch")

    _library.register_vmap(f"edgewise::{name}", refuse)


for _name in ("attend", "attention_weights", "edge_softmax", "aggregate"):
    for _full_name in (_name, f"{_name}_backward"):
        _library.register_fake(f"edgewise::{_full_name}", globals()[f"_fake_{_full_name}"])
    _refuse_second_derivative(_name)
    _refuse_vmap(_name)

# SPDX-License-Identifier: Apache-2.0
"""What torch knows of the operations besides their implementation: the shapes of their results, and their gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ._checks import accumulator_type, fail
from ._library import operations

_library: Any = torch.library

Gradients = tuple[Tensor | None, ...]


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


def _save_attend(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor, Tensor]) -> None:
    query, key, value, edge_bias, row_begin, sources, handle, seed, scale, clamp, dropout, _ = inputs
    out, log_normalizer, saved_weights = output
    ctx.save_for_backward(query, key, value, edge_bias, out, log_normalizer, saved_weights, row_begin, sources, handle,
                          seed)
    ctx.numbers = scale, clamp, dropout
    ctx.mark_non_differentiable(log_normalizer, saved_weights)
    ctx.set_materialize_grads(False)


def _differentiate_attend(ctx: Any, grad_out: Tensor | None, *_: None) -> Gradients:
    rest = (None,) * 8
    if grad_out is None:
        return (None,) * 4 + rest
    needs_bias_gradient = ctx.needs_input_grad[3]
    grads = operations.attend_backward.default(grad_out, *ctx.saved_tensors, *ctx.numbers, needs_bias_gradient)
    return grads[0], grads[1], grads[2], grads[3] if needs_bias_gradient else None, *rest


def _save_attention_weights(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    query, key, _, row_begin, sources, handle, _, scale, clamp = inputs
    ctx.save_for_backward(output, query, key, row_begin, sources, handle)
    ctx.numbers = scale, clamp


def _differentiate_attention_weights(ctx: Any, grad_weight: Tensor) -> Gradients:
    grads = operations.attention_weights_backward.default(grad_weight, *ctx.saved_tensors, *ctx.numbers)
    return grads[0], grads[1], grads[2] if ctx.needs_input_grad[2] else None, *(None,) * 6


def _save_edge_softmax(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    _, row_begin, sources, handle, num_sources = inputs
    ctx.save_for_backward(output, row_begin, sources, handle)
    ctx.num_sources = num_sources


def _differentiate_edge_softmax(ctx: Any, grad_weight: Tensor) -> Gradients:
    return operations.edge_softmax_backward.default(grad_weight, *ctx.saved_tensors, ctx.num_sources), *(None,) * 4


def _save_aggregate(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


def _differentiate_aggregate(ctx: Any, grad_out: Tensor) -> Gradients:
    grads = operations.aggregate_backward.default(grad_out, *ctx.saved_tensors)
    return grads[0], grads[1], *(None,) * 3


def _make_differentiable(name: str, save: Callable[..., None], differentiate: Callable[..., Gradients]) -> Any:
    """Registers the gradients of an operation, and returns the function to call it by."""
    operation = getattr(operations, name).default
    _library.register_autograd(f"edgewise::{name}", differentiate, setup_context=save)

    # The registered gradients suffice, but calling them takes three times as long outside torch.compile.
    class Operation(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *inputs: Any) -> Any:
            output = operation(*inputs)
            save(ctx, inputs, output)
            return output

        backward = staticmethod(differentiate)

    def call(*inputs: Any) -> Any:
        if torch.compiler.is_compiling() or not torch.is_grad_enabled():
            return operation(*inputs)
        return apply(*inputs)

    apply: Any = Operation.apply
    return call


attend = _make_differentiable("attend", _save_attend, _differentiate_attend)
attention_weights = _make_differentiable("attention_weights", _save_attention_weights, _differentiate_attention_weights)
edge_softmax = _make_differentiable("edge_softmax", _save_edge_softmax, _differentiate_edge_softmax)
aggregate = _make_differentiable("aggregate", _save_aggregate, _differentiate_aggregate)


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

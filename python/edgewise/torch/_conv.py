# SPDX-License-Identifier: Apache-2.0
"""What the layers with PyG's names share: their inputs, and softmax and sums with one weight for each edge and head."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from . import _checks as checks
from ._edge_lists import EdgeList
from ._edge_sum import edge_sum
from ._numbers import TensorMemo
from ._joined import as_relation
from ._relation import Relation

# Legend: D destinations, S sources, E edges, H heads, C channels of a head, A attributes of an edge.

_known = TensorMemo()  # the lists of edges of an edge_index that several layers and steps share


def as_edges(layer: str, edge_index: Any) -> Tensor | Relation:
    """Returns an `edge_index` or a relation as it is, and joins a list of relations, which a Batch of PyG has."""
    edges: Tensor | Relation = (as_relation(layer, edge_index) if isinstance(edge_index, (list, tuple)) else
                                edge_index)
    return edges


def edge_list(edge_index: Tensor | Relation, num_sources: int, num_destinations: int, variant: Any = None,
              make: Callable[[Tensor], Tensor] | None = None) -> EdgeList:
    """Returns the edges of an `edge_index`, or of another one that `make` makes of it. `variant` tells `make`s apart.

    A tensor's edges are kept while the tensor lives and nobody writes to it.
    """
    if isinstance(edge_index, Relation):
        return EdgeList.of_relation(edge_index)

    def derive() -> EdgeList:
        edges = edge_index if make is None else make(edge_index)
        return EdgeList.of_relation(Relation.from_edge_index(edges, (num_sources, num_destinations)))

    if torch.compiler.is_compiling():
        return derive()
    by_variant: dict[Any, EdgeList] = _known.get(edge_index, dict)
    key = num_sources, num_destinations, variant
    if key not in by_variant:
        by_variant[key] = derive()
    return by_variant[key]


def split_inputs(layer: str, x: Any, sizes: tuple[int, int]) -> tuple[Tensor, Tensor | None]:
    """Returns the states of sources and destinations, which are the same for one tensor."""
    states = x if isinstance(x, tuple) else (x, x)
    for name, tensor, size in zip(("x[0]", "x[1]") if isinstance(x, tuple) else ("x", "x"), states, sizes):
        if tensor is None and name == "x[1]":
            continue
        checks.check_tensor(layer, name, tensor)
        if tensor.dim() != 2 or tensor.shape[1] != size:
            checks.fail(f"{layer}: {name} has shape {list(tensor.shape)}, needs [nodes, {size}]")
    return states[0], states[1]


def check_channels(layer: str, out_channels: int, heads: int, dropout: float) -> None:
    if out_channels < 1 or heads < 1:
        checks.fail(f"{layer}: out_channels is {out_channels} and heads is {heads}, needs positive numbers")
    checks.check_dropout(layer, dropout)


def edge_attributes(layer: str, edge_attr: Any, edge_dim: int, num_edges: int) -> Tensor:
    """Returns the attributes as [E, A]."""
    checks.check_tensor(layer, "edge_attr", edge_attr)
    attributes: Tensor = edge_attr.unsqueeze(1) if edge_attr.dim() == 1 else edge_attr
    if attributes.shape != (num_edges, edge_dim):
        checks.fail(f"{layer}: edge_attr has shape {list(edge_attr.shape)}, needs [{num_edges}, {edge_dim}]")
    return attributes


def weighted_sum(edges: EdgeList, weight_EH1: Tensor, value_SHC: Tensor) -> Tensor:
    return edge_sum(edges, "v", "mul", ("e", weight_EH1), ("u", value_SHC))


def join_heads(out_DHC: Tensor, concat: bool) -> Tensor:
    return out_DHC.flatten(1) if concat else out_DHC.mean(1)

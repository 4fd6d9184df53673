# SPDX-License-Identifier: Apache-2.0
"""The Transformer layer of Shi et al. (2021), with the parameters of PyG's TransformerConv."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from . import _checks as checks
from ._attend import attend, attention_weights
from ._conv import as_edges, check_channels, edge_attributes, edge_list, join_heads, split_inputs
from ._edge_lists import EdgeList
from ._edge_sum import Sum, edge_sum, edge_sums, softmax_over_rows
from ._joined import AnyRelation
from ._relation import Relation


class TransformerConv(nn.Module):
    """Attention along edges with a skip connection: torch_geometric.nn.TransformerConv, with its weights and meaning.

    `load_state_dict` takes the state of the original. `forward` takes `edge_index` [2, edges], whose edges are kept
    while the tensor lives, so that layers and steps that share it sort them once, or a Relation. With attributes of
    edges, no tensor of [edges, heads, channels] is made: queries and sums are projected in the place of attributes.
    """

    def __init__(self, in_channels: int | tuple[int, int], out_channels: int, heads: int = 1, concat: bool = True,
                 beta: bool = False, dropout: float = 0.0, edge_dim: int | None = None, bias: bool = True,
                 root_weight: bool = True) -> None:
        super().__init__()
        check_channels("TransformerConv", out_channels, heads, dropout)
        self.in_channels, self.out_channels, self.heads, self.concat = in_channels, out_channels, heads, concat
        self.dropout, self.edge_dim = dropout, edge_dim
        self.root_weight, self.beta = root_weight, beta and root_weight
        self._sizes = in_channels if isinstance(in_channels, tuple) else (in_channels, in_channels)
        size, total = heads * out_channels, heads * out_channels if concat else out_channels
        self.lin_key = nn.Linear(self._sizes[0], size, bias=bias)
        self.lin_query = nn.Linear(self._sizes[1], size, bias=bias)
        self.lin_value = nn.Linear(self._sizes[0], size, bias=bias)
        self.lin_edge = None if edge_dim is None else nn.Linear(edge_dim, size, bias=False)
        self.lin_skip = nn.Linear(self._sizes[1], total, bias=bias)
        self.lin_beta = nn.Linear(3 * total, 1, bias=False) if self.beta else None

    def reset_parameters(self) -> None:
        for module in self.children():
            module.reset_parameters()  # type: ignore[operator]

    def extra_repr(self) -> str:
        return f"{self.in_channels}, {self.out_channels}, heads={self.heads}"

    def forward(self, x: Tensor | tuple[Tensor, Tensor], edge_index: Tensor | AnyRelation,
                edge_attr: Tensor | None = None, return_attention_weights: bool | None = None) -> Any:
        """Returns the new states of the destinations, [destinations, heads * out_channels], or without `concat`
        [destinations, out_channels].

        `x` is the states of all nodes, or a pair: of sources and of destinations. `edge_attr` is [edges, edge_dim], in
        the order of the edges. With `return_attention_weights`, the second result is the pair of `edge_index` and the
        weights before dropout, [edges, heads]. Drops weights in training mode only.
        """
        states = split_inputs("TransformerConv", x, self._sizes)
        source = states[0]
        destination = source if states[1] is None else states[1]
        given = as_edges("TransformerConv", edge_index)
        edges = edge_list(given, len(source), len(destination))
        split = (self.heads, self.out_channels)
        query, key, value = (torch.unflatten(linear(states), -1, split) for linear, states in (
            (self.lin_query, destination), (self.lin_key, source), (self.lin_value, source)))
        dropout = self.dropout if self.training else 0.0
        weight: Tensor | None
        if self.lin_edge is None:
            if edge_attr is not None:
                checks.fail("TransformerConv: edge_attr is given, needs a layer with edge_dim")
            out = attend(edges.relation, query, key, value, dropout=dropout)
            weight = None if return_attention_weights is None else attention_weights(edges.relation, query, key)
        else:
            out, weight = self._attend_with_attributes(edges, query, key, value, edge_attr, dropout)
        result = self._skip(join_heads(out, self.concat), destination)
        if return_attention_weights is None:
            return result
        return result, (given.edge_index() if isinstance(given, Relation) else given, weight)

    def _attend_with_attributes(self, edges: EdgeList, query_DHC: Tensor, key_SHC: Tensor, value_SHC: Tensor,
                                edge_attr: Any, dropout: float) -> tuple[Tensor, Tensor]:
        """Adds the projected attributes of an edge to the key and to the value of its source.

        <query, W a> is <W' query, a>, and the sum of weight * W a is W times the sum of weight * a.
        """
        assert self.lin_edge is not None and self.edge_dim is not None
        attribute_E1A = edge_attributes("TransformerConv", edge_attr, self.edge_dim, edges.num_edges).unsqueeze(1)
        weight_HCA = torch.unflatten(self.lin_edge.weight, 0, (self.heads, self.out_channels))
        query_DHA = torch.einsum("dhc,hca->dha", query_DHC, weight_HCA)
        row = (self.heads, 1)
        score_EH1 = (edge_sum(edges, "e", "mul", ("u", key_SHC), ("v", query_DHC), row)
                     + edge_sum(edges, "e", "mul", ("e", attribute_E1A), ("v", query_DHA), row))
        weight_EH1 = softmax_over_rows(edges, score_EH1 / math.sqrt(self.out_channels))
        kept_EH1 = F.dropout(weight_EH1, dropout)
        sum_DHC, sum_DHA = edge_sums("v", [Sum(edges, "mul", ("e", kept_EH1), ("u", value_SHC)),
                                           Sum(edges, "mul", ("e", kept_EH1), ("e", attribute_E1A))])
        return sum_DHC + torch.einsum("dha,hca->dhc", sum_DHA, weight_HCA), weight_EH1.squeeze(-1)

    def _skip(self, out: Tensor, destination: Tensor) -> Tensor:
        if not self.root_weight:
            return out
        root: Tensor = self.lin_skip(destination)
        if self.lin_beta is None:
            return out + root
        gate = self.lin_beta(torch.cat((out, root, out - root), -1)).sigmoid()
        return torch.lerp(out, root, gate)

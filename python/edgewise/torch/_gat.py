# SPDX-License-Identifier: Apache-2.0
"""The graph attention layer of Veličković et al. (2018), with the parameters of PyG's GATConv."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from . import _checks as checks
from ._conv import as_edges, check_channels, edge_attributes, edge_list, join_heads, split_inputs, weighted_sum
from ._edge_lists import EdgeList
from ._edge_sum import edge_extremum, edge_sum, softmax_over_rows
from ._joined import AnyRelation
from ._relation import Relation

FillValue = float | Tensor | str


class GATConv(nn.Module):
    """Attention with a score that sums over an edge's ends: torch_geometric.nn.GATConv, with its weights and meaning.

        score[e] = leaky_relu(<att_src, W x[s]> + <att_dst, W x[d]> + <att_edge, W_edge edge_attr[e]>)

    `load_state_dict` takes the state of the original. `forward` takes `edge_index` [2, edges], whose edges are kept
    while the tensor lives, or a Relation, to which no self-loops are added: `relation` makes one that has them.
    """

    def __init__(self, in_channels: int | tuple[int, int], out_channels: int, heads: int = 1, concat: bool = True,
                 negative_slope: float = 0.2, dropout: float = 0.0, add_self_loops: bool = True,
                 edge_dim: int | None = None, fill_value: FillValue = "mean", bias: bool = True,
                 residual: bool = False) -> None:
        super().__init__()
        check_channels("GATConv", out_channels, heads, dropout)
        if isinstance(fill_value, str) and fill_value not in ("mean", "add", "max", "min"):
            checks.fail(f"GATConv: fill_value is {fill_value!r:.80}, needs a number, a tensor, 'mean', 'add', 'max' or "
                        "'min'")
        self.in_channels, self.out_channels, self.heads, self.concat = in_channels, out_channels, heads, concat
        self.negative_slope, self.dropout, self.add_self_loops = negative_slope, dropout, add_self_loops
        self.edge_dim, self.fill_value, self.residual = edge_dim, fill_value, residual
        size, total = heads * out_channels, heads * out_channels if concat else out_channels
        self._sizes = in_channels if isinstance(in_channels, tuple) else (in_channels, in_channels)
        is_shared = isinstance(in_channels, int)
        self.lin = nn.Linear(self._sizes[0], size, bias=False) if is_shared else None
        self.lin_src = None if is_shared else nn.Linear(self._sizes[0], size, bias=False)
        self.lin_dst = None if is_shared else nn.Linear(self._sizes[1], size, bias=False)
        self.att_src = nn.Parameter(torch.empty(1, heads, out_channels))
        self.att_dst = nn.Parameter(torch.empty(1, heads, out_channels))
        self.lin_edge = None if edge_dim is None else nn.Linear(edge_dim, size, bias=False)
        self.att_edge = None if edge_dim is None else nn.Parameter(torch.empty(1, heads, out_channels))
        self.res = nn.Linear(self._sizes[1], total, bias=False) if residual else None
        self.bias = nn.Parameter(torch.empty(total)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for name, parameter in self.named_parameters():
            if name == "bias":
                nn.init.zeros_(parameter)
            else:
                nn.init.xavier_uniform_(parameter.detach().flatten(0, -2))  # of PyG, for vectors too

    def extra_repr(self) -> str:
        return f"{self.in_channels}, {self.out_channels}, heads={self.heads}"

    def relation(self, edge_index: Tensor, num_sources: int, num_destinations: int | None = None) -> Relation:
        """Returns the relation that `forward` makes of `edge_index`: with `add_self_loops`, it has one at each node, in
        the place of those that are there, after the other edges."""
        return self._edges(edge_index, num_sources, num_sources if num_destinations is None else num_destinations
                           ).relation

    def forward(self, x: Tensor | tuple[Tensor, Tensor | None], edge_index: Tensor | AnyRelation,
                edge_attr: Tensor | None = None, size: tuple[int, int] | None = None,
                return_attention_weights: bool | None = None) -> Any:
        """Returns the new states of the destinations, [destinations, heads * out_channels], or without `concat`
        [destinations, out_channels].

        `x` is the states of all nodes, or a pair: of sources and of destinations, or None, whose number `size` then
        has. `edge_attr` is [edges, edge_dim], in the order of the edges. With `return_attention_weights`, the second
        result is the pair of all edges [2, edges] and their weights [edges, heads].
        """
        source, destination = split_inputs("GATConv", x, self._sizes)
        count = len(source) if size is None else size[1]
        num_destinations = count if destination is None else len(destination)
        given = as_edges("GATConv", edge_index)
        edges = self._edges(given, len(source), num_destinations)

        state_SHC = self._project(self.lin_src, source)
        state_DHC = (state_SHC if destination is source and self.lin is not None else
                     None if destination is None else self._project(self.lin_dst, destination))
        score_EH = self._score(edges, state_SHC, state_DHC)
        if self.lin_edge is not None and edge_attr is not None:
            assert self.edge_dim is not None
            num_given = given.num_edges if isinstance(given, Relation) else given.shape[1]
            attribute_EA = edge_attributes("GATConv", edge_attr, self.edge_dim, num_given)
            if self.add_self_loops and not isinstance(given, Relation):
                attribute_EA = self._with_loops(given, attribute_EA, edges)
            score_EH = score_EH + attribute_EA @ self._edge_weight()
        weight_EH = softmax_over_rows(edges, F.leaky_relu(score_EH, self.negative_slope))
        weight_EH = F.dropout(weight_EH, self.dropout, self.training)

        out = join_heads(weighted_sum(edges, weight_EH.unsqueeze(-1), state_SHC), self.concat)
        if self.res is not None and destination is not None:
            out = out + self.res(destination)
        out = out if self.bias is None else out + self.bias
        return (out, (edges.relation.edge_index(), weight_EH)) if return_attention_weights else out

    def _project(self, own: nn.Linear | None, states: Tensor) -> Tensor:
        linear = self.lin if own is None else own
        assert linear is not None
        return torch.unflatten(linear(states), -1, (self.heads, self.out_channels))

    def _score(self, edges: EdgeList, state_SHC: Tensor, state_DHC: Tensor | None) -> Tensor:
        source_SH = (state_SHC * self.att_src).sum(-1)
        if state_DHC is None:
            return edge_sum(edges, "e", "copy", ("u", source_SH))
        return edge_sum(edges, "e", "add", ("u", source_SH), ("v", (state_DHC * self.att_dst).sum(-1)))

    def _edge_weight(self) -> Tensor:
        """Returns [A, H]: what the product with `lin_edge` and then with `att_edge` is, for each attribute and head."""
        assert self.lin_edge is not None and self.att_edge is not None
        weight_HCA = torch.unflatten(self.lin_edge.weight, 0, (self.heads, self.out_channels))
        return torch.einsum("hca,hc->ah", weight_HCA, self.att_edge[0])

    # --- Self-loops. -------------------------------------------------------------------------------------------------

    def _edges(self, edge_index: Tensor | Relation, num_sources: int, num_destinations: int) -> EdgeList:
        if not self.add_self_loops:
            return edge_list(edge_index, num_sources, num_destinations)
        nodes = min(num_sources, num_destinations)

        def add_loops(edges: Tensor) -> Tensor:
            return torch.cat((edges[:, edges[0] != edges[1]], torch.arange(nodes).expand(2, nodes)), 1)

        return edge_list(edge_index, num_sources, num_destinations, "loops", add_loops)

    def _with_loops(self, edge_index: Tensor, attribute_EA: Tensor, edges: EdgeList) -> Tensor:
        """Returns the attributes of the edges that are no loops, then those of the loops: `fill_value`."""
        others = edge_index[0] != edge_index[1]
        kept = attribute_EA[others]
        loops = edges.num_edges - len(kept)
        if isinstance(self.fill_value, str):
            ends = edge_index[0][others], edge_index[1][others]
            without = EdgeList(edges.num_sources, edges.num_destinations, ends)
            return torch.cat((kept, _reduce(without, self.fill_value, kept)[:loops]))
        value = torch.as_tensor(self.fill_value, dtype=kept.dtype)
        return torch.cat((kept, value.expand(loops, kept.shape[1])))


def _reduce(edges: EdgeList, kind: str, attribute_EA: Tensor) -> Tensor:
    if kind in ("max", "min"):
        return edge_extremum(edges, kind, "copy", ("e", attribute_EA))
    total = edge_sum(edges, "v", "copy", ("e", attribute_EA))
    return total if kind == "add" else total / edges.in_degrees.clamp(min=1).unsqueeze(1)

# SPDX-License-Identifier: Apache-2.0
"""A graph attention layer (Veličković et al. 2018) with the arguments and parameter names of PyG's `GATConv`.

    python gat_layer.py

trains two layers to tell apart the two communities of a random graph from the neighbours of each node.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from edgewise.torch import Relation, aggregate, edge_softmax


class GATLayer(nn.Module):
    """Takes `edge_index` as `GATConv` does, or a Relation, which is faster where many calls share the edges."""

    def __init__(self, in_channels: int, out_channels: int, heads: int = 1, concat: bool = True,
                 negative_slope: float = 0.2, dropout: float = 0.0, add_self_loops: bool = True,
                 bias: bool = True) -> None:
        super().__init__()
        self.heads, self.out_channels, self.concat = heads, out_channels, concat
        self.negative_slope, self.dropout, self.add_self_loops = negative_slope, dropout, add_self_loops
        self.lin = nn.Linear(in_channels, heads * out_channels, bias=False)
        self.att_src = nn.Parameter(torch.empty(1, heads, out_channels))
        self.att_dst = nn.Parameter(torch.empty(1, heads, out_channels))
        self.bias = nn.Parameter(torch.zeros(heads * out_channels if concat else out_channels)) if bias else None
        for parameter in (self.lin.weight, self.att_src, self.att_dst):
            nn.init.xavier_uniform_(parameter)

    def relation(self, edge_index: Tensor, nodes: int) -> Relation:
        """Returns the relation that forward makes of `edge_index`."""
        if self.add_self_loops:  # in the place of those that are there
            loops = torch.arange(nodes).expand(2, nodes)
            edge_index = torch.cat((edge_index[:, edge_index[0] != edge_index[1]], loops), 1)
        return Relation.from_edge_index(edge_index, nodes)

    def forward(self, x: Tensor, edges: Tensor | Relation) -> Tensor:
        relation = edges if isinstance(edges, Relation) else self.relation(edges, len(x))
        states = self.lin(x).unflatten(-1, (self.heads, self.out_channels))
        sources, destinations = relation.edge_index()
        source_score, destination_score = (states * self.att_src).sum(-1), (states * self.att_dst).sum(-1)
        score = source_score.index_select(0, sources) + destination_score.index_select(0, destinations)
        weight = edge_softmax(relation, F.leaky_relu(score, self.negative_slope))
        out = aggregate(relation, F.dropout(weight, self.dropout, self.training), states)
        out = out.flatten(1) if self.concat else out.mean(1)
        return out if self.bias is None else out + self.bias


def main(nodes: int = 200, steps: int = 60) -> float:
    torch.manual_seed(0)
    community = torch.arange(nodes) % 2
    sources, destinations = torch.randint(nodes, (2, 20 * nodes))
    # Most edges stay within a community; one node in ten shows its community in its features.
    keep = (community[sources] == community[destinations]) | (torch.rand(20 * nodes) < 0.1)
    edge_index = torch.stack((sources[keep], destinations[keep]))
    shown = torch.rand(nodes) < 0.1
    features = F.one_hot(community, 2) * shown[:, None] + 0.1 * torch.randn(nodes, 2)

    first, second = GATLayer(2, 8, heads=4), GATLayer(32, 2, heads=1)
    relation = first.relation(edge_index, nodes)
    optimiser = torch.optim.Adam([*first.parameters(), *second.parameters()], 1e-2)
    for _ in range(steps):
        logits = second(F.elu(first(features, relation)), relation)
        loss = F.cross_entropy(logits[shown], community[shown])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    accuracy = (logits.argmax(1) == community)[~shown].float().mean().item()
    print(f"{accuracy:.0%} of the nodes whose community the features do not show are right")
    return accuracy


if __name__ == "__main__":
    main()

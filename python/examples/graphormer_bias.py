# SPDX-License-Identifier: Apache-2.0
"""Attention between all nodes of small graphs, with a learned bias for their distance, as in Graphormer (Ying et al.
2021).

A batch of graphs is one relation: there is no padding, and each pair of nodes has one row in `edge_bias`.

`python graphormer_bias.py` learns the mean of a feature over the nodes at distance 2, which attention without biases does
not find.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from edgewise.torch import MultiheadAttention, Relation


def distances(edge_index: Tensor, nodes: int, largest: int) -> Tensor:
    """Returns the lengths of the shortest paths between nodes [destination, source], `largest` for longer ones."""
    adjacency = torch.zeros(nodes, nodes)
    adjacency[edge_index[1], edge_index[0]] = 1
    result = torch.full((nodes, nodes), largest)
    reached = torch.eye(nodes)
    for distance in range(largest):
        result[(reached > 0) & (result == largest)] = distance
        reached = reached @ adjacency
    return result


class GraphormerLayer(nn.Module):
    def __init__(self, size: int, heads: int, largest_distance: int) -> None:
        super().__init__()
        self.spatial_bias = nn.Embedding(largest_distance + 1, heads)
        self.attention = MultiheadAttention(size, heads)
        self.norms = nn.ModuleList(nn.LayerNorm(size) for _ in range(2))
        self.feed_forward = nn.Sequential(nn.Linear(size, 2 * size), nn.GELU(), nn.Linear(2 * size, size))

    def forward(self, relation: Relation, nodes: Tensor, distance: Tensor) -> Tensor:
        nodes = nodes + self.attention(relation, self.norms[0](nodes), edge_bias=self.spatial_bias(distance))
        result: Tensor = nodes + self.feed_forward(self.norms[1](nodes))
        return result


def main(graphs: int = 64, steps: int = 200) -> float:
    torch.manual_seed(0)
    sizes = torch.randint(8, 16, (graphs,)).tolist()
    parts = []
    for size in sizes:
        edges = (torch.rand(size, size) < 0.12).nonzero().T
        parts.append(distances(torch.cat((edges, edges.flip(0)), 1), size, 4))
    # The edges of `complete` are ordered by destination and source, as the flattened matrices are.
    relation = Relation.complete(sizes)
    distance = torch.cat([part.flatten() for part in parts])
    is_far = torch.block_diag(*[(part == 2).float() for part in parts])
    has_far = is_far.sum(1) > 0

    layer, read_out = GraphormerLayer(16, 4, 4), nn.Linear(16, 1)
    optimiser = torch.optim.Adam([*layer.parameters(), *read_out.parameters()], 1e-2)
    losses = []
    for _ in range(steps):
        # New features in each step, so that the layer cannot learn them by heart.
        features = torch.randn(relation.num_sources, 16)
        target = is_far @ features[:, 0] / is_far.sum(1)
        prediction = read_out(layer(relation, features, distance))[:, 0]
        loss = (prediction - target)[has_far].square().mean() / target[has_far].var()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    unexplained = sum(losses[-10:]) / 10
    print(f"unexplained share of the variance in the last 10 of {steps} steps: {unexplained:.2f}")
    return unexplained


if __name__ == "__main__":
    main()

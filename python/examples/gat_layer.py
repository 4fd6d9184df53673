# SPDX-License-Identifier: Apache-2.0
"""Two graph attention layers (Veličković et al. 2018) tell apart the two communities of a random graph.

    python gat_layer.py

trains `GATConv`, which has the weights and the meaning of PyG's, on the neighbours of each node.
"""

from __future__ import annotations

import torch
from torch.nn import functional as F

from edgewise.torch import GATConv


def main(nodes: int = 200, steps: int = 60) -> float:
    torch.manual_seed(0)
    community = torch.arange(nodes) % 2
    sources, destinations = torch.randint(nodes, (2, 20 * nodes))
    # Most edges stay within a community; one node in ten shows its community in its features.
    keep = (community[sources] == community[destinations]) | (torch.rand(20 * nodes) < 0.1)
    edge_index = torch.stack((sources[keep], destinations[keep]))
    shown = torch.rand(nodes) < 0.1
    features = F.one_hot(community, 2) * shown[:, None] + 0.1 * torch.randn(nodes, 2)

    first, second = GATConv(2, 8, heads=4), GATConv(32, 2, heads=1)
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

# SPDX-License-Identifier: Apache-2.0
"""The attention layer of DGL's tutorials on Transformers as graph networks, with one call in the place of its messages.

The tutorial sends messages with user-defined functions:

    g.apply_edges(src_dot_dst("K_h", "Q_h", "score"))
    g.apply_edges(scaled_exp("score", np.sqrt(self.out_dim)))       # exp((score / scale).clamp(-5, 5))
    g.send_and_recv(eids, fn.src_mul_edge("V_h", "score", "V_h"), fn.sum("V_h", "wV"))
    g.send_and_recv(eids, fn.copy_edge("score", "score"), fn.sum("score", "z"))
    head_out = g.ndata["wV"] / g.ndata["z"]

`python dgl_transformer_layer.py` compares both on a random graph, with the messages in plain PyTorch.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from edgewise.torch import Relation, attend


class MultiHeadAttentionLayer(nn.Module):
    """Takes a graph of DGL, or a Relation, which is faster where many calls share the edges."""

    def __init__(self, in_dim: int, out_dim: int, num_heads: int, use_bias: bool) -> None:
        super().__init__()
        self.out_dim, self.num_heads = out_dim, num_heads
        self.Q = nn.Linear(in_dim, out_dim * num_heads, bias=use_bias)
        self.K = nn.Linear(in_dim, out_dim * num_heads, bias=use_bias)
        self.V = nn.Linear(in_dim, out_dim * num_heads, bias=use_bias)

    def heads(self, h: Tensor) -> list[Tensor]:
        return [linear(h).view(-1, self.num_heads, self.out_dim) for linear in (self.Q, self.K, self.V)]

    def forward(self, g: Any, h: Tensor) -> Tensor:
        relation = g if isinstance(g, Relation) else Relation.from_dgl(g)
        return attend(relation, *self.heads(h), clamp=5.0)


def tutorial(edge_index: Tensor, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Returns what the tutorial's messages give."""
    sources, destinations = edge_index
    score = (key[sources] * query[destinations]).sum(-1, keepdim=True)
    weight = torch.exp((score / math.sqrt(query.shape[-1])).clamp(-5, 5))
    message = torch.zeros_like(value).index_add(0, destinations, value[sources] * weight)
    return message / torch.zeros_like(weight[:1]).expand(len(value), -1, -1).index_add(0, destinations, weight)


def main() -> float:
    torch.manual_seed(0)
    edge_index = torch.cat((torch.randint(50, (2, 400)), torch.arange(50).expand(2, 50)), 1)
    layer, h = MultiHeadAttentionLayer(16, 8, num_heads=4, use_bias=True), torch.randn(50, 16)
    expected = tutorial(edge_index, *layer.heads(h))
    difference = (layer(Relation.from_edge_index(edge_index, 50), h) - expected).abs().max().item()
    print(f"the largest difference from the tutorial's messages is {difference:.1e}")
    return difference


if __name__ == "__main__":
    main()

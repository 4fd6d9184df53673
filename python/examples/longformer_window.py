# SPDX-License-Identifier: Apache-2.0
"""Attention in a sliding window with some global tokens, as in Longformer (Beltagy et al. 2020).

Every token attends to the tokens near it and to the global tokens, and a global token attends to all tokens. The graph
is the mask: time and memory grow with the edges, not with the square of the length.

`python longformer_window.py` runs a layer over 4096 tokens and compares a shorter text with a dense mask.
"""

from __future__ import annotations

import time

import torch
from torch import Tensor

from edgewise.torch import MultiheadAttention, Relation


def sliding_window(length: int, reach: int, global_tokens: list[int]) -> Relation:
    """Connects token i to the tokens i - reach … i + reach, and global tokens to all tokens, both ways."""
    everything = torch.arange(length)
    parts = [Relation.window(length, reach, reach).edge_index()]
    for token in global_tokens:
        one = torch.full_like(everything, token)
        parts += [torch.stack((one, everything)), torch.stack((everything, one))]
    # Each edge once, ordered by destination and source.
    numbers = torch.cat([edges[1] * length + edges[0] for edges in parts]).unique()
    return Relation.from_edge_index(torch.stack((numbers % length, numbers // length)), length)


def dense_mask(length: int, reach: int, global_tokens: list[int]) -> Tensor:
    """Returns the same edges as a mask for torch.nn.functional.scaled_dot_product_attention."""
    mask = torch.ones(length, length).tril(reach).triu(-reach).bool()
    mask[global_tokens] = True
    mask[:, global_tokens] = True
    return mask


def main() -> float:
    torch.manual_seed(0)
    attention = MultiheadAttention(64, 4)
    with torch.no_grad():
        relation = sliding_window(4096, 128, [0])
        begin = time.perf_counter()
        attention(relation, torch.randn(4096, 64))
        print(f"{relation.num_edges} edges: {1e3 * (time.perf_counter() - begin):.0f} ms")

        tokens = torch.randn(200, 64)
        dense = torch.nn.MultiheadAttention(64, 4)
        dense.load_state_dict(attention.state_dict())
        expected = dense(tokens, tokens, tokens, attn_mask=~dense_mask(200, 16, [0, 7]), need_weights=False)[0]
        difference = (attention(sliding_window(200, 16, [0, 7]), tokens) - expected).abs().max().item()
    print(f"the largest difference from a dense mask is {difference:.1e}")
    return difference


if __name__ == "__main__":
    main()

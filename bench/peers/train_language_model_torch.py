#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a language model with PyTorch as a user would: scaled_dot_product_attention, causal or with the mask of a window
and the first tokens, and the fused Adam. The sizes are those of `edgewise bench train --size characters --length N`.

Prints one line of JSON. Texts are random tokens.
"""
import argparse
import math
import time

import torch
from torch import nn
from torch.nn import functional as F

from training_report import check_loss, print_report

VOCABULARY, LAYERS, HEADS, SIZE, FEED_FORWARD, DROPOUT = 65, 6, 6, 384, 1536, 0.1


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention_norm, self.feed_forward_norm = nn.LayerNorm(SIZE), nn.LayerNorm(SIZE)
        self.query_key_value, self.output = nn.Linear(SIZE, 3 * SIZE), nn.Linear(SIZE, SIZE)
        self.inner, self.outer = nn.Linear(SIZE, FEED_FORWARD), nn.Linear(FEED_FORWARD, SIZE)
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, x, mask):
        texts, length, _ = x.shape
        query, key, value = (part.view(texts, length, HEADS, -1).transpose(1, 2)
                             for part in self.query_key_value(self.attention_norm(x)).split(SIZE, -1))
        average = F.scaled_dot_product_attention(query, key, value, attn_mask=mask, is_causal=mask is None,
                                                 dropout_p=DROPOUT)
        x = x + self.dropout(self.output(average.transpose(1, 2).reshape(texts, length, SIZE)))
        return x + self.dropout(self.outer(F.relu(self.inner(self.feed_forward_norm(x)))))


class Model(nn.Module):
    def __init__(self, length):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, SIZE)
        self.positions = torch.randn(length, SIZE)
        self.blocks, self.norm = nn.ModuleList(Block() for _ in range(LAYERS)), nn.LayerNorm(SIZE)

    def forward(self, tokens, mask):
        x = self.embedding(tokens) * math.sqrt(SIZE) + self.positions
        for block in self.blocks:
            x = block(x, mask)
        return F.linear(self.norm(x), self.embedding.weight)


def make_mask(length, window, sinks):
    """Returns which tokens a token attends to, its row; None for all earlier ones."""
    if window == 0:
        return None
    distance = torch.arange(length)[:, None] - torch.arange(length)
    return (distance >= 0) & ((distance < window) | (torch.arange(length) < sinks))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--precision", choices=["fp32", "bf16"], required=True)
    parser.add_argument("--length", type=int, required=True)
    parser.add_argument("--window", type=int, default=0)
    parser.add_argument("--sinks", type=int, default=0)
    parser.add_argument("--tokens", type=int, default=4096)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--warmup", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()

    torch.set_num_threads(arguments.threads)
    torch.manual_seed(0)
    model, mask = Model(arguments.length), make_mask(arguments.length, arguments.window, arguments.sinks)
    optimiser = torch.optim.Adam(model.parameters(), lr=5e-4, betas=(0.9, 0.98), eps=1e-9, fused=True)
    times = []
    texts = max(arguments.tokens // arguments.length, 1)
    for step in range(arguments.warmup + arguments.steps):
        tokens = torch.randint(1, VOCABULARY, (texts, arguments.length + 1))
        begin = time.perf_counter()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=arguments.precision == "bf16"):
            logits = model(tokens[:, :-1], mask)
        loss = F.cross_entropy(logits.flatten(0, 1).float(), tokens[:, 1:].flatten(), label_smoothing=0.1)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        check_loss(step, loss.item())
        if step >= arguments.warmup:
            times.append(time.perf_counter() - begin)

    print_report(texts * arguments.length * len(times), times)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains PyTorch's nn.Transformer as a user would: padded batches of sentences of similar length, the fused Adam.

Prints one line of JSON. Sentences are as long as those of two files would be in subwords; tokens are random numbers.
"""
import argparse
import itertools
import math
import random
import time

import torch
from torch import nn
from torch.nn import functional as F

from training_report import check_loss, print_report

VOCABULARY = 10_000
PADDING = 0
SIZES = {  # size, feed-forward, heads, encoder layers, decoder layers
    "tiny": (128, 256, 4, 4, 4),
    "small": (256, 1024, 4, 2, 2),
    "base": (512, 2048, 8, 6, 6),
}


class Model(nn.Module):
    def __init__(self, size, feed_forward, heads, encoder_layers, decoder_layers):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, size, padding_idx=PADDING)
        self.transformer = nn.Transformer(
            size, heads, encoder_layers, decoder_layers, feed_forward, dropout=0.1, batch_first=True, norm_first=True)
        self.scale = math.sqrt(size)
        self.positions = torch.randn(1, 512, size)

    def embed(self, tokens):
        return self.embedding(tokens) * self.scale + self.positions[:, :tokens.size(1)]

    def forward(self, inputs, outputs):
        future = nn.Transformer.generate_square_subsequent_mask(outputs.size(1))
        input_padding, output_padding = padding_bias(inputs), padding_bias(outputs)
        state = self.transformer(
            self.embed(inputs), self.embed(outputs), tgt_mask=future, tgt_is_causal=True,
            src_key_padding_mask=input_padding, tgt_key_padding_mask=output_padding,
            memory_key_padding_mask=input_padding)
        return F.linear(state, self.embedding.weight)


def padding_bias(tokens):
    padding = tokens == PADDING
    return padding.float().masked_fill(padding, float("-inf"))


def sentence_lengths(input_file, output_file):
    def subwords(sentence):
        return len(sentence.split()) * 5 // 4 + 1

    with open(input_file, encoding="utf-8") as inputs, open(output_file, encoding="utf-8") as outputs:
        return [(subwords(a), subwords(b)) for a, b in zip(inputs, outputs)][:20_000]


def length_batches(lengths):
    """Returns batches of pairs of similar length, about 4096 output tokens with padding, in random order."""
    batches, batch = [], []
    for pair in sorted(lengths):
        batch.append(pair)
        if max(length for _, length in batch) * len(batch) >= 4096:
            batches.append(batch)
            batch = []
    random.shuffle(batches)
    return batches


def random_batch(lengths):
    inputs = torch.full((len(lengths), max(n for n, _ in lengths)), PADDING)
    outputs = torch.full((len(lengths), max(m for _, m in lengths) + 1), PADDING)
    for row, (n, m) in enumerate(lengths):
        inputs[row, :n] = torch.randint(1, VOCABULARY, (n,))
        outputs[row, :m + 1] = torch.randint(1, VOCABULARY, (m + 1,))
    return inputs, outputs


def train_step(model, optimiser, inputs, outputs, precision):
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=precision == "bf16"):
        logits = model(inputs, outputs[:, :-1])
    labels = outputs[:, 1:]
    loss = F.cross_entropy(
        logits.reshape(-1, VOCABULARY).float(), labels.reshape(-1), ignore_index=PADDING, label_smoothing=0.1)
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    return loss.item(), int((labels != PADDING).sum())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=SIZES, required=True)
    parser.add_argument("--precision", choices=["fp32", "bf16"], required=True)
    parser.add_argument("--input", required=True)
    parser.add_argument("--output", required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--warmup", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()

    torch.set_num_threads(arguments.threads)
    torch.manual_seed(0)
    random.seed(0)
    model = Model(*SIZES[arguments.size])
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9, fused=True)
    batches = itertools.cycle(length_batches(sentence_lengths(arguments.input, arguments.output)))
    num_steps = arguments.warmup + arguments.steps

    times, tokens = [], 0
    for step, (inputs, outputs) in enumerate([random_batch(next(batches)) for _ in range(num_steps)]):
        begin = time.perf_counter()
        loss, output_tokens = train_step(model, optimiser, inputs, outputs, arguments.precision)
        check_loss(step, loss)
        if step >= arguments.warmup:
            times.append(time.perf_counter() - begin)
            tokens += output_tokens

    print_report(tokens, times)


if __name__ == "__main__":
    main()

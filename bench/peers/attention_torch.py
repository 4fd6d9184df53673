#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures attention on a graph with PyTorch's scaled_dot_product_attention.

Sentences are padded; for other graphs, one dense mask covers all nodes.

Prints one line of JSON.
"""
import argparse
import json

import torch
from torch.nn import functional as F

from attention_cases import CASES, measure, random_inputs

HIDDEN = -1e9  # a finite bias: rows of padding have no sources, and minus infinity would make them NaN


def padded(case, inputs):
    """Returns the inputs as [sentence, head, token, component], the edges as a bias, and a function back to nodes."""
    longest = max(case.lengths)
    real = torch.arange(longest) < torch.tensor(case.lengths)[:, None]
    slots = torch.zeros(case.nodes, 2, dtype=torch.long)
    slots[:, 0], slots[:, 1] = real.nonzero(as_tuple=True)

    def pad(x):
        out = torch.zeros(len(case.lengths), longest, case.heads, case.head_size)
        out[real] = x.detach()
        return out.transpose(1, 2).contiguous().requires_grad_()

    bias = torch.full((len(case.lengths), 1, longest, longest), HIDDEN)
    sentence = slots[case.sources, 0]
    bias[sentence, 0, slots[case.destinations, 1], slots[case.sources, 1]] = 0.0
    return [pad(x) for x in inputs], bias, lambda result: result.transpose(1, 2)[real]


def dense(case, inputs):
    def as_one_sentence(x):
        return x.detach().transpose(0, 1)[None].contiguous().requires_grad_()

    # A repeated edge has twice the weight.
    edges = torch.zeros(case.nodes, case.nodes)
    edges.index_put_((case.destinations, case.sources), torch.ones(()), accumulate=True)
    bias = edges.log().clamp_(min=HIDDEN)
    return [as_one_sentence(x) for x in inputs], bias, lambda result: result[0].transpose(0, 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", choices=CASES, required=True)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()

    torch.set_num_threads(arguments.threads)
    case = CASES[arguments.case]()
    inputs = random_inputs(case)
    leaves, bias, to_nodes = (padded if case.lengths else dense)(case, inputs)
    figures = measure(case, inputs, lambda *qkv: F.scaled_dot_product_attention(*qkv, attn_mask=bias), leaves, to_nodes,
                      arguments.repetitions)
    print(json.dumps({**figures, "version": f"torch {torch.__version__}"}))


if __name__ == "__main__":
    main()

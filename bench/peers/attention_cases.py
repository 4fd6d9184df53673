# SPDX-License-Identifier: Apache-2.0
"""The relations, sizes and measurements of the attention benchmarks of other programs."""
import dataclasses
import math
import random
import statistics
import time

import torch


@dataclasses.dataclass
class Case:
    sources: torch.Tensor  # the source of each edge; edges are sorted by destination
    destinations: torch.Tensor
    nodes: int
    heads: int
    head_size: int
    lengths: list = None  # nodes per sentence, or None if the nodes are no sentences
    clamp: float = math.inf  # scores are clamped to ±clamp


def sentences(heads, head_size, causal=False):
    """128 sentences of 6 to 28 tokens; a token attends to its whole sentence, or if causal up to itself."""
    random.seed(0)
    lengths = [random.randint(6, 28) for _ in range(128)]
    sources, destinations, begin = [], [], 0
    for length in lengths:
        tokens = torch.arange(length)
        source, destination = tokens.repeat(length), tokens.repeat_interleave(length)
        if causal:
            past = source <= destination
            source, destination = source[past], destination[past]
        sources.append(source + begin)
        destinations.append(destination + begin)
        begin += length
    return Case(torch.cat(sources), torch.cat(destinations), begin, heads, head_size, lengths)


def window(nodes=4096, width=128):
    """Nodes in a row, each of which attends to the `width` nodes before it and after it."""
    destination = torch.arange(nodes).repeat_interleave(2 * width + 1)
    source = destination + torch.arange(-width, width + 1).repeat(nodes)
    inside = (source >= 0) & (source < nodes)
    return Case(source[inside], destination[inside], nodes, 8, 64)


def random_graph(nodes=8192, degree=32):
    torch.manual_seed(1)
    return Case(torch.randint(0, nodes, (nodes * degree,)), torch.arange(nodes).repeat_interleave(degree), nodes, 8, 64)


CASES = {
    "sentences": lambda: sentences(8, 64),
    "causal": lambda: sentences(8, 64, causal=True),
    "small": lambda: sentences(4, 32),
    "window": window,
    "random": random_graph,
}


def random_inputs(case):
    """Returns query, key and value, [node, head, component]."""
    torch.manual_seed(0)
    return [torch.randn(case.nodes, case.heads, case.head_size, requires_grad=True) for _ in range(3)]


def largest_error(case, inputs, result):
    """Returns the largest difference of about 50 rows from the definition in fp64."""
    query, key, value = [x.detach().double() for x in inputs]
    worst = 0.0
    for node in range(0, case.nodes, max(case.nodes // 50, 1)):
        sources = case.sources[case.destinations == node]
        scores = torch.einsum("hk,ehk->he", query[node], key[sources]) / math.sqrt(case.head_size)
        weights = torch.softmax(scores.clamp(-case.clamp, case.clamp), dim=1)
        expected = torch.einsum("he,ehk->hk", weights, value[sources])
        worst = max(worst, (result[node].detach().double() - expected).abs().max().item())
    return worst


def measure(case, inputs, attend, leaves=None, to_nodes=lambda result: result, repetitions=5):
    """Returns the milliseconds of forward, and of forward and backward (median and mean), and the error of the result.
    `leaves` are the arguments of attend() if they are not the inputs; their gradients are computed anew each time."""
    leaves = leaves or inputs
    result = attend(*leaves)
    error = largest_error(case, inputs, to_nodes(result))
    if not error < 1e-3:
        raise ValueError(f"differs from the definition by {error:.2e}")
    gradient = torch.randn_like(result)

    def forward():
        with torch.no_grad():
            attend(*leaves)

    def forward_backward():
        for leaf in leaves:
            leaf.grad = None
        attend(*leaves).backward(gradient)

    forward_ms, total_ms = times_ms(forward, repetitions), times_ms(forward_backward, repetitions)
    return {"forward_ms": statistics.median(forward_ms), "forward_mean_ms": statistics.mean(forward_ms),
            "total_ms": statistics.median(total_ms), "total_mean_ms": statistics.mean(total_ms), "error": error}


def times_ms(run, repetitions):
    warm = time.perf_counter() + 0.3
    run()
    while time.perf_counter() < warm:
        run()
    times = []
    for _ in range(repetitions):
        begin = time.perf_counter()
        run()
        times.append(1e3 * (time.perf_counter() - begin))
    return times

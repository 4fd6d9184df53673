# SPDX-License-Identifier: Apache-2.0
"""The graphs, inputs and measurements of the message passing benchmarks of other programs.

The cases of attention are those of attention_cases.py, with any number and size of heads. The case power-law has single
operations, whose definitions are here.
"""
import argparse
import dataclasses
import math
import statistics

import torch

import attention_cases
from peak_memory import memory_growth

ATTENTION = ("sentences", "window", "random")
TOLERANCE = 1e-3  # of the largest number of a tensor


def power_law(heads, head_size, nodes=100_000, edges=2_000_000):
    """Both ends of an edge are node n with a probability in proportion to 1 / (n + 1), nearly."""
    torch.manual_seed(1)
    ends = torch.exp(torch.rand(2, edges, dtype=torch.double) * math.log(nodes + 1)).long() - 1
    destinations, order = ends[1].sort(stable=True)
    return attention_cases.Case(ends[0][order], destinations, nodes, heads, head_size)


def make_case(name, heads, head_size):
    if name == "power-law":
        return power_law(heads, head_size)
    return dataclasses.replace(attention_cases.CASES[name](), heads=heads, head_size=head_size)


def make_inputs(case, way, has_gradient):
    """Returns the tensors that an operation reads: rows of nodes, and weights of edges or more rows of nodes.
    `has_gradient` says whether weights of edges require a gradient; the others do."""
    torch.manual_seed(0)
    rows = [torch.randn(case.nodes, case.heads, case.head_size) for _ in range(2 if way == "dot" else 1)]
    weights = [torch.rand(len(case.sources), case.heads, 1)] if way == "sum" else []
    return [x.requires_grad_() for x in rows] + [x.requires_grad_(has_gradient) for x in weights]


def define(case, way, rows, other=None):
    """The definition of an operation, which has a tensor of all messages."""
    if way == "dot":
        return (rows[case.sources] * other[case.destinations]).sum(-1, keepdim=True)
    messages = rows[case.sources] * other if way == "sum" else rows[case.sources]
    zeros = torch.zeros(case.nodes, case.heads, case.head_size, dtype=rows.dtype)
    if way == "max":
        place = case.destinations[:, None, None].expand_as(messages)
        return zeros.scatter_reduce(0, place, messages, "amax", include_self=False)
    total = zeros.index_add(0, case.destinations, messages)
    if way == "sum":
        return total
    return total / torch.bincount(case.destinations, minlength=case.nodes).clamp(min=1)[:, None, None]


def result_and_gradients(run, inputs, gradient):
    """Returns the result, and the gradients of the inputs that require one."""
    result = run(*inputs)
    leaves = [x for x in inputs if x.requires_grad]
    return [result, *torch.autograd.grad(result, leaves, gradient.to(result.dtype).view_as(result))]


def check(way, make, has_gradient):
    """Returns the largest difference from the definition in fp64 on a smaller graph, in parts of the largest number of a
    tensor."""
    case = power_law(1, 64, nodes=1000, edges=20_000)
    inputs, run = make_inputs(case, way, has_gradient), make(case)
    gradient = torch.randn_like(run(*inputs))
    ours = result_and_gradients(run, inputs, gradient)
    doubles = [x.detach().double().requires_grad_(x.requires_grad) for x in inputs]
    expected = result_and_gradients(lambda *x: define(case, way, *x), doubles, gradient)
    error = max(((x.double() - y.view_as(x)).abs().max() / max(1.0, y.abs().max().item())).item()
                for x, y in zip(ours, expected))
    if not error < TOLERANCE:
        raise ValueError(f"differs from the definition by {error:.2e}")
    return error


def measure_operation(case, way, make, repetitions=5, has_gradient=True):
    """Returns the milliseconds of the operation make(case) forward, and forward and backward (medians), and the memory that it
    needs beyond inputs, result and gradients, in bytes and as a share of these."""
    error = check(way, make, has_gradient)
    inputs, run = make_inputs(case, way, has_gradient), make(case)
    with torch.no_grad():
        gradient = torch.randn_like(run(*inputs))

    def forward():
        with torch.no_grad():
            run(*inputs)

    kept = []

    def forward_backward():
        kept.clear()
        kept.extend(result_and_gradients(run, inputs, gradient))

    forward_backward()  # loads the code, and makes what the graph keeps
    kept.clear()
    growth = memory_growth(forward_backward)
    results = sum(x.nbytes for x in kept)
    extra = max(growth - results, 0)
    kept.clear()
    return {"forward_ms": statistics.median(attention_cases.times_ms(forward, repetitions)),
            "total_ms": statistics.median(attention_cases.times_ms(forward_backward, repetitions)),
            "extra_memory_bytes": extra, "extra_memory_share": extra / (results + sum(x.nbytes for x in inputs)),
            "error": error}


def measure_attention(case, attend, repetitions=5):
    return attention_cases.measure(case, attention_cases.random_inputs(case), attend, repetitions=repetitions)


def parse_arguments(description, ways, cases=(*ATTENTION, "power-law"), **more):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--case", choices=cases, required=True)
    parser.add_argument("--way", choices=ways, required=True)
    for name, choices in more.items():
        parser.add_argument(f"--{name}", choices=choices, required=True)
    parser.add_argument("--heads", type=int)
    parser.add_argument("--head-size", type=int, default=64)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    if arguments.heads is None:
        arguments.heads = 8 if arguments.case in ATTENTION else 1
    torch.set_num_threads(arguments.threads)
    return arguments

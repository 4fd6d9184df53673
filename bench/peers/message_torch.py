#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures single operations of message passing on a graph with a power law: with PyG's scatter, which reduces a tensor
of all messages, or with torch.sparse, whose matrix in CSR has an edge as an element. torch.sparse computes no gradient of the weights of edges, because it would make a
dense matrix of all nodes and all nodes.

Prints one line of JSON.
"""
import json
import warnings

import torch
import torch_geometric
from torch_geometric.utils import scatter

from message_cases import make_case, measure_operation, parse_arguments

WAYS = ["sum", "mean", "max", "dot"]


def with_scatter(case, way):
    def reduce(messages):
        return scatter(messages, case.destinations, dim=0, dim_size=case.nodes, reduce=way)

    return {
        "sum": lambda rows, weights: reduce(rows[case.sources] * weights),
        "mean": lambda rows: reduce(rows[case.sources]),
        "max": lambda rows: reduce(rows[case.sources]),
        "dot": lambda rows, others: (rows[case.sources] * others[case.destinations]).sum(-1, keepdim=True),
    }[way]


def with_sparse(case, way):
    if case.heads != 1:
        raise SystemExit("message_torch.py: torch.sparse has matrices of one number for each edge, needs --heads 1")
    starts = torch.searchsorted(case.destinations, torch.arange(case.nodes + 1))

    def matrix(values):
        return torch.sparse_csr_tensor(starts, case.sources, values, (case.nodes, case.nodes))

    ones = torch.ones(len(case.sources))

    def weighted_sum(rows, weights):
        return torch.sparse.mm(matrix(weights.flatten()), rows.flatten(1)).view_as(rows)

    def reduce(rows):
        name = {"mean": "mean", "max": "amax"}[way]
        return torch.sparse.mm(matrix(ones), rows.flatten(1), name).view_as(rows)

    def dot(rows, others):
        product = torch.sparse.sampled_addmm(matrix(ones), others.flatten(1), rows.flatten(1).t(), beta=0.0)
        return product.values().view(-1, 1, 1)

    return {"sum": weighted_sum, "mean": reduce, "max": reduce, "dot": dot}[way]


def main():
    warnings.filterwarnings("ignore", message="Sparse")  # its support is in beta state; invariants are not checked
    arguments = parse_arguments(__doc__, WAYS, cases=["power-law"], library=["scatter", "sparse"])
    case = make_case(arguments.case, arguments.heads, arguments.head_size)
    make = {"scatter": with_scatter, "sparse": with_sparse}[arguments.library]
    figures = measure_operation(case, arguments.way, lambda some: make(some, arguments.way), arguments.repetitions,
                                has_gradient=arguments.library == "scatter")
    version = f"torch {torch.__version__}"
    if arguments.library == "scatter":
        version = f"PyG {torch_geometric.__version__}, {version}"
    print(json.dumps({**figures, "version": version}))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures attention on a graph with DGL: its built-in operations, or the functions of its Transformer tutorial.

Prints one line of JSON.
"""
import argparse
import json
import math

import dgl
import torch
from dgl import function as fn
from dgl.nn.functional import edge_softmax

from attention_cases import CASES, measure, random_inputs


def built_in(graph, query, key, value):
    scores = dgl.ops.u_dot_v(graph, key, query) / math.sqrt(query.size(-1))
    return dgl.ops.u_mul_e_sum(graph, value, edge_softmax(graph, scores))


TUTORIAL_CLAMP = 5.0


def tutorial(graph, query, key, value):
    scale = math.sqrt(query.size(-1))
    with graph.local_scope():
        graph.ndata.update(q=query, k=key, v=value)
        graph.apply_edges(lambda edges: {"score": (edges.src["k"] * edges.dst["q"]).sum(-1, keepdim=True)})
        graph.apply_edges(lambda edges: {
            "score": torch.exp((edges.data["score"] / scale).clamp(-TUTORIAL_CLAMP, TUTORIAL_CLAMP))})
        graph.update_all(fn.u_mul_e("v", "score", "wv"), fn.sum("wv", "wv"))
        graph.update_all(fn.copy_e("score", "score"), fn.sum("score", "z"))
        return graph.ndata["wv"] / graph.ndata["z"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", choices=CASES, required=True)
    parser.add_argument("--way", choices=["built-in", "tutorial"], required=True)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()

    torch.set_num_threads(arguments.threads)
    case = CASES[arguments.case]()
    if arguments.way == "tutorial":
        case.clamp = TUTORIAL_CLAMP
    graph = dgl.graph((case.sources, case.destinations), num_nodes=case.nodes)
    graph.create_formats_()
    inputs = random_inputs(case)
    attend = {"built-in": built_in, "tutorial": tutorial}[arguments.way]
    figures = measure(case, inputs, lambda *leaves: attend(graph, *leaves))
    print(json.dumps({**figures, "version": f"DGL {dgl.__version__}, torch {torch.__version__}"}))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures message passing with DGL: attention by its built-in operations, by the functions of its Transformer tutorial,
or by a message function and a reduce function of the user; and single operations on a graph with a power law.

Prints one line of JSON.
"""
import functools
import json
import math

import dgl
import torch
from dgl import function as fn

from attention_dgl import TUTORIAL_CLAMP, built_in, tutorial
from message_cases import ATTENTION, make_case, measure_attention, measure_operation, parse_arguments


def make_graph(case):
    graph = dgl.graph((case.sources, case.destinations), num_nodes=case.nodes)
    graph.create_formats_()
    return graph


def functions(graph, query, key, value):
    scale = math.sqrt(query.size(-1))

    def send(edges):
        return {"score": (edges.src["k"] * edges.dst["q"]).sum(-1, keepdim=True), "v": edges.src["v"]}

    def average(nodes):
        weights = torch.softmax(nodes.mailbox["score"] / scale, dim=1)
        return {"out": (weights * nodes.mailbox["v"]).sum(1)}

    with graph.local_scope():
        graph.ndata.update(q=query, k=key, v=value)
        graph.update_all(send, average)
        return graph.ndata["out"]


def weighted_sum(graph, rows, weights):
    with graph.local_scope():
        graph.ndata["x"], graph.edata["w"] = rows, weights
        graph.update_all(fn.u_mul_e("x", "w", "m"), fn.sum("m", "out"))
        return graph.ndata["out"]


def reduce_copies(reduction):
    def run(graph, rows):
        with graph.local_scope():
            graph.ndata["x"] = rows
            graph.update_all(fn.copy_u("x", "m"), reduction("m", "out"))
            return graph.ndata["out"]
    return run


def dot(graph, rows, others):
    with graph.local_scope():
        graph.ndata["x"], graph.ndata["y"] = rows, others
        graph.apply_edges(fn.u_dot_v("x", "y", "out"))
        return graph.edata["out"]


ATTENTION_WAYS = {"built-in": built_in, "tutorial": tutorial, "functions": functions}
OPERATIONS = {"sum": weighted_sum, "mean": reduce_copies(fn.mean), "max": reduce_copies(fn.max), "dot": dot}


def main():
    arguments = parse_arguments(__doc__, [*ATTENTION_WAYS, *OPERATIONS])
    case = make_case(arguments.case, arguments.heads, arguments.head_size)
    if arguments.way == "tutorial":
        case.clamp = TUTORIAL_CLAMP
    if arguments.case in ATTENTION:
        graph, attend = make_graph(case), ATTENTION_WAYS[arguments.way]
        figures = measure_attention(case, lambda *inputs: attend(graph, *inputs), arguments.repetitions)
    else:
        figures = measure_operation(case, arguments.way,
                                    lambda some: functools.partial(OPERATIONS[arguments.way], make_graph(some)),
                                    arguments.repetitions)
    print(json.dumps({**figures, "version": f"DGL {dgl.__version__}, torch {torch.__version__}"}))


if __name__ == "__main__":
    main()

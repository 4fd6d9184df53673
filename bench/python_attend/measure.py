#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures attention on a graph in PyTorch: with edgewise.torch, with PyG's message passing, or with FlexAttention; and
layers of both libraries.

Prints one line of JSON.
"""
import argparse
import json
import math
import pathlib
import statistics
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "peers"))
from attention_cases import CASES, largest_error, measure, random_inputs, times_ms  # noqa: E402

LAYER_SIZES = {"in_channels": 128, "out_channels": 16, "heads": 8}
EDGE_SIZE = 16
LAYER_CLASSES = {"gat": "GATConv", "transformer": "TransformerConv"}


def relation_of(case):
    from edgewise.torch import Relation

    return Relation.from_edge_index(torch.stack((case.sources, case.destinations)), case.nodes)


def edgewise(case, inputs):
    from edgewise.torch import attend

    relation = relation_of(case)
    return measure(case, inputs, lambda *leaves: attend(relation, *leaves), repetitions=20)  # like edgewise bench


def pyg(case, inputs):
    """The messages of PyG's TransformerConv and GATConv: gather, softmax by scatter, scatter."""
    from torch_geometric.nn import MessagePassing
    from torch_geometric.utils import softmax

    class DotProductAttention(MessagePassing):
        def __init__(self):
            super().__init__(aggr="add", node_dim=0)

        def forward(self, query, key, value, edge_index):
            return self.propagate(edge_index, query=query, key=key, value=value)

        def message(self, query_i, key_j, value_j, index, ptr, size_i):
            score = (query_i * key_j).sum(-1) / math.sqrt(query_i.shape[-1])
            return value_j * softmax(score, index, ptr, size_i)[..., None]

    layer, edge_index = DotProductAttention(), torch.stack((case.sources, case.destinations))
    return measure(case, inputs, lambda *leaves: layer(*leaves, edge_index))


def flex(case, inputs):
    """FlexAttention, which has no backward pass on the CPU."""
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    counts = torch.zeros(case.nodes, case.nodes)
    counts.index_put_((case.destinations, case.sources), torch.ones(()), accumulate=True)
    is_edge, bias = counts > 0, counts.clamp(min=1).log()
    has_equal_edges = bool((counts > 1).any())
    block_mask = create_block_mask(lambda b, h, d, s: is_edge[d, s], None, None, case.nodes, case.nodes, device="cpu")
    compiled = torch.compile(flex_attention, dynamic=False)
    leaves = [x.detach().transpose(0, 1)[None].contiguous() for x in inputs]

    def attend():
        score_mod = (lambda score, b, h, d, s: score + bias[d, s]) if has_equal_edges else None
        with torch.no_grad():
            return compiled(*leaves, score_mod=score_mod, block_mask=block_mask)

    error = largest_error(case, inputs, attend()[0].transpose(0, 1))
    if not error < 1e-3:
        raise ValueError(f"differs from the definition by {error:.2e}")
    times = times_ms(attend, 5)
    return {"forward_ms": statistics.median(times), "forward_mean_ms": statistics.mean(times), "error": error}


def make_layers(name, edge_index):
    """Returns a layer of edgewise.torch and PyG's layer with the same parameters, as functions of the nodes' states."""
    import edgewise.torch
    import torch_geometric.nn

    has_attributes = name == "transformer"
    sizes = {**LAYER_SIZES, "edge_dim": EDGE_SIZE} if has_attributes else LAYER_SIZES
    attributes = [torch.randn(edge_index.shape[1], EDGE_SIZE)] if has_attributes else []
    theirs = getattr(torch_geometric.nn, LAYER_CLASSES[name])(**sizes)
    ours = getattr(edgewise.torch, LAYER_CLASSES[name])(**sizes)
    ours.load_state_dict(theirs.state_dict())
    return lambda x: ours(x, edge_index, *attributes), lambda x: theirs(x, edge_index, *attributes)


def layer(case, way):
    torch.manual_seed(0)
    ours, theirs = make_layers(way.removesuffix("-pyg"), torch.stack((case.sources, case.destinations)))
    x = torch.randn(case.nodes, LAYER_SIZES["in_channels"], requires_grad=True)
    error = (ours(x) - theirs(x)).abs().max().item()
    if not error < 1e-3:
        raise ValueError(f"the layers differ by {error:.2e}")
    run = theirs if way.endswith("-pyg") else ours
    gradient = torch.randn_like(run(x))

    def forward():
        with torch.no_grad():
            run(x)

    figures = {"error": error}
    for name, step in (("forward", forward), ("total", lambda: run(x).backward(gradient))):
        times = times_ms(step, 9)
        figures |= {f"{name}_ms": statistics.median(times), f"{name}_mean_ms": statistics.mean(times)}
    return figures


WAYS = {"edgewise": edgewise, "pyg": pyg, "flex": flex}
LAYER_WAYS = [name + library for name in LAYER_CLASSES for library in ("", "-pyg")]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", choices=CASES, required=True)
    parser.add_argument("--way", choices=[*WAYS, *LAYER_WAYS], required=True)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()

    torch.set_num_threads(arguments.threads)
    case = CASES[arguments.case]()
    way = arguments.way
    figures = layer(case, way) if way in LAYER_WAYS else WAYS[way](case, random_inputs(case))
    version = f"torch {torch.__version__}"
    if "pyg" in way:
        import torch_geometric
        version = f"PyG {torch_geometric.__version__}, {version}"
    print(json.dumps({**figures, "version": version}))


if __name__ == "__main__":
    main()

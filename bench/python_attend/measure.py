#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures attention on a graph in PyTorch: with edgewise.torch, with PyG's message passing, or with FlexAttention.

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

GAT_SIZES = {"in_channels": 128, "out_channels": 16, "heads": 8}


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


def gat_layers(case):
    """Returns PyG's GATConv, and the layer of python/examples with its parameters."""
    from torch_geometric.nn import GATConv

    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python/examples"))
    from gat_layer import GATLayer

    torch.manual_seed(0)
    theirs = GATConv(**GAT_SIZES)
    ours = GATLayer(**GAT_SIZES)
    ours.load_state_dict(theirs.state_dict())
    return theirs, ours


def gat(case, way):
    theirs, ours = gat_layers(case)
    edge_index = torch.stack((case.sources, case.destinations))
    x = torch.randn(case.nodes, GAT_SIZES["in_channels"], requires_grad=True)
    relation = ours.relation(edge_index, case.nodes)
    error = (ours(x, relation) - theirs(x, edge_index)).abs().max().item()
    if not error < 1e-3:
        raise ValueError(f"the layers differ by {error:.2e}")
    run = (lambda: ours(x, relation)) if way == "gat" else (lambda: theirs(x, edge_index))
    gradient = torch.randn_like(run())

    def forward():
        with torch.no_grad():
            run()

    figures = {"error": error}
    for name, step in (("forward", forward), ("total", lambda: run().backward(gradient))):
        times = times_ms(step, 9)
        figures |= {f"{name}_ms": statistics.median(times), f"{name}_mean_ms": statistics.mean(times)}
    return figures


WAYS = {"edgewise": edgewise, "pyg": pyg, "flex": flex}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", choices=CASES, required=True)
    parser.add_argument("--way", choices=[*WAYS, "gat", "gat-pyg"], required=True)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()

    torch.set_num_threads(arguments.threads)
    case = CASES[arguments.case]()
    way = arguments.way
    figures = gat(case, way) if way.startswith("gat") else WAYS[way](case, random_inputs(case))
    version = f"torch {torch.__version__}"
    if "pyg" in way:
        import torch_geometric
        version = f"PyG {torch_geometric.__version__}, {version}"
    print(json.dumps({**figures, "version": version}))


if __name__ == "__main__":
    main()

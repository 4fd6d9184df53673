# SPDX-License-Identifier: Apache-2.0
"""Attention and message passing on graphs, as operations of PyTorch.

    import torch
    from edgewise.torch import Relation, attend

    relation = Relation.causal(lengths=[5, 3])            # two sentences, nothing is padded
    query, key, value = torch.randn(3, 8, 4, 16).unbind() # 8 nodes, 4 heads of size 16
    out = attend(relation, query, key, value)

A relation says which node may attend to which. A Graph has columns of tensors, and passes messages with the names of
DGL:

    import edgewise.torch.function as fn
    from edgewise.torch import graph

    g = graph(([0, 1, 2], [1, 2, 2]))
    g.ndata["h"] = torch.randn(3, 16)
    g.update_all(fn.copy_u("h", "m"), fn.mean("m", "h"))

The operations run on the CPU, in float32, bfloat16 and float64. They have gradients, and torch.compile traces those on
relations.
"""

try:
    import torch as _torch
except ModuleNotFoundError as _error:
    if _error.name != "torch":
        raise
    raise ModuleNotFoundError("edgewise.torch: torch is not installed, needs version 2.10 or newer; run pip install "
                              "torch", name="torch") from None
del _torch

from . import function, score
from ._attend import attend, attention_weights
from ._batches import EdgeBatch, NodeBatch
from ._edges import aggregate, edge_softmax
from ._gat import GATConv
from ._graph import Graph
from ._graph_batch import batch, unbatch
from ._graph_builders import graph, heterograph, pair_graph
from ._multihead import MultiheadAttention
from ._relation import Relation
from ._transformer_conv import TransformerConv

__all__ = [
    "EdgeBatch",
    "GATConv",
    "Graph",
    "MultiheadAttention",
    "NodeBatch",
    "Relation",
    "TransformerConv",
    "aggregate",
    "attend",
    "attention_weights",
    "batch",
    "edge_softmax",
    "function",
    "graph",
    "heterograph",
    "pair_graph",
    "score",
    "unbatch",
]

for _public in (EdgeBatch, GATConv, Graph, MultiheadAttention, NodeBatch, Relation, TransformerConv, aggregate, attend,
                attention_weights, batch, edge_softmax, graph, heterograph, pair_graph, unbatch):
    _public.__module__ = __name__
del _public

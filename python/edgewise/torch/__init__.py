# SPDX-License-Identifier: Apache-2.0
"""Attention on graphs, as operations of PyTorch: a relation says which node may attend to which.

    import torch
    from edgewise.torch import Relation, attend

    relation = Relation.causal(lengths=[5, 3])            # two sentences, nothing is padded
    query, key, value = torch.randn(3, 8, 4, 16).unbind() # 8 nodes, 4 heads of size 16
    out = attend(relation, query, key, value)

The operations run on the CPU, in float32, bfloat16 and float64. They have gradients, and torch.compile traces them.
"""

try:
    import torch as _torch
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    raise ModuleNotFoundError("edgewise.torch: torch is not installed, needs version 2.10 or newer; run pip install "
                              "torch", name="torch") from None
del _torch

from ._attend import attend, attention_weights
from ._edges import aggregate, edge_softmax
from ._multihead import MultiheadAttention
from ._relation import Relation

__all__ = [
    "MultiheadAttention",
    "Relation",
    "aggregate",
    "attend",
    "attention_weights",
    "edge_softmax",
]

for _public in (MultiheadAttention, Relation, aggregate, attend, attention_weights, edge_softmax):
    _public.__module__ = __name__
del _public

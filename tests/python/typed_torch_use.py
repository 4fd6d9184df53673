# SPDX-License-Identifier: Apache-2.0
"""A program that mypy checks with --strict: each call has the type that edgewise.torch promises."""
import torch
from torch import Tensor, nn
from typing_extensions import assert_type

from edgewise.torch import MultiheadAttention, Relation, aggregate, attend, attention_weights, edge_softmax

relation = Relation.from_edge_index(torch.zeros(2, 0, dtype=torch.long), (3, 4))
assert_type(relation, Relation)
assert_type(Relation.causal([3, 4]), Relation)
assert_type(Relation.batch([relation, Relation.window(3, before=1)]), Relation)
assert_type(relation.num_edges, int)
assert_type(relation.edge_index(), Tensor)
nodes = torch.zeros(4, 1, 8)
assert_type(attend(relation, nodes, nodes, nodes, edge_bias=None, dropout=0.1, scale=1.0), Tensor)
assert_type(attention_weights(relation, nodes, nodes), Tensor)
assert_type(aggregate(relation, edge_softmax(relation, torch.zeros(0, 1)), nodes), Tensor)
assert_type(MultiheadAttention.from_torch(nn.MultiheadAttention(8, 2)), MultiheadAttention)

Relation.causal(3.5)  # type: ignore[arg-type]
attend(relation, nodes, nodes)  # type: ignore[call-arg]
attend(3, nodes, nodes, nodes)  # type: ignore[arg-type]
Relation.window(3, 1, step=2)  # type: ignore[call-arg]

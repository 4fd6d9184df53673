# SPDX-License-Identifier: Apache-2.0
"""A program that mypy checks with --strict: each call has the type that edgewise.torch promises."""
import torch
from torch import Tensor, nn
from typing_extensions import assert_type

import edgewise.torch.function as fn
from edgewise.torch import (
    EdgeBatch, Graph, GATConv, MultiheadAttention, NodeBatch, Relation, TransformerConv, aggregate, attend,
    attention_weights, batch, edge_softmax, graph, heterograph, pair_graph, score, unbatch)

relation = Relation.from_edge_index(torch.zeros(2, 0, dtype=torch.long), (3, 4))
assert_type(relation, Relation)
assert_type(Relation.causal([3, 4]), Relation)
assert_type(Relation.batch([relation, Relation.window(3, before=1)]), Relation)
assert_type(relation.num_edges, int)
assert_type(relation.edge_index(), Tensor)
nodes = torch.zeros(4, 1, 8)
assert_type(attend(relation, nodes, nodes, nodes, edge_bias=None, dropout=0.1, scale=1.0), Tensor)
assert_type(attend([relation, relation], nodes, nodes, nodes), Tensor)
assert_type(attention_weights(relation, nodes, nodes), Tensor)
assert_type(aggregate(relation, edge_softmax(relation, torch.zeros(0, 1)), nodes), Tensor)
assert_type(MultiheadAttention.from_torch(nn.MultiheadAttention(8, 2)), MultiheadAttention)

slopes = torch.ones(1)


def with_distances(edge: score.Edge) -> score.Expression:
    capped = 50 * (edge.score / 50).tanh()
    return score.where(edge.distance <= 3, capped - edge.head(slopes) * abs(edge.distance), -float("inf"))


assert_type(attend(relation, nodes, nodes, nodes, score=with_distances), Tensor)

g = graph(([0, 1], [1, 1]), num_nodes=3)
assert_type(g, Graph)
assert_type(heterograph({("a", "r", "b"): ([0], [0])}), Graph)
assert_type(batch([g, pair_graph([2, 3], [1, 1])["_E"]]), Graph)
assert_type(unbatch(g), list[Graph])
assert_type(g.num_nodes(), int)
assert_type(g.nodes(), Tensor)
assert_type(g.nodes[[0, 1]].data["x"], Tensor)
assert_type(edge_softmax(g, torch.zeros(2)), Tensor)
assert_type(edge_softmax(g, {"_E": torch.zeros(2)}), dict[tuple[str, str, str], Tensor])


def message(edges: EdgeBatch) -> dict[str, Tensor]:
    return {"m": edges.src["x"] * edges.data["w"]}


def reduce(given: NodeBatch) -> dict[str, Tensor]:
    return {"y": given.mailbox["m"].sum(1)}


g.update_all(message, reduce)
g.update_all(fn.u_mul_e("x", "w", "m"), [fn.sum("m", "y"), fn.max("m", "z")], lambda given: {"y": given.data["y"]})
g.send_and_recv([0], [fn.copy_u("x", "m")], fn.mean("m", "y"))
g.apply_edges(fn.e_dot_v("w", "x", "s"), torch.tensor([1]))
assert_type(g.filter_nodes(lambda given: given.data["x"] > 0), Tensor)
GATConv(8, 4, heads=2)(torch.zeros(4, 8), relation)
TransformerConv((8, 8), 4)((torch.zeros(4, 8), torch.zeros(4, 8)), torch.zeros(2, 0, dtype=torch.long))

Relation.causal(3.5)  # type: ignore[arg-type]
attend(relation, nodes, nodes)  # type: ignore[call-arg]
attend(3, nodes, nodes, nodes)  # type: ignore[arg-type]
Relation.window(3, 1, step=2)  # type: ignore[call-arg]
g.update_all(3, reduce)  # type: ignore[arg-type]
fn.u_mul_e("x", "w")  # type: ignore[call-arg]

# SPDX-License-Identifier: Apache-2.0
"""Attention with a score function, in the operations of message passing."""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional as F

from ._checks import accumulator_type
from ._edge_lists import EdgeList
from ._edge_sum import edge_sum, softmax_over_rows
from ._relation import Relation
from .score import ScoreFunction, evaluate

# Legend: D destinations, S sources, E edges, H heads, K size of a head.


def score_weights(relation: Relation, query_DHK: Tensor, key_SHK: Tensor, scale: float,
                  score: ScoreFunction) -> tuple[EdgeList, Tensor]:
    """Returns the edges, and their weights [E, H] in the order of the relation's edges."""
    edges = EdgeList.of_relation(relation)
    dtype = accumulator_type(query_DHK.dtype)
    product_EH1 = edge_sum(edges, "e", "mul", ("u", key_SHK.to(dtype)), ("v", query_DHK.to(dtype)),
                           (query_DHK.shape[1], 1))
    return edges, softmax_over_rows(edges, evaluate(score, edges, scale * product_EH1.squeeze(-1)))


def attend_with_score(relation: Relation, query_DHK: Tensor, key_SHK: Tensor, value_SHK: Tensor, scale: float,
                      score: ScoreFunction, dropout: float) -> Tensor:
    edges, weight_EH = score_weights(relation, query_DHK, key_SHK, scale, score)
    kept_EH1 = F.dropout(weight_EH, dropout).unsqueeze(-1)
    out: Tensor = edge_sum(edges, "v", "mul", ("e", kept_EH1), ("u", value_SHK.to(kept_EH1.dtype)))
    return out.to(value_SHK.dtype)

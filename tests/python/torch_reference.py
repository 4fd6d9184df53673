# SPDX-License-Identifier: Apache-2.0
"""Attention on a graph in plain operations of torch, over dense matrices, and relations to compare with it."""
import math

import pytest

torch = pytest.importorskip("torch")

from edgewise.torch import Relation  # noqa: E402


def dense_mask(relation):
    """Returns the edges as booleans [destinations, sources]; equal edges must not occur."""
    sources, destinations = relation.edge_index()
    mask = torch.zeros(relation.num_destinations, relation.num_sources, dtype=torch.bool)
    mask[destinations, sources] = True
    assert mask.sum() == relation.num_edges
    return mask


def dense_weights(relation, query, key, edge_bias=None, scale=None, clamp=None):
    """Returns the weights [heads, destinations, sources]: 0 where there is no edge."""
    mask = dense_mask(relation)
    scores = torch.einsum("dhk,shk->hds", query, key) * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if clamp is not None:
        scores = scores.clamp(-clamp, clamp)
    if edge_bias is not None:
        sources, destinations = relation.edge_index()
        bias = torch.zeros(*mask.shape, query.shape[1], dtype=scores.dtype)
        scores = scores + bias.index_put((destinations, sources), edge_bias).movedim(-1, 0)
    # Finite, because a row without edges would be NaN.
    return torch.softmax(scores.masked_fill(~mask, -1e30), -1) * mask


def dense_attention(relation, query, key, value, edge_bias=None, scale=None, clamp=None):
    return torch.einsum("hds,shv->dhv", dense_weights(relation, query, key, edge_bias, scale, clamp), value)


def random_relation(num_sources, num_destinations, share=0.3, seed=0):
    """A relation whose edges are given in random order; some nodes have none."""
    generator = torch.Generator().manual_seed(seed)
    mask = torch.rand(num_destinations, num_sources, generator=generator) < share
    mask[num_destinations // 2] = False
    mask[:, num_sources // 2] = False
    destinations, sources = mask.nonzero(as_tuple=True)
    order = torch.randperm(len(sources), generator=generator)
    return Relation.from_edge_index(torch.stack((sources[order], destinations[order])),
                                    (num_sources, num_destinations))


RELATIONS = {
    "complete": lambda: Relation.complete(13),
    "complete, batch": lambda: Relation.complete([3, 0, 17, 1]),
    "causal": lambda: Relation.causal(21),
    "causal, batch": lambda: Relation.causal([5, 9, 2]),
    "cross": lambda: Relation.bipartite(7, 11),
    "cross, batch": lambda: Relation.bipartite([7, 0, 3], [2, 4, 5]),
    "window": lambda: Relation.window(40, before=3, after=2),
    "dilated window": lambda: Relation.window(23, before=3, after=1, dilation=4),
    "prefix": lambda: Relation.prefix(9, [4, 0, 9, 1]),
    "random": lambda: random_relation(29, 31),
    "dense": lambda: random_relation(70, 66, 0.9),
    "long": lambda: Relation.complete(150),
    "parts": lambda: Relation.batch([Relation.causal(4), random_relation(9, 8), Relation.window(5, 1, 1)]),
    "no edges": lambda: Relation.from_edge_index(torch.zeros(2, 0, dtype=torch.long), (3, 4)),
    "no nodes": lambda: Relation.complete(0),
    "no destinations": lambda: Relation.bipartite(5, 0),
    "no sources": lambda: Relation.bipartite(0, 5),
}


def random_inputs(relation, heads, head_size, value_size=None, dtype=None, seed=0, with_bias=True):
    """Returns query, key, value and edge_bias, which require gradients."""
    generator = torch.Generator().manual_seed(seed)

    def random(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    inputs = [random(relation.num_destinations, heads, head_size), random(relation.num_sources, heads, head_size),
              random(relation.num_sources, heads, value_size or head_size)]
    if with_bias:
        inputs.append(random(relation.num_edges, heads))
    types = [dtype] * 3 + [torch.float32 if dtype == torch.bfloat16 else dtype]
    return [x.to(each).requires_grad_() for x, each in zip(inputs, types)]


def gradients(output, inputs, seed=1):
    """Returns the gradients of a random weighting of the output."""
    generator = torch.Generator().manual_seed(seed)
    weighting = torch.randn(output.shape, generator=generator, dtype=torch.float64).to(output.dtype)
    return torch.autograd.grad(output, inputs, weighting)


def assert_near(found, expected, tolerance):
    assert found.shape == expected.shape
    if found.numel() > 0:
        largest = max(1.0, expected.detach().abs().max().item())
        assert (found.double() - expected.double()).abs().max().item() <= tolerance * largest

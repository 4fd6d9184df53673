# SPDX-License-Identifier: Apache-2.0
"""Keys and values of edges in attend, compared with gathered edges."""
import pytest

torch = pytest.importorskip("torch")

from torch_reference import RELATIONS, random_inputs  # noqa: E402

import edgewise  # noqa: E402
from edgewise.torch import Relation, attend, attention_weights  # noqa: E402

HEADS, SIZE, VALUE_SIZE, SCALE, CLAMP = 2, 3, 4, 0.6, 0.8
KINDS = ["causal, batch", "cross", "random", "no edges"]


def inputs_of(relation, dtype=torch.float64):
    """Query, key, value, edge_bias, edge_key and edge_value."""
    vectors = [torch.randn(relation.num_edges, heads, size, generator=torch.Generator().manual_seed(size)).to(dtype)
               for heads, size in ((HEADS, SIZE), (1, VALUE_SIZE))]
    return [*random_inputs(relation, HEADS, SIZE, VALUE_SIZE, dtype), *(each.requires_grad_() for each in vectors)]


def softmax_of_rows(relation, score):
    destinations = relation.edge_index()[1]
    weight = score.exp()
    total = weight.new_zeros(relation.num_destinations, HEADS).index_add(0, destinations, weight)
    return weight / total[destinations]


def by_edges(relation, query, key, value, bias, edge_key, edge_value, change=None):
    sources, destinations = relation.edge_index()
    score = (query[destinations] * (key[sources] + edge_key)).sum(-1) * SCALE
    score = score.clamp(-CLAMP, CLAMP) + bias if change is None else change(score)
    weight = softmax_of_rows(relation, score)
    messages = weight.unsqueeze(-1) * (value[sources] + edge_value)
    out = messages.new_zeros(relation.num_destinations, HEADS, VALUE_SIZE).index_add(0, destinations, messages)
    return out, weight


@pytest.mark.parametrize("name", RELATIONS)
def test_vectors_of_edges_are_added_to_those_of_sources(name):
    relation = RELATIONS[name]()
    inputs = inputs_of(relation)
    query, key, value, bias, edge_key, edge_value = inputs
    found = attend(relation, query, key, value, bias, scale=SCALE, clamp=CLAMP, edge_key=edge_key,
                   edge_value=edge_value)
    weight = attention_weights(relation, query, key, bias, scale=SCALE, clamp=CLAMP, edge_key=edge_key)
    with torch.no_grad():
        fused = attention_weights(relation, query, key, bias, scale=SCALE, clamp=CLAMP, edge_key=edge_key)
    expected, expected_weight = by_edges(relation, *inputs)
    assert torch.allclose(found, expected) and torch.allclose(weight, expected_weight)
    assert torch.allclose(fused, expected_weight)
    mask = torch.randn_like(found)
    for a, b in zip(torch.autograd.grad((found * mask).sum(), inputs),
                    torch.autograd.grad((expected * mask).sum(), inputs)):
        assert torch.allclose(a, b)


@pytest.mark.parametrize("name", KINDS)
def test_gradients_of_both_orders_are_those_of_finite_differences(name):
    relation = Relation.causal([2, 1]) if name == "causal, batch" else RELATIONS[name]()
    query, key, value, bias, edge_key, edge_value = inputs_of(relation)

    def attend_to(query, key, value, edge_key, edge_value):
        return attend(relation, query, key, value, edge_key=edge_key, edge_value=edge_value)

    def with_score(query, value, bias, edge_key, edge_value):
        return attend(relation, query, key.detach(), value, edge_key=edge_key, edge_value=edge_value,
                      score=lambda edge: (edge.score + edge.column(bias)).tanh())

    assert torch.autograd.gradcheck(attend_to, (query, key, value, edge_key, edge_value), fast_mode=True)
    assert torch.autograd.gradcheck(with_score, (query, value, bias, edge_key, edge_value), fast_mode=True)
    assert torch.autograd.gradcheck(lambda *x: attend(relation, query.detach(), key, value, edge_value=x[0]),
                                    (edge_value,), fast_mode=True)
    assert torch.autograd.gradcheck(lambda *x: attention_weights(relation, x[0], key, edge_key=x[1]),
                                    (query, edge_key), fast_mode=True)
    assert torch.autograd.gradgradcheck(attend_to, (query, key, value, edge_key, edge_value), fast_mode=True)


@pytest.mark.parametrize("dtype, tolerance", [(torch.float32, 1e-5), (torch.bfloat16, 0.05)], ids=str)
def test_vectors_of_edges_have_the_types_of_attend(dtype, tolerance):
    relation = RELATIONS["random"]()
    query, key, value, bias, edge_key, edge_value = inputs_of(relation, dtype)
    found = attend(relation, query, key, value, bias, scale=SCALE, clamp=CLAMP, edge_key=edge_key,
                   edge_value=edge_value)
    expected, _ = by_edges(relation, *(each.double() for each in (query, key, value, bias, edge_key, edge_value)))
    assert found.dtype == dtype and torch.allclose(found.double(), expected, atol=tolerance)
    found.sum().backward()
    assert edge_key.grad.dtype == edge_value.grad.dtype == dtype


def test_compiled_functions_have_no_graph_breaks_and_the_same_results():
    torch._dynamo.reset()
    relation = RELATIONS["random"]()
    query, key, value, bias, edge_key, edge_value = inputs_of(relation)

    def compute(query, key, value, edge_key, edge_value):
        return attend(relation, query, key, value, edge_key=edge_key, edge_value=edge_value)

    arguments = query, key, value, edge_key, edge_value
    found, expected = torch.compile(compute, fullgraph=True, backend="aot_eager")(*arguments), compute(*arguments)
    assert torch.allclose(found, expected)
    for a, b in zip(torch.autograd.grad(found.sum(), arguments), torch.autograd.grad(expected.sum(), arguments)):
        assert torch.allclose(a, b)


@pytest.mark.parametrize("options, text", [
    ({"edge_key": torch.zeros(6, HEADS, SIZE)}, "attend: edge_key has type float32, needs float64, the type of query"),
    ({"edge_key": torch.zeros(5, HEADS, SIZE).double()},
     "attend: edge_key has 5 rows, needs 6, one for each edge of the relation"),
    ({"edge_key": torch.zeros(6, SIZE).double()},
     "attend: edge_key has shape [6, 3], needs 3 dimensions: edges, heads, size"),
    ({"edge_value": torch.zeros(6, HEADS, SIZE).double()},
     "attend: edge_value has shape [6, 2, 3] and value [3, 2, 4], needs the same size"),
    ({"edge_value": torch.zeros(6, 3, VALUE_SIZE).double()},
     "attend: edge_value has 3 heads, needs 2, the heads of query, or 1"),
])
def test_errors_name_what_vectors_of_edges_need(options, text):
    relation = Relation.causal(3)
    query, key, value, *_ = inputs_of(relation)
    with pytest.raises(edgewise.Error) as caught:
        attend(relation, query, key, value, **options)
    assert str(caught.value) == text

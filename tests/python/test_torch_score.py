# SPDX-License-Identifier: Apache-2.0
"""Score functions of attend are the published definitions, over dense matrices."""
import math

import pytest

torch = pytest.importorskip("torch")

from torch_reference import dense_mask, random_relation  # noqa: E402

import edgewise  # noqa: E402
from edgewise.torch import Relation, attend, attention_weights  # noqa: E402
from edgewise.torch._edge_lists import EdgeList  # noqa: E402
from edgewise.torch._score_program import DOMAINS, _distance_range, compile_score, run_program  # noqa: E402
from edgewise.torch.score import evaluate_on_edges, expression_of, where  # noqa: E402

HEADS, SIZE, NODES = 2, 4, 7
RELATIONS = {"causal": lambda: Relation.causal(NODES), "random": lambda: random_relation(NODES, NODES, 0.6)}


def inputs(seed=0):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(NODES, HEADS, SIZE, generator=generator, dtype=torch.float64).requires_grad_()
            for _ in range(3)]


def parameter(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).requires_grad_()


def dense(relation, query, key, value, change):
    """Attention whose scores [heads, destinations, sources] are `change(scores)`; -inf drops an edge."""
    scores = change(torch.einsum("dhk,shk->hds", query, key) / math.sqrt(SIZE))
    scores = scores.masked_fill(~dense_mask(relation), -torch.inf)
    weight = torch.softmax(scores.masked_fill(scores.isneginf().all(-1, keepdim=True), 0), -1)
    return torch.einsum("hds,shv->dhv", weight.masked_fill(scores.isneginf(), 0), value)


def grid():
    """Numbers of sources and destinations, [destinations, sources]."""
    return torch.arange(NODES).expand(NODES, NODES), torch.arange(NODES).unsqueeze(1).expand(NODES, NODES)


def edges_of(matrix, relation):
    """The entries of a matrix [destinations, sources] as a column of edges."""
    sources, destinations = relation.edge_index()
    return matrix[destinations, sources]


def cases(relation):
    """Names, score functions, the same over matrices, and the tensors that have gradients."""
    sources, destinations = grid()
    distance = destinations - sources
    slopes, table, u, v = parameter(HEADS), parameter(2 * NODES + 1, HEADS), parameter(NODES, HEADS), parameter(NODES)
    spatial = torch.randint(5, (NODES, NODES), generator=torch.Generator().manual_seed(2))
    edge = parameter(NODES, NODES, seed=3)
    decay = parameter(HEADS, seed=4)
    columns = u.T.unsqueeze(1) + v.view(1, -1, 1)
    return {
        "clamp": (lambda e: e.score.clamp(-0.5, 0.5), lambda s: s.clamp(-0.5, 0.5), []),
        "soft-capping": (lambda e: 2 * (e.score / 2).tanh(), lambda s: 2 * (s / 2).tanh(), []),
        "ALiBi": (lambda e: e.score - e.head(slopes) * abs(e.distance),
                  lambda s: s - slopes.view(-1, 1, 1) * distance.abs(), [slopes]),
        "buckets": (lambda e: e.score + e.table(v, (abs(e.distance) + 1).log() * 2),
                    lambda s: s + v[(2 * (distance.abs() + 1).double().log()).long().clamp(max=NODES - 1)], [v]),
        "ends of a table": (lambda e: e.score + e.table(v[:3], e.distance.floor()),
                            lambda s: s + v[:3][distance.clamp(0, 2)], [v]),
        "relative positions": (lambda e: e.score + e.table(table, e.distance + NODES),
                               lambda s: s + table[distance + NODES].permute(2, 0, 1), [table]),
        "Graphormer": (lambda e: e.score + e.table(v, e.column(edges_of(spatial, relation)))
                       + e.column(edges_of(edge, relation)), lambda s: s + v[spatial] + edge, [v, edge]),
        "GAT": (lambda e: (e.at_source(u) + e.at_destination(v)).leaky_relu(0.2),
                lambda s: torch.nn.functional.leaky_relu(columns, 0.2), [u, v]),
        "decay": (lambda e: e.score - (e.head(decay).exp() * abs(e.distance) + 1).log(),
                  lambda s: s - (decay.exp().view(-1, 1, 1) * distance.abs() + 1).log(), [decay]),
        "window": (lambda e: where(abs(e.distance) <= 2, e.score, -math.inf),
                   lambda s: s.masked_fill(distance.abs() > 2, -torch.inf), []),
        "gates": (lambda e: e.score.sigmoid() * e.score.relu().minimum(1).maximum(0.1) + (-e.score).exp() / 3,
                  lambda s: s.sigmoid() * s.relu().clamp(max=1).clamp(min=0.1) + (-s).exp() / 3, []),
        "parts": (lambda e: where(e.source.equal(3), 1 - e.score, e.score / (1 + e.destination)),
                  lambda s: torch.where(sources == 3, 1 - s, s / (1 + destinations)), []),
    }


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", cases(RELATIONS["causal"]()))
def test_a_score_function_is_its_definition(relation, name):
    relation = RELATIONS[relation]()
    score, change, tensors = cases(relation)[name]
    query, key, value = inputs()
    found, expected = attend(relation, query, key, value, score=score), dense(relation, query, key, value, change)
    assert torch.allclose(found, expected)
    tensors = [query, key, value, *tensors]
    mask = torch.randn_like(found)
    for a, b in zip(torch.autograd.grad((found * mask).sum(), tensors, allow_unused=True),
                    torch.autograd.grad((expected * mask).sum(), tensors, allow_unused=True)):
        a, b = (torch.zeros_like(query) if grad is None else grad for grad in (a, b))
        assert torch.allclose(a, b)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", cases(RELATIONS["causal"]()))
def test_a_program_computes_what_its_expression_does(relation, name):
    edges = EdgeList.of_relation(RELATIONS[relation]())
    score, _, tensors = cases(edges.relation)[name]
    product = parameter(edges.num_edges, HEADS, seed=5)
    expression = expression_of(score, edges, HEADS)
    program, columns = compile_score(expression, edges, HEADS, torch.float64)
    assert len(columns) == len(program.domains) and len(program.nodes) == 6 * len(program.constants)
    found, expected = run_program(program, columns, edges, product), evaluate_on_edges(expression, edges, product)
    assert torch.allclose(found, expected)
    finite = ~expected.isinf()
    for a, b in zip(torch.autograd.grad(found[finite].sum(), [product, *tensors], allow_unused=True, retain_graph=True),
                    torch.autograd.grad(expected[finite].sum(), [product, *tensors], allow_unused=True)):
        assert (a is None) == (b is None) and (a is None or torch.allclose(a, b))


def test_parts_of_one_domain_are_columns():
    edges = EdgeList.of_relation(Relation.causal(NODES))
    table, slopes = parameter(9, HEADS), parameter(HEADS)
    for function, nodes, domains in (
            (lambda e: e.score - e.head(slopes) * abs(e.distance), 3, ["distances"]),
            (lambda e: e.score + e.table(table, (e.distance + 1).log() * 2), 3, ["distances"]),
            (lambda e: e.at_source(table[:NODES]).exp() * e.destination, 3, ["sources", "destinations"]),
            (lambda e: e.table(table, e.score + e.source), 4, ["sources", "table"]),
            (lambda e: e.head(slopes).exp(), 1, ["destinations"])):
        program, columns = compile_score(expression_of(function, edges, HEADS), edges, HEADS, torch.float64)
        assert len(program.constants) == nodes
        assert [DOMAINS[domain] for domain in program.domains] == domains
    assert _distance_range(edges) == (1 - NODES, 0)
    assert _distance_range(EdgeList.of_relation(RELATIONS["random"]())) == tuple(
        int(each) for each in (lambda u, v: (u - v).aminmax())(*RELATIONS["random"]().edge_index()))


@pytest.mark.parametrize("name", ["soft-capping", "ALiBi", "relative positions", "GAT", "decay"])
def test_score_functions_have_second_derivatives(name):
    relation = RELATIONS["random"]()
    score, _, tensors = cases(relation)[name]
    query, key, value = (tensor[:, :, :2].detach().requires_grad_() for tensor in inputs())

    def compute(query, value, *others):
        return attend(relation, query, key, value, score=score)

    assert torch.autograd.gradgradcheck(compute, (query, value, *tensors))


@pytest.mark.parametrize("relation", RELATIONS.values(), ids=RELATIONS)
def test_gradients_in_float32_are_those_in_float64(relation):
    relation = relation()
    for name, (score, _, tensors) in cases(relation).items():
        by_type = []
        for dtype in (torch.float32, torch.float64):
            leaves = [*inputs(), *tensors]
            out = attend(relation, *(each.to(dtype) for each in leaves[:3]), score=score)
            by_type.append(torch.autograd.grad(out.double().square().sum(), leaves))
        assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(*by_type)), name


@pytest.mark.parametrize("relation", RELATIONS.values(), ids=RELATIONS)
def test_weights_without_gradients_are_those_with_gradients(relation):
    relation = relation()
    query, key, _ = inputs()
    for score, _, _ in cases(relation).values():
        expected = attention_weights(relation, query, key, score=score)
        with torch.no_grad():
            found = attention_weights(relation, query, key, score=score)
            low = attention_weights(relation, query.bfloat16(), key.bfloat16(), score=score)
        assert expected.requires_grad and torch.allclose(found, expected, rtol=1e-12)
        assert low.dtype == torch.float32 and torch.allclose(low.double(), expected, atol=0.05)


def test_weights_and_dropout_follow_the_score_function():
    relation, (query, key, value) = RELATIONS["random"](), inputs()
    weight = attention_weights(relation, query, key, score=lambda edge: edge.score)
    assert torch.allclose(weight, attention_weights(relation, query, key))
    dropped = attend(relation, query, key, value, dropout=0.5, score=lambda edge: edge.score)
    assert not torch.allclose(dropped, attend(relation, query, key, value))
    low = [tensor.detach().to(torch.bfloat16) for tensor in (query, key, value)]
    assert torch.allclose(attend(relation, *low, score=lambda edge: edge.score).float(),
                          attend(relation, *low).float(), atol=0.02)


def test_a_list_of_relations_is_joined_once():
    parts = [Relation.causal(3), Relation.complete(4)]
    query, key, value = inputs()
    joined = Relation.batch(parts)
    assert torch.equal(attend(parts, query, key, value), attend(joined, query, key, value))
    from edgewise.torch._joined import as_relation

    assert as_relation("test", parts) is as_relation("test", list(parts))
    assert as_relation("test", parts) == joined


@pytest.mark.parametrize("score, error, text", [
    (3, TypeError, "attend: score is 3, needs a function of an edge"),
    (lambda edge: 3, TypeError, "attend: score returned 3, needs an expression"),
    (lambda edge: edge.score if edge.score > 0 else 0, TypeError,
     "score: an expression is used as a condition, needs where(condition, a, b)"),
    (lambda edge: edge.score + torch.ones(3), TypeError,
     "score: an operand is a tensor, needs an expression: edge.column, edge.at_source, edge.at_destination, edge.head "
     "or edge.table of it"),
    (lambda edge: edge.score + "1", TypeError, "score: an operand is '1', needs an expression or a number"),
    (lambda edge: edge.head(torch.ones(3)), edgewise.Error,
     "score: head has shape [3], needs [2], one number for each head"),
    (lambda edge: edge.at_source(torch.ones(3)), edgewise.Error,
     "score: at_source has 3 rows, needs 7, one for each source"),
    (lambda edge: edge.column(torch.ones(28, 3)), edgewise.Error,
     "score: column has shape [28, 3], needs [edges] or [edges, 2]"),
    (lambda edge: edge.table(torch.ones(0), edge.distance), edgewise.Error,
     "score: table has no rows, needs at least one"),
    (lambda edge: edge.table(torch.ones(3), 1), TypeError, "score: index is 1, needs an expression"),
    (lambda edge: where(True, edge.score, 0), TypeError, "where: condition is True, needs an expression"),
])
def test_score_functions_name_what_they_need(score, error, text):
    with pytest.raises(error) as caught:
        attend(RELATIONS["causal"](), *inputs(), score=score)
    assert str(caught.value) == text


@pytest.mark.parametrize("options, name", [({"clamp": 5.0}, "clamp"), ({"edge_bias": torch.zeros(28)}, "edge_bias")])
def test_a_score_function_stands_alone(options, name):
    with pytest.raises(edgewise.Error, match=f"^attend: {name} is given with score, needs to be a part of it$"):
        attend(RELATIONS["causal"](), *inputs(), score=lambda edge: edge.score, **options)

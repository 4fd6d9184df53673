# SPDX-License-Identifier: Apache-2.0
"""The two operations of message passing, compared with loops over edges, and their gradients of both orders."""
import pytest

torch = pytest.importorskip("torch")

from torch_reference import random_relation  # noqa: E402

from edgewise.torch import Relation  # noqa: E402
from edgewise.torch._edge_lists import EdgeList  # noqa: E402
from edgewise.torch import _edge_sum, _edge_sum_plain as plain  # noqa: E402
from edgewise.torch._edge_sum import Sum, edge_extremum, edge_sum, edge_sums, softmax_over_rows  # noqa: E402

OPERATIONS = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
              "div": lambda a, b: a / b}
LISTS = {
    "intervals": lambda: EdgeList.of_relation(Relation.causal([3, 2])),
    "rows in any order": lambda: EdgeList.of_relation(random_relation(5, 6, 0.7)),
    "pairs": lambda: EdgeList(4, 3, (torch.tensor([3, 0, 0, 1, 3]), torch.tensor([2, 0, 2, 2, 2]))),
    "some": lambda: EdgeList.of_relation(random_relation(5, 6, 0.7)).select(torch.tensor([0, 2, 5])),
    "none": lambda: EdgeList(4, 3, (torch.zeros(0, dtype=torch.long), torch.zeros(0, dtype=torch.long))),
}
SHAPES = [((), ()), ((2,), ()), ((2, 1), (2, 3)), ((3,), (2, 1)), ((2, 3), (2, 3))]


def rows_of(edges, end):
    if end == "e":
        return edges.num_edges if edges.numbers is None else int(edges.numbers.max()) + 3
    return edges.num_sources if end == "u" else edges.num_destinations


def random(edges, end, shape=(), seed=0):
    generator = torch.Generator().manual_seed(seed)
    values = torch.rand(rows_of(edges, end), *shape, generator=generator, dtype=torch.float64) + 0.5
    return end, values.requires_grad_()


def row(edges, operand, i):
    end, values = operand
    if end == "e":
        return values[i if edges.numbers is None else edges.numbers[i]]
    return values[(edges.sources if end == "u" else edges.destinations)[i]]


def by_loops(edges, operation, left, right):
    """The result of the operation for each edge."""
    if right is None:
        return [row(edges, left, i) for i in range(edges.num_edges)]
    return [OPERATIONS[operation](row(edges, left, i), row(edges, right, i)) for i in range(edges.num_edges)]


def test_sums_have_no_operand_alone():
    edges = LISTS["pairs"]()
    for end in "uve":
        values = random(edges, end, (2,))
        expected = torch.stack(by_loops(edges, "copy", values, None))
        assert torch.equal(edge_sum(edges, "e", "copy", values), expected)


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("ends", ["uv", "ue", "vu", "ve", "eu", "ev"])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_sums_are_those_of_a_loop_over_edges(name, ends, operation):
    edges = LISTS[name]()
    for left_shape, right_shape in SHAPES:
        left, right = random(edges, ends[0], left_shape), random(edges, ends[1], right_shape, seed=1)
        values = by_loops(edges, operation, left, right)
        shape = torch.broadcast_shapes(left_shape, right_shape)
        found = edge_sum(edges, "e", operation, left, right)
        assert found.shape == (edges.num_edges, *shape)
        for i, value in enumerate(values):
            assert torch.equal(found[i], value)
        for target, index in (("u", edges.sources), ("v", edges.destinations)):
            found = edge_sum(edges, target, operation, left, right)
            expected = torch.zeros(rows_of(edges, target), *shape, dtype=torch.float64)
            for i, value in enumerate(values):
                expected[index[i]] = expected[index[i]] + value.detach()
            assert torch.allclose(found, expected, rtol=1e-14, atol=0)


@pytest.mark.parametrize("target", "uve")
def test_dimensions_of_size_1_are_summed(target):
    edges = LISTS["rows in any order"]()
    left, right = random(edges, "u", (2, 3)), random(edges, "v", (2, 3), seed=1)
    found = edge_sum(edges, target, "mul", left, right, (2, 1))
    assert torch.allclose(found, edge_sum(edges, target, "mul", left, right).sum(-1, keepdim=True))
    found = edge_sum(edges, target, "mul", left, right, (1, 1))
    assert torch.allclose(found, edge_sum(edges, target, "mul", left, right).sum((1, 2), keepdim=True))


def several_sums(edges, tensors):
    """Sums of several kinds, which share operands. The last two are of other types."""
    u, v, e, alone = tensors
    operand = ("u", u), ("v", v), ("e", e)
    return [Sum(edges, "mul", operand[0], operand[2]), Sum(edges, "copy", operand[2]),
            Sum(edges.alone, "div", ("e", alone), operand[1]), Sum(edges, "mul", operand[0], operand[1], (2, 1)),
            Sum(edges, "copy", ("u", u.detach().float())), Sum(edges, "copy", ("u", u.detach().long()))]


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("target", "uv")
def test_several_sums_are_those_of_single_calls(name, target):
    edges = LISTS[name]()
    tensors = [random(edges, "u", (2, 3))[1], random(edges, "v", (2, 3), seed=1)[1], random(edges, "e", (2, 1))[1],
               random(edges.alone, "e", (3,), seed=2)[1]]
    found = edge_sums(target, several_sums(edges, tensors))
    expected = [each.compute(target) for each in several_sums(edges, tensors)]
    assert [each.dtype for each in found] == [torch.float64] * 4 + [torch.float32, torch.int64]
    assert all(torch.allclose(a, b, rtol=1e-14, atol=0) for a, b in zip(found, expected))
    with torch.no_grad():
        assert all(map(torch.equal, found, edge_sums(target, several_sums(edges, tensors))))

    def sums_of(*tensors):
        return tuple(edge_sums(target, several_sums(edges, tensors)[:4]))

    assert torch.autograd.gradcheck(sums_of, tensors)
    if name == "some":
        assert torch.autograd.gradgradcheck(sums_of, tensors)
    gradient, = torch.autograd.grad(sums_of(*tensors)[1].sum(), tensors[2])  # the other sums have no gradient
    assert gradient.sum() == 2 * edges.num_edges


@pytest.mark.parametrize("ends", ["uv", "ue", "ev"])
@pytest.mark.parametrize("operation", ["copy", *OPERATIONS])
def test_gradients_of_both_orders_are_those_of_finite_differences(operation, ends):
    edges = LISTS["some"]()
    left, right = random(edges, ends[0], (2, 1))[1], random(edges, ends[1], (2,), seed=1)[1]
    if operation == "copy":
        right = right.detach()
    for target, row_shape in (("v", None), ("u", None if operation in ("add", "sub") else (2, 1)), ("e", None)):

        def sum_of(a, b, target=target, row_shape=row_shape):
            operands = (ends[0], a), None if operation == "copy" else (ends[1], b)
            return edge_sum(edges, target, operation, *operands, row_shape)

        assert torch.autograd.gradcheck(sum_of, (left, right))
    if operation in ("mul", "div"):
        assert torch.autograd.gradgradcheck(sum_of, (left, right))

    def extremum_of(a, b):
        return edge_extremum(edges, "max", operation, (ends[0], a), None if operation == "copy" else (ends[1], b))

    assert torch.autograd.gradcheck(extremum_of, (left, right))


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("kind", ["max", "min"])
def test_extrema_are_those_of_a_loop(name, kind):
    edges = LISTS[name]()
    left, right = random(edges, "u", (2, 1)), random(edges, "e", (3,), seed=1)
    found = edge_extremum(edges, kind, "mul", left, right)
    values = by_loops(edges, "mul", left, right)
    for node in range(edges.num_destinations):
        into = [value for i, value in enumerate(values) if edges.destinations[i] == node]
        expected = getattr(torch.stack(into), f"a{kind}")(0) if into else torch.zeros(2, 3, dtype=torch.float64)
        assert torch.equal(found[node], expected)


def test_the_gradient_of_an_extremum_goes_to_the_first_edge():
    edges = EdgeList(4, 2, (torch.arange(4), torch.tensor([0, 1, 0, 0])))
    values = torch.tensor([[1.0, 5.0], [2.0, 2.0], [3.0, 5.0], [3.0, 1.0]], requires_grad=True)
    edge_extremum(edges, "max", "copy", ("u", values)).sum().backward()
    assert values.grad.tolist() == [[0, 1], [1, 1], [1, 0], [0, 0]]


def test_not_a_number_is_an_extremum():
    edges = EdgeList(2, 1, (torch.arange(2), torch.zeros(2, dtype=torch.long)))
    values = torch.tensor([1.0, float("nan")], requires_grad=True)
    found = edge_extremum(edges, "max", "copy", ("u", values))
    assert found.isnan().all()
    found.sum().backward()
    assert values.grad.tolist() == [0, 1]


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("target", "uv")
def test_the_softmax_is_that_of_each_row(name, target):
    edges = LISTS[name]()
    score = torch.randn(edges.num_edges, 2, dtype=torch.float64, requires_grad=True)
    found = softmax_over_rows(edges, score, target)
    index = edges.sources if target == "u" else edges.destinations
    for node in range(rows_of(edges, target)):
        into = index == node
        assert torch.allclose(found[into], score[into].softmax(0))
    assert torch.autograd.gradcheck(lambda s: softmax_over_rows(edges, s, target), score)
    assert torch.autograd.gradgradcheck(lambda s: softmax_over_rows(edges, s, target), score)


def test_an_edge_of_score_minus_infinity_has_no_weight():
    edges = EdgeList(3, 2, (torch.arange(3), torch.tensor([0, 0, 1])))
    score = torch.tensor([0.0, -torch.inf, -torch.inf], requires_grad=True)
    weight = softmax_over_rows(edges, score)
    assert weight.tolist() == [1, 0, 0]
    weight.sum().backward()
    assert not score.grad.isnan().any()


@pytest.mark.parametrize("dtype, tolerance", [(torch.float32, 1e-5), (torch.bfloat16, 2e-2), (torch.float64, 1e-12)])
def test_sums_and_extrema_are_those_of_the_definition_in_every_type(dtype, tolerance):
    for make in LISTS.values():
        edges = make()
        operands = [(end, random(edges, end, shape)[1].detach().to(dtype).requires_grad_())
                    for end, shape in (("u", (2, 9)), ("e", (2, 1)))]
        tensors = [tensor for _, tensor in operands]
        for function, arguments in (("edge_sum", ("v", "mul")), ("edge_sum", ("u", "div")), ("edge_sum", ("e", "add")),
                                    ("edge_extremum", ("max", "mul"))):
            found, expected = (getattr(module, function)(edges, *arguments, *operands)
                               for module in (_edge_sum, plain))
            assert found.dtype == dtype and torch.allclose(found, expected, rtol=tolerance, atol=tolerance)
            for a, b in zip(torch.autograd.grad(found.sum(), tensors), torch.autograd.grad(expected.sum(), tensors)):
                assert a.dtype == dtype and torch.allclose(a, b, rtol=tolerance, atol=tolerance)


def test_sums_of_bfloat16_are_computed_in_float32():
    edges = EdgeList(1, 1, (torch.zeros(1000, dtype=torch.long), torch.zeros(1000, dtype=torch.long)))
    ones = torch.ones(1, 4, dtype=torch.bfloat16)
    assert edge_sum(edges, "v", "copy", ("u", ones)).tolist() == [[1000] * 4]
    assert edge_sum(edges, "v", "copy", ("u", ones)).dtype == torch.bfloat16
    assert edge_sum(edges, "v", "mul", ("u", ones), ("v", ones), (1,)).tolist() == [[4000]]


@pytest.mark.parametrize("name", LISTS)
def test_mailboxes_have_the_messages_of_each_node_by_ascending_edge(name):
    edges = LISTS[name]()
    messages = torch.arange(edges.num_edges)[edges.mailboxes.order]
    nodes = []
    for bucket in edges.mailboxes.buckets:
        for node, box in zip(bucket.nodes.tolist(), bucket.take(messages).tolist()):
            nodes.append(node)
            assert box == [i for i in range(edges.num_edges) if edges.destinations[i] == node]
            assert len(box) == bucket.in_degree
    assert nodes == edges.mailboxes.receivers.tolist()
    assert sorted(nodes) == (edges.in_degrees > 0).nonzero()[:, 0].tolist()

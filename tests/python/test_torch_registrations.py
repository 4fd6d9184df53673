# SPDX-License-Identifier: Apache-2.0
"""Autograd, torch.compile, torch.export, autocast and functorch with the operations of edgewise.torch."""
import io

import pytest

torch = pytest.importorskip("torch")

from torch_reference import RELATIONS, assert_near, gradients, random_inputs, random_relation  # noqa: E402

import edgewise  # noqa: E402
from edgewise.torch import (  # noqa: E402
    MultiheadAttention, Relation, aggregate, attend, attention_weights, edge_softmax)

KINDS = ["causal, batch", "cross", "random", "no edges"]


@pytest.mark.parametrize("name", KINDS)
def test_gradients_are_those_of_finite_differences(name):
    relation = RELATIONS[name]()
    query, key, value, bias = random_inputs(relation, 2, 3, 2, torch.float64)
    gradcheck = torch.autograd.gradcheck
    assert gradcheck(lambda *x: attend(relation, *x), (query, key, value))
    assert gradcheck(lambda *x: attend(relation, *x, clamp=0.8), (query, key, value, bias))
    assert gradcheck(lambda *x: attention_weights(relation, *x, scale=0.6, clamp=0.8), (query, key, bias))
    assert gradcheck(lambda x: edge_softmax(relation, x), (bias,))
    assert torch.autograd.gradgradcheck(lambda x: edge_softmax(relation, x), (bias,))
    assert gradcheck(lambda *x: aggregate(relation, *x), (bias, value))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", KINDS)
def test_operations_pass_opcheck(name, dtype):
    relation = RELATIONS[name]()
    arrays = relation._row_begin, relation._sources, relation._handle
    query, key, value, bias = random_inputs(relation, 2, 3, 4, dtype)
    operations = torch.ops.edgewise
    seed = torch.tensor([5])
    checked = [
        (operations.attend, (query, key, value, None, *arrays, None, 0.5, None, 0.0, 0)),
        (operations.attend, (query, key, value, bias, *arrays, seed, 0.5, 1.5, 0.25, relation._num_saved)),
    ]
    if dtype != torch.bfloat16:
        checked += [
            (operations.attention_weights, (query, key, bias, *arrays, relation.num_edges, 0.5, 1.5)),
            (operations.edge_softmax, (bias, *arrays, relation.num_sources)),
            (operations.aggregate, (bias, value, *arrays)),
        ]
    for operation, arguments in checked:
        results = torch.library.opcheck(operation.default, arguments)
        assert set(results.values()) == {"SUCCESS"}, results


def test_gradients_of_some_arguments_only():
    relation = random_relation(7, 6)
    inputs = random_inputs(relation, 2, 4, dtype=torch.float64)
    expected = gradients(attend(relation, *inputs), inputs)
    for i, gradient in enumerate(expected):
        parts = [x.detach().requires_grad_(i == j) for j, x in enumerate(inputs)]
        assert_near(gradients(attend(relation, *parts), [parts[i]])[0], gradient, 1e-13)
    for no_gradients in (torch.no_grad, torch.inference_mode):
        with no_gradients():
            assert not attend(relation, *inputs).requires_grad


def test_a_second_derivative_is_refused():
    relation = Relation.causal(4)
    inputs = random_inputs(relation, 1, 4, dtype=torch.float64)
    out = attend(relation, *inputs)
    first, = torch.autograd.grad(out.square().sum(), inputs[0], create_graph=True)
    with pytest.raises(edgewise.Error, match="^attend: a second derivative is asked for"):
        first.sum().backward()


def test_a_relation_may_be_deleted_before_backward():
    count = torch.ops.edgewise.num_kept_relations
    before = count()
    relation = Relation.window(9, 1)
    inputs = random_inputs(relation, 2, 4, dtype=torch.float32)
    expected = gradients(attend(relation, *inputs), inputs)
    out = attend(relation, *inputs)
    del relation
    assert count() == before + 1
    found = gradients(out, inputs)
    assert all(torch.equal(a, b) for a, b in zip(found, expected))
    del out
    assert count() == before


def loss(relation, query, key, value, bias, dropout=0.0):
    out = attend(relation, query * 2, key, value, bias, dropout, scale=0.3)
    weight = edge_softmax(relation, bias) + attention_weights(relation, query, key)
    return out.square().sum() + aggregate(relation, weight, value).sin().sum()


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_compiled_functions_have_no_graph_breaks_and_the_same_results(backend):
    torch._dynamo.reset()
    compiled = torch.compile(loss, fullgraph=True, backend=backend)
    for kind in ("causal, batch", "random", "window"):
        relation = RELATIONS[kind]()
        inputs = random_inputs(relation, 2, 8, dtype=torch.float32)
        found, expected = compiled(relation, *inputs), loss(relation, *inputs)
        assert_near(found, expected, 1e-5)
        for found_gradient, gradient in zip(gradients(found, inputs), gradients(expected, inputs)):
            assert_near(found_gradient, gradient, 1e-5)


def test_new_relations_of_a_kind_are_not_compiled_again():
    torch._dynamo.reset()
    counter = torch._dynamo.testing.CompileCounter()
    compiled = torch.compile(loss, fullgraph=True, backend=counter)
    for nodes in range(5, 15):
        relation = random_relation(nodes + 3, nodes, seed=nodes)
        compiled(relation, *random_inputs(relation, 2, 4, dtype=torch.float32))
    assert counter.frame_count <= 3


def test_a_compiled_function_may_make_its_relation():
    def run(nodes, query):
        return attend(Relation.window(nodes, 2), query, query, query) + attend(Relation.complete(nodes), query, query,
                                                                             query)

    def run_on_edges(edges, row_begin, query):
        listed = Relation.from_edge_index(edges, query.shape[0])
        rows = Relation.from_csr(row_begin, edges[0], query.shape[0])
        return attend(listed, query, query, query) + attend(rows, query, query, query)

    torch._dynamo.reset()
    query = torch.randn(9, 2, 8)
    assert_near(torch.compile(run, fullgraph=True, backend="aot_eager")(9, query), run(9, query), 1e-6)
    edges = torch.tensor([[3, 0, 8, 1, 0], [2, 0, 2, 1, 8]])
    row_begin = torch.tensor([0, 1, 1, 1, 3, 3, 3, 3, 3, 5])
    compiled = torch.compile(run_on_edges, fullgraph=True, backend="aot_eager")
    assert_near(compiled(edges, row_begin, query), run_on_edges(edges, row_begin, query), 1e-6)


def test_a_compiled_function_drops_other_weights_at_each_call():
    torch._dynamo.reset()
    relation = Relation.complete(30)
    inputs = random_inputs(relation, 2, 4, dtype=torch.float32)
    compiled = torch.compile(attend, fullgraph=True, backend="aot_eager")
    outputs = [compiled(relation, *inputs, dropout=0.5) for _ in range(2)]
    assert not torch.equal(*outputs)
    gradients(outputs[0], inputs)


def test_an_exported_program_keeps_its_relation():
    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.relation = Relation.window(6, 2, 1)
            self.attention = MultiheadAttention(8, 2)

        def forward(self, nodes):
            return self.attention(self.relation, nodes)

    layer = Layer()
    nodes = torch.randn(6, 8)
    program = torch.export.export(layer, (nodes,))
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    assert_near(torch.export.load(file).module()(nodes), layer(nodes), 1e-6)


def test_an_exported_program_takes_relations():
    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = MultiheadAttention(8, 2)

        def forward(self, relation, nodes, edge_bias):
            return self.attention(relation, nodes, edge_bias=edge_bias)

    layer = Layer()
    first, other = (Relation.from_edge_index(torch.tensor([[3, 0, 1, 2], ends]), 5) for ends in ([2, 0, 4, 1],
                                                                                                [0, 0, 2, 3]))
    nodes, bias = torch.randn(5, 8), torch.randn(4, 2)
    program = torch.export.export(layer, (first, nodes, bias))
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    for module in (program.module(), torch.export.load(file).module()):
        for relation in (first, other):
            assert_near(module(relation, nodes, bias), layer(relation, nodes, bias), 1e-6)


def test_a_relation_is_a_tree_of_tensors():
    import torch.utils._pytree as pytree

    relation = random_relation(7, 6)
    inputs = random_inputs(relation, 2, 4, dtype=torch.float32)
    again = pytree.tree_map(lambda leaf: leaf.clone() if isinstance(leaf, torch.Tensor) else leaf, relation)
    assert again == relation
    assert_near(attend(again, *inputs), attend(relation, *inputs), 1e-6)
    assert pytree.tree_map(lambda leaf: None, {"a": relation})["a"].num_sources is None


def test_tensors_without_memory_give_shapes():
    from torch._subclasses.fake_tensor import FakeTensorMode

    relation = Relation.causal(5)
    with FakeTensorMode(allow_non_fake_inputs=True):
        query = torch.randn(5, 2, 8)
        assert attend(relation, query, query, torch.randn(5, 2, 3)).shape == (5, 2, 3)
        assert attention_weights(relation, query, query).shape == (15, 2)
        with pytest.raises(edgewise.Error, match=r"^attend: query is on cuda:0, needs the CPU; move it with .cpu\(\)$"):
            attend(relation, torch.empty(5, 2, 8, device="cuda"), query, query)


@pytest.mark.parametrize("is_compiled", [False, True], ids=["eager", "compiled"])
def test_autocast_computes_in_bf16(is_compiled):
    torch._dynamo.reset()
    relation = Relation.causal([4, 6])
    inputs = random_inputs(relation, 2, 8, dtype=torch.float32)
    run = torch.compile(attend, fullgraph=True, backend="aot_eager") if is_compiled else attend
    with torch.autocast("cpu", torch.bfloat16):
        found = run(relation, *inputs)
        assert edge_softmax(relation, inputs[3]).dtype == torch.float32
        assert MultiheadAttention(16, 2)(relation, torch.randn(10, 16)).dtype == torch.bfloat16
    assert found.dtype == torch.bfloat16
    assert_near(found, attend(relation, *inputs), 2e-2)
    found_gradients = gradients(found, inputs)
    assert all(gradient.dtype == torch.float32 for gradient in found_gradients)
    for found_gradient, gradient in zip(found_gradients, gradients(attend(relation, *inputs), inputs)):
        assert_near(found_gradient, gradient, 5e-2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
def test_autocast_to_float16_gives_float16(dtype):
    relation = Relation.causal([4, 6])
    inputs = [tensor.detach().to(dtype).requires_grad_() for tensor in random_inputs(relation, 2, 8,
                                                                                     dtype=torch.float32)]
    exact = [tensor.detach().float().requires_grad_() for tensor in inputs]
    with torch.autocast("cpu", torch.float16):
        found = attend(relation, *inputs)
        assert attention_weights(relation, *inputs[:2]).dtype == torch.float32
        assert edge_softmax(relation, inputs[3]).dtype == dtype
        assert aggregate(relation, inputs[3], inputs[2]).dtype == dtype
        assert MultiheadAttention(16, 2)(relation, torch.randn(10, 16)).dtype == torch.float16
    assert found.dtype == torch.float16
    expected = attend(relation, *exact)
    assert_near(found.float(), expected, 2e-3)
    for found_gradient, gradient in zip(gradients(found.float(), inputs), gradients(expected, exact)):
        assert found_gradient.dtype == dtype
        assert_near(found_gradient.float(), gradient, 1e-2)


def test_transforms_of_functorch_are_refused():
    relation = Relation.causal(4)
    query, key, value, bias = random_inputs(relation, 1, 4, dtype=torch.float32)
    calls = [
        ("attend", lambda: torch.vmap(lambda x: attend(relation, x, key, value))(torch.randn(2, 4, 1, 4))),
        ("attend", lambda: torch.func.grad(lambda x: attend(relation, x, key, value).sum())(query)),
        ("attend", lambda: torch.func.jvp(lambda x: attend(relation, x, key, value), (query,), (query,))),
        ("attention_weights", lambda: torch.func.grad(lambda x: attention_weights(relation, x, key).sum())(query)),
        ("edge_softmax", lambda: torch.vmap(lambda x: edge_softmax(relation, x))(torch.randn(2, 10, 1))),
        ("aggregate", lambda: torch.vmap(lambda x: aggregate(relation, x, value))(torch.randn(2, 10, 1))),
    ]
    for name, call in calls:
        with pytest.raises(edgewise.Error, match=f"^{name}: the call is inside torch.vmap, torch.func.grad or another"):
            call()


def test_vmap_in_a_compiled_function_is_refused():
    torch._dynamo.reset()
    relation = Relation.causal(4)
    query = torch.randn(2, 4, 1, 4)
    compiled = torch.compile(lambda q: torch.vmap(lambda x: attend(relation, x, x, x))(q), backend="aot_eager")
    with pytest.raises(Exception, match="attend: the call is inside torch.vmap"):
        compiled(query)


def test_checkpointing_draws_the_same_dropout():
    from torch.utils.checkpoint import checkpoint

    relation = Relation.complete(12)
    inputs = random_inputs(relation, 2, 4, dtype=torch.float32)
    torch.manual_seed(1)
    expected = gradients(attend(relation, *inputs, dropout=0.5), inputs)
    torch.manual_seed(1)
    found = gradients(checkpoint(attend, relation, *inputs, 0.5, use_reentrant=False), inputs)
    assert all(torch.equal(a, b) for a, b in zip(found, expected))

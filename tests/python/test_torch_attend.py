# SPDX-License-Identifier: Apache-2.0
import os
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

from torch_reference import (  # noqa: E402
    RELATIONS, assert_near, dense_attention, dense_mask, dense_weights, gradients, random_inputs, random_relation)

from edgewise.torch import Relation, aggregate, attend, attention_weights, edge_softmax  # noqa: E402

TOLERANCES = {torch.float32: 2e-6, torch.float64: 1e-13, torch.bfloat16: 1e-2}
# Of gradients, which bf16 rounds from sums of rounded numbers.
GRADIENT_TOLERANCES = {torch.float32: 5e-6, torch.float64: 1e-12, torch.bfloat16: 3e-2}


def check_attend(relation, heads, head_size, value_size, dtype, with_bias, **options):
    inputs = random_inputs(relation, heads, head_size, value_size, dtype, with_bias=with_bias)
    exact = [x.detach().double().requires_grad_() for x in inputs]
    found = attend(relation, *inputs, **options)
    expected = dense_attention(relation, *exact, **options)
    assert found.dtype == dtype
    assert_near(found, expected, TOLERANCES[dtype])
    for found_gradient, gradient, tensor in zip(gradients(found, inputs), gradients(expected, exact), inputs):
        assert found_gradient.dtype == tensor.dtype
        assert_near(found_gradient, gradient, GRADIENT_TOLERANCES[dtype])


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize("with_bias", [False, True], ids=["plain", "bias"])
@pytest.mark.parametrize("name", RELATIONS)
def test_outputs_and_gradients_are_those_of_the_dense_reference(name, with_bias, dtype):
    check_attend(RELATIONS[name](), 3, 8, 5, dtype, with_bias)


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize("head_size", [1, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65])
@pytest.mark.parametrize("name", ["causal", "random"])
def test_head_sizes_around_the_vector_width_are_right(name, head_size, dtype):
    check_attend(RELATIONS[name](), 2, head_size, head_size + 1, dtype, True)


@pytest.mark.parametrize("name", ["complete, batch", "random"])
def test_scale_and_clamp_are_those_of_the_dense_reference(name):
    check_attend(RELATIONS[name](), 2, 4, 4, torch.float64, True, scale=1.7, clamp=0.9)
    check_attend(RELATIONS[name](), 2, 4, 4, torch.float32, False, scale=-0.4, clamp=0.2)


@pytest.mark.parametrize("instruction_set", ["reference", "generic", "avx2"])
def test_every_instruction_set_is_right(instruction_set):
    code = """
import pytest, sys
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "-x", sys.argv[1], "-k",
    "(those_of_the_dense_reference and (causal or random)) or (vector_width and (17 or 64))"]))
"""
    environment = {**os.environ, "EDGEWISE_KERNELS": instruction_set}
    done = subprocess.run([sys.executable, "-c", code, __file__], env=environment, capture_output=True, text=True)
    if "needs one of" in done.stdout:
        pytest.skip(f"this machine does not have {instruction_set}")
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize("name", RELATIONS)
def test_weights_are_those_of_the_dense_reference(name, dtype):
    relation = RELATIONS[name]()
    query, key, _, bias = random_inputs(relation, 3, 8, dtype=dtype)
    exact = [x.detach().double().requires_grad_() for x in (query, key, bias)]
    sources, destinations = relation.edge_index()
    for clamp in (None, 0.5):
        found = attention_weights(relation, query, key, bias, clamp=clamp)
        expected = dense_weights(relation, *exact, clamp=clamp)[:, destinations, sources].T
        assert found.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
        assert_near(found, expected, TOLERANCES[dtype])
        for found_gradient, gradient in zip(gradients(found, (query, key, bias)), gradients(expected, exact)):
            assert_near(found_gradient, gradient, GRADIENT_TOLERANCES[dtype])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("name", RELATIONS)
def test_softmax_and_aggregation_make_attention(name, dtype):
    relation = RELATIONS[name]()
    inputs = random_inputs(relation, 2, 6, 7, dtype)
    query, key, value, bias = inputs
    sources, destinations = relation.edge_index()
    score = (query[destinations] * key[sources]).sum(-1) * 6**-0.5 + bias
    found = aggregate(relation, edge_softmax(relation, score), value)
    expected = attend(relation, *inputs)
    assert_near(found, expected, 2 * TOLERANCES[dtype])
    for found_gradient, gradient in zip(gradients(found, inputs), gradients(expected, inputs)):
        assert_near(found_gradient, gradient, 2 * GRADIENT_TOLERANCES[dtype])


def test_softmax_takes_any_shape_of_scores():
    relation = random_relation(8, 9)
    edges = relation.num_edges
    score = torch.randn(edges, 2, 3)
    weight = edge_softmax(relation, score)
    assert weight.shape == score.shape
    assert_near(weight[:, 1, 2], edge_softmax(relation, score[:, 1, 2]), 1e-7)
    assert edge_softmax(relation, score.bfloat16()).dtype == torch.bfloat16
    totals = torch.zeros(9, 2, 3).index_add(0, relation.edge_index()[1], weight)
    assert_near(totals, (relation.in_degrees() > 0).float()[:, None, None].expand(9, 2, 3), 1e-6)


def test_one_head_of_key_and_value_serves_all_heads():
    relation = random_relation(8, 9)
    query, key, value, bias = random_inputs(relation, 4, 6, dtype=torch.float64)
    one_key, one_value, one_bias = (x[:, :1].detach().requires_grad_() for x in (key, value, bias))
    found = attend(relation, query, one_key, one_value, one_bias)
    expected = attend(relation, query, one_key.repeat(1, 4, 1), one_value.repeat(1, 4, 1), one_bias.repeat(1, 4))
    assert torch.equal(found, expected)
    assert torch.equal(attend(relation, query, one_key, one_value, one_bias[:, 0]), found)
    for found_gradient, gradient in zip(gradients(found, (one_key, one_value, one_bias)),
                                        gradients(expected, (one_key, one_value, one_bias))):
        assert_near(found_gradient, gradient, 1e-13)


def test_tensors_need_not_be_contiguous():
    relation = Relation.causal(12)
    packed = torch.randn(12, 3, 2, 8, dtype=torch.float64)
    query, key, value = packed.unbind(1)
    bias = torch.randn(2, relation.num_edges, dtype=torch.float64).T
    expected = attend(relation, query.contiguous(), key.contiguous(), value.contiguous(), bias.contiguous())
    assert torch.equal(attend(relation, query, key, value, bias), expected)


def test_equal_edges_count_twice():
    edges = torch.tensor([[0, 1, 1, 2], [0, 0, 0, 0]])
    relation = Relation.from_edge_index(edges, 3)
    query, key, value = (torch.randn(3, 1, 4) for _ in range(3))
    weight = attention_weights(relation, query, key)
    assert torch.equal(weight[1], weight[2])
    assert_near(attend(relation, query, key, value)[0, 0], (weight * value[edges[0], 0]).sum(0), 1e-6)


def test_an_edge_of_score_minus_infinity_has_no_effect():
    relation = Relation.complete(4)
    query, key, value, _ = random_inputs(relation, 1, 4, dtype=torch.float32)
    bias = torch.zeros(16, 1)
    bias[4:6] = bias[8:12] = float("-inf")
    out = attend(relation, query, key, value, bias)
    expected = dense_attention(Relation.from_mask((bias[:, 0] == 0).reshape(4, 4)), query, key, value)
    assert_near(out, expected, 1e-6)
    assert torch.equal(out[2], torch.zeros(1, 4))


def test_dropout_keeps_the_mean_and_drops_the_share():
    relation = Relation.bipartite(100, 2000)
    query, key = torch.zeros(2000, 2, 4), torch.zeros(100, 2, 4)
    value = torch.ones(100, 2, 1)
    torch.manual_seed(0)
    out = attend(relation, query, key, value, dropout=0.2)
    # Each output is the mean of 100 values, each 0 with probability 0.2, else 1.25.
    assert abs(out.mean().item() - 1) < 5 * 0.05 / 4000**0.5
    assert abs(out.std().item() - 0.05) < 0.003
    assert not torch.equal(out[:, 0], out[:, 1])
    assert not torch.equal(out, attend(relation, query, key, value, dropout=0.2))
    torch.manual_seed(0)
    assert torch.equal(out, attend(relation, query, key, value, dropout=0.2))


@pytest.mark.parametrize("name", ["complete, batch", "random"])
def test_backward_drops_the_weights_that_forward_dropped(name):
    relation = RELATIONS[name]()
    inputs = random_inputs(relation, 2, 3, dtype=torch.float64)

    def run(*tensors):
        torch.manual_seed(3)
        return attend(relation, *tensors, dropout=0.4)

    assert torch.autograd.gradcheck(run, inputs)
    torch.manual_seed(3)
    single = [x.detach().float().requires_grad_() for x in inputs]
    found = gradients(attend(relation, *single, dropout=0.4), single)
    for found_gradient, gradient in zip(found, gradients(run(*inputs), inputs)):
        assert_near(found_gradient, gradient, 1e-5)


def test_results_do_not_depend_on_the_number_of_threads():
    relation = random_relation(300, 300, 0.2)
    inputs = random_inputs(relation, 4, 16, dtype=torch.float32)
    before = torch.get_num_threads()
    results = []
    try:
        for count in (1, 2, 5):
            torch.set_num_threads(count)
            out = attend(relation, *inputs)
            results.append([out, *gradients(out, inputs)])
    finally:
        torch.set_num_threads(before)
    for other in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(results[0], other))


def test_the_number_of_threads_is_that_of_torch():
    code = """
import os, torch
from edgewise.torch import Relation, attend
relation = Relation.causal(400)
nodes = torch.randn(400, 4, 16)
counts = []
for number in (1, 2, 4):
    torch.set_num_threads(number)
    attend(relation, nodes, nodes, nodes)
    counts.append(len(os.listdir("/proc/self/task")))
assert [count - counts[0] for count in counts] == [0, 1, 3], counts
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_the_mask_of_a_relation_is_that_of_its_edges():
    assert torch.equal(dense_mask(Relation.causal(5)), torch.ones(5, 5).tril().bool())

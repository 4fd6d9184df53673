# SPDX-License-Identifier: Apache-2.0
import copy

import pytest

torch = pytest.importorskip("torch")

from torch_reference import assert_near, dense_mask, dense_weights, random_relation  # noqa: E402

from edgewise.torch import MultiheadAttention, Relation  # noqa: E402

OPTIONS = [
    {},
    {"bias": False},
    {"kdim": 6},
    {"kdim": 6, "vdim": 10, "bias": False},
]


def random_module(**options):
    torch.manual_seed(0)
    module = torch.nn.MultiheadAttention(12, 3, batch_first=True, **options)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(0, 0.3)
    return module


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_weights_of_torch_give_the_outputs_and_gradients_of_torch(options):
    theirs = random_module(**options)
    ours = MultiheadAttention(12, 3, **options)
    ours.load_state_dict(theirs.state_dict())
    relation = random_relation(9, 7)
    has_edges = relation.in_degrees() > 0
    query, key, value = torch.randn(7, 12), torch.randn(9, theirs.kdim), torch.randn(9, theirs.vdim)
    expected, weight = theirs(query, key, value, attn_mask=~dense_mask(relation), average_attn_weights=False)
    found = ours(relation, query, key, value)
    # Rows without edges are NaN in torch, and zeros before the output projection here.
    assert_near(found[has_edges], expected[has_edges], 1e-5)
    sources, destinations = relation.edge_index()
    assert_near(ours.attention_weights(relation, query, key), weight[:, destinations, sources].T, 1e-5)
    assert not found[~has_edges].isnan().any()

    weighting = torch.randn(int(has_edges.sum()), 12)
    relation = Relation.from_mask(dense_mask(relation)[has_edges])
    query, mask = query[has_edges], ~dense_mask(relation)
    (theirs(query, key, value, attn_mask=mask)[0] * weighting).sum().backward()
    (ours(relation, query, key, value) * weighting).sum().backward()
    for (name, parameter), other in zip(ours.named_parameters(), theirs.parameters()):
        assert_near(parameter.grad, other.grad, 1e-5), name


def test_a_batch_needs_no_padding():
    theirs = random_module()
    ours = MultiheadAttention.from_torch(theirs).eval()
    lengths = [4, 1, 7]
    parts = [torch.randn(length, 12) for length in lengths]
    padded = torch.nn.utils.rnn.pad_sequence(parts, batch_first=True)
    is_padding = torch.arange(7) >= torch.tensor(lengths)[:, None]
    expected = theirs(padded, padded, padded, key_padding_mask=is_padding)[0][~is_padding]
    nodes = torch.cat(parts)
    assert_near(ours(Relation.complete(lengths), nodes), expected, 1e-5)
    jagged = torch.nested.nested_tensor(parts, layout=torch.jagged)
    assert_near(ours(Relation.complete(jagged), jagged).values(), expected, 1e-5)
    weight = ours.attention_weights(Relation.complete(jagged), jagged)
    assert torch.equal(weight, ours.attention_weights(Relation.complete(lengths), nodes))


def test_from_torch_shares_parameters_and_mode():
    for options in OPTIONS:
        theirs = random_module(**options).eval()
        ours = MultiheadAttention.from_torch(theirs)
        assert not ours.training
        assert dict(ours.named_parameters()).keys() == dict(theirs.named_parameters()).keys()
        for name, parameter in theirs.named_parameters():
            assert ours.get_parameter(name) is parameter


def test_new_modules_begin_as_those_of_torch():
    for options in OPTIONS:
        torch.manual_seed(5)
        theirs = torch.nn.MultiheadAttention(12, 3, **options)
        torch.manual_seed(5)
        ours = MultiheadAttention(12, 3, **options)
        assert ours.state_dict().keys() == theirs.state_dict().keys()
        for name, parameter in ours.state_dict().items():
            assert parameter.shape == theirs.state_dict()[name].shape
            assert abs(parameter.std().item() - theirs.state_dict()[name].std().item()) < 0.06, name


def test_dropout_is_for_training_only():
    module = MultiheadAttention(12, 3, dropout=0.5)
    relation, nodes = Relation.complete(20), torch.randn(20, 12)
    assert not torch.equal(module(relation, nodes), module(relation, nodes))
    module.eval()
    assert torch.equal(module(relation, nodes), module(relation, nodes))


def test_edge_biases_reach_the_scores():
    module = MultiheadAttention(12, 3).eval()
    relation = Relation.causal(6)
    nodes, bias = torch.randn(6, 12), torch.randn(21, 3)
    query, key, _ = (x.reshape(6, 3, 4) for x in torch.nn.functional.linear(
        nodes, module.in_proj_weight, module.in_proj_bias).chunk(3, -1))
    sources, destinations = relation.edge_index()
    expected = dense_weights(relation, query, key, bias)[:, destinations, sources].T
    assert_near(module.attention_weights(relation, nodes, edge_bias=bias), expected, 1e-5)
    assert not torch.equal(module(relation, nodes, edge_bias=bias), module(relation, nodes))


def test_modules_can_be_copied_and_converted():
    module = MultiheadAttention(12, 3)
    module.relation = Relation.causal(6)
    again = copy.deepcopy(module).double()
    nodes = torch.randn(6, 12)
    assert again.relation is module.relation
    assert_near(again(again.relation, nodes.double()), module(module.relation, nodes), 1e-5)
    assert repr(module).startswith("MultiheadAttention(\n  embed_dim=12, num_heads=3, dropout=0.0")


def test_a_module_learns():
    torch.manual_seed(0)
    module = MultiheadAttention(16, 4)
    relation = Relation.causal([10] * 8)
    nodes = torch.randn(80, 16)
    # The node before; the first node of each graph has none.
    target = torch.where((torch.arange(80) % 10 == 0)[:, None], nodes, nodes.roll(1, 0))
    positions = torch.nn.Parameter(torch.randn(10, 16) * 0.1)
    optimiser = torch.optim.Adam([*module.parameters(), positions], 1e-2)
    losses = []
    for _ in range(150):
        states = nodes + positions.repeat(8, 1)
        loss = (module(relation, states) - target).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.7 * losses[0]

# SPDX-License-Identifier: Apache-2.0
"""The examples of python/examples do what they say."""
import importlib.util
import re

import pytest

torch = pytest.importorskip("torch")

from conftest import SOURCE  # noqa: E402
from torch_reference import assert_near  # noqa: E402

from edgewise.torch import Relation  # noqa: E402


@pytest.mark.parametrize("document", ["README.md", "docs/from-dgl.md", "docs/python.md", "python/README.md"])
def test_the_examples_of_documents_run(document, capsys):
    blocks = re.findall(r"^```python\n(.*?)^```$", (SOURCE / document).read_text(), re.DOTALL | re.MULTILINE)
    examples = [block for block in blocks if "edgewise.torch" in block]
    assert examples
    names = {}
    for text in examples:
        exec(compile(text, document, "exec"), names)
    assert "torch.Size" in capsys.readouterr().out


def example(name):
    spec = importlib.util.spec_from_file_location(name, SOURCE / f"python/examples/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def gat_by_scatter(layer, x, edge_index):
    """The definition of GATConv, with scattered sums."""
    nodes = len(x)
    edge_index = torch.cat((edge_index[:, edge_index[0] != edge_index[1]], torch.arange(nodes).expand(2, nodes)), 1)
    source, destination = edge_index
    states = (x @ layer.lin.weight.T).reshape(nodes, layer.heads, layer.out_channels)
    score = torch.nn.functional.leaky_relu(
        (states * layer.att_src).sum(-1)[source] + (states * layer.att_dst).sum(-1)[destination], 0.2).exp()
    total = torch.zeros(nodes, layer.heads).index_add(0, destination, score)
    weight = score / total[destination]
    out = torch.zeros_like(states).index_add(0, destination, weight[..., None] * states[source])
    return (out.flatten(1) if layer.concat else out.mean(1)) + layer.bias


@pytest.mark.parametrize("concat", [True, False])
def test_the_gat_layer_is_that_of_its_definition(concat):
    module = example("gat_layer")
    torch.manual_seed(0)
    layer = module.GATLayer(6, 5, heads=3, concat=concat)
    torch.nn.init.normal_(layer.bias)
    x, edge_index = torch.randn(20, 6), torch.randint(20, (2, 70))
    found, expected = layer(x, edge_index), gat_by_scatter(layer, x, edge_index)
    assert_near(found, expected, 1e-5)
    parameters = list(layer.parameters())
    for found_gradient, gradient in zip(torch.autograd.grad(found.square().sum(), parameters),
                                        torch.autograd.grad(expected.square().sum(), parameters)):
        assert_near(found_gradient, gradient, 1e-4)
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    assert_near(compiled(x, layer.relation(edge_index, 20)), expected, 1e-5)


def test_the_gat_layer_takes_the_weights_of_pyg():
    pyg = pytest.importorskip("torch_geometric.nn")
    theirs = pyg.GATConv(6, 5, heads=3)
    layer = example("gat_layer").GATLayer(6, 5, heads=3)
    layer.load_state_dict(theirs.state_dict())
    x, edge_index = torch.randn(20, 6), torch.randint(20, (2, 70))
    assert_near(layer(x, edge_index), theirs(x, edge_index), 1e-5)


def test_the_gat_layer_finds_communities(capsys):
    assert example("gat_layer").main() > 0.8
    assert "of the nodes" in capsys.readouterr().out


def test_the_layer_of_dgl_gives_what_the_messages_of_its_tutorial_give():
    assert example("dgl_transformer_layer").main() < 1e-5


def test_the_window_of_longformer_is_that_of_its_mask():
    module = example("longformer_window")
    assert module.main() < 1e-5
    mask = module.dense_mask(30, 3, [4, 5])
    assert Relation.from_mask(mask) == module.sliding_window(30, 3, [4, 5])


def test_the_biases_of_graphormer_learn_distances(monkeypatch):
    module = example("graphormer_bias")
    edges = torch.tensor([[0, 1, 2, 1, 2, 3], [1, 2, 3, 0, 1, 2]])
    assert module.distances(edges, 5, 3).tolist() == [
        [0, 1, 2, 3, 3], [1, 0, 1, 2, 3], [2, 1, 0, 1, 3], [3, 2, 1, 0, 3], [3, 3, 3, 3, 0]]
    assert module.main() < 0.3
    forward = module.GraphormerLayer.forward
    monkeypatch.setattr(module.GraphormerLayer, "forward", lambda layer, relation, nodes, distance: forward(
        layer, relation, nodes, torch.zeros_like(distance)))
    assert module.main() > 0.6

# SPDX-License-Identifier: Apache-2.0
"""The examples of python/examples do what they say."""
import importlib.util
import re

import pytest

torch = pytest.importorskip("torch")

from conftest import SOURCE  # noqa: E402

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

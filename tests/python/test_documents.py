# SPDX-License-Identifier: Apache-2.0
"""Runs the examples of documents with the tiny model in the place of theirs."""
import importlib.util
import re

import pytest
from conftest import SOURCE, TINY_CONFIG, sentences

DOCUMENTS = ["docs/python.md", "docs/generating.md", "python/README.md", "python/models/README.md",
             "python/train/README.md", "README.md"]


@pytest.mark.parametrize("document", DOCUMENTS)
def test_the_examples_run(document, model, language_model, foreign_model, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs/demo").symlink_to(model.parent)
    (tmp_path / "runs/shakespeare").symlink_to(language_model)
    (tmp_path / "model").symlink_to(model)
    (tmp_path / "opus-mt-en-de").symlink_to(foreign_model)
    (tmp_path / "copy.toml").write_text(TINY_CONFIG)
    (tmp_path / "text.en").write_text("\n".join(sentences(20)) + "\n")
    examples = re.findall(r"^```python\n(.*?)^```$", (SOURCE / document).read_text(), re.DOTALL | re.MULTILINE)
    assert examples
    monkeypatch.setenv("EDGEWISE_MODELS", str(SOURCE / "models"))
    names = {"hypotheses": ["a b c"], "references": ["a b d"]}
    for example in examples:
        if "edgewise.torch" in example and importlib.util.find_spec("torch") is None:
            continue
        exec(compile(example, document, "exec"), names)
    assert capsys.readouterr().out.strip()

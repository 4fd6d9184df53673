# SPDX-License-Identifier: Apache-2.0
"""The cells of docs/tutorial.ipynb run, and its four ways of attention agree."""
import json

import pytest

torch = pytest.importorskip("torch")

from conftest import SOURCE  # noqa: E402


def cells():
    return json.loads((SOURCE / "docs/tutorial.ipynb").read_text())["cells"]


def test_the_four_ways_agree(capsys):
    names = {}
    for cell in cells():
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), "docs/tutorial.ipynb", "exec"), names)
    assert len(names["differences"]) == 4 and max(names["differences"].values()) < 1e-4
    output = capsys.readouterr().out
    assert output.startswith("ee edges 0 to 80\ned edges 81 to 170\ndd edges 171 to 225\n")
    assert output.count(" ms, differs by ") == 4


def test_the_stored_notebook_has_no_outputs():
    for cell in cells():
        assert not cell.get("outputs") and cell.get("execution_count") is None

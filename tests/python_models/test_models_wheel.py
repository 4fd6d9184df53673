# SPDX-License-Identifier: Apache-2.0
"""Tests of the installed wheels edgewise and edgewise-models."""
import importlib.metadata
import pathlib
import subprocess
import sys

import edgewise_models
import pytest

import edgewise

SOURCE = pathlib.Path(__file__).resolve().parents[2] / "models"
PACKAGE = pathlib.Path(edgewise_models.__file__).parent
NAMES = sorted(path.parent.name for path in SOURCE.glob("*/manifest.json"))


@pytest.fixture(autouse=True)
def only_the_wheels(monkeypatch):
    monkeypatch.delenv("EDGEWISE_MODELS", raising=False)


def test_the_package_has_the_files_of_all_models():
    def files_of(folder):
        return {path.relative_to(folder): path.read_bytes() for name in NAMES for path in (folder / name).iterdir()}

    assert NAMES
    assert files_of(PACKAGE) == files_of(SOURCE)


@pytest.mark.parametrize("name", NAMES)
def test_python_and_the_program_find_a_model_by_its_name(name):
    text = "Paris."
    expected = edgewise.Translator(SOURCE / name).translate(text).text
    assert edgewise.Translator(name).translate(text).text == expected
    command = [pathlib.Path(sys.executable).parent / "edgewise-translate", "--model", name]
    assert subprocess.check_output(command, input=text + "\n", text=True) == expected + "\n"


def test_the_error_for_another_name_lists_the_models():
    with pytest.raises(edgewise.Error, match=f", which have {', '.join(NAMES)}$"):
        edgewise.Translator("xx-yy")


def test_the_models_have_the_version_of_the_package():
    assert importlib.metadata.version("edgewise-models") == edgewise.__version__

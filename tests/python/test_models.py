# SPDX-License-Identifier: Apache-2.0
import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

import edgewise


def test_an_imported_model_translates_as_the_other_system_does(foreign_model, tmp_path):
    assert "MarianMT" in edgewise.import_model(foreign_model, tmp_path / "model")
    recorded = json.loads((foreign_model / "cases.json").read_text())
    for beam in recorded["beams"]:
        translator = edgewise.Translator(tmp_path / "model", beam=beam)
        for case in recorded["cases"]:
            expected = case["outputs"][str(beam)]
            translation = translator.translate(case["text"])
            assert translation.text == expected["text"]
            if "score" in expected:
                assert translation.score == pytest.approx(expected["score"], abs=1e-3)


def test_an_exported_model_can_be_imported_again(foreign_model, tmp_path):
    edgewise.import_model(foreign_model, tmp_path / "model")
    expected = edgewise.Translator(tmp_path / "model").translate("y sister bought three red apples").text
    assert edgewise.export_model(tmp_path / "model", tmp_path / "exported") == []
    edgewise.import_model(tmp_path / "exported", tmp_path / "again")
    assert edgewise.Translator(tmp_path / "again").translate("y sister bought three red apples").text == expected


def test_an_export_names_what_it_leaves_out(foreign_model, tmp_path):
    edgewise.import_model(foreign_model, tmp_path / "model")
    left_out = edgewise.export_model(tmp_path / "model", tmp_path / "exported", format="ctranslate2")
    assert "search.beam=6" in left_out
    assert (tmp_path / "exported/model.bin").exists()


def test_a_directory_that_exists_is_replaced_only_with_overwrite(foreign_model, tmp_path):
    edgewise.import_model(foreign_model, tmp_path / "model")
    edgewise.export_model(tmp_path / "model", tmp_path / "exported")
    with pytest.raises(edgewise.Error, match="^import_model: .* exists, needs the name of a new directory"):
        edgewise.import_model(foreign_model, tmp_path / "model")
    with pytest.raises(edgewise.Error, match="^export_model: .* exists, needs the name of a new directory"):
        edgewise.export_model(tmp_path / "model", tmp_path / "exported")
    with pytest.raises(edgewise.Error, match="is also the input"):
        edgewise.export_model(tmp_path / "model", tmp_path / "model", overwrite=True)
    edgewise.import_model(foreign_model, tmp_path / "model", overwrite=True)
    edgewise.export_model(tmp_path / "model", tmp_path / "exported", overwrite=True)


@pytest.mark.parametrize("call, text", [
    (lambda folder: edgewise.import_model(folder / "none", folder / "out"), "^import_model: "),
    (lambda folder: edgewise.import_model("", folder / "out"), "^import_model: source is empty, needs the name of"),
    (lambda folder: edgewise.export_model(folder / "none", folder / "out"), "^export_model: "),
    (lambda folder: edgewise.export_model(folder, folder / "out", format="onnx"),
     '^export_model: format is "onnx", needs "ctranslate2", "huggingface" or "marian"$'),
])
def test_what_cannot_be_converted_is_refused(tmp_path, call, text):
    with pytest.raises(edgewise.Error, match=text):
        call(tmp_path)


def test_a_model_of_a_folder_has_a_name(model, tmp_path, monkeypatch):
    shutil.copytree(model, tmp_path / "xx-yy")
    monkeypatch.setenv("EDGEWISE_MODELS", f"/none:{tmp_path}")
    translation = edgewise.Translator("xx-yy").translate("a b c")
    assert translation.text == edgewise.Translator(model).translate("a b c").text
    with pytest.raises(edgewise.Error, match=f"^Translator: yy-xx does not exist, .* in /none, {tmp_path}, .*xx-yy"):
        edgewise.Translator("yy-xx")


def test_models_that_are_installed_while_python_runs_are_found(model, translator, tmp_path):
    packages = pathlib.Path(edgewise.__file__).parents[1]
    for name in ("edgewise", "edgewise.libs"):
        shutil.copytree(packages / name, tmp_path / name)
    code = f"""
import shutil, edgewise
shutil.copytree({str(model)!r}, {str(tmp_path / "edgewise_models/xx-yy")!r})
print(edgewise.Translator("xx-yy").translate("a b c").text)
"""
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    output = subprocess.check_output([sys.executable, "-c", code], env=environment, text=True)
    assert output == translator.translate("a b c").text + "\n"


def test_a_path_is_no_number(tmp_path):
    with pytest.raises(TypeError, match="^import_model: source is 3, needs a str or a path$"):
        edgewise.import_model(3, tmp_path)

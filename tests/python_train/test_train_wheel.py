# SPDX-License-Identifier: Apache-2.0
"""Tests of the installed wheels edgewise and edgewise-train, which have all that training needs."""
import os
import pathlib
import shutil
import subprocess
import sys

import edgewise_train
import pytest

import edgewise

COMMAND = pathlib.Path(sys.executable).parent / "edgewise"

CONFIG = {
    "data": {"task": "copy", "train_size": 300, "valid_size": 20, "test_size": 20, "symbols": 4, "length_mean": 3.0},
    "vocabulary": {"shared": True},
    "batch": {"tokens": 0, "sentences": 32},
    "model": {"encoder_layers": 1, "decoder_layers": 1, "size": 16, "heads": 2, "feed_forward": 16},
    "train": {"epochs": 2, "warmup": 20},
}


@pytest.fixture(autouse=True)
def only_the_wheel(monkeypatch):
    """No other program and no other library than those of the wheels is found."""
    monkeypatch.delenv("EDGEWISE_PROGRAM", raising=False)
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    monkeypatch.setenv("OMP_WAIT_POLICY", "passive")


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    return edgewise.train(CONFIG, tmp_path_factory.mktemp("run") / "copy", on_line=None)


def loaded_libraries():
    """Returns the paths of the libraries that the program loads."""
    lines = subprocess.run(["ldd", edgewise_train.program()], check=True, capture_output=True, text=True).stdout
    assert "not found" not in lines
    return [pathlib.Path(line.split(" => ")[1].split()[0]) for line in lines.splitlines() if " => " in line]


def test_a_trained_model_translates(run):
    assert run.translator().translate("a b c").text
    assert run.metrics()["valid_loss"]


def test_a_run_displays_its_curves(run):
    assert run._repr_html_().startswith("<figure>")


def test_the_command_is_beside_python(run):
    def output_of(*arguments, text=""):
        return subprocess.run([COMMAND, *arguments], input=text, check=True, capture_output=True, text=True).stdout

    assert output_of("--version") == f"edgewise {edgewise.__version__}\n"
    translation = output_of("translate", "--model", run.path, text="a b c\n")
    assert translation == run.translator().translate("a b c").text + "\n"


def test_the_program_finds_the_models_that_python_finds(run, tmp_path):
    # The package edgewise-models, in another folder than edgewise.
    (tmp_path / "edgewise_models").mkdir()
    (tmp_path / "edgewise_models/__init__.py").touch()
    shutil.copytree(run.best_model, tmp_path / "edgewise_models/xx-yy")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    code = f"import edgewise; edgewise.train({CONFIG!r}, {str(tmp_path / 'run')!r}, from_model='xx-yy', on_line=None)"
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
    command = [COMMAND, "translate", "--model", "xx-yy"]
    translation = subprocess.check_output(command, env=environment, input="a b c\n", text=True)
    assert translation == run.translator().translate("a b c").text + "\n"


def test_without_the_models_an_error_says_how_to_install_them():
    result = subprocess.run([COMMAND, "translate", "--model", "xx-yy"], capture_output=True, text=True)
    assert result.returncode == 2
    command = "make python-models-wheel && pip install dist/edgewise_models-*.whl"
    assert f"; in a clone of Edgewise, {command} adds " in result.stderr


def test_the_libraries_are_those_of_the_wheel_of_torch_and_of_glibc():
    packages = pathlib.Path(edgewise_train.__file__).resolve().parents[1]
    outside = [path.name for path in loaded_libraries() if packages not in path.resolve().parents]
    assert set(outside) <= {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libutil.so.1"}
    of_torch = [path.name for path in loaded_libraries() if packages / "torch" in path.resolve().parents]
    assert {"libtorch_cpu.so", "libc10.so", "libgomp.so.1"} <= set(of_torch)


def test_the_program_has_the_libraries_for_subwords_scores_and_pictures(run, tmp_path):
    def call(*arguments):
        return subprocess.run([COMMAND, *arguments], cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    lines = [f"the number {number} is here.\tle numéro {number} est là." for number in range(400)]
    (tmp_path / "pairs.tsv").write_text("\n".join(lines) + "\n")
    config = {**CONFIG, "data": {"train": [tmp_path / "pairs.tsv"], "valid": [tmp_path / "pairs.tsv"]},
              "vocabulary": {"shared": True, "kind": "sentencepiece", "size": 60, "input_case": "lower"}}
    assert edgewise.train(config, tmp_path / "run", set={"train.steps": 4}, on_line=None).translator().translate("here")
    (tmp_path / "text").write_text("Édouard 中文 est là.\n")
    assert " = 100.0 " in call("score", "--reference", "text", "text")
    call("picture", "training", run.path, "-o", "curves.png")
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")


def test_a_torch_in_another_folder_is_found(run, tmp_path):
    # The package without torch beside it, as in an environment that has the packages of the system, too.
    packages = pathlib.Path(edgewise_train.__file__).parents[1]
    for name in ("edgewise_train", "edgewise", "edgewise.libs"):
        shutil.copytree(packages / name, tmp_path / name)
    code = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
import edgewise_train, edgewise
assert edgewise_train.__file__.startswith({str(tmp_path)!r})
assert edgewise_train.environment()["LD_LIBRARY_PATH"].split(":") == [{str(packages / "torch/lib")!r}, "/other"]
edgewise.train({CONFIG!r}, {str(tmp_path / "run")!r}, on_line=None)
"""
    environment = {**os.environ, "LD_LIBRARY_PATH": "/other"}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
    assert (tmp_path / "run/best/model.safetensors").read_bytes() == (run.best_model / "model.safetensors").read_bytes()


def test_without_torch_the_error_names_its_library(tmp_path):
    shutil.copytree(pathlib.Path(edgewise_train.__file__).parent, tmp_path / "edgewise_train")
    result = subprocess.run([tmp_path / "edgewise_train/bin/edgewise", "--version"], capture_output=True, text=True)
    assert result.returncode == 127
    assert "libtorch_cpu.so" in result.stderr

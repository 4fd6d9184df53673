# SPDX-License-Identifier: Apache-2.0
"""Trainings from Python, of a second each."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading

import pytest
from conftest import TINY_CONFIG, program

import edgewise

# The tiny config as a dict.
TINY = {
    "data": {
        "task": "copy", "train_size": 300, "valid_size": 20, "test_size": 20, "symbols": 4, "length_mean": 3.0,
        "length_deviation": 1,
    },
    "vocabulary": {"shared": True},
    "batch": {"tokens": 0, "sentences": 32},
    "model": {"encoder_layers": 1, "decoder_layers": 1, "size": 16, "heads": 2, "feed_forward": 16},
    "train": {"epochs": 2, "warmup": 20},
}


def parameters(model):
    return (pathlib.Path(model) / "model.safetensors").read_bytes()


def errors_of_program(*arguments):
    """Returns what a command prints that must fail as a mistake of its user."""
    result = subprocess.run([program(), *map(str, arguments)], capture_output=True, text=True)
    assert result.returncode == 2
    return result.stderr.rstrip("\n")


def test_a_training_returns_a_run_with_the_bits_of_the_program(model, tiny, tmp_path):
    lines = []
    run = edgewise.train(tiny, out=tmp_path / "run", on_line=lines.append)

    assert isinstance(run, edgewise.Run)
    assert run.path == tmp_path / "run"
    assert parameters(run.best_model) == parameters(model)
    assert run.translator(beam=2).translate("a b c").text == edgewise.Translator(model, beam=2).translate("a b c").text
    assert lines[0].startswith("300 pairs to learn from")
    assert lines[-1].startswith("test: loss ")


def test_a_config_may_be_a_dict(model, tmp_path, monkeypatch):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    run = edgewise.train(TINY, tmp_path / "run", on_line=None)
    assert parameters(run.best_model) == parameters(model)
    assert list(temporary.iterdir()) == []


def test_relative_paths_of_a_dict_begin_at_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / 'data/"pairs" 1.tsv').write_text("a b\tb a\nb a\ta b\n" * 20)
    config = {**TINY, "data": {"train": [pathlib.Path('data/"pairs" 1.tsv')], "valid": ['data/"pairs" 1.tsv']}}
    lines = []
    edgewise.train(config, "run", on_line=lines.append)
    assert "40 pairs to learn from, 40 to validate" in lines[0]


def test_settings_replace_values_of_the_config(tiny, tmp_path):
    settings = {"train.steps": 3, "train.log_every": 1, "model.clamp": "none", "model.dropout.residual": 0.0,
                "search.early_stop": False, "train.best_by": "loss"}
    lines = []
    run = edgewise.train(tiny, tmp_path / "run", set=settings, threads=1, on_line=lines.append)
    assert run.metrics()["step"] == [1, 2, 3]
    assert any("1 threads" in line for line in lines)
    config = (run.best_model / "config.toml").read_text()
    assert {"residual = 0.0", "early_stop = false", 'best_by = "loss"'} <= set(config.splitlines())


def test_a_run_may_start_from_a_model_or_from_a_run(model, tiny, tmp_path):
    for number, start in enumerate((model, edgewise.Run(model.parent))):
        lines = []
        edgewise.train(tiny, tmp_path / f"run{number}", from_model=start, on_line=lines.append)
        assert any(line.startswith("starts from the parameters in ") for line in lines)


def test_a_finished_run_resumes_with_the_bits_of_a_longer_run(tiny, tmp_path):
    edgewise.train(tiny, tmp_path / "parts", set={"train.steps": 7}, on_line=None)
    parts = edgewise.train(tiny, tmp_path / "parts", resume=True, set={"train.steps": 14}, on_line=None)
    whole = edgewise.train(tiny, tmp_path / "whole", set={"train.steps": 14}, on_line=None)
    assert parameters(parts.path / "last") == parameters(whole.path / "last")


def test_progress_is_printed_unless_it_is_unwanted(tiny, tmp_path, capsys):
    edgewise.train(tiny, tmp_path / "one")
    assert capsys.readouterr().out.startswith("300 pairs to learn from")
    edgewise.train(tiny, tmp_path / "two", on_line=None)
    assert capsys.readouterr() == ("", "")


def test_warnings_are_lines_too(tiny, tmp_path):
    lines = []
    edgewise.train(tiny, tmp_path / "run", set={"train.spike": 0.001, "train.epochs": 15}, on_line=lines.append)
    assert any(re.match(r"step \d+: warning: the loss of step \d+ is ", line) for line in lines)


@pytest.mark.parametrize("text", ["[train]\nstepz = 3\n", "[train]\nsteps =\n", '[train]\nsteps = "3"\n'])
def test_a_wrong_config_is_an_error_with_the_text_of_the_program(text, tmp_path):
    (tmp_path / "bad.toml").write_text(text)
    lines = []
    with pytest.raises(edgewise.Error) as error:
        edgewise.train(tmp_path / "bad.toml", tmp_path / "run", on_line=lines.append)
    assert str(error.value) == errors_of_program("train", tmp_path / "bad.toml", "--out", tmp_path / "run")
    assert lines == []


def test_the_error_of_a_dict_names_no_temporary_file(tmp_path):
    with pytest.raises(edgewise.Error) as error:
        edgewise.train({"train": {"stepz": 3}}, tmp_path / "run")
    assert str(error.value) == "config:2:1: train.stepz is unknown; did you mean train.steps?"


def test_a_run_is_not_overwritten(model, tiny):
    before = parameters(model)
    with pytest.raises(edgewise.Error, match=re.escape(f"train: {model.parent} holds a run (")):
        edgewise.train(tiny, model.parent)
    assert parameters(model) == before


@pytest.mark.parametrize("options, text", [
    ({"treads": 2}, "train: treads is unknown; did you mean threads?"),
    ({"color": "red"}, "train: color is unknown; help(edgewise.train) lists the keywords"),
    ({"threads": "2"}, "train: threads is '2', needs a whole number"),
    ({"on_line": 3}, "train: on_line is 3, needs a function of a str, or None"),
    ({"from_model": 3}, "train: from_model is 3, needs a str or a path"),
    ({"set": ["train.steps"]}, "train: set is ['train.steps'], needs a dict such as {\"train.steps\": 2000}"),
    ({"set": {3: 4}}, "train: set has the key 3, needs a str"),
    ({"set": {"train": {"steps": 2}}}, "train: set['train'] is a dict, needs keys with a dot, such as \"train.steps\""),
    ({"set": {"train.steps": None}},
     "train: set['train.steps'] is None, needs a bool, a number, a str, a path or a list of them"),
])
def test_a_wrong_argument_is_a_type_error_before_anything_is_written(options, text, tiny, tmp_path):
    with pytest.raises(TypeError) as error:
        edgewise.train(tiny, tmp_path / "run", **options)
    assert str(error.value) == text
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("config, text", [
    (3, "train: config is 3, needs a str or a path"),
    ({3: {}}, "train: config has the key 3, needs a str"),
    ({"train": {"steps": {1}}},
     "train: config['train']['steps'] is {1}, needs a bool, a number, a str, a path or a list of them"),
])
def test_a_config_of_a_wrong_type_is_a_type_error(config, text, tmp_path):
    with pytest.raises(TypeError) as error:
        edgewise.train(config, tmp_path / "run")
    assert str(error.value) == text


def test_a_config_or_run_that_begins_with_a_dash_is_no_option(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "--help").write_text(TINY_CONFIG)
    assert edgewise.train("--help", "--resume", on_line=None).path == pathlib.Path("--resume")


def test_two_trainings_run_at_once_in_threads(model, tiny, tmp_path):
    both_run = threading.Barrier(2, timeout=60)

    def train(name):
        waits = iter([both_run.wait])
        edgewise.train(tiny, tmp_path / name, threads=1, on_line=lambda line: next(waits, lambda: None)())

    threads = [threading.Thread(target=train, args=(name,)) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert parameters(tmp_path / "one/best") == parameters(tmp_path / "two/best") == parameters(model)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_of_multiprocessing_train(method, model, tiny, tmp_path):
    # A process of its own, because pytest has threads.
    code = f"""
import multiprocessing, edgewise
if __name__ == "__main__":
    context = multiprocessing.get_context({method!r})
    with context.Pool(2) as pool:
        runs = pool.starmap(edgewise.train, [({str(tiny)!r}, out) for out in {[str(tmp_path / n) for n in "ab"]}])
    print(*(run.path for run in runs))
"""
    (tmp_path / "code.py").write_text(code)
    output = subprocess.run([sys.executable, tmp_path / "code.py"], check=True, capture_output=True, text=True).stdout
    assert output.splitlines()[-1] == f"{tmp_path / 'a'} {tmp_path / 'b'}"
    assert parameters(tmp_path / "a/best") == parameters(tmp_path / "b/best") == parameters(model)


def test_a_child_forked_during_a_training_trains_too(model, tiny, tmp_path):
    code = f"""
import os, edgewise
children = []
def fork_once(line):
    if not children:
        child = os.fork()
        if child == 0:
            edgewise.train({str(tiny)!r}, {str(tmp_path / "child")!r}, on_line=None)
            os._exit(0)
        children.append(child)
edgewise.train({str(tiny)!r}, {str(tmp_path / "parent")!r}, on_line=fork_once)
assert os.waitpid(children[0], 0)[1] == 0
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=120)
    assert parameters(tmp_path / "child/best") == parameters(tmp_path / "parent/best") == parameters(model)

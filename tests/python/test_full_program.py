# SPDX-License-Identifier: Apache-2.0
"""Which program trains, and how its failures are reported."""
import importlib
import os
import signal
import sys

import pytest

import edgewise


def write_program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def no_program(monkeypatch, tmp_path):
    """A machine without the program."""
    monkeypatch.delenv("EDGEWISE_PROGRAM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin/python"))
    monkeypatch.setattr(sys, "path", [str(tmp_path / "packages"), *sys.path])
    monkeypatch.delitem(sys.modules, "edgewise_train", raising=False)
    return tmp_path


def error_of_training(tiny, tmp_path):
    with pytest.raises(edgewise.Error) as error:
        edgewise.train(tiny, tmp_path / "run", on_line=None)
    return str(error.value)


def test_without_a_program_the_error_says_what_to_install(no_program, tiny, tmp_path):
    assert error_of_training(tiny, tmp_path) == (
        "train: the program edgewise is not installed, needs it; in a clone of Edgewise, make python-train-wheel && "
        "pip install dist/edgewise_train-*.whl, or set EDGEWISE_PROGRAM to the path of a program that is built")


def test_the_variable_comes_before_the_package_and_both_before_other_programs(no_program, tiny, tmp_path, monkeypatch):
    write_program(tmp_path / "path/edgewise", "echo path >&2; exit 2")
    assert error_of_training(tiny, tmp_path) == "path"
    write_program(tmp_path / "bin/edgewise", "echo beside python >&2; exit 2")
    assert error_of_training(tiny, tmp_path) == "beside python"
    program = write_program(tmp_path / "packages/program", 'echo package $VALUE >&2; exit 2')
    package = tmp_path / "packages/edgewise_train.py"
    package.write_text(f"def program():\n  return {str(program)!r}\ndef environment():\n  return {{'VALUE': 'value'}}\n")
    importlib.invalidate_caches()
    assert error_of_training(tiny, tmp_path) == "package value"
    monkeypatch.setenv("EDGEWISE_PROGRAM", str(write_program(tmp_path / "named", "echo variable >&2; exit 2")))
    assert error_of_training(tiny, tmp_path) == "variable"


@pytest.mark.parametrize("name", ["none", "."])
def test_a_variable_that_names_no_program_is_an_error(name, tiny, tmp_path, monkeypatch):
    monkeypatch.setenv("EDGEWISE_PROGRAM", str(tmp_path / name))
    assert error_of_training(tiny, tmp_path) == (
        f"EDGEWISE_PROGRAM is {str(tmp_path / name)!r}, needs the path of the program edgewise")


def test_a_program_that_cannot_run_is_an_error(tiny, tmp_path, monkeypatch):
    monkeypatch.setenv("EDGEWISE_PROGRAM", str(tmp_path / "text"))
    (tmp_path / "text").write_text("text")
    (tmp_path / "text").chmod(0o755)
    assert error_of_training(tiny, tmp_path) == f"train: {tmp_path / 'text'}: Exec format error"


@pytest.mark.parametrize("script, text", [
    ("kill -KILL $$", "train: SIGKILL ended the program; if a checkpoint is saved, resume=True continues the run"),
    ("echo out of luck >&2; kill -ABRT $$",
     "train: SIGABRT ended the program: out of luck; if a checkpoint is saved, resume=True continues the run"),
    ("exit 139", "train: SIGSEGV ended the program; if a checkpoint is saved, resume=True continues the run"),
    ("exit 7", "train: the program ended with code 7 and without a message"),
    ("echo first >&2; echo second >&2; exit 1", "second"),
    ("printf 'no end \\377' >&2; exit 2", "no end \ufffd"),
])
def test_a_program_that_fails_is_an_error(script, text, tiny, tmp_path, monkeypatch):
    monkeypatch.setenv("EDGEWISE_PROGRAM", str(write_program(tmp_path / "program", script)))
    assert error_of_training(tiny, tmp_path) == text


def test_lines_on_standard_error_before_the_end_are_warnings(tiny, tmp_path, monkeypatch):
    def wait_for_line(line):
        return f"until [ -e '{tmp_path}/{line}' ]; do sleep 0.01; done; "

    script = f"echo 1 >&2; echo 2 >&2; {wait_for_line(1)} echo 3; {wait_for_line(3)} echo 4 >&2; exit 2"
    monkeypatch.setenv("EDGEWISE_PROGRAM", str(write_program(tmp_path / "program", script)))
    lines = []

    def keep(line):
        lines.append(line)
        (tmp_path / line).touch()

    with pytest.raises(edgewise.Error, match="^4$"):
        edgewise.train(tiny, tmp_path / "run", on_line=keep)
    assert lines == ["1", "2", "3"]


def test_a_process_that_holds_the_output_open_does_not_delay_the_end(tiny, tmp_path, monkeypatch):
    script = "sleep 100 & echo $! >pid; echo end >&2; exit 2"
    monkeypatch.setenv("EDGEWISE_PROGRAM", str(write_program(tmp_path / "program", script)))
    monkeypatch.chdir(tmp_path)
    assert error_of_training(tiny, tmp_path) == "end"
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)

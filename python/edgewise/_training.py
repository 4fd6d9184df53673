# SPDX-License-Identifier: Apache-2.0
"""Trains models with the program `edgewise`."""

from __future__ import annotations

import contextlib
import difflib
import functools
import inspect
import operator
import os
import re
import signal
import tempfile
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ParamSpec, TypeVar

from ._edgewise import Error
from ._full_program import Ended, need_program, run_to_end
from ._run import Run
from ._toml import format_table, format_value

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")

# Options of a config that name files. In a dict, a relative path begins at the working directory.
_PATHS = {"data": ("train", "valid", "test"), "vocabulary": ("file",)}


def _names_unknown_keywords(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    names = list(inspect.signature(function).parameters)

    @functools.wraps(function)
    def call(*arguments: _Parameters.args, **keywords: _Parameters.kwargs) -> _Result:
        for keyword in keywords:
            if keyword not in names:
                near = difflib.get_close_matches(keyword, names, n=1)
                advice = f"did you mean {near[0]}?" if near else "help(edgewise.train) lists the keywords"
                raise TypeError(f"{function.__name__}: {keyword} is unknown; {advice}")
        return function(*arguments, **keywords)

    return call


@_names_unknown_keywords
def train(
    config: str | os.PathLike[str] | Mapping[str, Any],
    out: str | os.PathLike[str],
    *,
    set: Mapping[str, Any] | None = None,
    from_model: str | os.PathLike[str] | None = None,
    resume: bool = False,
    threads: int = 0,
    on_line: Callable[[str], object] | None = print,
) -> Run:
    """Trains the model that a config describes, and returns the run.

    The program `edgewise train` does the work, in a process of its own; the package edgewise_train has this program.
    Ctrl-C lets it save, and raises KeyboardInterrupt when all is saved: the same call with resume=True continues the
    run with the same bits.

    config: a TOML file, or a dict of sections: {"train": {"steps": 1000}}
    out: the run directory to write
    set: values that replace those of the config: {"train.steps": 2000}
    from_model: a run or model directory, whose vocabularies and parameters the new run starts with
    resume: continue the run that `out` has
    threads: the number of threads; 0: as many as there are available cores
    on_line: a function that is called with each line of progress, in this thread; None: no progress
    """
    arguments = ["--out", _path("out", out)]
    for key, value in _items("set", set or {}):
        arguments += ["--set", f"{key}={format_value(value, 'train', f'set[{key!r}]')}"]
    if from_model is not None:
        arguments += ["--from", _path("from_model", from_model)]
    if resume:
        arguments.append("--resume")
    arguments += ["--threads", str(_whole_number("threads", threads))]
    if on_line is not None and not callable(on_line):
        raise TypeError(f"train: on_line is {on_line!r:.80}, needs a function of a str, or None")
    program = need_program("train")
    with _config_file(config) as file:
        ended = run_to_end(program, ["train", "--end-with-parent", str(os.getpid()), *arguments, "--", file], on_line)
    if ended.code != 0:
        # A dict has no file name that a message could begin with.
        name = f"{re.escape(file)}(?=:)" if isinstance(config, Mapping) else "(?!)"
        raise _failure(ended._replace(error=re.sub(name, "config", ended.error)))
    return Run(out)


def _failure(ended: Ended) -> BaseException:
    if ended.code == 128 + signal.SIGINT:  # the Ctrl-C of a terminal, in another thread than the main thread
        return KeyboardInterrupt()
    if ended.code > 128:
        try:
            name = signal.Signals(ended.code - 128).name
        except ValueError:
            name = f"signal {ended.code - 128}"
        detail = f": {ended.error}" if ended.error else ""
        return Error(f"train: {name} ended the program{detail}; if a checkpoint is saved, resume=True continues the run")
    return Error(ended.error or f"train: the program ended with code {ended.code} and without a message")


def _path(name: str, value: object) -> str:
    if not isinstance(value, (str, os.PathLike)) or not isinstance(path := os.fspath(value), str):
        raise TypeError(f"train: {name} is {value!r:.80}, needs a str or a path")
    if not path or "\0" in path:
        raise Error(f"train: {name} is {path!r:.80}, needs a path")
    return path


def _items(name: str, value: object) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, Mapping):
        raise TypeError(f'train: {name} is {value!r:.80}, needs a dict such as {{"train.steps": 2000}}')
    for key, each in value.items():
        if not isinstance(key, str):
            raise TypeError(f"train: {name} has the key {key!r:.80}, needs a str")
        if isinstance(each, Mapping):
            raise TypeError(f'train: {name}[{key!r}] is a dict, needs keys with a dot, such as "train.steps"')
        yield key, each


def _whole_number(name: str, value: object) -> int:
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"train: {name} is {value!r:.80}, needs a whole number") from None


@contextlib.contextmanager
def _config_file(config: object) -> Iterator[str]:
    if not isinstance(config, Mapping):
        yield _path("config", config)
        return
    table = dict(config)
    for section, keys in _PATHS.items():
        if isinstance(table.get(section), Mapping):
            table[section] = {
                key: _absolute(value) if key in keys else value for key, value in table[section].items()
            }
    text = format_table(table, "train", "config")
    with tempfile.TemporaryDirectory(prefix="edgewise-") as folder:
        file = os.path.join(folder, "config.toml")
        with open(file, "w", encoding="utf-8") as stream:
            stream.write(text)
        yield file


def _absolute(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_absolute(each) for each in value]
    if isinstance(value, (str, os.PathLike)) and os.fspath(value):
        return os.path.abspath(os.fspath(value))
    return value

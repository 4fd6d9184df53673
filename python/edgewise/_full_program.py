# SPDX-License-Identifier: Apache-2.0
"""Finds and runs the program `edgewise`, which trains and draws. This package has only the programs that translate."""

from __future__ import annotations

import importlib
import importlib.util
import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from ._edgewise import Error
from ._models import environment as models_environment


class Program(NamedTuple):
    path: str
    environment: dict[str, str]  # variables to set, beside those of this process


def find_program() -> Program | None:
    """Returns the program that EDGEWISE_PROGRAM names, that of the package edgewise_train, or else the one beside
    python or on PATH; None if there is none."""
    if named := os.environ.get("EDGEWISE_PROGRAM"):
        if not _is_program(named):
            raise Error(f"EDGEWISE_PROGRAM is {named!r}, needs the path of the program edgewise")
        return Program(os.path.abspath(named), {})
    if importlib.util.find_spec("edgewise_train") is not None:
        package = importlib.import_module("edgewise_train")
        return Program(package.program(), package.environment())
    beside = os.path.join(os.path.dirname(sys.executable), "edgewise")
    found = beside if _is_program(beside) else shutil.which("edgewise")
    return Program(os.path.abspath(found), {}) if found else None


def need_program(caller: str) -> Program:
    program = find_program()
    if program is None:
        raise Error(
            f"{caller}: the program edgewise is not installed, needs it; in a clone of Edgewise, make python-train-wheel && "
            "pip install dist/edgewise_train-*.whl, or set EDGEWISE_PROGRAM to the path of a program that is built"
        )
    return program


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


class Ended(NamedTuple):
    """How a program ended."""

    code: int  # as a shell says it: 128 + N for signal N
    error: str  # the last line on standard error


def run_to_end(program: Program, arguments: Sequence[str], on_line: Callable[[str], object] | None) -> Ended:
    """Runs a program and calls `on_line` with each line of its output and each warning, in the calling thread. A last
    line on standard error, behind which nothing follows, counts as an error if the program fails.

    An exception in this thread, such as KeyboardInterrupt, is passed on to the program as one SIGINT; it is raised again
    when the program has ended."""
    process = _Process(program, arguments)
    try:
        process.forward_lines(on_line)
    except BaseException as interruption:
        # An exception of on_line itself would come again with the next line.
        forwards = isinstance(interruption, KeyboardInterrupt)
        while True:
            try:
                process.stop()
                process.forward_lines(on_line if forwards else None)
                break
            except BaseException as another:
                forwards = forwards and isinstance(another, KeyboardInterrupt)
        raise
    return process.result()


class _Process:
    """A program whose output a thread reads. Only that thread starts and waits for the program: no signal handler of
    Python runs there, so that no exception can come between the start and the first look at its output."""

    def __init__(self, program: Program, arguments: Sequence[str]) -> None:
        self._command = [program.path, *arguments]
        self._environment = {**os.environ, **models_environment(), **program.environment}
        # A process that ignores SIGINT, as the background jobs of a shell do, starts programs that ignore it.
        self._stop_signal = signal.SIGTERM if signal.getsignal(signal.SIGINT) == signal.SIG_IGN else signal.SIGINT
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._is_stopped = False
        self._events: queue.SimpleQueue[tuple[str, str] | None] = queue.SimpleQueue()
        self._ended: int | Exception | None = None  # the exit code, set before the last event
        self._warning: str | None = None  # a line of standard error that may turn out to be the error
        self._last_error = ""
        threading.Thread(target=self._run, name="edgewise", daemon=True).start()

    def stop(self) -> None:
        with self._lock:
            self._is_stopped = True
            if self._process is not None and self._process.returncode is None:
                self._process.send_signal(self._stop_signal)

    def forward_lines(self, on_line: Callable[[str], object] | None) -> None:
        # An exception of a signal handler may drop the event that was just taken, even the last one.
        while self._ended is None or not self._events.empty():
            event = self._events.get()
            if event is None:
                break
            warning, self._warning = self._warning, None
            if warning is not None and on_line is not None:
                on_line(warning)
            stream, line = event
            if stream == "error":
                self._warning = self._last_error = line
            elif on_line is not None:
                on_line(line)
        if self._ended == 0 and self._warning is not None and on_line is not None:
            on_line(self._warning)

    def result(self) -> Ended:
        assert self._ended is not None
        if isinstance(self._ended, Exception):
            raise self._ended
        return Ended(self._ended, self._last_error)

    def _run(self) -> None:
        try:
            self._ended = self._run_program()
        except OSError as error:
            self._ended = Error(f"{self._command[1]}: {self._command[0]}: {error.strerror}")
        except Exception as error:
            self._ended = error
        self._events.put(None)

    def _run_program(self) -> int:
        with self._lock:
            if self._is_stopped:
                return 128 + self._stop_signal
            process = self._process = subprocess.Popen(
                self._command, env=self._environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, encoding="utf-8", errors="replace",
            )
        readers = [
            threading.Thread(target=self._read, args=arguments, name="edgewise", daemon=True)
            for arguments in (("output", process.stdout), ("error", process.stderr))
        ]
        for reader in readers:
            reader.start()
        code = process.wait()
        for reader in readers:
            # A process that another thread forked while the program started may hold the pipes open.
            reader.join(timeout=2)
        return code if code >= 0 else 128 - code

    def _read(self, stream: str, lines: Iterable[str]) -> None:
        for line in lines:
            self._events.put((stream, line.rstrip("\n")))

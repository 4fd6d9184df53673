# SPDX-License-Identifier: Apache-2.0
"""Trains in runs that a later call of the same program resumes, and keeps a line of JSON for each run that is done."""
import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import time

from watched_run import memory_of

INTERVAL_S = 1.0  # between two readings of the memory


class Results:
    """The lines of a file. A line has the members that identify its run, and figures."""

    def __init__(self, path):
        self.path = path

    def read(self):
        return [json.loads(line) for line in self.path.read_text().splitlines()] if self.path.exists() else []

    def has(self, run):
        return any(all(line.get(key) == value for key, value in run.items()) for line in self.read())

    def add(self, line):
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


@dataclasses.dataclass
class Spent:
    """The time of all calls, and the largest memory of one."""
    seconds: float = 0.0
    peak_megabytes: float = 0.0


def read_spent(path):
    return Spent(**json.loads(path.read_text())) if path.exists() else Spent()


def settings_words(settings):
    return [word for setting in settings for word in ("--set", setting)]


def train_command(program, config, run, words, start):
    """Returns the command that begins a run, from random numbers or from the model `start`, or resumes it."""
    is_begun = (run / "last").exists() or (run / "previous").exists()
    if not is_begun:
        shutil.rmtree(run, ignore_errors=True)  # of a run that ended before its first checkpoint
    begin = ["--resume"] if is_begun else ["--from", start] if start else []
    return [program, "train", config, "--out", run, "--end-with-parent", str(os.getpid()), *begin, *words]


def train(program, config, folder, words, minutes=float("inf"), start=None):
    """Trains FOLDER/run until it ends, or until the minutes of all calls are over, and returns what all calls spent.

    The output is appended to FOLDER/log. If this program ends, the training saves its state and ends."""
    folder.mkdir(parents=True, exist_ok=True)
    before, begin = read_spent(folder / "spent.json"), time.monotonic()
    spent, is_stopped = before, False
    with open(folder / "log", "a", encoding="utf-8") as log:
        process = subprocess.Popen(train_command(program, config, folder / "run", words, start), stdout=log, stderr=log)
        try:
            while process.poll() is None:
                sizes = memory_of(process)
                spent = Spent(before.seconds + time.monotonic() - begin,
                              max(spent.peak_megabytes, sizes[1] if sizes else 0.0))
                if spent.seconds > 60 * minutes and not is_stopped:
                    process.send_signal(signal.SIGTERM)
                    is_stopped = True
                try:
                    process.wait(INTERVAL_S)
                except subprocess.TimeoutExpired:
                    pass
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                process.wait()
            spent = Spent(before.seconds + time.monotonic() - begin, spent.peak_megabytes)
            (folder / "spent.json").write_text(json.dumps(dataclasses.asdict(spent)))
    if process.returncode not in ((0, 143) if is_stopped else (0,)):
        sys.exit(f"{folder}/log: the training failed with exit code {process.returncode}")
    return spent


def read_metrics(folder):
    """Returns the lines of the metrics of FOLDER/run."""
    return [json.loads(line) for line in (folder / "run/metrics.jsonl").read_text(encoding="utf-8").splitlines()]


def end_at_sigterm():
    """Lets SIGTERM end this program by an exception, so that the training of `train` is counted and ends first."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))

# SPDX-License-Identifier: Apache-2.0
"""Trains in runs that a later call of the same program resumes, and keeps a line of JSON for each run that is done."""
import dataclasses
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import time

from watched_run import memory_of

INTERVAL_S = 1.0  # between two readings of the memory
SAVING_S = 15.0  # for the last checkpoint of a training that is stopped
STOPPED = (128 + signal.SIGTERM, -signal.SIGTERM)


class TrainingFailed(SystemExit):
    """Ends the program with its message, unless the caller catches it."""


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
            file.flush()
            os.fsync(file.fileno())


@dataclasses.dataclass
class Spent:
    """The time of all calls, the largest memory of one, and whether the training made all its steps."""
    seconds: float = 0.0
    peak_megabytes: float = 0.0
    has_ended: bool = False

    @staticmethod
    def read(path):
        return Spent(**json.loads(path.read_text())) if path.exists() else Spent()

    def write(self, path):
        part = path.with_suffix(".part")
        part.write_text(json.dumps(dataclasses.asdict(self)))
        part.replace(path)


def settings_words(settings):
    return [word for setting in settings for word in ("--set", setting)]


def wait(process, path, limit):
    """Waits for a training, and stops it once all calls have taken `limit` seconds. Keeps in `path` what they spent, in
    case this program is killed. Returns it."""
    before, begin = Spent.read(path), time.monotonic()
    spent, is_stopped = dataclasses.replace(before), False
    try:
        while process.poll() is None:
            sizes = memory_of(process)
            spent.peak_megabytes = max(spent.peak_megabytes, sizes[1] if sizes else 0.0)
            spent.seconds = before.seconds + time.monotonic() - begin
            spent.write(path)
            if spent.seconds >= limit and not is_stopped:
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
        spent.seconds = before.seconds + time.monotonic() - begin
        spent.has_ended = process.returncode == 0
        spent.write(path)
    return spent


def train(program, folder, words, config=None, minutes=math.inf, start=None):
    """Trains FOLDER/run, from random numbers or from the model `start`, until its last step or until all calls together
    have taken the minutes. Returns what they spent.

    Without `config`, all options are in the words. The output is appended to FOLDER/log. If this program ends, the
    training saves its state and ends."""
    folder.mkdir(parents=True, exist_ok=True)
    run, path, limit = folder / "run", folder / "spent.json", 60 * minutes - SAVING_S
    is_begun = (run / "last").exists() or (run / "previous").exists()
    spent = Spent.read(path)
    if spent.has_ended or (spent.seconds >= limit and is_begun):
        return spent
    if not is_begun:
        shutil.rmtree(run, ignore_errors=True)  # of a training that was killed before its first checkpoint
    if config is None:
        config = folder / "config.toml"
        config.write_text("", encoding="utf-8")
    begin = ["--resume"] if is_begun else ["--from", start] if start else []
    with open(folder / "log", "a", encoding="utf-8") as log:
        process = subprocess.Popen([program, "train", config, "--out", run, "--end-with-parent", str(os.getpid()),
                                    *begin, *words], stdout=log, stderr=log)
        spent = wait(process, path, limit)
    if process.returncode in STOPPED and spent.seconds < limit:
        sys.exit("stopped; the same command goes on")
    if process.returncode not in (0, *STOPPED):
        lines = (folder / "log").read_text(encoding="utf-8", errors="replace").splitlines()
        raise TrainingFailed(f"{folder}/log: train has exit code {process.returncode}: {lines[-1] if lines else ''}")
    return spent


def read_metrics(folder):
    """Returns the lines of the metrics of FOLDER/run."""
    return [json.loads(line) for line in (folder / "run/metrics.jsonl").read_text(encoding="utf-8").splitlines()]


def last_step(folder):
    return max((line.get("step", 0) for line in read_metrics(folder)), default=0)


def end_at_sigterm():
    """Lets SIGTERM end this program by an exception, so that the training of `train` is counted and ends first."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))

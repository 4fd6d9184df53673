# SPDX-License-Identifier: Apache-2.0
"""Trains models within a limit of time, in parts: a training that was stopped resumes."""
import json
import signal
import subprocess
import sys
import time


def read_seconds(folder):
    path = folder / "seconds"
    return float(path.read_text()) if path.exists() else 0.0


def run_until(command, log, seconds):
    """Runs a command, and asks it to stop after some seconds. Returns whether it ended by itself. Exits if it fails."""
    with open(log, "a", encoding="utf-8") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file)
        try:
            code = process.wait(max(0.0, seconds))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGTERM)
            code = process.wait()
        except BaseException:
            process.send_signal(signal.SIGTERM)
            process.wait()
            raise
    if code not in (0, 128 + signal.SIGTERM):
        sys.exit(f"{log}: the training failed with exit code {code}")
    return code == 0


def read_last_step(run):
    return max(json.loads(line).get("step", 0) for line in (run / "metrics.jsonl").read_text().splitlines())


def train(given, folder, settings, start=None):
    """Trains FOLDER/run with a list of settings, from the model `start` unless it is None, for at most given.minutes over
    all calls. Returns a record of the training, which FOLDER/done keeps: later calls only read it."""
    done = folder / "done"
    if done.exists():
        return json.loads(done.read_text())
    folder.mkdir(parents=True, exist_ok=True)
    config, run, before, begin = folder / "config.toml", folder / "run", read_seconds(folder), time.monotonic()
    config.write_text("", encoding="utf-8")
    command = [given.program, "train", config, "--out", run, "--threads", str(given.threads)]
    command += [word for setting in settings for word in ("--set", setting)]
    if (run / "last").exists():
        command += ["--resume"]
    elif start:
        command += ["--from", start]
    try:
        has_ended = run_until(command, folder / "log", 60 * given.minutes - before)
    finally:
        seconds = before + time.monotonic() - begin
        (folder / "seconds").write_text(str(seconds))
    record = {"steps": read_last_step(run), "minutes": round(seconds / 60, 1), "reached_limit": not has_ended,
              "settings": settings}
    done.write_text(json.dumps(record))
    return record

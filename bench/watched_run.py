# SPDX-License-Identifier: Apache-2.0
"""Runs a command and records when it prints each line, and how much memory it has at each moment."""
import dataclasses
import subprocess
import sys
import threading
import time

INTERVAL_S = 0.05


@dataclasses.dataclass
class WatchedRun:
    seconds: float
    lines: list  # (seconds since the start, line)
    memory: list  # (seconds since the start, resident memory in MB, its peak so far in MB)

    def peak_megabytes(self):
        return max((peak for _, _, peak in self.memory), default=0.0)

    def largest_megabytes(self, begin, end):
        """Returns the largest resident memory between two moments; 0 if no sample lies between them."""
        return max((resident for at, resident, _ in self.memory if begin <= at <= end), default=0.0)

    def seconds_of(self, text):
        """Returns the moment of the first line that contains `text`."""
        return next(at for at, line in self.lines if text in line)


def memory_of(process):
    """Returns resident memory and its peak in MB, or None if the process has ended.

    The peak is that of the program: ru_maxrss of wait4 would include the memory of the Python process that started it.
    """
    with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
        fields = dict(line.split(":", 1) for line in status)
    if "VmHWM" not in fields:
        return None
    return tuple(int(fields[name].split()[0]) * 1024e-6 for name in ("VmRSS", "VmHWM"))


def record_memory(process, begin, has_ended, memory):
    while not has_ended.wait(INTERVAL_S):
        sizes = memory_of(process)
        if sizes is not None:
            memory.append((time.monotonic() - begin, *sizes))


def run_watched(command, **options):
    """Runs a command and returns its WatchedRun. Ends this program if the command fails."""
    begin = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **options)
    has_ended, memory = threading.Event(), []
    watcher = threading.Thread(target=record_memory, args=(process, begin, has_ended, memory))
    watcher.start()
    try:
        lines = [(time.monotonic() - begin, line) for line in process.stdout]
    except BaseException:
        process.terminate()
        raise
    finally:
        has_ended.set()
        watcher.join()
        code = process.wait()
    if code != 0:
        sys.exit(f"{' '.join(map(str, command))} failed with exit code {code}")
    return WatchedRun(time.monotonic() - begin, lines, memory)

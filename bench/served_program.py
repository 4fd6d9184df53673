# SPDX-License-Identifier: Apache-2.0
"""Runs a server, and records the memory, descriptors and threads of its process."""
import contextlib
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

from watched_run import memory_of

READY_S = 120
END_S = 60
INTERVAL_S = 0.25


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class ServedProgram:
    """A server while it runs: `command(port)` is its command line."""

    def __init__(self, command, **options):
        self.port = free_port()
        self.command = [str(word) for word in command(self.port)]
        self.process = subprocess.Popen(self.command, **options)
        self.samples = []  # (time.monotonic(), resident memory in MB, descriptors, threads)
        self.has_ended = threading.Event()
        self.watcher = threading.Thread(target=self.watch)

    def wait_until_ready(self, path):
        """Waits until the server answers GET `path` with status 200. Ends this program if it does not in time."""
        end = time.monotonic() + READY_S
        while time.monotonic() < end and self.process.poll() is None:
            with contextlib.suppress(OSError):  # urllib.error.HTTPError among them
                with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5):
                    self.watcher.start()
                    return
            time.sleep(0.1)
        self.process.kill()
        sys.exit(f"the server does not begin: {' '.join(self.command)}")

    def watch(self):
        while not self.has_ended.wait(INTERVAL_S):
            sample = self.sample()
            if sample is not None:
                self.samples.append(sample)

    def sample(self):
        """Returns time, resident memory in MB, descriptors and threads; None if the process has ended."""
        try:
            memory = memory_of(self.process)
            folder = f"/proc/{self.process.pid}"
            counts = len(os.listdir(f"{folder}/fd")), len(os.listdir(f"{folder}/task"))
        except OSError:
            return None
        return None if memory is None else (time.monotonic(), memory[0], *counts)

    def cpu_seconds(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        """Sends SIGTERM, and returns the exit code and the seconds until the end. Kills the process after END_S."""
        begin = time.monotonic()
        self.process.terminate()
        try:
            code = self.process.wait(END_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        self.has_ended.set()
        self.watcher.join()
        return code, time.monotonic() - begin


@contextlib.contextmanager
def serving(command, path, **options):
    """Runs a server that is ready when GET `path` has status 200, and stops it."""
    server = ServedProgram(command, **options)
    try:
        server.wait_until_ready(path)
        yield server
    finally:
        if server.process.poll() is None:
            if server.watcher.is_alive():
                server.stop()
            else:
                server.process.kill()
                server.process.wait()
        elif server.watcher.is_alive():
            server.has_ended.set()
            server.watcher.join()

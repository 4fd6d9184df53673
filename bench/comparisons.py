# SPDX-License-Identifier: Apache-2.0
"""Runs pairs of commands in turns, each command as a process of its own with two threads, and describes how the medians
of their figures compare."""
import dataclasses
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import time

from hardware import format_table

THREADS = ["--threads", "2"]
TIMEOUT_S = 600


@dataclasses.dataclass
class Comparison:
    """Two commands, the figure that both print, and the target of their ratio. `ours_figure`: our name of the figure, if
    the peer's has another one. `more`: a larger figure is better. `at_most`: the ratio, ours divided by the peer's, must
    not exceed the target."""
    name: str
    peer: str
    ours_command: list
    peer_command: list
    figure: str
    scale: float
    target: float = None
    more: bool = True
    at_most: bool = False
    ours_figure: str = None

    def ratio(self, ours, peer):
        return ours / peer if self.more or self.at_most else peer / ours

    def is_met(self, ratio):
        return ratio <= self.target if self.at_most else ratio >= self.target


def measure(command):
    """Returns the JSON that a command prints as its last line, or {"failed": reason}."""
    environment = {**os.environ, "OMP_NUM_THREADS": "2", "DGLBACKEND": "pytorch"}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, env=environment, check=False)
    except subprocess.TimeoutExpired:
        return {"failed": f"takes longer than {TIMEOUT_S} s"}
    if done.returncode != 0:
        errors = done.stderr.strip().splitlines() or ["no error message"]
        return {"failed": f"exit code {done.returncode}: {errors[-1]}"}
    return json.loads(done.stdout.strip().splitlines()[-1])


def busy_seconds():
    """Returns the busy seconds of all cores since the machine started, and of child processes that have ended."""
    with open("/proc/stat", encoding="ascii") as stat:
        user, nice, system, _, _, irq, soft_irq, *_ = [int(ticks) for ticks in stat.readline().split()[1:]]
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    everyone = (user + nice + system + irq + soft_irq) / os.sysconf("SC_CLK_TCK")
    return everyone, children.ru_utime + children.ru_stime


def measure_alone(command):
    """Returns the result of `measure` with the number of cores that other processes used meanwhile."""
    begin, (all_before, own_before) = time.monotonic(), busy_seconds()
    result = measure(command)
    all_after, own_after = busy_seconds()
    others = (all_after - all_before) - (own_after - own_before)
    return {**result, "cores_of_others": round(max(others, 0.0) / (time.monotonic() - begin), 2)}


def measure_in_turns(comparisons, repetitions):
    """Yields all results so far, by command, after each repetition. The two commands of a comparison run one after the
    other."""
    commands = list(dict.fromkeys(
        tuple(command) for comparison in comparisons for command in (comparison.ours_command, comparison.peer_command)))
    results = {command: [] for command in commands}
    for repetition in range(repetitions):
        for command in commands:
            results[command].append(measure_alone(command))
            print(f"[{repetition + 1}/{repetitions}] {readable(command)}: {json.dumps(results[command][-1])}",
                  file=sys.stderr, flush=True)
        yield results


def readable(command):
    """Returns a command as text, without the folders of its files."""
    return " ".join(pathlib.Path(word).name if "/" in word else word for word in command)


def median_of(results, figure, scale):
    """Returns the median figure, or as text the reason of the first failure."""
    failures = [result["failed"] for result in results if "failed" in result]
    if failures:
        return f"failed: {failures[0]}"
    return statistics.median(result[figure] for result in results) * scale


def digits(value):
    return value if isinstance(value, str) else f"{value:.3g}" if value < 100 else f"{value:.0f}"


def target_text(comparison):
    if comparison.target is None:
        return ""
    return f"{'≤' if comparison.at_most else '≥'} {comparison.target:g}"


def row(comparison, results):
    ours = median_of(results[tuple(comparison.ours_command)], comparison.ours_figure or comparison.figure,
                     comparison.scale)
    peer = median_of(results[tuple(comparison.peer_command)], comparison.figure, comparison.scale)
    ratio = met = ""
    if not isinstance(ours, str) and not isinstance(peer, str) and ours > 0 and peer > 0:
        value = comparison.ratio(ours, peer)
        ratio = f"{value:.2f}"
        if comparison.target is not None:
            met = "yes" if comparison.is_met(value) else "no"
    return [comparison.name, comparison.peer, digits(peer), digits(ours), ratio, target_text(comparison), met]


def list_versions(program, results):
    """Returns the versions of Edgewise and of all peers that have printed theirs."""
    ours = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    peers = {result["version"] for repeated in results.values() for result in repeated if "version" in result}
    return [ours, *sorted(peers)]


def most_cores_of_others(results):
    return max(result["cores_of_others"] for repeated in results.values() for result in repeated)


def describe(comparisons, program, results):
    """Returns a table of all results so far as text, and all figures."""
    repetitions = len(next(iter(results.values())))
    names = list_versions(program, results)
    head = ["case", "peer", "the peer's", "ours", "ratio", "target", "met"]
    text = (f"Two threads; medians of {repetitions} runs in turns. {'; '.join(names)}.\n"
            f"Other processes kept up to {most_cores_of_others(results):.1f} cores busy.\n\n"
            f"{format_table(head, [row(comparison, results) for comparison in comparisons])}")
    measurements = [{"command": readable(command), "results": repeated} for command, repeated in results.items()]
    return text, {"versions": names, "repetitions": repetitions, "measurements": measurements}

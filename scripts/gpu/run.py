# SPDX-License-Identifier: Apache-2.0
"""Runs steps within budgets of time, and writes what they found to a JSON file after each of them."""
import dataclasses
import importlib.util
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

# What the archive of `make gpu-bundle` tells about its programs: commit, and environments of tests by their names.
BUNDLE = ROOT / "bundle.json"

# The emulator runs each thread of a GPU as a fiber of the CPU.
EMULATED_SLOWNESS = 10


class Failed(Exception):
    """A check that did not hold, or a program that failed."""


class Missing(Exception):
    """A program, an option or a tool that does not exist here, so that a step cannot run."""


@dataclasses.dataclass(frozen=True)
class Step:
    name: str
    seconds: float  # budget on a GPU
    work: Callable[["Run"], dict]


class Run:
    """What the steps share: folders, the time that is left, and how to start programs."""

    def __init__(self, build, folder, is_emulated):
        self.build = pathlib.Path(build).resolve()
        self.folder = pathlib.Path(folder)
        self.is_emulated = is_emulated
        self.end_of_step = float("inf")
        self.stand_ins = []
        self.kernels = set()  # that the step "kernels" has launched, in emulation

    def begin(self, seconds):
        self.end_of_step = time.monotonic() + seconds
        self.stand_ins = []

    def program(self, name):
        path = self.build / (pathlib.Path(name).name if BUNDLE.exists() else name)
        if not path.exists():
            raise Missing(f"{path} does not exist, needs to be built")
        return str(path)

    def edgewise(self):
        """Returns the path of the program edgewise, in emulation of the one that tests build with the emulator."""
        return self.program("tests/emulator/edgewise-emulated" if self.is_emulated else "edgewise")

    def tool(self, name):
        """Returns the path of a tool for GPUs, in emulation of what stands in for it."""
        if self.is_emulated:
            self.stand_in(f"scripts/gpu/stand_ins/{name} instead of {name}")
            return str(ROOT / "scripts/gpu/stand_ins" / name)
        path = shutil.which(name)
        if path is None:
            raise Missing(f"{name} is not on PATH")
        return path

    def stand_in(self, text):
        """Notes that something else runs instead of what a GPU would need."""
        self.stand_ins.append(text)

    def environment(self, **more):
        environment = os.environ | {"OMP_WAIT_POLICY": "passive", "RC_PARAMS": "seed=1"}
        if BUNDLE.exists():
            environment["LD_LIBRARY_PATH"] = ":".join(map(str, torch_libraries()))
        if self.is_emulated:
            environment["EDGEWISE_OPERATIONS"] = "cuda-emulated"
        else:
            environment["EDGEWISE_TEST_DEVICE"] = "cuda"
        return environment | more

    def command(self, arguments, environment=None):
        """Runs a program until the step's time is up, and returns its output."""
        left = self.end_of_step - time.monotonic()
        if left <= 0:
            raise Failed(f"no time is left for {describe(arguments)}")
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                              env=environment or self.environment(), start_new_session=True) as process:
            try:
                output, errors = process.communicate(timeout=left)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
                raise Failed(f"{describe(arguments)} ran for more than {left:.0f} s") from None
        if process.returncode != 0:
            lines = (output + errors).strip().splitlines()[-15:]
            raise Failed(f"{describe(arguments)} ended with code {process.returncode}:\n" + "\n".join(lines))
        return output

    def has_option(self, subcommand, option):
        """Returns whether a command of the program edgewise has an option."""
        return option in self.command([self.edgewise(), *subcommand, "--help"]).split()

    def device_option(self, subcommand):
        """Returns the arguments that let a command of edgewise compute on the GPU, in emulation none."""
        if self.is_emulated:
            return []
        if not self.has_option(subcommand, "--device"):
            raise Missing(f"edgewise {' '.join(subcommand)} has no option --device yet")
        return ["--device", "cuda"]


def library_folders(packages):
    """Returns the folders with the libraries of the package torch in a folder of packages, and of those of NVIDIA."""
    return [packages / "torch/lib", *sorted((packages / "nvidia").glob("*/lib"))]


def torch_libraries():
    """Returns the folders with the libraries of this Python's package torch, and of the packages of NVIDIA beside it."""
    found = importlib.util.find_spec("torch")
    if found is None:
        raise Missing(f"{sys.executable} has no package torch, whose libraries the programs of the archive need")
    return library_folders(pathlib.Path(found.origin).parent.parent)


def describe_commit():
    """Returns the commit of the clone, with "-dirty" behind it if files differ; "unknown" without Git."""
    arguments = ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    try:
        result = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, check=False)
    except FileNotFoundError:  # without git
        return "unknown"
    return result.stdout.strip() or "unknown"


def describe(arguments):
    return " ".join(map(str, arguments[:4])) + (" …" if len(arguments) > 4 else "")


def run_step(run, step, seconds):
    """Returns the step's entry in the report."""
    begin = time.monotonic()
    run.begin(seconds)
    entry = {"step": step.name, "budget_seconds": round(seconds, 1)}
    try:
        if seconds <= 0:
            raise Failed("the steps before took all the time")
        entry |= {"status": "passed", "result": step.work(run)}
    except Failed as error:
        entry |= {"status": "failed", "error": str(error)}
    except Missing as error:
        entry |= {"status": "missing", "error": str(error)}
    except Exception as error:  # pylint: disable=broad-exception-caught  # an output in another form than expected
        entry |= {"status": "failed", "error": f"{type(error).__name__}: {error}"}
    entry["seconds"] = round(time.monotonic() - begin, 1)
    if run.stand_ins:
        entry["stand_ins"] = run.stand_ins
    return entry


def write(path, report):
    partial = path.with_name(path.name + ".partial")
    partial.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    partial.replace(path)


def run_steps(run, steps, seconds, path, about):
    """Runs the steps in turn, whatever fails, within `seconds`. Returns the exit code: 1 if a step failed."""
    slowness = EMULATED_SLOWNESS if run.is_emulated else 1
    end = time.monotonic() + seconds * slowness
    report = about | {"steps": []}
    for step in steps:
        budget = min(step.seconds * slowness, end - time.monotonic())
        entry = run_step(run, step, budget)
        report["steps"].append(entry)
        write(path, report)
        print(f"{entry['status']:8} {entry['seconds']:6.1f} s  {step.name}", flush=True)
        if "error" in entry:
            print("    " + entry["error"].replace("\n", "\n    "), file=sys.stderr, flush=True)
    return 1 if any(entry["status"] == "failed" for entry in report["steps"]) else 0

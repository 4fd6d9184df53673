# SPDX-License-Identifier: Apache-2.0
"""Steps that check results: primitives, the suites of kernels and operations, and the sanitizers of CUDA."""
import json
import shutil
import sys

from gpu.run import BUNDLE, ROOT, Failed, Missing

DEVICE_TESTS = "tests/kernels/device"

# Tests of every kernel, over several tiles and blocks where the kernel has any; in emulation, the step fails if it lacks a
# kernel that other tests launch. A sanitizer makes a kernel some hundred times as slow.
SANITIZED_TESTS = ("TileProduct.*:*.GivesTheSameBitsInEverySchedule:*.GiveTheSameSumsInEverySchedule:"
                   "Adam.ComputesAlgorithm*:DivideByNorm.Divides*:AddDropout.*:Dropout.GivesTheBits*:Dropout.May*:"
                   "RowsOf/*.ArePlaced*:RowsOf/*.AreGathered*:ScatterRowsOf/*.Gives*:LaunchGraphs.*:"
                   "Conformance.*")
SANITIZERS = ("memcheck", "racecheck", "synccheck", "initcheck")


def conformance(run):
    """Compares the words of each primitive with the emulator's."""
    emulated, device = run.folder / "emulated.txt", run.folder / "device.txt"
    emulated.write_text(run.command([run.program(f"{DEVICE_TESTS}/device_conformance")]), encoding="utf-8")
    program = "device_conformance" if run.is_emulated else "device_conformance_cuda"
    device.write_text(run.command([run.program(f"{DEVICE_TESTS}/{program}")]), encoding="utf-8")
    run.command([sys.executable, str(ROOT / "scripts/compare_conformance"), str(emulated), str(device)])
    return {"primitives": len(device.read_text(encoding="utf-8").splitlines())}


def read_kernels(report):
    """Returns the kernels that the tests launched, which only a build with the emulator records."""
    return set(report.get("kernels", "").splitlines())


def read_tests(report):
    """Returns (number of tests that ran, names of those that failed) of a JSON report of GoogleTest."""
    tests = [(suite["name"], test) for suite in report["testsuites"] for test in suite["testsuite"]]
    ran = [(suite, test) for suite, test in tests if test.get("result") == "COMPLETED"]
    return len(ran), [f"{suite}.{test['name']}" for suite, test in ran if test.get("failures")]


def run_tests(run, program, environment, prefix=()):
    """Runs a program of tests, and returns its report. A failure names the failed tests, and a crash the last lines of
    the output."""
    path = run.folder / "tests.json"
    path.unlink(missing_ok=True)
    try:
        run.command([*prefix, program, "--gtest_brief=1", f"--gtest_output=json:{path}"], environment)
    except Failed as error:
        if not path.exists():
            raise
        count, failed = read_tests(json.loads(path.read_text(encoding="utf-8")))
        raise Failed(f"{len(failed)} of {count} tests failed: {', '.join(failed)}\n{error}") from None
    report = json.loads(path.read_text(encoding="utf-8"))
    if read_tests(report)[0] == 0:
        raise Failed(f"{program} ran no test, needs some")
    return report


def count_tests(report):
    return {"tests": read_tests(report)[0]}


def kernels(run):
    report = run_tests(run, run.program(f"{DEVICE_TESTS}/test_device"), run.environment())
    run.kernels = read_kernels(report)
    return count_tests(report)


def environment_of_test(listed, name):
    """Returns the environment of a test in the output of ctest --show-only=json-v1."""
    for test in listed["tests"]:
        if test["name"] == name:
            properties = {item["name"]: item["value"] for item in test.get("properties", [])}
            return dict(pair.split("=", 1) for pair in properties.get("ENVIRONMENT", []))
    raise Missing(f"the build has no test {name}")


def listed_tests(run):
    """Returns what ctest --show-only=json-v1 prints about the build, also for the programs of an archive."""
    if BUNDLE.exists():
        return json.loads(BUNDLE.read_text(encoding="utf-8"))["tests"]
    if shutil.which("ctest") is None:
        raise Missing("ctest is not on PATH")
    return json.loads(run.command(["ctest", "--test-dir", str(run.build), "--show-only=json-v1"]))


def operations(run):
    """Runs the tests of operations, with tensors on the GPU."""
    name = "ops_cuda_emulated" if run.is_emulated else "ops_cuda"
    environment = run.environment(**environment_of_test(listed_tests(run), name))
    return count_tests(run_tests(run, run.program("tests/ops/test_ops"), environment))


def sanitizer(tool):
    """Returns a step that runs small tests under a tool of compute-sanitizer."""

    def work(run):
        prefix = [run.tool("compute-sanitizer"), "--tool", tool, "--error-exitcode", "9"]
        environment = run.environment(GTEST_FILTER=SANITIZED_TESTS)
        report = run_tests(run, run.program(f"{DEVICE_TESTS}/test_device"), environment, prefix)
        missing = run.kernels - read_kernels(report) - {"test"}
        if missing:
            raise Failed(f"SANITIZED_TESTS do not launch {', '.join(sorted(missing))}")
        return count_tests(report)

    return work


def machine(run):
    """Names the GPU and its driver."""
    names = ["name", "driver_version", "memory.total", "clocks.max.sm", "compute_cap"]
    output = run.command([run.tool("nvidia-smi"), f"--query-gpu={','.join(names)}", "--format=csv,noheader"])
    return dict(zip(names, (value.strip() for value in output.splitlines()[0].split(","))))

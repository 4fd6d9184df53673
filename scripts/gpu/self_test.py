# SPDX-License-Identifier: Apache-2.0
"""Tests of gpu_check's own logic, which need no build."""
import json
import pathlib
import sys
import tempfile
import time

from gpu import checks, speed, training
from gpu.run import EMULATED_SLOWNESS, Failed, Missing, Run, Step, run_steps


def error_of(call, kind):
    try:
        call()
    except kind as error:
        return str(error)
    raise AssertionError(f"needs {kind.__name__}")


def test_every_step_runs_and_the_file_has_them_all(folder):
    def fail(run):
        raise Failed("wrong")

    def miss(run):
        raise Missing("no tool")

    def stand_in(run):
        run.stand_in("a shell instead of a GPU")
        return {"output": run.command(["sh", "-c", "echo $EDGEWISE_OPERATIONS"]).strip()}

    path = folder / "report.json"
    steps = [Step("a", 1, fail), Step("b", 1, miss), Step("c", 1, lambda run: 1 / 0), Step("d", 1, stand_in)]
    assert run_steps(Run(folder, folder, True), steps, 10, path, {"emulated": True}) == 1
    report = json.loads(path.read_text(encoding="utf-8"))
    assert [step["status"] for step in report["steps"]] == ["failed", "missing", "failed", "passed"], report
    assert report["steps"][2]["error"].startswith("ZeroDivisionError")
    assert report["steps"][3]["stand_ins"] and report["steps"][3]["result"] == {"output": "cuda-emulated"}
    assert run_steps(Run(folder, folder, True), steps[1:2], 10, path, {}) == 0


def test_a_program_that_runs_too_long_is_killed_with_its_children(folder):
    begin = time.monotonic()
    steps = [Step("slow", 0.3, lambda run: run.command(["sh", "-c", "sleep 60 & sleep 60"])),
             Step("late", 5, lambda run: {})]
    path = folder / "report.json"
    assert run_steps(Run(folder, folder, False), steps, 0.3, path, {}) == 1
    report = json.loads(path.read_text(encoding="utf-8"))
    assert "ran for more than" in report["steps"][0]["error"], report
    assert report["steps"][1]["error"] == "the steps before took all the time"
    assert time.monotonic() - begin < 20 and EMULATED_SLOWNESS > 1


def test_failures_name_the_last_lines_of_a_program(folder):
    run = Run(folder, folder, False)
    run.begin(10)
    message = error_of(lambda: run.command([sys.executable, "-c", "print('reason'); raise SystemExit(3)"]), Failed)
    assert "code 3" in message and message.endswith("reason"), message
    assert "needs to be built" in error_of(lambda: run.program("edgewise"), Missing)


def test_reports_of_tests_are_read(folder):
    case = {"name": "Works", "result": "COMPLETED"}
    failed = {"name": "Fails", "result": "COMPLETED", "failures": [{"failure": "no"}]}
    skipped = {"name": "Skips", "result": "SUPPRESSED"}
    report = {"testsuites": [{"name": "A", "testsuite": [case, failed, skipped]}]}
    assert checks.read_tests(report) == (2, ["A.Fails"])
    program = folder / "program"
    program.write_text("#!/bin/sh\nfor a; do :; done\n" + f"echo '{json.dumps(report)}' >\"${{a#*json:}}\"\nexit 1\n",
                       encoding="utf-8")
    program.chmod(0o755)
    run = Run(folder, folder, False)
    run.begin(10)
    message = error_of(lambda: checks.run_tests(run, str(program), run.environment()), Failed)
    assert message.startswith("1 of 2 tests failed: A.Fails"), message


def test_kernels_of_tests_are_read(folder):
    assert checks.read_kernels({"kernels": "adam\ncast, wide\n"}) == {"adam", "cast, wide"}
    assert checks.read_kernels({}) == set()


def test_a_sanitized_step_without_a_kernel_fails(folder):
    program = folder / "tests/kernels/device/test_device"
    program.parent.mkdir(parents=True)
    report = {"kernels": "a\n", "testsuites": [{"name": "A", "testsuite": [{"name": "B", "result": "COMPLETED"}]}]}
    program.write_text("#!/bin/sh\nfor a; do :; done\n" + f"printf '%s' '{json.dumps(report)}' >\"${{a#*json:}}\"\n",
                       encoding="utf-8")
    program.chmod(0o755)
    run = Run(folder, folder, True)
    run.begin(10)
    run.kernels = {"a", "b"}
    message = error_of(lambda: checks.sanitizer("memcheck")(run), Failed)
    assert message == "SANITIZED_TESTS do not launch b", message
    run.kernels = {"a"}
    assert checks.sanitizer("memcheck")(run) == {"tests": 1}


def test_environments_of_tests_are_found(folder):
    listed = {"tests": [{"name": "ops_cuda",
                         "properties": [{"name": "ENVIRONMENT", "value": ["A=b", "GTEST_FILTER=-X=Y"]}]}]}
    assert checks.environment_of_test(listed, "ops_cuda") == {"A": "b", "GTEST_FILTER": "-X=Y"}
    assert "no test nn_cuda" in error_of(lambda: checks.environment_of_test(listed, "nn_cuda"), Missing)


def test_curves_are_compared(folder):
    assert training.read_losses('{"step": 1, "loss": 2.5}\n{"step": 1, "valid_loss": 3}\n') == [2.5]
    assert training.largest_difference([2.0, 1.01], [2.0, 1.0]) < 0.0101
    for wrong in ([2.0], [2.0, float("nan")], []):
        assert training.largest_difference(wrong, [2.0, 1.0]) == float("inf"), wrong
    training.write_corpus(folder)
    assert len((folder / "words.in").read_text(encoding="utf-8").splitlines()) == 400


def test_measurements_after_one_that_fails_are_kept(folder):
    def fail():
        raise Failed("out of memory")

    message = error_of(lambda: speed.measure_all([("a", fail), ("b", lambda: {"ms": 1})]), Failed)
    assert message == 'a: out of memory\nthe others: {"b": {"ms": 1}}', message


def check_budgets(steps, seconds):
    total = sum(step.seconds for step in steps)
    assert total <= seconds <= 540, f"the budgets of the steps are {total} s together, needs at most {seconds}"


def run_all(steps, seconds):
    check_budgets(steps, seconds)
    tests = [(name, test) for name, test in globals().items() if name.startswith("test_")]
    for _, test in tests:
        with tempfile.TemporaryDirectory() as folder:
            test(pathlib.Path(folder))
    print(f"gpu_check: {len(tests)} tests passed")
    return 0

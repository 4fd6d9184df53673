# SPDX-License-Identifier: Apache-2.0
"""Trainings that a signal or an exception ends."""
import os
import pathlib
import re
import signal
import threading

import pytest
from conftest import start_python, wait_until

import edgewise

# A training that ends only by a signal, and saves only then.
ENDLESS = {"train.epochs": 0, "train.steps": 1000000, "train.save_every": 1000000, "train.validate_every": 1000000,
           "train.log_every": 10}


def parent_of(process):
    try:
        after_name = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2]
    except (FileNotFoundError, ProcessLookupError):  # the process has ended
        return None
    return int(after_name.split()[1])


def child_processes(process=None):
    """Returns the child processes of a process, by default of this one."""
    parent = process or os.getpid()
    return [int(folder.name) for folder in pathlib.Path("/proc").glob("[0-9]*") if parent_of(folder.name) == parent]


def has_ended(process):
    try:
        return pathlib.Path(f"/proc/{process}/cmdline").read_bytes() == b""  # a zombie, or none
    except FileNotFoundError:
        return True


def wait_for_step(process):
    """Reads the output of a Python program that trains, until the training has metrics."""
    while not (line := process.stdout.readline()).startswith("step "):
        assert line


def endless(tiny, tmp_path, on_line):
    """Returns the code of an endless training, whose `on_line` is an expression."""
    return (f"edgewise.train({str(tiny)!r}, {str(tmp_path / 'run')!r}, set={ENDLESS!r}, threads=1, on_line={on_line})")


def signal_training(number):
    """Returns a function for `on_line` that sends a signal to the training when it has metrics."""
    def send(line):
        if line.startswith("step "):
            for child in child_processes():
                os.kill(child, number)

    return send


def expect_resumable(tiny, tmp_path):
    """Expects that the run has a state of its last step, and that it continues with the bits of a longer run."""
    state = (tmp_path / "run/last/training.toml").read_text()
    steps = int(re.search(r"^step = (\d+)$", state, re.MULTILINE)[1]) + 20
    settings = {**ENDLESS, "train.steps": steps}
    edgewise.train(tiny, tmp_path / "run", resume=True, set=settings, threads=1, on_line=None)
    edgewise.train(tiny, tmp_path / "whole", set=settings, threads=1, on_line=None)
    for name in ("model.safetensors", "training.safetensors"):
        assert (tmp_path / "run/last" / name).read_bytes() == (tmp_path / "whole/last" / name).read_bytes()


# A terminal sends SIGINT to the program, too; a notebook sends it to Python alone or to both.
@pytest.mark.parametrize("receiver", ["python", "terminal"])
def test_ctrl_c_saves_and_the_run_is_resumable(receiver, tiny, tmp_path):
    code = f"""
import edgewise
try:
    {endless(tiny, tmp_path, "lambda line: print(line, flush=True)")}
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
    process = start_python(code, start_new_session=True)
    wait_for_step(process)
    if receiver == "python":
        process.send_signal(signal.SIGINT)
    else:
        os.killpg(process.pid, signal.SIGINT)
    lines = process.communicate(timeout=60)[0].splitlines()
    assert process.returncode == 0
    assert re.fullmatch(r"stopped at step \d+; all is saved\..*", lines[-2])
    assert lines[-1] == "interrupted"
    expect_resumable(tiny, tmp_path)


def test_ctrl_c_before_the_first_step_ends_the_program(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "config.toml").write_text('[data]\ntrain = ["pipe"]\nvalid = ["pipe"]\n[vocabulary]\nshared = true\n')
    code = f"""
import edgewise
try:
    edgewise.train({str(tmp_path / "config.toml")!r}, {str(tmp_path / "run")!r})
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
    process = start_python(code)
    pipe = os.open(tmp_path / "pipe", os.O_WRONLY)  # returns when the program opens the pipe, and waits for its text
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=600)[0] == "interrupted\n"
    assert process.returncode == 0
    os.close(pipe)


def test_an_interruption_ends_the_training_although_python_ignores_sigint(tiny, tmp_path):
    code = f"""
import signal, edgewise
signal.signal(signal.SIGINT, signal.SIG_IGN)
def interrupt(number, frame):
    raise KeyboardInterrupt
signal.signal(signal.SIGUSR1, interrupt)
try:
    {endless(tiny, tmp_path, "lambda line: print(line, flush=True)")}
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
    process = start_python(code, handles_ctrl_c=False)
    wait_for_step(process)
    process.send_signal(signal.SIGUSR1)
    assert process.communicate(timeout=60)[0].endswith("\ninterrupted\n")
    expect_resumable(tiny, tmp_path)


def test_a_training_does_not_outlive_python(tiny, tmp_path):
    code = f"import edgewise\n{endless(tiny, tmp_path, 'lambda line: print(line, flush=True)')}"
    process = start_python(code)
    wait_for_step(process)
    trainings = child_processes(process.pid)
    assert len(trainings) == 1
    process.kill()
    process.communicate(timeout=60)
    wait_until(lambda: has_ended(trainings[0]))
    expect_resumable(tiny, tmp_path)


def test_an_exception_of_on_line_ends_the_training_and_is_raised(tiny, tmp_path):
    calls = []

    def fail(line):
        calls.append(line)
        if line.startswith("step "):
            raise LookupError("enough")

    with pytest.raises(LookupError, match="^enough$"):
        edgewise.train(tiny, tmp_path / "run", set=ENDLESS, threads=1, on_line=fail)
    assert child_processes() == []
    assert calls[-1].startswith("step ")
    expect_resumable(tiny, tmp_path)


def test_a_killed_program_is_an_error_and_the_run_resumes(tiny, tmp_path):
    settings = {**ENDLESS, "train.save_every": 5}
    with pytest.raises(edgewise.Error) as error:
        edgewise.train(tiny, tmp_path / "run", set=settings, threads=1, on_line=signal_training(signal.SIGKILL))
    assert str(error.value) == ("train: SIGKILL ended the program; if a checkpoint is saved, resume=True continues the "
                                "run")
    expect_resumable(tiny, tmp_path)


def test_a_program_that_is_asked_to_end_says_so(tiny, tmp_path):
    with pytest.raises(edgewise.Error, match="^train: SIGTERM ended the program; "):
        edgewise.train(tiny, tmp_path / "run", set=ENDLESS, threads=1, on_line=signal_training(signal.SIGTERM))
    expect_resumable(tiny, tmp_path)


def test_ctrl_c_of_a_terminal_ends_trainings_of_other_threads(tiny, tmp_path):
    code = f"""
import threading, edgewise
def train():
    try:
        {endless(tiny, tmp_path, "lambda line: print(line, flush=True)")}
    except KeyboardInterrupt:
        print("thread interrupted", flush=True)
    is_over.set()
# Up to Python 3.12, a join of a thread that is interrupted takes the thread for ended.
is_over = threading.Event()
threading.Thread(target=train).start()
try:
    is_over.wait()
except KeyboardInterrupt:
    is_over.wait()
    print("main thread interrupted", flush=True)
"""
    process = start_python(code, start_new_session=True)
    wait_for_step(process)
    os.killpg(process.pid, signal.SIGINT)
    lines = process.communicate(timeout=60)[0].splitlines()
    assert lines[-2:] == ["thread interrupted", "main thread interrupted"]
    expect_resumable(tiny, tmp_path)


def test_other_threads_run_during_a_training(tiny, tmp_path):
    count = 0
    is_over = threading.Event()

    def work():
        nonlocal count
        while not is_over.wait(0.001):
            count += 1

    thread = threading.Thread(target=work)
    thread.start()
    before = count
    edgewise.train(tiny, tmp_path / "run", on_line=None)
    during = count - before
    is_over.set()
    thread.join()
    assert during > 10

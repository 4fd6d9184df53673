# SPDX-License-Identifier: Apache-2.0
"""Tests of the installed Python package. EDGEWISE_PROGRAM names the program that trains the models of the tests."""
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import pytest

import edgewise

SOURCE = pathlib.Path(__file__).resolve().parents[2]

# A copy task that trains in two seconds; its words are a, b, c and d.
TINY_CONFIG = """
[data]
task = "copy"
train_size = 300
valid_size = 20
test_size = 20
symbols = 4
length_mean = 3.0
length_deviation = 1.0

[vocabulary]
shared = true

[batch]
tokens = 0
sentences = 32

[model]
encoder_layers = 1
decoder_layers = 1
size = 16
heads = 2
feed_forward = 16

[train]
epochs = 2
warmup = 20
"""


# A language model that trains in a second; its characters are those of TINY_TEXT.
TINY_LANGUAGE_CONFIG = """
[data]
train = ["text"]
valid = ["text"]

[batch]
length = 16
tokens = 64

[model]
kind = "language_model"
decoder_layers = 1
size = 16
heads = 2
feed_forward = 16

[train]
epochs = 0
steps = 20
validate_every = 10
"""
TINY_TEXT = "a b\nc é d\n" * 20


os.environ.setdefault("EDGEWISE_PROGRAM", str(SOURCE / "build/edgewise"))
# The threads of several trainings at a time would wait for each other busily.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")


def program():
    return os.environ["EDGEWISE_PROGRAM"]


def wait_until(is_true):
    """Waits until a function returns true, and fails after ten minutes."""
    end = time.monotonic() + 600
    while not is_true():
        assert time.monotonic() < end
        time.sleep(0.01)


def processor_seconds(process):
    """Returns the seconds for which all threads of a process have computed."""
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_for_work(process, seconds):
    """Waits until a process has computed for `seconds` more, or has ended."""
    end = processor_seconds(process) + seconds
    wait_until(lambda: process.poll() is not None or processor_seconds(process) >= end)


def signal_after_work(number, seconds):
    """Sends a signal to this process when its threads have computed for `seconds`. Returns the thread that does so."""
    end = time.process_time() + seconds

    def send():
        wait_until(lambda: time.process_time() >= end)
        signal.raise_signal(number)

    thread = threading.Thread(target=send)
    thread.start()
    return thread


def run_program(*arguments, text=""):
    """Runs a command that must succeed, and returns its output."""
    command = [program(), *map(str, arguments)]
    # Not as text, which would change line ends.
    return subprocess.run(command, input=text.encode(), check=True, stdout=subprocess.PIPE).stdout.decode()


def start_python(code, handles_ctrl_c=True, **options):
    """Starts a Python program whose output is a pipe of text. A background job of a shell ignores SIGINT, and so do the
    programs that it starts: this one handles it anyway, unless it shall not."""
    if handles_ctrl_c:
        code = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n" + code
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, **options)


@pytest.fixture
def tiny(tmp_path):
    """The path of the tiny config."""
    path = tmp_path / "tiny.toml"
    path.write_text(TINY_CONFIG)
    return path


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    """The directory of a trained tiny model."""
    folder = tmp_path_factory.mktemp("tiny")
    (folder / "tiny.toml").write_text(TINY_CONFIG)
    run_program("train", folder / "tiny.toml", "--out", folder / "run")
    return folder / "run/best"


@pytest.fixture(scope="session")
def translator(model):
    return edgewise.Translator(model)


@pytest.fixture(scope="session")
def language_model(tmp_path_factory):
    """The directory of a trained tiny language model."""
    folder = tmp_path_factory.mktemp("language")
    (folder / "text").write_text(TINY_TEXT)
    (folder / "language.toml").write_text(TINY_LANGUAGE_CONFIG)
    run_program("train", folder / "language.toml", "--out", folder / "run")
    return folder / "run/best"


@pytest.fixture(scope="session")
def generator(language_model):
    return edgewise.Generator(language_model)


@pytest.fixture(scope="session")
def foreign_model():
    """A MarianMT model of Hugging Face's transformers, with the outputs that transformers gives."""
    return SOURCE / "tests/convert/models/marian_2"


def sentences(count):
    """Returns sentences of the tiny model's words; sentence i differs from its neighbours."""
    return [" ".join("abcd"[(i >> shift) % 4] for shift in range(0, 2 * (1 + i % 6), 2)) for i in range(count)]

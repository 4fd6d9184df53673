# SPDX-License-Identifier: Apache-2.0
import signal
import threading
import time

import pytest
from conftest import sentences, start_python

import edgewise

CALLS = {
    "translate": 'translator.translate(["a b c d"] * 1000000)',
    "translate_text": 'translator.translate_text("a b c d.\\n" * 1000000)',
    "translate_html": 'translator.translate_html("<p>a b c d.</p>" * 1000000)',
    "stream": 'list(translator.stream("a b c d" for _ in range(100000000)))',
}


@pytest.mark.parametrize("call", CALLS)
def test_ctrl_c_ends_a_call_at_once(model, call):
    code = f"""
import time, edgewise
translator = edgewise.Translator({str(model)!r}, beam=4)
print("ready", flush=True)
try:
    {CALLS[call]}
except KeyboardInterrupt:
    print(time.time(), flush=True)
    assert translator.translate("a b").text  # the translator is still of use
    print("usable", flush=True)
"""
    process = start_python(code)
    assert process.stdout.readline() == "ready\n"
    time.sleep(1)
    sent = time.time()
    process.send_signal(signal.SIGINT)
    received = float(process.stdout.readline())
    assert process.stdout.readline() == "usable\n"
    assert process.wait(60) == 0
    # Without the signal, the call would take longer. Alone, it ends within 30 ms; the limit is for a busy machine.
    assert received - sent < 8


def test_an_exception_of_another_signal_handler_ends_a_call(translator):
    class Alarm(Exception):
        pass

    def handle(number, frame):
        raise Alarm

    lines = ["a b c d"] * 1000000
    before = signal.signal(signal.SIGUSR1, handle)
    try:
        timer = threading.Timer(0.3, lambda: signal.raise_signal(signal.SIGUSR1))
        timer.start()
        with pytest.raises(Alarm):
            translator.translate(lines)
        timer.join()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert translator.translate("a b").text


def test_an_interrupted_call_leaves_calls_of_other_threads_alone(model):
    translator = edgewise.Translator(model, beam=4)
    lines = sentences(3000)
    expected = [translation.text for translation in translator.translate(lines)]
    found = []
    thread = threading.Thread(target=lambda: found.extend(each.text for each in translator.translate(lines)))

    def handle(number, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGUSR1, handle)
    try:
        thread.start()
        timer = threading.Timer(0.1, lambda: signal.raise_signal(signal.SIGUSR1))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            translator.translate(["a b c d"] * 1000000)
        timer.join()
        thread.join()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert found == expected

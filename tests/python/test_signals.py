# SPDX-License-Identifier: Apache-2.0
import signal
import threading

import pytest
from conftest import processor_seconds, sentences, signal_after_work, start_python, wait_for_work

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
import edgewise
translator = edgewise.Translator({str(model)!r}, beam=4)
print("ready", flush=True)
try:
    {CALLS[call]}
except KeyboardInterrupt:
    print("interrupted", flush=True)
    assert translator.translate("a b").text  # the translator is still of use
    print("usable", flush=True)
"""
    process = start_python(code)
    assert process.stdout.readline() == "ready\n"
    wait_for_work(process, 0.5)
    before = processor_seconds(process)
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "interrupted\n"
    # Without the signal, the call would compute for minutes.
    assert processor_seconds(process) - before < 8
    assert process.stdout.readline() == "usable\n"
    assert process.wait(600) == 0


def test_an_exception_of_another_signal_handler_ends_a_call(translator):
    class Alarm(Exception):
        pass

    def handle(number, frame):
        raise Alarm

    lines = ["a b c d"] * 1000000
    before = signal.signal(signal.SIGUSR1, handle)
    try:
        with pytest.raises(Alarm):
            sender = signal_after_work(signal.SIGUSR1, 0.3)
            translator.translate(lines)
        sender.join()
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
        with pytest.raises(KeyboardInterrupt):
            sender = signal_after_work(signal.SIGUSR1, 0.3)
            translator.translate(["a b c d"] * 1000000)
        sender.join()
        thread.join()
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert found == expected

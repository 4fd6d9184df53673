# SPDX-License-Identifier: Apache-2.0
import multiprocessing
import os
import subprocess
import sys
import threading
import time

import pytest
from conftest import sentences

import edgewise


def test_a_thousand_threads_translate_at_once(translator):
    lines = sentences(1000)
    expected = [translation.text for translation in translator.translate(lines)]
    assert len(set(expected)) > 20
    barrier = threading.Barrier(1000)
    found = [None] * 1000

    def run(index):
        barrier.wait()
        found[index] = translator.translate(lines[index]).text

    threads = [threading.Thread(target=run, args=(index,)) for index in range(1000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == expected


def test_other_threads_of_python_run_during_a_translation(model):
    translator = edgewise.Translator(model, beam=8, threads=1)
    is_done = threading.Event()
    count = 0

    def run():
        translator.translate(sentences(2000))
        is_done.set()

    thread = threading.Thread(target=run)
    thread.start()
    while not is_done.is_set():
        count += 1
        time.sleep(0.001)
    thread.join()
    assert count > 3  # a call that held the lock of Python would let the other thread count once


def test_threads_may_use_alignments_texts_and_streams_at_once(translator):
    lines = sentences(60)
    plain = [translation.text for translation in translator.translate(lines)]
    text = translator.translate_text("a b. c d.")
    failures = []

    def run(kind):
        for _ in range(5):
            if kind == 0:
                found = [translation.text for translation in translator.translate(lines, alignment=True)]
                failures.extend([found] if found != plain else [])
            elif kind == 1:
                failures.extend(["text"] if translator.translate_text("a b. c d.") != text else [])
            else:
                found = [translation.text for translation in translator.stream(lines, ahead=7)]
                failures.extend([found] if found != plain else [])

    threads = [threading.Thread(target=run, args=(index % 3,)) for index in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def translate_in_child(translator, line, results):
    results.put((os.getpid(), translator.translate(line).text))


# Python warns at each fork of a process with threads, from 3.12 on.
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_forked_process_translates_with_the_model_of_its_parent(translator):
    context = multiprocessing.get_context("fork")
    expected = translator.translate("a b c").text
    results = context.Queue()
    children = [context.Process(target=translate_in_child, args=(translator, "a b c", results)) for _ in range(3)]
    for child in children:
        child.start()
    found = [results.get(timeout=60) for _ in children]
    for child in children:
        child.join(60)
    assert [child.exitcode for child in children] == [0, 0, 0]
    assert len({process for process, _ in found} | {os.getpid()}) == 4
    assert [text for _, text in found] == [expected] * 3
    assert translator.translate("a b c").text == expected


def test_a_process_ends_while_a_daemon_thread_translates(model):
    code = f"""
import threading, time, edgewise
translator = edgewise.Translator({str(model)!r}, beam=8)
threading.Thread(target=lambda: translator.translate(["a b c d"] * 100000), daemon=True).start()
while time.process_time() < 0.5:
    time.sleep(0.01)
"""
    for _ in range(5):
        end = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
        assert (end.returncode, end.stdout, end.stderr) == (0, "", "")


def test_a_translator_that_is_deleted_ends_its_threads(model):
    before = len(os.listdir("/proc/self/task"))
    for _ in range(5):
        translator = edgewise.Translator(model, workers=3)
        translator.translate(["a b"], alignment=True)
        assert len(os.listdir("/proc/self/task")) >= before + 6
        del translator
    assert len(os.listdir("/proc/self/task")) == before

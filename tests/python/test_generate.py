# SPDX-License-Identifier: Apache-2.0
import os
import pickle
import subprocess
import sys
import threading

import pytest
from conftest import run_program, start_python, wait_for_work

import edgewise
from edgewise import _edgewise


def test_a_prompt_gives_the_text_of_the_command(language_model, generator):
    text = run_program("generate", "--model", language_model, "--prompt", "a b", "--max-tokens", 30, "--seed", 5,
                       "--ignore-end")
    generation = generator.generate("a b", max_tokens=30, seed=5, ignore_end=True)
    assert text == generation.text + "\n"
    assert str(generation) == generation.text
    assert generation.prompt_tokens == 4
    assert [(sample.tokens, sample.finish_reason) for sample in generation.samples] == [(30, "length")]


def test_prompts_of_an_iterable_give_the_texts_that_they_give_alone(generator):
    prompts = ["a b", "", "c é d\na"]
    options = {"max_tokens": 20, "samples": 3}
    together = generator.generate(iter(prompts), **options)
    assert together == [generator.generate(prompt, **options) for prompt in prompts]
    assert len({sample.text for sample in together[0].samples}) == 3
    assert generator.generate([]) == []


def test_a_stream_has_the_text_in_parts(generator):
    options = {"max_tokens": 60, "ignore_end": True}
    whole = generator.generate("a b", **options).text
    stream = generator.stream("a b", **options)
    assert iter(stream) is stream and stream.finish_reason is None
    parts = list(stream)
    assert len(parts) > 20 and "".join(parts) == whole
    assert stream.finish_reason == "length"
    assert list(stream) == []
    stop = whole[10:12]
    stopped = generator.stream("a b", stop=stop, **options)
    assert "".join(stopped) == whole[:whole.index(stop)]
    assert stopped.finish_reason == "stop"


def test_a_stream_without_an_end_ends_when_it_is_closed(generator):
    stream = generator.stream("a", max_tokens=10**9, ignore_end=True)
    assert next(stream)
    stream.close()
    assert list(stream) == []
    assert stream.finish_reason is None
    deleted = generator.stream("a", max_tokens=10**9, ignore_end=True)
    assert next(deleted)
    del deleted
    assert generator.generate("a", max_tokens=3).text


def test_options_have_their_values(language_model):
    generator = edgewise.Generator(language_model, precision="int8", batch=3)
    assert generator.options == {"precision": "int8", "batch": 3, "threads": generator.options["threads"]}
    assert generator.options["threads"] >= 1
    assert set(generator.options) == {name for name, _, _ in _edgewise._generator_fields()}
    assert generator.generate("a", temperature=0, max_tokens=5).text
    assert repr(generator).startswith("<edgewise.Generator ")


def test_results_can_be_pickled(generator):
    generation = generator.generate("a", samples=2, max_tokens=5)
    assert pickle.loads(pickle.dumps(generation)) == generation


def test_a_run_opens_its_model(language_model):
    run = edgewise.Run(language_model.parent)
    assert run.generator(threads=1).generate("a", max_tokens=3).text


@pytest.mark.parametrize("call, error, text", [
    (lambda g: g.generate("a", colour=2), TypeError,
     "generate: colour is unknown; help(edgewise.Generator.generate) lists the options"),
    (lambda g: g.generate("a", top_p=2), edgewise.Error, "generate: top_p is 2, needs a number above 0 and at most 1"),
    (lambda g: g.generate("a", stop=3), TypeError, "generate: stop is 3, needs a str or an iterable of str"),
    (lambda g: g.generate("a", stop=""), edgewise.Error,
     "generate: a stop string is empty, needs at least one character"),
    (lambda g: g.generate(3), TypeError, "generate: prompts is 3, needs a str or an iterable of str"),
    (lambda g: g.generate(["a", 3]), TypeError, "generate: prompts[1] is 3, needs a str"),
    (lambda g: g.generate("\ud800"), edgewise.Error,
     "generate: prompts has a lone surrogate, needs text that UTF-8 can represent"),
    (lambda g: g.stream(["a"]), TypeError, "stream: prompt is ['a'], needs a str"),
    (lambda g: g.stream("a", samples=2), edgewise.Error,
     "stream: samples is 2, needs 1; generate() returns several"),
])
def test_a_wrong_argument_is_named(generator, call, error, text):
    with pytest.raises(error) as raised:
        call(generator)
    assert str(raised.value) == text


def test_a_model_that_writes_no_text_is_refused(model, language_model):
    with pytest.raises(edgewise.Error, match="needs a language model"):
        edgewise.Generator(model)
    with pytest.raises(edgewise.Error, match="Generator: model has 2 models, needs one"):
        edgewise.Generator([language_model, language_model])
    with pytest.raises(TypeError, match="Generator: beam is unknown"):
        edgewise.Generator(language_model, beam=3)
    with pytest.raises(edgewise.Error, match="language"):
        edgewise.Translator(language_model)


def test_many_threads_generate_at_once(generator):
    prompts = ["a b"[:length % 4] + "c" * (length // 4) for length in range(100)]
    expected = [generator.generate(prompt, max_tokens=12) for prompt in prompts]
    found = [None] * len(prompts)

    def run(index):
        if index % 2:
            found[index] = generator.generate(prompts[index], max_tokens=12).text
        else:
            found[index] = "".join(generator.stream(prompts[index], max_tokens=12))

    threads = [threading.Thread(target=run, args=(index,)) for index in range(len(prompts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [generation.text for generation in expected]


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_forked_process_generates_with_the_model_of_its_parent(generator):
    expected = generator.generate("a b", max_tokens=12).text
    process = os.fork()
    if process == 0:
        os._exit(0 if generator.generate("a b", max_tokens=12).text == expected else 1)
    assert os.waitpid(process, 0)[1] == 0
    assert generator.generate("a b", max_tokens=12).text == expected


def test_ctrl_c_ends_a_call_at_once(language_model):
    code = f"""
import edgewise
generator = edgewise.Generator({str(language_model)!r})
for call in (lambda: generator.generate("a", max_tokens=10**9, ignore_end=True),
             lambda: list(generator.stream("a", max_tokens=10**9, ignore_end=True))):
    print("ready", flush=True)
    try:
        call()
    except KeyboardInterrupt:
        print(generator.generate("a", max_tokens=3).samples[0].tokens, flush=True)
"""
    process = start_python(code)
    for _ in range(2):
        assert process.stdout.readline() == "ready\n"
        wait_for_work(process, 0.3)
        process.send_signal(2)
        assert process.stdout.readline() in ("1\n", "2\n", "3\n")
    assert process.wait(60) == 0


def test_a_process_ends_while_a_daemon_thread_generates(language_model):
    code = f"""
import threading, time, edgewise
generator = edgewise.Generator({str(language_model)!r})
threading.Thread(target=lambda: generator.generate("a", max_tokens=10**9, ignore_end=True), daemon=True).start()
while time.process_time() < 0.5:
    time.sleep(0.01)
"""
    for _ in range(3):
        end = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
        assert (end.returncode, end.stdout, end.stderr) == (0, "", "")

# SPDX-License-Identifier: Apache-2.0
import itertools

import pytest
from conftest import sentences

import edgewise


def test_a_stream_has_the_translations_in_order(translator):
    lines = sentences(400)
    expected = [translation.text for translation in translator.translate(lines)]
    assert [translation.text for translation in translator.stream(lines)] == expected
    assert [translation.text for translation in translator.stream(iter(lines), ahead=0)] == expected


def test_a_stream_reads_a_limited_number_of_sentences_ahead(translator):
    num_read = 0

    def endless():
        nonlocal num_read
        for line in itertools.cycle(sentences(50)):
            num_read += 1
            yield line

    stream = translator.stream(endless(), ahead=10)
    assert num_read == 0
    for num_returned in range(1, 100):
        next(stream)
        assert num_read == num_returned + 10
    stream.close()
    with pytest.raises(StopIteration):
        next(stream)


def test_without_reading_ahead_a_sentence_may_depend_on_the_translation_before(translator):
    answers = []

    def dialogue():
        yield "a b"
        for _ in range(5):
            yield answers[-1] + " c"

    for translation in translator.stream(dialogue(), ahead=0):
        answers.append(translation.text or "a")
    assert len(answers) == 6


def test_an_error_of_the_iterable_comes_after_the_sentences_before_it(translator):
    def broken():
        yield from ["a", "b"]
        raise KeyError("mine")

    stream = translator.stream(broken())
    assert next(stream).text == translator.translate("a").text
    assert next(stream).text == translator.translate("b").text
    with pytest.raises(KeyError, match="mine"):
        next(stream)
    with pytest.raises(StopIteration):
        next(stream)


def test_a_bad_sentence_is_named(translator):
    stream = translator.stream(["a", 7])
    next(stream)
    with pytest.raises(TypeError, match=r"^stream: sentences\[1\] is 7, needs a str$"):
        next(stream)


def test_a_stream_needs_an_iterable_of_sentences(translator):
    for value in ("a b", 3, b"a"):
        with pytest.raises(TypeError, match="^stream: sentences is .*, needs an iterable of str$"):
            translator.stream(value)
    with pytest.raises(edgewise.Error, match="^stream: ahead is -1, needs a whole number from 0 to 1000000$"):
        translator.stream(["a"], ahead=-1)


def test_a_stream_outlives_its_translator(model):
    stream = edgewise.Translator(model).stream(["a", "b"], alignment=True)
    assert [bool(translation.alignment) for translation in stream] == [True, True]


def test_a_stream_that_reads_itself_is_an_error(translator):
    def reader():
        yield next(stream).text

    stream = translator.stream(reader())
    with pytest.raises(edgewise.Error, match="^stream: the stream is in use, needs one thread at a time$"):
        next(stream)

# SPDX-License-Identifier: Apache-2.0
import pathlib

import pytest

import edgewise


def refused(call, error, text):
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value) == text


def test_an_error_is_a_value_error_of_the_package():
    assert issubclass(edgewise.Error, ValueError)
    assert edgewise.Error.__module__ == "edgewise"


def test_a_missing_model_is_named(tmp_path):
    folders = [pathlib.Path(edgewise.__file__).parents[1] / "edgewise_models", "/usr/share/edgewise/models"]
    with pytest.raises(edgewise.Error) as caught:
        edgewise.Translator("xx-yy")
    assert str(caught.value).startswith(
        "Translator: xx-yy does not exist, needs a run or model directory, or the name of a model in "
        f"{folders[0]}, {folders[1]}, which have ")
    with pytest.raises(edgewise.Error, match="^Translator: "):
        edgewise.Translator(tmp_path / "none")
    with pytest.raises(edgewise.Error, match="^Translator: "):
        edgewise.Translator(tmp_path)


@pytest.mark.parametrize("model, error, text", [
    (3, TypeError, "Translator: model is 3, needs a str, a path or a list of them"),
    (b"run", TypeError, "Translator: model is b'run', needs a str, a path or a list of them"),
    ("", edgewise.Error, "Translator: model is empty, needs the name of a file or directory"),
    ([], edgewise.Error, "Translator: model is an empty list, needs at least one model"),
    (["a\0"], edgewise.Error, 'Translator: model[0] is "a\\u0000", needs a name without a zero byte'),
    ([3], TypeError, "Translator: model[0] is 3, needs a str or a path"),
])
def test_a_model_is_a_name_or_names(model, error, text):
    refused(lambda: edgewise.Translator(model), error, text)


@pytest.mark.parametrize("sentences, error, text", [
    (3, TypeError, "translate: sentences is 3, needs a str or an iterable of str"),
    (None, TypeError, "translate: sentences is None, needs a str or an iterable of str"),
    (b"a b", TypeError, "translate: sentences is b'a b', needs a str or an iterable of str"),
    (["a", 3], TypeError, "translate: sentences[1] is 3, needs a str"),
    (["a", b"b"], TypeError, "translate: sentences[1] is b'b', needs a str"),
    ("a \ud800", edgewise.Error, "translate: sentences has a lone surrogate, needs text that UTF-8 can represent"),
    (["a", "\udfff"], edgewise.Error,
     "translate: sentences[1] has a lone surrogate, needs text that UTF-8 can represent"),
])
def test_sentences_are_texts(translator, sentences, error, text):
    refused(lambda: translator.translate(sentences), error, text)


def test_errors_of_an_iterator_pass_through(translator):
    def broken():
        yield "a"
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        translator.translate(broken())


def test_prefixes_fit_the_sentences(translator):
    refused(lambda: translator.translate("a", prefix=["b"]), edgewise.Error,
            "translate: prefix is several texts, needs one text, as the sentence is")
    refused(lambda: translator.translate(["a"], prefix="b"), edgewise.Error,
            "translate: prefix is one text, needs as many texts as there are sentences")
    refused(lambda: translator.translate(["a", "b"], prefix=["b"]), edgewise.Error,
            "translate: prefix has 1 texts, needs 2, one for each sentence")


def test_a_model_without_languages_refuses_them(translator):
    with pytest.raises(edgewise.Error):
        translator.translate("a", output_language="fra_Latn")


def test_an_unknown_keyword_is_a_type_error(translator):
    with pytest.raises(TypeError):
        translator.translate("a", beam=2)


def test_line_breaks_are_named(translator):
    refused(lambda: translator.translate_text("a", line_breaks="both"), edgewise.Error,
            'translate_text: line_breaks is "both", needs "end" or "space"')

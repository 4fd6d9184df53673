# SPDX-License-Identifier: Apache-2.0
import pathlib
import subprocess
import sys

import pytest
from conftest import SOURCE

import edgewise
from edgewise import _edgewise


@pytest.mark.parametrize("options", [
    {"precision": "int8"}, {"precision": "bf16"}, {"beam": 5}, {"workers": 2}, {"threads": 1}, {"batch_sentences": 3},
    {"max_input": None}, {"max_input": 7}, {"length_penalty": 1}, {"early_stop": False}, {"long_inputs": "cut"},
    {"shortlist": "off"}, {"decoder_layers": None},
    {"exit_threshold": None}])
def test_an_option_has_the_value_that_it_was_given(model, options):
    translator = edgewise.Translator(model, **options)
    assert {name: translator.options[name] for name in options} == options
    assert translator.translate("a b").text


def test_other_options_have_the_values_of_the_config(model):
    translator = edgewise.Translator(model)
    assert translator.options["beam"] == 1
    assert translator.options["precision"] == "fp32"
    assert translator.options["threads"] == 0
    assert set(translator.options) == {name for name, _, _ in _edgewise._option_fields()}


def test_long_inputs_are_cut_on_request(model):
    translation = edgewise.Translator(model, max_input=2, long_inputs="cut").translate("a b c")
    assert translation.was_cut
    assert translation.input_tokens == ["a", "b"]


@pytest.mark.parametrize("options, error, text", [
    ({"beem": 2}, TypeError, "Translator: beem is unknown; did you mean beam?"),
    ({"colour": 2}, TypeError, "Translator: colour is unknown; help(edgewise.Translator) lists the options"),
    ({"beam": 0}, edgewise.Error, "Translator: beam is 0, needs a whole number from 1 to 1000"),
    ({"beam": 2**70}, edgewise.Error, f"Translator: beam is {2**70}, needs a whole number from 1 to 1000"),
    ({"beam": "4"}, TypeError, "Translator: beam is '4', needs a whole number from 1 to 1000"),
    ({"beam": 4.0}, TypeError, "Translator: beam is 4.0, needs a whole number from 1 to 1000"),
    ({"beam": True}, TypeError, "Translator: beam is True, needs a whole number from 1 to 1000"),
    ({"beam": None}, TypeError, "Translator: beam is None, needs a whole number from 1 to 1000"),
    ({"seed": -1}, edgewise.Error, "Translator: seed is -1, needs a whole number of at least 0"),
    ({"max_input": -1}, edgewise.Error, "Translator: max_input is -1, needs a whole number from 0 to 1000000, or None"),
    ({"max_input": "none"}, TypeError,
     "Translator: max_input is 'none', needs a whole number from 0 to 1000000, or None"),
    ({"length_penalty": float("nan")}, edgewise.Error, "Translator: length_penalty is nan, needs a number from 0 to 10"),
    ({"length_penalty": "1"}, TypeError, "Translator: length_penalty is '1', needs a number from 0 to 10"),
    ({"early_stop": 1}, TypeError, "Translator: early_stop is 1, needs True or False"),
    ({"precision": "fp8"}, edgewise.Error, 'Translator: precision is \'fp8\', needs "fp32", "bf16" or "int8"'),
    ({"precision": 8}, TypeError, 'Translator: precision is 8, needs "fp32", "bf16" or "int8"'),
    ({"input_language": b"en"}, TypeError, "Translator: input_language is b'en', needs a string"),
    ({"temperature": 0.7}, edgewise.Error, "Translator: search.temperature is 0.7, needs search.kind=sampling"),
    ({"kind": "scoring"}, edgewise.Error, "Translator: kind is scoring, needs beam or sampling"),
    ({"beam": 2, "n_best": 3}, edgewise.Error,
     "search: n_best is 3, needs at most the beam, which is 2"),
    ({"workers": 0}, edgewise.Error, "Translator: workers is 0, needs a whole number from 1 to 1024"),
])
def test_a_bad_option_is_refused(model, options, error, text):
    with pytest.raises(error) as caught:
        edgewise.Translator(model, **options)
    assert str(caught.value) == text


def test_numbers_of_other_libraries_are_numbers(model):
    class Whole:
        def __index__(self):
            return 3

    assert edgewise.Translator(model, beam=Whole()).options["beam"] == 3


def test_the_help_has_every_option():
    for name, _, text in _edgewise._option_fields():
        assert f"    {name}: {text}; " in edgewise.Translator.__doc__


def test_the_stub_has_the_listed_fields():
    subprocess.run([sys.executable, str(SOURCE / "scripts/write_python_stub"), "--check"], check=True)
    installed = pathlib.Path(edgewise.__file__).parent
    assert (installed / "_edgewise.pyi").read_text() == (SOURCE / "python/edgewise/_edgewise.pyi").read_text()
    assert (installed / "py.typed").exists()

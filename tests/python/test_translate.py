# SPDX-License-Identifier: Apache-2.0
import json
import pathlib
import pickle

import pytest
from conftest import run_program, sentences

import edgewise


def test_translates_a_sentence(model):
    translation = edgewise.Translator(model).translate("a b c")

    assert isinstance(translation, edgewise.Translation)
    assert str(translation) == translation.text == run_program("translate", "--model", model, text="a b c\n").rstrip("\n")


def test_gives_the_results_of_the_command_line(model):
    lines = sentences(300)
    translations = edgewise.Translator(model, beam=3, n_best=2).translate(lines, alignment=True, attention=True)

    printed = run_program("translate", "--model", model, "--beam", 3, "--nbest", 2, "--json", "--attention",
                          "--alignments", text="\n".join(lines) + "\n").splitlines()
    assert len(printed) == len(translations) == 300
    for translation, line in zip(translations, map(json.loads, printed)):
        assert translation.input_tokens == line["input_tokens"]
        assert [output.text for output in translation.outputs] == [output["text"] for output in line["outputs"]]
        for output, expected in zip(translation.outputs, line["outputs"]):
            assert output.score == expected["score"]
            assert output.log_probability == expected["log_probability"]
            assert output.tokens == expected["tokens"]
            assert output.alignment == [tuple(pair) for pair in expected["alignment"]]
            assert output.ponder_steps == []
            assert [[round(weight, 4) for weight in row] for row in output.attention] == [
                pytest.approx(row, abs=1e-4) for row in expected["attention"]]
        assert not translation.was_cut


def test_accepts_every_iterable_of_sentences(translator):
    lines = sentences(5)
    expected = [translation.text for translation in translator.translate(lines)]

    for iterable in (tuple(lines), iter(lines), (line for line in lines), dict.fromkeys(lines).keys()):
        translations = translator.translate(iterable)
        assert isinstance(translations, list)
        assert [translation.text for translation in translations] == expected
    assert translator.translate([]) == []


def test_an_empty_sentence_has_an_empty_translation(translator):
    assert translator.translate("").text == ""
    assert [translation.text for translation in translator.translate(["", " "])] == ["", ""]


def test_outputs_are_sorted_and_the_first_one_is_the_translation(model):
    translation = edgewise.Translator(model, beam=4, n_best=4).translate("a b c d")

    scores = [output.score for output in translation.outputs]
    assert len(scores) == 4 and scores == sorted(scores, reverse=True)
    assert translation.text == translation.outputs[0].text
    assert translation.score == scores[0]
    assert translation.tokens == translation.outputs[0].tokens


def test_alignments_and_attention_are_there_on_request_only(translator):
    plain = translator.translate("a b")
    aligned = translator.translate("a b", alignment=True)
    attentive = translator.translate("a b", attention=True)

    assert plain.alignment == [] and plain.attention == []
    assert aligned.alignment != [] and aligned.attention == []
    assert attentive.alignment == aligned.alignment
    assert all(len(row) == 2 and 0 <= sum(row) <= 1.0001 for row in attentive.attention)
    assert plain.text == aligned.text == attentive.text


def test_prefixes_begin_the_outputs(translator):
    assert translator.translate("a b", prefix="d d").text.startswith("d d")
    outputs = translator.translate(["a", "b"], prefix=["c", "d"])
    assert [output.text[0] for output in outputs] == ["c", "d"]


def test_a_translation_can_be_pickled(model):
    translation = edgewise.Translator(model, beam=2, n_best=2).translate("a b c", attention=True)
    copy = pickle.loads(pickle.dumps(translation))

    assert copy.input_tokens == translation.input_tokens
    assert len(copy.outputs) == 2
    for output, expected in zip(copy.outputs, translation.outputs):
        assert output.text == expected.text and output.tokens == expected.tokens
        assert output.score == expected.score and output.log_probability == expected.log_probability
        assert output.alignment == expected.alignment and output.attention == expected.attention
    assert pickle.loads(pickle.dumps(translation.outputs[1])).text == translation.outputs[1].text


def test_a_state_that_pickle_did_not_write_is_an_error(model):
    translation = edgewise.Translator(model, beam=2, n_best=2).translate("a b c", attention=True)
    tokens, outputs, was_cut = translation.__getstate__()

    def with_output(index, value):
        output = list(outputs[0])
        output[index] = value
        return tokens, [tuple(output)], was_cut

    wrong = [(), (tokens, []), (tokens, [], False), (tokens, [()], was_cut), with_output(5, [1, 2, 3]),
             *(with_output(6, [row]) for row in [(), (2**40, [0.5]), (-1, [0.5]), (0, [0.5] * 99), (-2**63, [])])]
    for state in wrong:
        with pytest.raises(edgewise.Error, match="__setstate__"):
            edgewise.Translation.__new__(edgewise.Translation).__setstate__(state)

    for state in [(), (translation,), (translation, 2), (translation, 2**40)]:
        with pytest.raises(edgewise.Error, match="__setstate__"):
            edgewise.Output.__new__(edgewise.Output).__setstate__(state)


def test_an_output_outlives_its_translation(translator):
    output = translator.translate("a b").outputs[0]
    assert output.text == translator.translate("a b").text


def test_translations_describe_themselves(translator):
    translation = translator.translate("a b")
    assert repr(translation) == f'<edgewise.Translation "{translation.text}" score={translation.score:.4f} outputs=1>'
    assert repr(translation.outputs[0]).startswith(f'<edgewise.Output "{translation.text}" score=')
    assert repr(translator).startswith("<edgewise.Translator ")


def test_a_model_may_be_a_path_a_string_or_an_ensemble(model):
    expected = edgewise.Translator(model).translate("a b c").text
    assert edgewise.Translator(str(model)).translate("a b c").text == expected
    assert edgewise.Translator(pathlib.Path(model).parent).translate("a b c").text == expected
    assert edgewise.Translator([model, model]).translate("a b c").text == expected


def test_sampling_repeats_with_the_same_seed(model):
    lines = sentences(40)

    def sample(seed):
        sampler = edgewise.Translator(model, kind="sampling", temperature=3.0, seed=seed)
        return [translation.text for translation in sampler.translate(lines)]

    assert sample(1) == sample(1)
    assert sample(1) != sample(2)

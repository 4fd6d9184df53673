# SPDX-License-Identifier: Apache-2.0
import json

import pytest
from conftest import run_program

import edgewise

HYPOTHESES = ["The cat sat on the mat.", "It is raining today", "Ein Satz."]
REFERENCES = ["The cat sits on the mat.", "It rained today", "Ein Satz."]


@pytest.mark.parametrize("options, flags", [
    ({}, []), ({"tokenize": "intl", "lowercase": True}, ["--tokenize", "intl", "--lowercase"]),
    ({"chrf_word_order": 2}, ["--chrf-word-order", "2"])])
def test_scores_are_those_of_the_command_line(tmp_path, options, flags):
    (tmp_path / "references").write_text("\n".join(REFERENCES) + "\n")
    command = ["score", "--reference", tmp_path / "references", *flags]
    text = "\n".join(HYPOTHESES) + "\n"
    score = edgewise.score(HYPOTHESES, iter(REFERENCES), **options)

    assert str(score) + "\n" == run_program(*command, text=text)
    printed = json.loads(run_program(*command, "--json", text=text))
    assert score.bleu.score == printed["bleu"]["score"]
    assert score.bleu.signature == printed["bleu"]["signature"]
    assert score.bleu.precisions == printed["bleu"]["precisions"]
    assert score.bleu.brevity_penalty == printed["bleu"]["brevity_penalty"]
    assert score.bleu.ratio == printed["bleu"]["ratio"]
    assert score.bleu.hypothesis_length == printed["bleu"]["hypothesis_length"]
    assert score.bleu.reference_length == printed["bleu"]["reference_length"]
    assert score.chrf.score == printed["chrf"]["score"]
    assert score.chrf.name == printed["chrf"]["name"]
    assert score.chrf.signature == printed["chrf"]["signature"]


@pytest.mark.parametrize("arguments, options, error, text", [
    ((["a"], ["a", "b"]), {}, edgewise.Error, "score: hypotheses has 1 texts, needs the 2 of references"),
    (([], []), {}, edgewise.Error, "score: hypotheses is empty, needs at least one text"),
    (("a", "a"), {}, TypeError, "score: hypotheses is 'a', needs an iterable of str"),
    (([1], ["a"]), {}, TypeError, "score: hypotheses[0] is 1, needs a str"),
    ((["a"], ["a"]), {"tokenize": "zh"}, edgewise.Error, 'score: tokenize is "zh", needs one of "13a", "intl", "none"'),
])
def test_bad_arguments_are_refused(arguments, options, error, text):
    with pytest.raises(error) as caught:
        edgewise.score(*arguments, **options)
    assert str(caught.value) == text

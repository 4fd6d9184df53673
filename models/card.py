# SPDX-License-Identifier: Apache-2.0
"""Writes the card of a model, README.md, from its figures, card.json: python3 models/card.py models/en-de"""
import json
import pathlib
import sys
import textwrap

LANGUAGES = {"en": "English", "de": "German", "fr": "French"}


def table(header, rows):
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)


def score_table(tests):
    rows = []
    for test in tests:
        stored, int8, before = test["stored"], test["int8"], test["unrounded"]
        rows.append([f"{test['title']}, {test['lines']} sentences", f"**{stored['bleu']['score']:.1f}**",
                     f"**{stored['chrf']['score']:.1f}**", f"{int8['bleu']['score']:.1f}",
                     f"{before['bleu']['score']:.1f}"])
    return table(["test set", "BLEU", "chrF", "BLEU with `--precision int8`", "BLEU before rounding to 8 bits"], rows)


def describe_more(training):
    if training["back_translated"]:
        return " A model of the other direction translated more English sentences, which are outputs in training."
    if training["forward_translated"]:
        return " Other models of this direction translated more English sentences, which are inputs in training."
    return ""


def describe_data(card, source, target):
    model, listed = card["data"]["model"], card["data"]["list"]
    return f"""The data is the list of {LANGUAGES[source if source != "en" else target]} and English sentence pairs of the
[Tatoeba project](https://tatoeba.org) that <https://www.manythings.org/anki> distributes: {listed["lines"]:,} pairs, whose
licence is [CC BY 2.0](https://creativecommons.org/licenses/by/2.0/). The pairs are by the contributors of Tatoeba; each
sentence's page there names its author. `models/make_data` divides them by their English sentences, so that no English
sentence and no translation of the test set is in the training set of any model:
{model["train"]:,} pairs for training, {model["valid"]:,} for validation and {model["test"]:,} for the test. An input of the test has
{model["translations of an input of test"]} translations in the list; one of them, drawn at random, is the reference. {model["variants"]:,} more
training lines are made of training pairs and templates: words and short phrases, inputs without the mark at the end, in
small letters, in capitals or with other marks, lines of several sentences, lists, emoji, numbers, dates, prices, names and
placeholders.{describe_more(card["training"])}"""


def describe_inputs(inputs):
    """Returns a sentence about models/inputs.tsv; cards of models from before this list have none."""
    if not inputs:
        return ""
    shares = ", ".join(f"{kind} {right} of {count}" for kind, (right, count) in inputs["kinds"].items())
    return f"""

Of the {inputs["inputs"]} inputs of `models/inputs.tsv` (words, phrases, numbers, dates, names, capitals, emoji, lists and
the like), {inputs["right"]} have an accepted output: {shares}."""


def describe_training(training):
    machine = training["machine"]
    threads = training["threads"] or machine["cores"]
    changed = f" with `{' '.join('--set ' + setting for setting in training['settings'])}`" if training["settings"] else ""
    begin = f" from the weights and the vocabulary of `{training['from']}`" if training.get("from") else ""
    if training.get("adapted"):
        begin = f" from the weights of an earlier `{training['adapted']}`, with a new vocabulary (`models/adapt_vocabulary`)"
    if training.get("stages"):
        changed = f" in {training['stages']} stages ([how](../README.md))"
    return f"""`models/train` trained the model by `models/recipe.toml`{changed}{begin}: {training["steps"]:,} steps in
{training["seconds"] / 60:.0f} minutes on {threads} {"thread" if threads == 1 else "threads"} of {machine["model"]}."""


def describe_choice(card):
    chosen = {"best": "the model of the best validation", "mean": f"the mean of the {card['kept']} best models"}
    scores = ", ".join(f"{chosen[name]} has {score:.1f}" for name, score in card["candidates"].items())
    return (f"BLEU on the validation set: {scores}. This model is {chosen[card['chosen']]}, with the length penalty "
            f"{card['length_penalty']:g}, which `bench/length_penalty` chose on the validation set.")


def describe_other_tests(tests, source, target):
    if tests:
        return "The other test sets have text that the model was not made for."
    return (f"No test set of other text was at hand for {LANGUAGES[source]} and {LANGUAGES[target]}, so the quality on such "
            "text is not measured.")


def text_of(card):
    source, target = card["name"].split("-")
    everyday = [row[1:] for row in card["examples"] if row[0] == "everyday"]
    hard = [row for row in card["examples"] if row[0] != "everyday"]
    near = card["data"]["model"]["inputs of test that differ from one of train in a word"]
    return f"""# {LANGUAGES[source]}–{LANGUAGES[target]}

A small model for everyday sentences: {card["bytes"] / 1e6:.1f} MB in 8 bits.

    echo '{everyday[0][0]}' | build/edgewise-translate --model {card["name"]}

For a short sentence, the whole command takes {card["milliseconds"]} ms on the machine of the training.

## Quality

{score_table(card["tests"])}

BLEU and chrF are those of sacreBLEU: `{card["tests"][0]["stored"]["bleu"]["signature"]}`.
No sentence of the test on Tatoeba is in the training data, but {near:.0%} of its inputs differ from a training input in one
word alone: expect less on other text, even on everyday sentences. {describe_other_tests(card["tests"][1:], source, target)}
Each reference is one of several right translations.{describe_inputs(card.get("inputs"))}

{table(["input", "output"], everyday)}

## What the model cannot do

The model was trained on short everyday sentences, and translates each sentence alone. Names, numbers, news, technical
text, idioms and long sentences are often wrong, and a wrong translation can read well. Do not use the model where a
mistake does harm. These outputs are not chosen:

{table(["kind", "input", "output"], hard)}

Use `--text` for texts of several sentences.

## Data and training

{describe_data(card, source, target)}

{describe_training(card["training"])}
{describe_choice(card)}

## Licence

The model is part of Edgewise and has its licence, Apache-2.0. Its data is from Tatoeba (CC BY 2.0), as described above:
attribution to tatoeba.org and www.manythings.org/anki.
"""


def fill(text):
    """Returns the text with lines of at most 120 characters in its paragraphs, which are neither tables nor code."""
    def fill_part(part):
        if part.startswith(("|", "#", " ")):
            return part
        return textwrap.fill(part, 120, break_long_words=False, break_on_hyphens=False)
    return "\n\n".join(fill_part(part) for part in text.strip().split("\n\n")) + "\n"


def write_card(folder):
    card = json.loads((folder / "card.json").read_text(encoding="utf-8"))
    (folder / "README.md").write_text(fill(text_of(card)), encoding="utf-8")


if __name__ == "__main__":
    write_card(pathlib.Path(sys.argv[1]))

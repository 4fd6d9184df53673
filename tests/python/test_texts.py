# SPDX-License-Identifier: Apache-2.0
from conftest import run_program

import edgewise

TEXT = "a b. c d.\n\n  * * *\na\r\n"


def test_a_text_keeps_its_line_breaks_and_spaces(translator, model):
    translated = translator.translate_text(TEXT)
    assert translated == run_program("translate", "--model", model, "--text", text=TEXT)
    assert translated.count("\n") == TEXT.count("\n")
    assert "\n\n  * * *\n" in translated


def test_several_texts_are_a_list(translator):
    assert translator.translate_text([TEXT, "a", ""]) == [
        translator.translate_text(TEXT), translator.translate_text("a"), ""]


def test_a_line_break_may_be_a_space(translator):
    text = "a b\nc d\n\na"
    ended, spaced = (translator.translate_text(text, line_breaks=kind) for kind in ("end", "space"))
    assert ended.count("\n") == 3
    assert spaced.count("\n") == 2


def test_a_document_keeps_its_markup(translator, model):
    html = "<p>a <b>b</b> c</p><script>a b</script><p title='x'>d</p>"
    translated = translator.translate_html(html)
    assert translated == run_program("translate", "--model", model, "--html", text=html)
    assert "<script>a b</script>" in translated
    assert translator.translate_html([html, "<i>a</i>"]) == [translated, translator.translate_html("<i>a</i>")]


def test_a_document_of_compatible_characters_keeps_its_markup(foreign_model, tmp_path):
    # SentencePiece normalises these characters, so that their tokens are found by ICU's data of normalisation.
    edgewise.import_model(foreign_model, tmp_path / "model")
    html = "<p>my <b>ﬁrst ½ Ａpple</b> ⅷ <i>Straße</i> ㎏</p>"
    translated = edgewise.Translator(tmp_path / "model").translate_html(html)
    assert translated == run_program("translate", "--model", tmp_path / "model", "--html", text=html)

# SPDX-License-Identifier: Apache-2.0
import base64
import re
import xml.etree.ElementTree as ElementTree


def test_attention_displays_itself_in_a_notebook(translator):
    translation = translator.translate("a b c", attention=True)
    html = translation._repr_html_()

    image = re.search(r'src="data:image/svg\+xml;base64,([A-Za-z0-9+/=]+)"', html)
    svg = base64.b64decode(image[1]).decode()
    root = ElementTree.fromstring(svg)
    labels = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    for token in (*translation.tokens, *translation.input_tokens):
        assert any(token in (label or "") for label in labels)
    assert html.count("<figure>") == html.count("</figure>") == 1


def test_without_attention_a_translation_is_text(translator):
    assert translator.translate("a b c")._repr_html_() is None
    assert translator.translate("a b c", alignment=True).outputs[0]._repr_html_() is None


def test_hostile_text_is_no_markup(translator):
    translation = translator.translate("a", prefix="<script>alert(1)</script>", attention=True)
    assert "<script>" not in translation._repr_html_()

# SPDX-License-Identifier: Apache-2.0
"""A program that mypy checks with --strict: each call has the type that the stub promises."""
from pathlib import Path

from typing_extensions import assert_type

import edgewise

translator = edgewise.Translator("en-de", beam=4, precision="int8", max_input=None)
assert_type(translator.translate("Hello."), edgewise.Translation)
assert_type(translator.translate(["Hello."], prefix=["Hallo"]), list[edgewise.Translation])
assert_type(translator.translate("Hello.").alignment, list[tuple[int, int]])
assert_type(translator.translate("Hello.").outputs[0].score, float)
assert_type([each.text for each in translator.stream(Path("text").open())], list[str])
assert_type(translator.translate_text("Hello. Hello."), str)
assert_type(translator.translate_html(["<p>Hello.</p>"]), list[str])
assert_type(edgewise.score(["a"], ["b"]).bleu.score, float)
assert_type(edgewise.import_model(Path("marian"), "model"), str)
assert_type(edgewise.export_model("model", "out", format="marian"), list[str])

edgewise.Translator("en-de", beem=4)  # type: ignore[call-arg]
edgewise.Translator("en-de", precision="fp8")  # type: ignore[arg-type]
edgewise.Translator("en-de", beam="4")  # type: ignore[arg-type]
translator.translate(3)  # type: ignore[call-overload]
translator.translate_text("a", line_breaks="both")  # type: ignore[call-overload]

# SPDX-License-Identifier: Apache-2.0
"""A program that mypy checks with --strict: each call has the type that the stub promises."""
from pathlib import Path
from typing import Any

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
assert_type(edgewise.import_model(Path("marian"), "model", overwrite=True), str)
assert_type(edgewise.export_model("model", "out", format="marian"), list[str])
generator = edgewise.Generator("runs/x", precision="int8", batch=4)
assert_type(generator.generate("a", stop=["b"], top_k=3), edgewise.Generation)
assert_type(generator.generate(["a"], stop="b"), list[edgewise.Generation])
assert_type(generator.generate("a").samples[0].finish_reason, str)
assert_type([piece for piece in generator.stream("a", max_tokens=3)], list[str])
run = edgewise.train("config.toml", Path("runs/x"), set={"train.steps": 100}, from_model="en-de", on_line=print)
assert_type(run, edgewise.Run)
assert_type(edgewise.train({"train": {"steps": 1}}, out="runs/x", resume=True, threads=2, on_line=None), edgewise.Run)
assert_type(run.best_model, Path)
assert_type(run.translator(beam=4).translate("Hello."), edgewise.Translation)
assert_type(run.metrics()["step"], list[Any])
assert_type(edgewise.Translator(run).translate("Hello."), edgewise.Translation)
assert_type(run.generator(threads=1).generate("a").text, str)
run.metrics_frame()

edgewise.Translator("en-de", beem=4)  # type: ignore[call-arg]
edgewise.Translator("en-de", precision="fp8")  # type: ignore[arg-type]
edgewise.Translator("en-de", beam="4")  # type: ignore[arg-type]
edgewise.train("config.toml", "runs/x", treads=2)  # type: ignore[call-arg]
edgewise.train("config.toml", "runs/x", threads="2")  # type: ignore[arg-type]
edgewise.train("config.toml", "runs/x", set=["train.steps"])  # type: ignore[arg-type]
generator.generate("a", beam=3)  # type: ignore[call-overload]
generator.stream(["a"])  # type: ignore[arg-type]
translator.translate(3)  # type: ignore[call-overload]
translator.translate_text("a", line_breaks="both")  # type: ignore[call-overload]

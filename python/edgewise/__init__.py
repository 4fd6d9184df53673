# SPDX-License-Identifier: Apache-2.0
"""Translates with models of Edgewise, and with imported models of other systems; writes texts; trains models.

    import edgewise
    translator = edgewise.Translator("runs/demo")
    print(translator.translate("Hello."))

    run = edgewise.train("configs/copy.toml", out="runs/copy")  # needs the package edgewise_train
    print(run.metrics()["valid_loss"])

    generator = edgewise.Generator("runs/shakespeare")  # a language model
    print(generator.generate("To be, or", temperature=0.8))
"""

from ._edgewise import (
    BleuScore,
    ChrfScore,
    Error,
    GenerationStream,
    Generator,
    Output,
    Score,
    Translation,
    TranslationStream,
    Translator,
    __version__,
    _set_models_folder,
    export_model,
    import_model,
    score,
)
from ._generation import GeneratedText, Generation
from ._models import folder as _models_folder
from ._run import Run
from ._training import train

__all__ = [
    "BleuScore",
    "ChrfScore",
    "Error",
    "GeneratedText",
    "Generation",
    "GenerationStream",
    "Generator",
    "Output",
    "Run",
    "Score",
    "Translation",
    "TranslationStream",
    "Translator",
    "__version__",
    "export_model",
    "import_model",
    "score",
    "train",
]

_set_models_folder(_models_folder())

# Error messages, help and pickles name the public place of a class or function.
for _public in (BleuScore, ChrfScore, Error, GeneratedText, Generation, GenerationStream, Generator, Output, Run, Score,
                Translation, TranslationStream, Translator, train):
    _public.__module__ = __name__
del _public

# SPDX-License-Identifier: Apache-2.0
"""Translates with models of Edgewise, and with imported models of other systems.

    import edgewise
    translator = edgewise.Translator("runs/demo")
    print(translator.translate("Hello."))
"""

import os as _os

from ._edgewise import (
    BleuScore,
    ChrfScore,
    Error,
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

__all__ = [
    "BleuScore",
    "ChrfScore",
    "Error",
    "Output",
    "Score",
    "Translation",
    "TranslationStream",
    "Translator",
    "__version__",
    "export_model",
    "import_model",
    "score",
]

_set_models_folder(_os.path.join(_os.path.dirname(__file__), "models"))

# Error messages, help and pickles name the public place of a class.
for _class in (BleuScore, ChrfScore, Error, Output, Score, Translation, TranslationStream, Translator):
    _class.__module__ = __name__
del _class

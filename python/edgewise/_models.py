# SPDX-License-Identifier: Apache-2.0
"""Finds the models of the package edgewise_models."""

from __future__ import annotations

import importlib.util
import os


def folder() -> str:
    """Returns the folder of the models. Without the package, it is the folder where pip would put them, so that they are
    found as soon as the package is installed."""
    package = importlib.util.find_spec("edgewise_models")
    if package is not None and package.submodule_search_locations:
        return package.submodule_search_locations[0]
    return os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "edgewise_models")


def environment() -> dict[str, str]:
    """Returns the variable with which a program finds the models, too, after those of the folders that it lists."""
    others = os.environ.get("EDGEWISE_MODELS")
    return {"EDGEWISE_MODELS": f"{others}:{folder()}" if others else folder()}

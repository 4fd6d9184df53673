# SPDX-License-Identifier: Apache-2.0
"""The program `edgewise`, which trains. `edgewise.train` of the package edgewise runs it."""

import importlib.util
import os
import sys
from typing import NoReturn

from edgewise._models import environment as models_environment

_FOLDER = os.path.dirname(os.path.abspath(__file__))


def program() -> str:
    """Returns the path of the program."""
    return os.path.join(_FOLDER, "bin", "edgewise")


def environment() -> dict[str, str]:
    """Returns the variables that the program needs. It finds the libraries of a torch beside this package by itself, but
    not those of a torch in another folder, as in an environment with the packages of the system."""
    torch = importlib.util.find_spec("torch")
    if torch is None or not torch.submodule_search_locations:
        return {}
    folder = os.path.join(os.path.abspath(torch.submodule_search_locations[0]), "lib")
    if os.path.realpath(folder) == os.path.realpath(os.path.join(_FOLDER, "../torch/lib")):
        return {}
    others = os.environ.get("LD_LIBRARY_PATH")
    return {"LD_LIBRARY_PATH": f"{folder}:{others}" if others else folder}


def main() -> NoReturn:
    """Becomes the program, with the arguments of this process."""
    os.execve(program(), ["edgewise", *sys.argv[1:]], {**os.environ, **models_environment(), **environment()})

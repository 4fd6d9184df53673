# SPDX-License-Identifier: Apache-2.0
"""The commands edgewise-translate and edgewise-server: each becomes the program of its name in the folder bin."""

import os
import sys
from typing import NoReturn

from ._models import environment


def _become(name: str) -> NoReturn:
    program = os.path.join(os.path.dirname(__file__), "bin", name)
    os.execve(program, [name, *sys.argv[1:]], {**os.environ, **environment()})


def translate() -> NoReturn:
    _become("edgewise-translate")


def serve() -> NoReturn:
    _become("edgewise-server")

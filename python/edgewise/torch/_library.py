# SPDX-License-Identifier: Apache-2.0
"""Loads the operations of the namespace edgewise into torch."""

import os
import re
from typing import Any

import torch

from edgewise import Error

OLDEST_TORCH = (2, 10)


def _check_torch(version: str) -> None:
    numbers = re.match(r"(\d+)\.(\d+)", version)
    if numbers is None or tuple(map(int, numbers.groups())) < OLDEST_TORCH:
        raise Error(f"edgewise.torch: torch has version {version}, needs {OLDEST_TORCH[0]}.{OLDEST_TORCH[1]} or newer")


_check_torch(torch.__version__)

# Any: torch has no types for the operations of a library, and those of its functions differ among versions.
_ops: Any = torch.ops
_ops.load_library(os.path.join(os.path.dirname(__file__), "libedgewise_torch.so"))

operations: Any = _ops.edgewise

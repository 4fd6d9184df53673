# SPDX-License-Identifier: Apache-2.0
"""Writes configs as TOML."""

from __future__ import annotations

import json
import operator
import os
from collections.abc import Iterator, Mapping
from typing import Any

from ._edgewise import Error

_NEEDED = "a bool, a number, a str, a path or a list of them"


def format_value(value: object, caller: str, name: str) -> str:
    """Returns a value as TOML. Errors begin with `caller` and call the value `name`."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, str):
        return _quote(value, caller, name)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(format_value(each, caller, f"{name}[{i}]") for i, each in enumerate(value)) + "]"
    try:
        return str(operator.index(value))  # type: ignore[arg-type]
    except TypeError:
        pass
    try:
        return repr(float(value))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise TypeError(f"{caller}: {name} is {value!r:.80}, needs {_NEEDED}") from None


def _quote(text: str, caller: str, name: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Error(f"{caller}: {name} is {text!r:.80}, needs text that is valid Unicode") from None
    # The escapes of JSON are escapes of TOML, too. TOML has no U+007F in strings.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def format_table(table: Mapping[Any, Any], caller: str, name: str) -> str:
    """Returns nested mappings as a TOML document."""
    return "\n".join(_lines_of(table, caller, name, "")) + "\n"


def _lines_of(table: Mapping[Any, Any], caller: str, name: str, prefix: str) -> Iterator[str]:
    sections = []
    for key, value in table.items():
        if not isinstance(key, str):
            raise TypeError(f"{caller}: {name} has the key {key!r:.80}, needs a str")
        path = prefix + _quote(key, caller, f"a key of {name}")
        if isinstance(value, Mapping):
            sections.append((path, key, value))
        else:
            yield f"{path[len(prefix):]} = {format_value(value, caller, f'{name}[{key!r:.80}]')}"
    for path, key, value in sections:
        yield f"[{path}]"
        yield from _lines_of(value, caller, f"{name}[{key!r:.80}]", path + ".")

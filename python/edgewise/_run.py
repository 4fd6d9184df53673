# SPDX-License-Identifier: Apache-2.0
"""Run directories, as `edgewise train` writes them."""

from __future__ import annotations

import base64
import html
import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from ._edgewise import Error, Generator, Translator
from ._full_program import find_program, run_to_end

if TYPE_CHECKING:
    import pandas as _pandas  # type: ignore[import-untyped,unused-ignore]

_MODELS = ("best", "last", "previous")
_OBJECTS = {
    "valid_encoder_steps": "numbers of nodes by their steps",
    "valid_decoder_steps": "numbers of nodes by their steps",
    "valid_exit_loss": "losses by their layers",
    "valid_exit_accuracy": "accuracies by their layers",
}


class Run:
    """A run directory, of a finished run, or of one that is still training.

    A run is a path: `edgewise.Translator(run)` translates with its best model. It displays its curves in a notebook, if
    the program `edgewise` is installed.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        if not isinstance(path, (str, os.PathLike)):
            raise TypeError(f"Run: path is {path!r:.80}, needs a str or a path")
        self._path = Path(path)
        if not any((self._path / name).exists() for name in ("metrics.jsonl", "lock", *_MODELS)):
            what = "is no run directory" if self._path.exists() else "does not exist"
            raise Error(f"Run: {self._path} {what}, needs the directory that train wrote")

    @property
    def path(self) -> Path:
        return self._path

    @property
    def best_model(self) -> Path:
        """The directory of the model of the best validation; of the last checkpoint, if none was validated."""
        for name in _MODELS:
            if (self._path / name / "manifest.json").exists():
                return self._path / name
        raise Error(f"Run: {self._path} has no model yet, needs a validation or a checkpoint")

    def translator(self, **options: Any) -> Translator:
        """Opens the best model; the options are those of Translator."""
        return Translator(self.best_model, **options)

    def generator(self, **options: Any) -> Generator:
        """Opens the best model, which must be a language model; the options are those of Generator."""
        return Generator(self.best_model, **options)

    def metrics(self) -> dict[str, list[Any]]:
        """Returns the metrics as columns of equal lengths: a row for each step that has metrics, in the order of the
        steps. A value that was not measured at a step is None, and one that was not finite is NaN. While the run
        trains, later calls return more rows."""
        return _columns_of(_read_rows(self._path / "metrics.jsonl"))

    def metrics_frame(self) -> _pandas.DataFrame:
        """Returns the metrics as a DataFrame of pandas, whose index is the step."""
        try:
            import pandas
        except ImportError:
            raise Error("metrics_frame: pandas is not installed, needs it; pip install pandas") from None
        return pandas.DataFrame(self.metrics()).set_index("step")

    def __fspath__(self) -> str:
        return str(self._path)

    def __repr__(self) -> str:
        return f"edgewise.Run({str(self._path)!r})"

    def __eq__(self, other: object) -> bool:
        return self._path == other._path if isinstance(other, Run) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._path)

    def _repr_html_(self) -> str | None:
        drawing = self._draw_curves()
        if drawing is None:
            return None
        # An image has styles of its own, and follows the theme of the browser, as a drawing of attention does.
        image = base64.b64encode(drawing).decode()
        return (
            '<figure><img style="color-scheme: light dark; background: Canvas" alt="Curves of the run" '
            f'src="data:image/svg+xml;base64,{image}"><figcaption>{html.escape(str(self._path))}</figcaption></figure>'
        )

    def _draw_curves(self) -> bytes | None:
        """Returns a drawing; None without a program, and while there is nothing to draw."""
        try:
            program = find_program()
            if program is None:
                return None
            with tempfile.TemporaryDirectory(prefix="edgewise-") as folder:
                file = os.path.join(folder, "curves.svg")
                ended = run_to_end(program, ["picture", "training", "-o", file, "--", str(self._path)], None)
                return Path(file).read_bytes() if ended.code == 0 else None
        except (Error, OSError):
            return None


def _read_rows(file: Path) -> dict[int, dict[str, Any]]:
    """Returns the values of each step. Of two values of one step and metric, the later one in the file counts."""
    rows: dict[int, dict[str, Any]] = {}
    try:
        lines = file.read_bytes().split(b"\n")
    except FileNotFoundError:
        return rows
    except OSError as error:
        raise Error(f"metrics: {file}: {error.strerror}") from None
    # The last line has no end yet: it is empty, or the training is writing it.
    for number, line in enumerate(lines[:-1], 1):
        values = _read_line(line, f"metrics: {file}:{number}")
        rows.setdefault(values["step"], {}).update(values)
    return dict(sorted(rows.items()))


def _read_line(line: bytes, where: str) -> dict[str, Any]:
    def refuse(constant: str) -> NoReturn:
        raise ValueError(f"{constant} is no number of JSON")

    try:
        values = json.loads(line, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise Error(f"{where} is not JSON: {error}; needs an object on each line") from None
    if not isinstance(values, dict):
        raise Error(f"{where} is {values!r:.80}, needs an object")
    if "step" not in values:
        raise Error(f"{where} has no step, needs one")
    if type(values["step"]) is not int or values["step"] < 0:
        raise Error(f"{where}: step is {values['step']!r:.80}, needs a whole number")
    return {name: _value_of(name, value, where) for name, value in values.items()}


def _value_of(name: str, value: Any, where: str) -> Any:
    if value is None:
        return float("nan")
    if name in _OBJECTS:
        try:
            return {int(key): float("nan") if number is None else number for key, number in value.items()}
        except (AttributeError, ValueError):
            raise Error(f"{where}: {name} is {value!r:.80}, needs {_OBJECTS[name]}") from None
    if not isinstance(value, (int, float)):
        raise Error(f"{where}: {name} is {value!r:.80}, needs a number")
    return value


def _columns_of(rows: dict[int, dict[str, Any]]) -> dict[str, list[Any]]:
    names = dict.fromkeys(["step", "epoch"])
    for values in rows.values():
        names.update(dict.fromkeys(values))
    return {name: [values.get(name) for values in rows.values()] for name in names}

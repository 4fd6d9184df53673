# SPDX-License-Identifier: Apache-2.0
"""Named tensors with one row for each node or edge of a type."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any

import torch
from torch import Tensor

from edgewise import Error

from ._checks import fail, type_name

Columns = Mapping[str, Tensor]


class MissingColumn(Error, KeyError):
    """An Error that methods of a mapping understand, too."""

    __str__ = Exception.__str__


def describe(tensor: Any) -> str:
    """Returns the type and the shape, such as "float32 [4, 2]"."""
    return f"{type_name(tensor.dtype)} {list(tensor.shape)}" if isinstance(tensor, Tensor) else f"{tensor!r:.80}"


def describe_names(names: Mapping[str, Any] | Iterator[str]) -> str:
    return ", ".join(f"'{name}'" for name in sorted(names)) or "none"


def has_same_rows(a: Tensor, b: Tensor) -> bool:
    return a.dtype == b.dtype and a.shape[1:] == b.shape[1:]


class Frame:
    """Columns: tensors of any type, with `num_rows` rows, on the CPU. Writing never changes a tensor in place."""

    def __init__(self, num_rows: int, row_name: str, columns: dict[str, Tensor] | None = None) -> None:
        self.num_rows = num_rows
        self.row_name = row_name
        self.columns: dict[str, Tensor] = {} if columns is None else columns

    def copy(self) -> Frame:
        return Frame(self.num_rows, self.row_name, dict(self.columns))

    def get(self, name: str) -> Tensor:
        if name not in self.columns:
            raise MissingColumn(f"graph: {self.row_name} column {name!r} is missing, the columns are "
                                f"{describe_names(self.columns)}")
        return self.columns[name]

    def set(self, name: str, column: Tensor) -> None:
        self._check(name, column, self.num_rows)
        self.columns[name] = column

    def set_rows(self, name: str, numbers: Tensor, values: Tensor) -> None:
        """Writes some rows. The others keep their values, or are zero in a new column."""
        self._check(name, values, len(numbers))
        before = self.columns.get(name)
        if before is None:
            before = values.new_zeros((self.num_rows, *values.shape[1:]))
        self._check_rows(name, values, before)
        self.columns[name] = before.index_copy(0, numbers, values)

    def set_where(self, name: str, is_written: Tensor | None, column: Tensor) -> None:
        """Writes the rows of a whole column for which `is_written` is true. The column is zero in the others."""
        self._check(name, column, self.num_rows)
        before = self.columns.get(name)
        if is_written is not None and before is not None:
            self._check_rows(name, column, before)
            column = column.where(is_written.view(-1, *(1,) * (column.dim() - 1)), before)
        self.columns[name] = column

    def with_rows(self, count: int, more: Columns) -> Frame:
        """Returns the frame with `count` rows more, which have the values of `more`, or zeros."""
        columns = {}
        for name, column in self.columns.items():
            values = more.get(name)
            if values is None:
                values = column.new_zeros((count, *column.shape[1:]))
            columns[name] = torch.cat((column, values))
        result = Frame(self.num_rows + count, self.row_name, columns)
        for name in set(more) - set(columns):
            result.set_rows(name, torch.arange(self.num_rows, result.num_rows), more[name])
        return result

    def _check(self, name: str, values: Any, rows: int) -> None:
        if not isinstance(values, Tensor):
            raise TypeError(f"graph: {self.row_name} column {name!r} is {values!r:.80}, needs a tensor")
        if values.dim() == 0 or values.shape[0] != rows:
            fail(f"graph: {self.row_name} column {name!r} is {describe(values)} for {rows} {self.row_name}s, needs one "
                 f"row per {self.row_name}")
        if values.device.type != "cpu":
            fail(f"graph: {self.row_name} column {name!r} is on {values.device}, needs the CPU")

    def _check_rows(self, name: str, values: Tensor, before: Tensor) -> None:
        if not has_same_rows(values, before):
            fail(f"graph: values of {self.row_name} column {name!r} are {describe(values)}, but the column is "
                 f"{describe(before)}, needs rows of one type and shape")


class FrameView(MutableMapping[str, Tensor]):
    """The columns of all nodes or edges of a type, or of those with some numbers, to read and write."""

    def __init__(self, frame: Frame, numbers: Tensor | None = None) -> None:
        self._frame = frame
        self._numbers = numbers

    def __getitem__(self, name: str) -> Tensor:
        column = self._frame.get(name)
        return column if self._numbers is None else column.index_select(0, self._numbers)

    def __setitem__(self, name: str, values: Tensor) -> None:
        if self._numbers is None:
            self._frame.set(name, values)
        else:
            self._frame.set_rows(name, self._numbers, values)

    def __delitem__(self, name: str) -> None:
        self._frame.get(name)
        del self._frame.columns[name]

    def __contains__(self, name: object) -> bool:
        return name in self._frame.columns

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._frame.columns))

    def __len__(self) -> int:
        return len(self._frame.columns)

    def __repr__(self) -> str:
        return repr({name: self[name] for name in self})


class TypedView(MutableMapping[str, dict[Any, Tensor]]):
    """The columns of several types: of each name, the columns of the types that have it."""

    def __init__(self, frames: Mapping[Any, Frame], resolve: Callable[[Any], Any]) -> None:
        self._frames = frames
        self._resolve = resolve  # makes a key of `frames` of the name of a type

    def __getitem__(self, name: str) -> dict[Any, Tensor]:
        return {key: frame.columns[name] for key, frame in self._frames.items() if name in frame.columns}

    def __setitem__(self, name: str, columns: Mapping[Any, Tensor]) -> None:
        if not isinstance(columns, Mapping):
            raise TypeError(f"graph: column {name!r} is {describe(columns)}, needs a dict with a tensor for each type, "
                            "because there are several types")
        for key, column in columns.items():
            self._frames[self._resolve(key)].set(name, column)

    def __delitem__(self, name: str) -> None:
        for frame in self._frames.values():
            frame.columns.pop(name, None)

    def __contains__(self, name: object) -> bool:
        return any(name in frame.columns for frame in self._frames.values())

    def __iter__(self) -> Iterator[str]:
        return iter({name: None for frame in self._frames.values() for name in frame.columns})

    def __len__(self) -> int:
        return len(list(iter(self)))


class LazyColumns(Mapping[str, Tensor]):
    """The columns of the nodes or edges of a call. A column is gathered when it is first read.

    `gather` makes the rows of the call of a whole column. Columns of `more` are read as they are.
    """

    def __init__(self, frame: Frame, gather: Callable[[Tensor], Tensor], more: Columns | None = None) -> None:
        self._frame = frame
        self._gather = gather
        self._read: dict[str, Tensor] = dict(more or {})

    def __getitem__(self, name: str) -> Tensor:
        if name not in self._read:
            self._read[name] = self._gather(self._frame.get(name))
        return self._read[name]

    def __contains__(self, name: object) -> bool:
        return name in self._read or name in self._frame.columns

    def __iter__(self) -> Iterator[str]:
        return iter({**self._frame.columns, **self._read})

    def __len__(self) -> int:
        return len({**self._frame.columns, **self._read})

# SPDX-License-Identifier: Apache-2.0
"""Relations as arguments: one, or a list of those of several graphs."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from ._checks import check_relation
from ._relation import Relation

_MOST = 16
_joined: dict[tuple[int, ...], tuple[list[weakref.ref[Relation]], Relation]] = {}


def as_relation(function: str, given: Any) -> Relation:
    """Returns a relation as it is, and joins a list of relations, which a Batch of PyG has.

    A joined relation is kept while its parts live, up to 16 of them.
    """
    if not isinstance(given, (list, tuple)) or not given or not all(isinstance(part, Relation) for part in given):
        check_relation(function, given)
        relation: Relation = given
        return relation
    key = tuple(map(id, given))
    found = _joined.get(key)
    if found is not None and all(ref() is part for ref, part in zip(found[0], given)):
        return found[1]
    joined = Relation.batch(given)
    for old in [old for old, (refs, _) in _joined.items() if any(ref() is None for ref in refs)]:
        del _joined[old]
    while len(_joined) >= _MOST:
        del _joined[next(iter(_joined))]
    _joined[key] = list(map(weakref.ref, given)), joined
    return joined


AnyRelation = Relation | Sequence[Relation]

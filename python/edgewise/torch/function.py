# SPDX-License-Identifier: Apache-2.0
"""Built-in messages and reductions, with the names of dgl.function.

    import edgewise.torch.function as fn
    graph.update_all(fn.u_mul_e("h", "w", "m"), fn.sum("m", "h"))

A message has the name of its operands and its operation: `u` is the source, `v` the destination, `e` the edge;
`u_mul_e("h", "w", "m")` multiplies the column `h` of the source by the column `w` of the edge, and names the products
`m`. The operations are add, sub, mul, div, and dot, which sums the products over the last dimension and keeps it with
size 1. Rows of two operands are aligned at their last dimensions, whose sizes are equal or 1: [E, H, 1] · [N, H, K]
scales each head.

A built-in message whose reductions are all built in, too, is never stored for all edges.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "Message", "Reduction", "copy_e", "copy_edge", "copy_src", "copy_u", "e_add_u", "e_add_v", "e_div_u", "e_div_v",
    "e_dot_u", "e_dot_v", "e_mul_u", "e_mul_v", "e_sub_u", "e_sub_v", "max", "mean", "min", "src_mul_edge", "sum",
    "u_add_e", "u_add_v", "u_div_e", "u_div_v", "u_dot_e", "u_dot_v", "u_mul_e", "u_mul_v", "u_sub_e", "u_sub_v",
    "v_add_e", "v_add_u", "v_div_e", "v_div_u", "v_dot_e", "v_dot_u", "v_mul_e", "v_mul_u", "v_sub_e", "v_sub_u",
]


@dataclass(frozen=True)
class Message:
    """A built-in message: an operation on columns of the source, the destination or the edge."""

    name: str  # such as "u_mul_e"
    operation: str  # "copy", "add", "sub", "mul", "div" or "dot"
    left: tuple[str, str]  # "u", "v" or "e", and a column
    right: tuple[str, str] | None  # None for "copy"
    out: str


@dataclass(frozen=True)
class Reduction:
    """A built-in reduction of a message to a column of the destinations."""

    name: str  # "sum", "mean", "max" or "min"
    msg: str
    out: str


class _Binary:
    """Makes a message of two columns."""

    def __init__(self, left: str, operation: str, right: str) -> None:
        self.__name__ = f"{left}_{operation}_{right}"
        self._left, self._operation, self._right = left, operation, right

    def __call__(self, lhs_field: str, rhs_field: str, out: str) -> Message:
        return Message(self.__name__, self._operation, (self._left, lhs_field), (self._right, rhs_field), out)

    def __repr__(self) -> str:
        return f"<built-in message {self.__name__}>"


def _binaries(left: str, right: str) -> tuple[_Binary, _Binary, _Binary, _Binary, _Binary]:
    return (_Binary(left, "add", right), _Binary(left, "sub", right), _Binary(left, "mul", right),
            _Binary(left, "div", right), _Binary(left, "dot", right))


u_add_v, u_sub_v, u_mul_v, u_div_v, u_dot_v = _binaries("u", "v")
u_add_e, u_sub_e, u_mul_e, u_div_e, u_dot_e = _binaries("u", "e")
v_add_u, v_sub_u, v_mul_u, v_div_u, v_dot_u = _binaries("v", "u")
v_add_e, v_sub_e, v_mul_e, v_div_e, v_dot_e = _binaries("v", "e")
e_add_u, e_sub_u, e_mul_u, e_div_u, e_dot_u = _binaries("e", "u")
e_add_v, e_sub_v, e_mul_v, e_div_v, e_dot_v = _binaries("e", "v")


def copy_u(u: str, out: str) -> Message:
    """Copies a column of the source."""
    return Message("copy_u", "copy", ("u", u), None, out)


def copy_e(e: str, out: str) -> Message:
    """Copies a column of the edge."""
    return Message("copy_e", "copy", ("e", e), None, out)


def src_mul_edge(src: str, edge: str, out: str) -> Message:
    """Returns `u_mul_e(src, edge, out)`: the name in DGL's first releases."""
    return u_mul_e(src, edge, out)


def copy_src(src: str, out: str) -> Message:
    """Returns `copy_u(src, out)`: the name in DGL's first releases."""
    return copy_u(src, out)


def copy_edge(edge: str, out: str) -> Message:
    """Returns `copy_e(edge, out)`: the name in DGL's first releases."""
    return copy_e(edge, out)


def sum(msg: str, out: str) -> Reduction:
    """Adds the messages of a node."""
    return Reduction("sum", msg, out)


def mean(msg: str, out: str) -> Reduction:
    """Averages the messages of a node."""
    return Reduction("mean", msg, out)


def max(msg: str, out: str) -> Reduction:
    """Takes the maximum of each element; its gradient goes to the first message that has the maximum."""
    return Reduction("max", msg, out)


def min(msg: str, out: str) -> Reduction:
    """Takes the minimum of each element; its gradient goes to the first message that has the minimum."""
    return Reduction("min", msg, out)

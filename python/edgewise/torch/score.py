# SPDX-License-Identifier: Apache-2.0
"""Score functions: expressions of an edge that `attend` evaluates in the place of its scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import torch
from torch import Tensor

from ._checks import check_tensor, fail
from ._edge_lists import EdgeList

_UNARY: dict[str, Callable[[Tensor], Tensor]] = {
    "neg": torch.neg, "abs": torch.abs, "exp": torch.exp, "log": torch.log, "tanh": torch.tanh,
    "sigmoid": torch.sigmoid, "relu": torch.relu, "floor": torch.floor}
_BINARY: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "minimum": torch.minimum,
    "maximum": torch.maximum, "lt": torch.lt, "le": torch.le, "gt": torch.gt, "ge": torch.ge, "eq": torch.eq,
    "ne": torch.ne}
Number = int | float


class Expression:
    """A number for each edge and head, computed of other expressions with the usual operators.

    `+ - * /`, `abs`, comparisons, and the methods `exp`, `log`, `tanh`, `sigmoid`, `relu`, `leaky_relu`, `floor`,
    `minimum`, `maximum`, `clamp`, `equal`. An Edge has the expressions to begin with; `where` chooses between two.
    """

    def __init__(self, name: str, inputs: tuple[Expression, ...] = (), tensor: Tensor | None = None,
                 number: Number | None = None) -> None:
        self._name, self._inputs, self._tensor, self._number = name, inputs, tensor, number

    def __add__(self, other: Expression | Number) -> Expression:
        return _binary("add", self, other)

    def __radd__(self, other: Number) -> Expression:
        return _binary("add", other, self)

    def __sub__(self, other: Expression | Number) -> Expression:
        return _binary("sub", self, other)

    def __rsub__(self, other: Number) -> Expression:
        return _binary("sub", other, self)

    def __mul__(self, other: Expression | Number) -> Expression:
        return _binary("mul", self, other)

    def __rmul__(self, other: Number) -> Expression:
        return _binary("mul", other, self)

    def __truediv__(self, other: Expression | Number) -> Expression:
        return _binary("div", self, other)

    def __rtruediv__(self, other: Number) -> Expression:
        return _binary("div", other, self)

    def __neg__(self) -> Expression:
        return Expression("neg", (self,))

    def __abs__(self) -> Expression:
        return Expression("abs", (self,))

    def __lt__(self, other: Expression | Number) -> Expression:
        return _binary("lt", self, other)

    def __le__(self, other: Expression | Number) -> Expression:
        return _binary("le", self, other)

    def __gt__(self, other: Expression | Number) -> Expression:
        return _binary("gt", self, other)

    def __ge__(self, other: Expression | Number) -> Expression:
        return _binary("ge", self, other)

    def equal(self, other: Expression | Number) -> Expression:
        return _binary("eq", self, other)

    def minimum(self, other: Expression | Number) -> Expression:
        return _binary("minimum", self, other)

    def maximum(self, other: Expression | Number) -> Expression:
        return _binary("maximum", self, other)

    def clamp(self, least: Number | None = None, most: Number | None = None) -> Expression:
        bounded = self if least is None else self.maximum(least)
        return bounded if most is None else bounded.minimum(most)

    def abs(self) -> Expression:
        return abs(self)

    def exp(self) -> Expression:
        return Expression("exp", (self,))

    def log(self) -> Expression:
        return Expression("log", (self,))

    def tanh(self) -> Expression:
        return Expression("tanh", (self,))

    def sigmoid(self) -> Expression:
        return Expression("sigmoid", (self,))

    def relu(self) -> Expression:
        return Expression("relu", (self,))

    def floor(self) -> Expression:
        return Expression("floor", (self,))

    def leaky_relu(self, negative_slope: float = 0.01) -> Expression:
        return where(self > 0, self, negative_slope * self)

    def __bool__(self) -> NoReturn:
        raise TypeError("score: an expression is used as a condition, needs where(condition, a, b)")

    def __repr__(self) -> str:
        return f"<score expression {self._name}>"


def where(condition: Expression, a: Expression | Number, b: Expression | Number) -> Expression:
    """Returns `a` at the edges for which the condition is true, and `b` at the others: -inf drops an edge."""
    if not isinstance(condition, Expression):
        raise TypeError(f"where: condition is {condition!r:.80}, needs an expression")
    return Expression("where", (condition, _as_expression(a), _as_expression(b)))


class Edge:
    """The edges of a relation, as the argument of a score function."""

    def __init__(self, edges: EdgeList, heads: int) -> None:
        self._edges, self._heads = edges, heads

    @property
    def score(self) -> Expression:
        """The product of query and key, scaled."""
        return Expression("score")

    @property
    def source(self) -> Expression:
        """The number of the source."""
        return Expression("source")

    @property
    def destination(self) -> Expression:
        """The number of the destination."""
        return Expression("destination")

    @property
    def distance(self) -> Expression:
        """The number of the destination minus that of the source; it is not stored."""
        return Expression("distance")

    def column(self, values: Tensor) -> Expression:
        """Returns a column of the edges, [edges] or [edges, heads], in the order of the relation's edges."""
        return self._leaf("column", values, self._edges.num_edges, "edge")

    def at_source(self, values: Tensor) -> Expression:
        """Returns a column of the sources, [sources] or [sources, heads]."""
        return self._leaf("at_source", values, self._edges.num_sources, "source")

    def at_destination(self, values: Tensor) -> Expression:
        """Returns a column of the destinations, [destinations] or [destinations, heads]."""
        return self._leaf("at_destination", values, self._edges.num_destinations, "destination")

    def head(self, values: Tensor) -> Expression:
        """Returns a number for each head, [heads]."""
        check_tensor("score", "head", values)
        if values.shape != (self._heads,):
            fail(f"score: head has shape {list(values.shape)}, needs [{self._heads}], one number for each head")
        return Expression("head", tensor=values)

    def table(self, values: Tensor, index: Expression) -> Expression:
        """Returns the rows of a table, [rows] or [rows, heads], with the numbers `index`: an expression, such as a
        column of integers or a distance. The fraction of an index is cut off. A negative index and NaN take the first
        row, and an index after the last row takes the last one."""
        if not isinstance(index, Expression):
            raise TypeError(f"score: index is {index!r:.80}, needs an expression")
        leaf = self._leaf("table", values, None, "row")
        if len(values) == 0:
            fail("score: table has no rows, needs at least one")
        return Expression("table", (index,), leaf._tensor)

    def _leaf(self, name: str, values: Any, rows: int | None, row: str) -> Expression:
        check_tensor("score", name, values)
        if values.dim() not in (1, 2) or values.dim() == 2 and values.shape[1] not in (1, self._heads):
            fail(f"score: {name} has shape {list(values.shape)}, needs [{row}s] or [{row}s, {self._heads}]")
        if rows is not None and values.shape[0] != rows:
            fail(f"score: {name} has {values.shape[0]} rows, needs {rows}, one for each {row}")
        return Expression(name, tensor=values)


ScoreFunction = Callable[[Edge], Expression]


def expression_of(function: Any, edges: EdgeList, heads: int) -> Expression:
    """Calls a score function, and checks what it returns."""
    if not callable(function):
        raise TypeError(f"attend: score is {function!r:.80}, needs a function of an edge")
    expression = function(Edge(edges, heads))
    if not isinstance(expression, Expression):
        raise TypeError(f"attend: score returned {expression!r:.80}, needs an expression")
    return expression


def evaluate(expression: Expression, leaf: Callable[[Expression], Tensor], dtype: torch.dtype) -> Tensor:
    """Returns the values of an expression in plain operations of torch, as `leaf` returns them for columns and numbers:
    [n, 1], [n, heads] or [1, heads], for one n. `dtype` is the type of quotients and functions of integers."""
    values: dict[int, Tensor] = {}

    def value_of(node: Expression) -> Tensor:
        if id(node) not in values:
            inputs = [value_of(each) for each in node._inputs]
            values[id(node)] = _compute(node, inputs, dtype) if inputs or node._number is not None else leaf(node)
        return values[id(node)]

    return value_of(expression)


def evaluate_on_edges(expression: Expression, edges: EdgeList, score_EH: Tensor) -> Tensor:
    """Returns the values for all edges and heads, [edges, heads]: the definition."""

    def leaf(node: Expression) -> Tensor:
        if node._name == "score":
            return score_EH
        if node._name == "distance":
            return (edges.destinations - edges.sources).unsqueeze(1)
        if node._name in ("source", "destination"):
            return (edges.sources if node._name == "source" else edges.destinations).unsqueeze(1)
        rows = column_of(node)
        if node._name in ("column", "head"):
            return edges.rows_of(rows) if node._name == "column" else rows
        return rows.index_select(0, edges.sources if node._name == "at_source" else edges.destinations)

    return evaluate(expression, leaf, score_EH.dtype).to(score_EH.dtype).expand(score_EH.shape)


def column_of(node: Expression) -> Tensor:
    """Returns the tensor of a column, a table or heads as [n, 1], [n, heads] or [1, heads]."""
    tensor = node._tensor
    assert tensor is not None
    if node._name == "head":
        return tensor.unsqueeze(0)
    return tensor.unsqueeze(1) if tensor.dim() == 1 else tensor


def _compute(node: Expression, inputs: list[Tensor], dtype: torch.dtype) -> Tensor:
    name = node._name
    if name == "constant":
        return torch.tensor([[node._number]], dtype=dtype if isinstance(node._number, float) else torch.int64)
    if name == "table":
        return look_up(column_of(node), inputs[0])
    if name not in ("neg", "abs", "relu") and (name in _UNARY or name == "div"):
        inputs = [each if each.is_floating_point() else each.to(dtype) for each in inputs]
    if name in _UNARY:
        return _UNARY[name](inputs[0])
    if name in _BINARY:
        return _BINARY[name](*_one_type(inputs))
    assert name == "where"
    a, b = _one_type(inputs[1:])
    return torch.where(inputs[0] != 0, a, b)


def look_up(rows: Tensor, index: Tensor) -> Tensor:
    last = len(rows) - 1
    numbers = index.detach().nan_to_num(0.0, last, 0.0).clamp(0, last).to(torch.int64)
    if numbers.shape[1] == 1:
        return rows.index_select(0, numbers[:, 0])
    return rows.expand(-1, numbers.shape[1]).gather(0, numbers)


def _one_type(tensors: list[Tensor]) -> list[Tensor]:
    dtype = torch.result_type(tensors[0], tensors[1])
    return [tensor.to(dtype) for tensor in tensors]


def _binary(name: str, left: Expression | Number, right: Expression | Number) -> Expression:
    return Expression(name, (_as_expression(left), _as_expression(right)))


def _as_expression(value: Any) -> Expression:
    if isinstance(value, Expression):
        return value
    if isinstance(value, (int, float)):
        return Expression("constant", number=value)
    if isinstance(value, Tensor):
        raise TypeError("score: an operand is a tensor, needs an expression: edge.column, edge.at_source, "
                        "edge.at_destination, edge.head or edge.table of it")
    raise TypeError(f"score: an operand is {value!r:.80}, needs an expression or a number")

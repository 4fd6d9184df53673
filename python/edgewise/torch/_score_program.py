# SPDX-License-Identifier: Apache-2.0
"""Compiles score functions into programs of the kernels: lists of operations, and columns in the numbering of nodes.

Parts of an expression that depend on sources alone, on destinations alone, or on distances alone become columns, which
are computed once for each of these.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import Tensor

from ._edge_lists import EdgeList
from .score import Expression, column_of, evaluate, look_up

# The operations and domains have the numbers of edgewise/kernels/score/score_program.h and score_inputs.h.
_CONSTANT, _PRODUCT, _COLUMN = 0, 1, 2
_ADD, _SUB, _MUL, _DIV, _ABS, _EXP, _LOG, _TANH, _SIGMOID, _FLOOR, _LESS, _LESS_EQUAL, _EQUAL, _LOOKUP = range(4, 18)
DOMAINS = ("edges", "sources", "destinations", "distances", "table")
_EDGES, _SOURCES, _DESTINATIONS, _DISTANCES, _TABLE = range(5)

_UNARY = {"abs": _ABS, "exp": _EXP, "log": _LOG, "tanh": _TANH, "sigmoid": _SIGMOID, "floor": _FLOOR}
_BINARY = {"add": _ADD, "sub": _SUB, "mul": _MUL, "div": _DIV}
# A selection takes its third argument where its first is less than, at most, or equal to its second, else its fourth.
# Letters are the arguments of the expression, numbers are constants.
_SELECTIONS: dict[str, tuple[int, tuple[str | int, ...]]] = {
    "lt": (_LESS, ("a", "b", 1, 0)), "le": (_LESS_EQUAL, ("a", "b", 1, 0)), "gt": (_LESS, ("b", "a", 1, 0)),
    "ge": (_LESS_EQUAL, ("b", "a", 1, 0)), "eq": (_EQUAL, ("a", "b", 1, 0)), "ne": (_EQUAL, ("a", "b", 0, 1)),
    "minimum": (_LESS, ("a", "b", "a", "b")), "maximum": (_LESS, ("b", "a", "a", "b")),
    "relu": (_LESS, (0, "a", "a", 0)), "where": (_EQUAL, ("a", 0, "c", "b"))}

_ON_HEAD, _ON_SOURCE, _ON_DESTINATION, _ON_DISTANCE, _ON_EDGE = 1, 2, 4, 8, 16
_INPUTS = {"score": _ON_EDGE, "column": _ON_EDGE, "source": _ON_SOURCE, "at_source": _ON_SOURCE,
           "destination": _ON_DESTINATION, "at_destination": _ON_DESTINATION, "distance": _ON_DISTANCE,
           "head": _ON_HEAD, "table": _ON_HEAD}


@dataclass
class Program:
    """The last node is the score."""

    nodes: list[int] = field(default_factory=list)  # six numbers each: operation, column, four nodes
    constants: list[float] = field(default_factory=list)  # of each node; 0 unless the node is a constant
    domains: list[int] = field(default_factory=list)  # of each column
    firsts: list[int] = field(default_factory=list)  # of each column; of distances: the smallest source - destination

    def add(self, operation: int, *arguments: int, column: int = -1, constant: float = 0.0) -> int:
        """Adds a node, and returns its number."""
        self.nodes += [operation, column, *arguments, *(0,) * (4 - len(arguments))]
        self.constants.append(constant)
        return len(self.constants) - 1


def compile_score(expression: Expression, edges: EdgeList, heads: int, dtype: torch.dtype
                  ) -> tuple[Program, list[Tensor]]:
    """Returns the program of an expression and its columns, [n, 1] or [n, heads], with gradients.

    Columns of edges are in the order in which the relation stores edges. Takes O(nodes) time besides columns of edges,
    and O(edges) for distances in a relation without intervals.
    """
    compiler = _Compiler(edges, heads, dtype)
    score = compiler.lower(expression)
    if score != len(compiler.program.constants) - 1:
        compiler.program.add(_ADD, score, compiler.constant(0.0))
    return compiler.program, compiler.columns


class _Compiler:
    def __init__(self, edges: EdgeList, heads: int, dtype: torch.dtype) -> None:
        self.program, self.columns = Program(), list[Tensor]()
        self._edges, self._heads, self._dtype = edges, heads, dtype
        self._lowered: dict[int, int] = {}
        self._inputs: dict[int, int] = {}

    def constant(self, number: float) -> int:
        return self.program.add(_CONSTANT, constant=float(number))

    def lower(self, node: Expression) -> int:
        if id(node) not in self._lowered:
            self._lowered[id(node)] = self._lower(node)
        return self._lowered[id(node)]

    def _inputs_of(self, node: Expression) -> int:
        if id(node) not in self._inputs:
            inputs = _INPUTS.get(node._name, 0)
            for each in node._inputs:
                inputs |= self._inputs_of(each)
            self._inputs[id(node)] = inputs
        return self._inputs[id(node)]

    def _lower(self, node: Expression) -> int:
        inputs = self._inputs_of(node)
        edges = self._edges
        if inputs == _ON_HEAD:  # a column of destinations whose rows are equal
            return self._add_column(_DESTINATIONS, self._evaluate(node, 1).expand(edges.num_destinations, -1))
        if inputs & ~_ON_HEAD == _ON_SOURCE:
            return self._add_column(_SOURCES, self._evaluate(node, edges.num_sources))
        if inputs & ~_ON_HEAD == _ON_DESTINATION:
            return self._add_column(_DESTINATIONS, self._evaluate(node, edges.num_destinations))
        if inputs & ~_ON_HEAD == _ON_DISTANCE:
            first, last = _distance_range(edges)
            return self._add_column(_DISTANCES, self._evaluate(node, last - first + 1, first), first)
        if node._name == "constant":
            assert node._number is not None
            return self.constant(node._number)
        if node._name == "score":
            return self.program.add(_PRODUCT)
        if node._name == "column":
            rows, order = column_of(node), edges.stored_positions
            return self._add_column(_EDGES, rows if order is None else rows.index_select(0, order))
        if node._name == "table":
            index = self.lower(node._inputs[0])
            return self.program.add(_LOOKUP, index, column=self._add_tensor(_TABLE, column_of(node)))
        return self._lower_operation(node)

    def _lower_operation(self, node: Expression) -> int:
        arguments = [self.lower(each) for each in node._inputs]
        name = node._name
        if name in _UNARY or name in _BINARY:
            return self.program.add((_UNARY | _BINARY)[name], *arguments)
        if name == "neg":
            return self.program.add(_SUB, self.constant(0.0), arguments[0])
        operation, chosen = _SELECTIONS[name]
        return self.program.add(operation, *(
            arguments["abc".index(each)] if isinstance(each, str) else self.constant(each) for each in chosen))

    def _add_column(self, domain: int, column: Tensor, first: int = 0) -> int:
        return self.program.add(_COLUMN, column=self._add_tensor(domain, column, first))

    def _add_tensor(self, domain: int, column: Tensor, first: int = 0) -> int:
        column = column.to(self._dtype)
        # The kernels sum gradients over heads for columns of edges alone; for the others, expand() does.
        if domain != _EDGES and torch.is_grad_enabled() and column.requires_grad:
            column = column.expand(-1, self._heads)
        self.columns.append(column)
        self.program.domains.append(domain)
        self.program.firsts.append(first)
        return len(self.columns) - 1

    def _evaluate(self, node: Expression, count: int, first: int = 0) -> Tensor:
        """Returns the values for `count` sources, destinations or distances, in float64 unless the node is a column."""
        dtype = torch.float64 if node._inputs else self._dtype

        def leaf(each: Expression) -> Tensor:
            if each._tensor is not None:
                rows = column_of(each)
                return rows.to(dtype) if rows.is_floating_point() else rows
            numbers = torch.arange(count).unsqueeze(1)
            return -(numbers + first) if each._name == "distance" else numbers

        return evaluate(node, leaf, dtype).expand(count, -1)


def _distance_range(edges: EdgeList) -> tuple[int, int]:
    """Returns the smallest and the largest source - destination."""
    relation = edges.relation
    if relation.has_intervals:
        used = relation._sources[:, 1] > relation._sources[:, 0]
        rows, intervals = used.nonzero()[:, 0], relation._sources[used].to(torch.int64)
        first, last = intervals[:, 0] - rows, intervals[:, 1] - 1 - rows
    else:
        first = last = edges.sources - edges.destinations
    return (int(first.min()), int(last.max())) if len(first) > 0 else (0, -1)


_UNARY_FUNCTIONS: dict[int, Callable[[Tensor], Tensor]] = {
    _ABS: torch.abs, _EXP: torch.exp, _LOG: torch.log, _TANH: torch.tanh, _SIGMOID: torch.sigmoid, _FLOOR: torch.floor}
_BINARY_FUNCTIONS: dict[int, Callable[[Tensor, Tensor], Tensor]] = {
    _ADD: torch.add, _SUB: torch.sub, _MUL: torch.mul, _DIV: torch.div}


def run_program(program: Program, columns: list[Tensor], edges: EdgeList, product_EH: Tensor) -> Tensor:
    """Returns the scores [edges, heads] in plain operations of torch: what the kernels compute, for any derivative."""
    order = edges.stored_positions
    values: list[Tensor] = []
    for i, constant in enumerate(program.constants):
        operation, column, *arguments = program.nodes[6 * i:6 * i + 6]
        a, b, c, d = (values[each] if values else product_EH for each in arguments)
        if operation == _CONSTANT:
            value = product_EH.new_full((1, 1), constant)
        elif operation == _PRODUCT:
            value = product_EH
        elif operation == _LOOKUP:
            value = look_up(columns[column], a)
        elif operation == _COLUMN:
            value = _column_on_edges(DOMAINS[program.domains[column]], columns[column], edges, order,
                                     program.firsts[column])
        elif operation in (_LESS, _LESS_EQUAL, _EQUAL):
            value = torch.where({_LESS: a < b, _LESS_EQUAL: a <= b, _EQUAL: a == b}[operation], c, d)
        elif operation in _BINARY_FUNCTIONS:
            value = _BINARY_FUNCTIONS[operation](a, b)
        else:
            value = _UNARY_FUNCTIONS[operation](a)
        values.append(value)
    return values[-1].expand(product_EH.shape)


def _column_on_edges(domain: str, column: Tensor, edges: EdgeList, order: Tensor | None, first: int) -> Tensor:
    if domain == "edges":
        return column if order is None else column.index_select(0, order.argsort())
    if domain == "distances":
        return column.index_select(0, edges.sources - edges.destinations - first)
    return column.index_select(0, edges.sources if domain == "sources" else edges.destinations)

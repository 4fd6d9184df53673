# SPDX-License-Identifier: Apache-2.0
"""Message passing on graphs, with the names of DGL."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from ._batches import CanonicalType, EdgeBatch, NodeBatch, NodeFunction, call, call_predicate, edge_numbers
from ._edge_lists import EdgeList
from ._frames import Columns, FrameView, LazyColumns
from ._graph_data import GraphData
from ._graph_structure import ALL, Numbers
from ._message_passing import AnyMessage, AnyReduction, combine_types, compute_message, reduce_messages
from .function import Message, Reduction

Messages = AnyMessage | Sequence[AnyMessage]
Reductions = AnyReduction | Sequence[AnyReduction]


class Graph(GraphData):
    """A graph with tensors on its nodes and edges: `graph`, `heterograph` and `pair_graph` make one.

    `ndata` and `edata` are the columns, by name. Calls select nodes and edges by distinct numbers (a tensor, a list or
    one number), by the name of a set, edges also by a pair of sources and destinations; by default all. A function gets
    a batch of nodes or edges and returns columns, a dict of tensors with one row for each of them. Rows that are not
    written are zero in a new column. Messages and reductions read the columns from before the call, and are written
    together. A call that raises leaves all columns as they were before.

    Types of nodes and edges have numbers and columns of their own, as in DGL; a call names one (`ntype`, `etype`) where
    there are several. Everything has gradients of any order, and the same bits in every run.
    """

    # --- Functions over nodes and edges. -----------------------------------------------------------------------------

    def apply_nodes(self, func: NodeFunction, v: Numbers = ALL, ntype: str | None = None) -> None:
        """Calls a function with nodes and writes the columns that it returns."""
        node_type = self._structure.node_type("apply_nodes", ntype)
        with self._all_or_nothing():
            self._apply_nodes("apply_nodes: the function", func, node_type,
                              self._structure.select_nodes("apply_nodes", v, node_type))

    def _apply_nodes(self, prefix: str, function: NodeFunction, node_type: str, numbers: Tensor | None) -> None:
        view = FrameView(self._node_frames[node_type], numbers)
        for name, values in call(function, self._node_batch(node_type, numbers), prefix).items():
            view[name] = values

    def _node_batch(self, node_type: str, numbers: Tensor | None, more: Columns | None = None) -> NodeBatch:
        frame = self._node_frames[node_type]
        if numbers is None:
            return NodeBatch(node_type, torch.arange(frame.num_rows), LazyColumns(frame, lambda column: column, more))
        chosen = numbers
        return NodeBatch(node_type, numbers, LazyColumns(frame, lambda column: column.index_select(0, chosen), more))

    def apply_edges(self, func: AnyMessage, edges: Numbers = ALL, etype: Any = None) -> None:
        """Computes a built-in message or a function on edges and writes the columns.

        A built-in message is computed for all types of edges if none is named.
        """
        if etype is None and len(self._edge_frames) > 1 and isinstance(func, Message) and _is_all(edges):
            types = self.canonical_etypes
        else:
            types = [self._structure.edge_type("apply_edges", etype)]
        with self._all_or_nothing():
            for edge_type in types:
                self._apply_edges(func, edge_type, self._structure.select_edges("apply_edges", edges, edge_type))

    def _apply_edges(self, function: AnyMessage, edge_type: CanonicalType, edges: EdgeList) -> None:
        frames = self._frames_of(edge_type)
        if isinstance(function, Message):
            columns = {function.out: compute_message(function, edges, frames)}
        else:
            columns = call(function, EdgeBatch(edge_type, edges, frames), "apply_edges: the function")
        view = FrameView(frames["e"], edges.numbers)
        for name, values in columns.items():
            view[name] = values

    def filter_nodes(self, predicate: Any, nodes: Numbers = ALL, ntype: str | None = None) -> Tensor:
        """Returns the numbers of the nodes for which the predicate is true, in the order given."""
        node_type = self._structure.node_type("filter_nodes", ntype)
        batch = self._node_batch(node_type, self._structure.select_nodes("filter_nodes", nodes, node_type))
        return batch.nodes()[call_predicate(predicate, batch, "filter_nodes: the predicate")]

    def filter_edges(self, predicate: Any, edges: Numbers = ALL, etype: Any = None) -> Tensor:
        """Returns the numbers of the edges for which the predicate is true, ascending."""
        edge_type = self._structure.edge_type("filter_edges", etype)
        chosen = self._structure.select_edges("filter_edges", edges, edge_type)
        batch = EdgeBatch(edge_type, chosen, self._frames_of(edge_type))
        return edge_numbers(chosen)[call_predicate(predicate, batch, "filter_edges: the predicate")]

    # --- Message passing. --------------------------------------------------------------------------------------------

    def send_and_recv(self, edges: Numbers, message_func: Messages, reduce_func: Reductions,
                      apply_node_func: NodeFunction | None = None, etype: Any = None) -> None:
        """Sends messages along edges and reduces them at each destination.

        A node without messages keeps its values in existing columns. A reduce function is called once for each
        in-degree. `apply_node_func` is then called with the nodes that have messages. Messages and reductions may be
        lists.
        """
        edge_type = self._structure.edge_type("send_and_recv", etype)
        chosen = self._structure.select_edges("send_and_recv", edges, edge_type)
        mask = chosen.is_receiver
        nodes = None if mask is None else mask.nonzero()[:, 0]
        self._pass("send_and_recv", chosen, message_func, reduce_func, apply_node_func, edge_type, mask, nodes)

    def pull(self, v: Numbers, message_func: Messages, reduce_func: Reductions,
             apply_node_func: NodeFunction | None = None, etype: Any = None) -> None:
        """Sends messages along all edges into the nodes `v`, as `send_and_recv` does.

        `apply_node_func` is called with all of `v`, also with nodes without messages.
        """
        edge_type = self._structure.edge_type("pull", etype)
        nodes = self._structure.select_nodes("pull", v, edge_type[2])
        everything = self._structure.edge_lists[edge_type]
        chosen = everything if nodes is None else everything.select(everything.into(nodes))
        self._pass("pull", chosen, message_func, reduce_func, apply_node_func, edge_type, chosen.is_receiver, nodes)

    def push(self, u: Numbers, message_func: Messages, reduce_func: Reductions,
             apply_node_func: NodeFunction | None = None, etype: Any = None) -> None:
        """Sends messages along all edges from the nodes `u`, as `send_and_recv` does."""
        edge_type = self._structure.edge_type("push", etype)
        nodes = self._structure.select_nodes("push", u, edge_type[0])
        everything = self._structure.edge_lists[edge_type]
        numbers = edge_numbers(everything) if nodes is None else everything.reversed.into(nodes)
        self.send_and_recv(numbers, message_func, reduce_func, apply_node_func, edge_type)

    def update_all(self, message_func: Messages, reduce_func: Reductions,
                   apply_node_func: NodeFunction | None = None, etype: Any = None) -> None:
        """Sends messages along all edges and writes each column at all nodes: a node without messages gets zeros.

        With a built-in message and reduction and several types of edges, none of them named, the results of the types
        are reduced as the messages are.
        """
        if etype is None and len(self._edge_frames) > 1 and (
                isinstance(message_func, Message) and isinstance(reduce_func, Reduction)):
            self.multi_update_all({name: (message_func, reduce_func) for name in self.canonical_etypes},
                                  reduce_func.name, apply_node_func)
            return
        edge_type = self._structure.edge_type("update_all", etype)
        self._pass("update_all", self._structure.edge_lists[edge_type], message_func, reduce_func, apply_node_func,
                   edge_type, None, None)

    def _pass(self, caller: str, edges: EdgeList, messages: Messages, reductions: Reductions,
              node_function: NodeFunction | None, edge_type: CanonicalType, is_written: Tensor | None,
              nodes: Tensor | None) -> None:
        """Passes messages, writes where `is_written` is true, and applies a function to `nodes`. None: all."""
        with self._all_or_nothing():
            frame = self._node_frames[edge_type[2]]
            reduced = reduce_messages(caller, _as_list(messages), _as_list(reductions), edge_type, edges,
                                      self._frames_of(edge_type))
            for name, column in reduced.items():
                frame.set_where(name, is_written, column)
            if node_function is not None:
                self._apply_nodes(f"{caller}: the node function", node_function, edge_type[2], nodes)

    def multi_update_all(self, etype_dict: Mapping[Any, Sequence[Any]], cross_reducer: Any,
                         apply_node_func: NodeFunction | None = None) -> None:
        """Passes messages along the edges of several types and reduces the results of the types at each node.

        `etype_dict` has a message, a reduction and perhaps a node function for each type of edges. `cross_reducer` is
        "sum", "mean", "max", "min" or "stack", or a function of a list of tensors [nodes, …]. "max" and "min" leave out
        types of which a node has no messages, if their reduction is the same built-in one.
        """
        order = {self._structure.edge_type("multi_update_all", name): functions
                 for name, functions in etype_dict.items()}
        received: dict[str, dict[str, list[tuple[Tensor, Tensor | None]]]] = {}
        with self._all_or_nothing():
            for edge_type in sorted(order, key=self.canonical_etypes.index):
                messages, reductions, *rest = order[edge_type]
                edges, into = self._structure.edge_lists[edge_type], edge_type[2]
                columns = reduce_messages("multi_update_all", _as_list(messages), _as_list(reductions), edge_type,
                                          edges, self._frames_of(edge_type))
                if rest and rest[0] is not None:
                    columns.update(call(rest[0], self._node_batch(into, None, columns),
                                        "multi_update_all: a node function"))
                is_same = isinstance(reductions, Reduction) and reductions.name == cross_reducer
                for name, column in columns.items():
                    received.setdefault(into, {}).setdefault(name, []).append(
                        (column, edges.is_receiver if is_same else None))
            for node_type, by_name in received.items():
                for name, results in by_name.items():
                    self._node_frames[node_type].set(name, combine_types(results, cross_reducer))
                if apply_node_func is not None:
                    self._apply_nodes("multi_update_all: the node function", apply_node_func, node_type, None)

    def prop_nodes(self, nodes_generator: Iterable[Numbers], message_func: Messages, reduce_func: Reductions,
                   apply_node_func: NodeFunction | None = None, etype: Any = None) -> None:
        """Calls `pull` with each element in turn."""
        for nodes in nodes_generator:
            self.pull(nodes, message_func, reduce_func, apply_node_func, etype)

    def prop_edges(self, edges_generator: Iterable[Numbers], message_func: Messages, reduce_func: Reductions,
                   apply_node_func: NodeFunction | None = None, etype: Any = None) -> None:
        """Calls `send_and_recv` with each element in turn."""
        for edges in edges_generator:
            self.send_and_recv(edges, message_func, reduce_func, apply_node_func, etype)


def _is_all(numbers: Numbers) -> bool:
    return numbers is None or isinstance(numbers, str) and numbers == ALL


def _as_list(functions: Any) -> list[Any]:
    return list(functions) if isinstance(functions, (list, tuple)) else [functions]

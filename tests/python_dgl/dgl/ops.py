# SPDX-License-Identifier: Apache-2.0
"""DGL's functions of a graph and tensors, as calls of message passing."""
import functools
import itertools

import edgewise.torch as edgewise_torch
import edgewise.torch.function as fn

_FRAMES = {"u": "srcdata", "v": "dstdata", "e": "edata"}


def edge_softmax(graph, score, eids=None, norm_by="dst"):
    return edgewise_torch.edge_softmax(graph, score, eids, norm_by)


def _one_type(graph, etype):
    return graph if etype is None else graph[etype]


def _message(operation, left, left_tensor, right, right_tensor, graph):
    """Writes the operands to columns, and returns the message of them."""
    for end, name, tensor in ((left, "left", left_tensor), (right, "right", right_tensor)):
        if tensor is not None:
            getattr(graph, _FRAMES[end])[name] = tensor
    if operation == "copy_lhs":
        return _copy(left, "left")
    if operation == "copy_rhs":
        return _copy(right, "right")
    return getattr(fn, f"{left}_{operation}_{right}")("left", "right", "out")


def _copy(end, name):
    if end == "v":  # for which DGL has no message either
        return lambda edges: {"out": edges.dst[name]}
    return fn.copy_u(name, "out") if end == "u" else fn.copy_e(name, "out")


def gsddmm(graph, operation, left, right, lhs_target="u", rhs_target="v", etype=None):
    graph = _one_type(graph, etype).local_var()
    graph.apply_edges(_message(operation, lhs_target, left, rhs_target, right, graph))
    return graph.edata["out"]


def gspmm(graph, operation, reducer, left, right):
    graph = graph.local_var()
    graph.update_all(_message(operation, "u", left, "e", right, graph), getattr(fn, reducer)("out", "out"))
    return graph.dstdata["out"]


def copy_u(graph, tensor, etype=None):
    return gsddmm(graph, "copy_lhs", tensor, None, etype=etype)


def copy_v(graph, tensor, etype=None):
    return gsddmm(graph, "copy_rhs", None, tensor, etype=etype)


def copy_u_sum(graph, tensor):
    return gspmm(graph, "copy_lhs", "sum", tensor, None)


def _binary(left, operation, right):
    return functools.partial(_call_binary, left, operation, right)


def _call_binary(left, operation, right, graph, left_tensor, right_tensor, etype=None):
    return gsddmm(graph, operation, left_tensor, right_tensor, left, right, etype)


for _left, _right in itertools.permutations("uve", 2):
    for _operation in ("add", "sub", "mul", "div", "dot"):
        globals()[f"{_left}_{_operation}_{_right}"] = _binary(_left, _operation, _right)


def gather_mm(*arguments, **options):
    raise NotImplementedError


segment_reduce = segment_mm = gather_mm

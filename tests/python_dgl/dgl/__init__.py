# SPDX-License-Identifier: Apache-2.0
"""A module with the name of DGL over edgewise.torch: what DGL's tests of message passing call besides message passing.

`../run` puts this folder on the path of Python. The numbers of nodes and edges are int64; `idtype` is remembered only.
"""
import sys
import types

import networkx
import numpy
import torch

import edgewise.torch as edgewise_torch
from edgewise import Error as DGLError
from edgewise.torch import edge_softmax, function  # noqa: F401

from . import backend, ops, traversal
from .ops import *  # noqa: F403
from .traversal import prop_edges_dfs, prop_nodes_bfs, prop_nodes_topo  # noqa: F401

NID = EID = "_ID"
NTYPE, ETYPE = "_TYPE", "_TYPE"


def _module(name, **members):
    module = types.ModuleType(f"dgl.{name}")
    vars(module).update(members)
    sys.modules[module.__name__] = module
    return module


class DGLGraph(edgewise_torch.Graph):
    """A Graph with what the tests ask of a graph beside message passing and columns."""

    idtype = torch.int64

    def astype(self, idtype):
        result = self.local_var()
        result.idtype = idtype
        return result

    def int(self):
        return self.astype(torch.int32)

    def long(self):
        return self.astype(torch.int64)

    def formats(self, formats=None):
        return self

    def set_n_initializer(self, initializer, field=None, ntype=None):
        assert initializer is _zero_initializer

    set_e_initializer = set_n_initializer

    def local_var(self):
        result = super().local_var()
        result.idtype = self.idtype
        return result

    def metagraph(self):
        result = networkx.MultiDiGraph()
        result.add_nodes_from(self.ntypes)
        for source, name, destination in self.canonical_etypes:
            result.add_edge(source, destination, name)
        return result

    @property
    def _etype2canonical(self):
        names = self.etypes
        return {each[1]: each if names.count(each[1]) == 1 else () for each in self.canonical_etypes}


def _wrap(made, idtype=None):
    result = DGLGraph(made._structure, made._node_frames, made._edge_frames)
    if idtype is not None:
        result.idtype = idtype
    return result


def graph(data, num_nodes=None, idtype=None, device=None, row_sorted=False, col_sorted=False):
    return _wrap(edgewise_torch.graph(data, num_nodes), idtype)


def heterograph(data_dict, num_nodes_dict=None, idtype=None, device=None):
    return _wrap(edgewise_torch.heterograph(data_dict, num_nodes_dict), idtype)


def batch(graphs, ndata="__ALL__", edata="__ALL__"):
    result = edgewise_torch.batch(graphs, ndata, edata)
    result.idtype = graphs[0].idtype
    return result


def unbatch(g, node_split=None, edge_split=None):
    parts = edgewise_torch.unbatch(g, node_split, edge_split)
    for part in parts:
        part.idtype = g.idtype
    return parts


def slice_batch(g, number):
    return unbatch(g)[number]


def from_networkx(given, idtype=None, device=None):
    given = given if given.is_directed() else given.to_directed()
    ends = numpy.array(given.edges(), dtype=numpy.int64).reshape(-1, 2)
    return graph((ends[:, 0], ends[:, 1]), given.number_of_nodes(), idtype)


def from_scipy(matrix, idtype=None):
    matrix = matrix.tocoo()
    return graph((matrix.row, matrix.col), max(matrix.shape), idtype)


def rand_graph(num_nodes, num_edges):
    return graph(torch.randint(num_nodes, (2, num_edges)), num_nodes)


def rand_bipartite(source, name, destination, num_sources, num_destinations, num_edges):
    ends = torch.randint(num_sources, (num_edges,)), torch.randint(num_destinations, (num_edges,))
    return heterograph({(source, name, destination): ends}, {source: num_sources, destination: num_destinations})


def add_self_loop(g):
    result = g.local_var()
    result.add_edges(g.nodes(), g.nodes())
    return result


def to_homogeneous(g):
    """Returns the graph with one type of nodes and one of edges; edges remember their type."""
    begins, total = {}, 0
    for name in g.ntypes:
        begins[name], total = total, total + g.num_nodes(name)
    ends = [[part + begins[name] for part, name in zip(g.edges(etype=each), (each[0], each[2]))]
            for each in g.canonical_etypes]
    result = graph(tuple(torch.cat(parts) for parts in zip(*ends)), total, g.idtype)
    result.origin = g
    return result


def to_heterogeneous(g, ntypes, etypes):
    """Returns the graph that to_homogeneous was given, with the columns of the edges."""
    origin = g.origin
    assert (ntypes, etypes) == (origin.ntypes, origin.etypes)
    result = heterograph({each: origin.edges(etype=each) for each in origin.canonical_etypes},
                         {name: origin.num_nodes(name) for name in ntypes}, g.idtype)
    sizes = [origin.num_edges(each) for each in origin.canonical_etypes]
    for name, column in g.edata.items():
        result.edata[name] = dict(zip(origin.canonical_etypes, column.split(sizes)))
    return result


def to_block(g, nodes=None):
    """Returns the graph itself: tests of blocks are left out, but their graphs are made when tests are collected."""
    return g


def seed(number):
    torch.manual_seed(number)


def _zero_initializer(shape, dtype, device, numbers):
    return torch.zeros(shape, dtype=dtype)


sys.modules["dgl.function"] = function
base = _module("base", ALL="__ALL__", NID=NID, EID=EID, NTYPE=NTYPE, ETYPE=ETYPE, DGLError=DGLError,
               is_internal_column=lambda name: name in (NID, NTYPE))
convert = _module("convert", graph=graph, heterograph=heterograph)
init = _module("init", zero_initializer=_zero_initializer)
nn = _module("nn")
utils = _module("utils", Filter=None)

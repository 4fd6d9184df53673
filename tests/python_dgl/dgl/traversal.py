# SPDX-License-Identifier: Apache-2.0
"""Orders in which DGL's functions propagate messages over a graph."""
import networkx
import torch


def _networkx(graph):
    result = networkx.DiGraph()
    result.add_nodes_from(range(graph.num_nodes()))
    result.add_edges_from(zip(*(ends.tolist() for ends in graph.edges())))
    return result


def prop_nodes_bfs(graph, source, message_func, reduce_func, apply_node_func=None):
    frontiers = list(networkx.bfs_layers(_networkx(graph), [source]))
    graph.prop_nodes(frontiers, message_func, reduce_func, apply_node_func)


def prop_nodes_topo(graph, message_func, reduce_func, apply_node_func=None):
    frontiers = list(networkx.topological_generations(_networkx(graph)))
    graph.prop_nodes(frontiers, message_func, reduce_func, apply_node_func)


def prop_edges_dfs(graph, source, message_func, reduce_func, apply_node_func=None, has_reverse_edge=False,
                   has_nontree_edge=False):
    """Propagates along the edges of a search in depth, in its order, each edge on its own."""
    kinds = {"forward"} | ({"reverse"} if has_reverse_edge else set()) | (
        {"nontree"} if has_nontree_edge else set())
    edges = []
    for u, v, kind in networkx.dfs_labeled_edges(_networkx(graph), source):
        if u == v or kind not in kinds:
            continue
        # A way back is along the same edge.
        edges.append(graph.edge_ids(u, v))
    assert all(isinstance(edge, torch.Tensor) for edge in edges)
    graph.prop_edges(edges, message_func, reduce_func, apply_node_func)

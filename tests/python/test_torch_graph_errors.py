# SPDX-License-Identifier: Apache-2.0
import pytest

torch = pytest.importorskip("torch")

import edgewise  # noqa: E402
import edgewise.torch.function as fn  # noqa: E402
from edgewise.torch import (  # noqa: E402
    GATConv, Relation, TransformerConv, batch, edge_softmax, graph, heterograph, pair_graph, unbatch)

EDGE_INDEX = torch.tensor([[0, 1], [1, 2]])


def example():
    g = graph(([0, 1, 2], [1, 2, 2]))
    g.ndata["x"] = torch.ones(3, 2)
    g.ndata["wide"] = torch.ones(3, 5)
    g.ndata["flat"] = torch.ones(3)
    g.ndata["count"] = torch.arange(3)
    g.edata["y"] = torch.ones(3, 2, 4)
    return g


def typed():
    return heterograph({("a", "r", "b"): ([0], [0]), ("b", "s", "a"): ([0], [0]), ("a", "r", "a"): ([0], [0])})


def returns(*names, shape=(2, 4)):
    return lambda batch: {name: torch.ones(shape) for name in names}


@pytest.mark.parametrize("call, error, text", [
    (lambda g: g.apply_nodes(lambda nodes: {"z": nodes.data["q"]}), edgewise.Error,
     "graph: node column 'q' is missing, the columns are 'count', 'flat', 'wide', 'x'"),
    (lambda g: g.edata["q"], KeyError, "graph: edge column 'q' is missing, the columns are 'y'"),
    (lambda g: g.ndata.update(z=torch.ones(2)), edgewise.Error,
     "graph: node column 'z' is float32 [2] for 3 nodes, needs one row per node"),
    (lambda g: g.ndata.update(z=[1, 2, 3]), TypeError, "graph: node column 'z' is [1, 2, 3], needs a tensor"),
    (lambda g: g.nodes[[0, 1]].data.update(x=torch.ones(2, 3)), edgewise.Error,
     "graph: values of node column 'x' are float32 [2, 3], but the column is float32 [3, 2], needs rows of one type "
     "and shape"),
    (lambda g: g.apply_nodes(returns("z"), [1]), edgewise.Error,
     "apply_nodes: the function returned 'z' as float32 [2, 4] for 1 nodes, needs one row per node"),
    (lambda g: g.apply_nodes(3), TypeError, "apply_nodes: the function is 3, needs one that can be called"),
    (lambda g: g.apply_nodes(lambda nodes: nodes.data["x"]), TypeError,
     "apply_nodes: the function returned float32 [3, 2], needs a dict of columns"),
    (lambda g: g.apply_nodes(lambda nodes: nodes.mailbox["m"]), edgewise.Error,
     "mailbox: the call is outside of a reduce function, needs to be inside, where nodes have messages"),
    (lambda g: g.apply_edges(returns("z")), edgewise.Error,
     "apply_edges: the function returned 'z' as float32 [2, 4] for 3 edges, needs one row per edge"),
    (lambda g: g.filter_nodes(lambda nodes: nodes.data["x"]), edgewise.Error,
     "filter_nodes: the predicate returned float32 [3, 2], needs a mask [3]"),
    (lambda g: g.filter_edges(lambda edges: None, [1, 2]), edgewise.Error,
     "filter_edges: the predicate returned None, needs a mask [2]"),
    (lambda g: g.update_all(returns("z"), fn.sum("z", "x")), edgewise.Error,
     "update_all: a message function returned 'z' as float32 [2, 4] for 3 edges, needs one row per edge"),
    (lambda g: g.update_all(fn.copy_u("x", "m"), fn.sum("c", "z")), edgewise.Error,
     "update_all: the reduction to 'z' reads message 'c', but the messages sent are 'm'"),
    (lambda g: g.update_all(fn.copy_u("x", "m"), lambda nodes: nodes.mailbox["c"]), edgewise.Error,
     "mailbox: message 'c' is missing, the messages are 'm'"),
    (lambda g: g.update_all([fn.copy_u("x", "m"), fn.copy_e("y", "m")], []), edgewise.Error,
     "update_all: 'm' is sent twice, needs each name once"),
    (lambda g: g.update_all(fn.copy_u("x", "m"), [fn.sum("m", "z"), fn.max("m", "z")]), edgewise.Error,
     "update_all: 'z' is written twice, needs each name once"),
    (lambda g: g.update_all(fn.copy_u("x", "m"), lambda nodes: {"a": nodes.mailbox["m"]}), edgewise.Error,
     "update_all: a reduce function returned 'a' as float32 [1, 1, 2] for one in-degree and float32 [1, 2, 2] for "
     "another, needs rows of one type and shape"),
    (lambda g: g.update_all(fn.copy_u("x", "m"), lambda nodes: {str(nodes.mailbox["m"].shape[1]): nodes.data["x"]}),
     edgewise.Error, "update_all: a reduce function returned the columns '1' for one in-degree and '2' for another, "
     "needs the same"),
    (lambda g: g.apply_edges(fn.u_mul_e("x", "y", "m")), edgewise.Error,
     "u_mul_e: on the edges 'x' is [3, 2] and 'y' is [3, 2, 4], needs last dimensions of one size or 1"),
    (lambda g: g.apply_edges(fn.u_dot_v("x", "wide", "m")), edgewise.Error,
     "u_dot_v: on the edges 'x' is [3, 2] and 'wide' is [3, 5], needs a last dimension of one size"),
    (lambda g: g.apply_edges(fn.u_dot_v("flat", "flat", "m")), edgewise.Error,
     "u_dot_v: on the edges 'flat' is [3] and 'flat' is [3], needs a last dimension of one size"),
    (lambda g: g.update_all(fn.copy_u("count", "m"), fn.mean("m", "z")), edgewise.Error,
     "mean: the message is int64 [3], needs a floating type"),
    (lambda g: g.send_and_recv([0, 3], fn.copy_u("x", "m"), fn.sum("m", "z")), edgewise.Error,
     "send_and_recv: edges has the number 3, needs numbers in [0, 3)"),
    (lambda g: g.send_and_recv([2, 0, 2], fn.copy_u("x", "m"), fn.sum("m", "z")), edgewise.Error,
     "send_and_recv: edges has the number 2 twice, needs distinct numbers"),
    (lambda g: g.send_and_recv("ee", fn.copy_u("x", "m"), fn.sum("m", "z")), edgewise.Error,
     "send_and_recv: the set of edges 'ee' is missing, the sets are none"),
    (lambda g: g.send_and_recv(([0], [2]), fn.copy_u("x", "m"), fn.sum("m", "z")), edgewise.Error,
     "send_and_recv: the edge from 0 to 2 is missing, needs to be in the graph"),
    (lambda g: g.edge_ids([0, 1], [1, 2, 2]), edgewise.Error,
     "edge_ids: there are 2 sources and 3 destinations, needs as many of each, or one"),
    (lambda g: g.apply_nodes(returns("z"), torch.tensor([True, False, True])), edgewise.Error,
     "apply_nodes: nodes has type bool, needs integers"),
    (lambda g: g.apply_nodes(returns("z"), [0, -1]), edgewise.Error,
     "apply_nodes: nodes has the number -1, needs numbers in [0, 3)"),
    (lambda g: g.apply_nodes(returns("z"), object), TypeError,
     "apply_nodes: nodes is <class 'object'>, needs integers: a tensor, a list or one"),
    (lambda g: g.multi_update_all({"_E": (fn.copy_u("x", "m"), fn.sum("m", "z"))}, "most"), edgewise.Error,
     "multi_update_all: cross_reducer is 'most', needs 'sum', 'mean', 'max', 'min', 'stack' or a function"),
    (lambda g: g.to("cuda"), edgewise.Error, "to: device is cuda, needs the CPU, the only device that graphs are on"),
    (lambda g: edge_softmax(g, torch.ones(2)), edgewise.Error,
     "edge_softmax: score has 2 rows, needs 3, one for each edge"),
    (lambda g: edge_softmax(g, torch.ones(3), norm_by="u"), edgewise.Error,
     "edge_softmax: norm_by is 'u', needs 'dst' or 'src'"),
    (lambda g: g.edges("vu"), edgewise.Error, "edges: form is 'vu', needs 'uv', 'all' or 'eid'"),
    (lambda g: batch([g, 3]), TypeError, "batch: graphs[1] is 3, needs a Graph"),
    (lambda g: batch([]), edgewise.Error, "batch: graphs is empty, needs at least one graph"),
    (lambda g: batch([g, graph(([0], [1]))]), edgewise.Error,
     "batch: a graph has the node columns 'count', 'flat', 'wide', 'x' and another none, needs the same; name those to "
     "join"),
    (lambda g: unbatch(g, [1, 1], [3, 0]), edgewise.Error,
     "unbatch: node_split has the sum 2, needs 3, and no negative number"),
    (lambda g: unbatch(g, [1, 2], [1, 2]), edgewise.Error,
     "unbatch: an edge of part 0 has a destination in another part, needs both ends in one"),
    (lambda g: batch([pair_graph(1, 1)] * 2).add_nodes(1), edgewise.Error,
     "add_nodes: the graph has 2 parts and 5 named sets, needs one part and no sets; change a graph before it is "
     "batched, and name sets afterwards"),
    (lambda g: typed().apply_nodes(returns("z")), edgewise.Error,
     "apply_nodes: ntype is missing, the graph has the types of nodes 'a', 'b', needs one of them"),
    (lambda g: typed().apply_nodes(returns("z"), ntype="c"), edgewise.Error,
     "apply_nodes: ntype is 'c', needs one of 'a', 'b'"),
    (lambda g: typed().update_all(returns("z"), returns("z")), edgewise.Error,
     "update_all: etype is missing, needs one of the graph's types of edges: ('a', 'r', 'a'), ('a', 'r', 'b'), "
     "('b', 's', 'a')"),
    (lambda g: typed().update_all(returns("z"), returns("z"), etype="r"), edgewise.Error,
     "update_all: etype is 'r', which several types have, needs one of the graph's types of edges: ('a', 'r', 'a'), "
     "('a', 'r', 'b'), ('b', 's', 'a')"),
    (lambda g: typed().ndata.update(x=torch.ones(1)), TypeError,
     "graph: column 'x' is float32 [1], needs a dict with a tensor for each type, because there are several types"),
])
def test_calls_name_what_they_need(call, error, text):
    with pytest.raises(error) as caught:
        call(example())
    assert str(caught.value) == text


@pytest.mark.parametrize("call, error, text", [
    (lambda: graph(3), TypeError,
     "graph: data is 3, needs a Relation, a pair of sources and destinations, or a tensor [2, edges]"),
    (lambda: graph(torch.zeros(3, 2, dtype=torch.long)), edgewise.Error,
     "graph: data has 3 rows, needs 2: sources and destinations"),
    (lambda: graph(([0, 1], [1])), edgewise.Error,
     "graph: there are 2 sources and 1 destinations, needs as many of each"),
    (lambda: graph(([0], [4]), 3), edgewise.Error, "graph: destinations has the number 4, needs numbers in [0, 3)"),
    (lambda: graph(([0.5], [1])), edgewise.Error, "graph: sources has type float32, needs integers"),
    (lambda: graph(Relation.bipartite(2, 3)), edgewise.Error,
     "graph: data has 2 sources and 3 destinations, needs as many of each; use heterograph"),
    (lambda: heterograph({"plays": ([0], [0])}), TypeError,
     "heterograph: a key is 'plays', needs three names: source type, edge type, destination type"),
    (lambda: pair_graph([1, 2], [1]), edgewise.Error,
     "pair_graph: num_inputs has 2 pairs and num_outputs has 1, needs as many of each"),
    (lambda: pair_graph(-1, 1), edgewise.Error, "pair_graph: num_inputs is -1, needs a number from 0 to 2147483647"),
    (lambda: GATConv(3, 0), edgewise.Error,
     "GATConv: out_channels is 0 and heads is 1, needs positive numbers"),
    (lambda: GATConv(3, 2, fill_value="most"), edgewise.Error,
     "GATConv: fill_value is 'most', needs a number, a tensor, 'mean', 'add', 'max' or 'min'"),
    (lambda: GATConv(3, 2)(torch.ones(3, 4), EDGE_INDEX), edgewise.Error,
     "GATConv: x has shape [3, 4], needs [nodes, 3]"),
    (lambda: GATConv(3, 2, edge_dim=2)(torch.ones(3, 3), EDGE_INDEX, torch.ones(3, 2)), edgewise.Error,
     "GATConv: edge_attr has shape [3, 2], needs [2, 2]"),
    (lambda: TransformerConv(3, 2, dropout=1.5), edgewise.Error,
     "TransformerConv: dropout is 1.5, needs at least 0 and less than 1"),
    (lambda: TransformerConv(3, 2)(torch.ones(3, 3), EDGE_INDEX, torch.ones(2, 1)), edgewise.Error,
     "TransformerConv: edge_attr is given, needs a layer with edge_dim"),
    (lambda: TransformerConv(3, 2, edge_dim=1)(torch.ones(3, 3), EDGE_INDEX), TypeError,
     "TransformerConv: edge_attr is None, needs a tensor"),
    (lambda: TransformerConv((3, 4), 2)((torch.ones(3, 3), torch.ones(3, 3)), EDGE_INDEX), edgewise.Error,
     "TransformerConv: x[1] has shape [3, 3], needs [nodes, 4]"),
])
def test_makers_and_layers_name_what_they_need(call, error, text):
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value) == text

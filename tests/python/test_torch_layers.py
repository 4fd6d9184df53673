# SPDX-License-Identifier: Apache-2.0
"""The layers with PyG's names, compared with their formulas over gathered edges, and with PyG where it is installed."""
import itertools

import pytest

torch = pytest.importorskip("torch")

from torch.nn import functional as F  # noqa: E402

from edgewise.torch import GATConv, Relation, TransformerConv, _conv, attend, graph  # noqa: E402

EDGES, NODES, SIZE = 40, 12, 6


def inputs(edge_dim=3, seed=0):
    generator = torch.Generator().manual_seed(seed)
    edge_index = torch.randint(NODES - 1, (2, EDGES), generator=generator)
    x = torch.randn(NODES, SIZE, generator=generator, dtype=torch.float64)
    return x.requires_grad_(), edge_index, torch.randn(EDGES, edge_dim, generator=generator, dtype=torch.float64)


def scatter(values, index, count):
    return values.new_zeros(count, *values.shape[1:]).index_add(0, index, values)


def softmax(score, index, count):
    weight = score.exp()
    return weight / scatter(weight, index, count)[index]


def heads(layer, tensor):
    return tensor.reshape(-1, layer.heads, layer.out_channels)


def transformer_by_formula(layer, x, edge_index, edge_attr):
    """W1 x + sum of alpha (W2 x + W6 e), with alpha = softmax((W3 x) . (W4 x + W6 e) / root of the channels)."""
    source, destination = edge_index
    x_source, x_destination = x if isinstance(x, tuple) else (x, x)
    query, key = heads(layer, layer.lin_query(x_destination)), heads(layer, layer.lin_key(x_source))
    value = heads(layer, layer.lin_value(x_source))
    edge = 0 if layer.lin_edge is None else heads(layer, layer.lin_edge(edge_attr))
    score = (query[destination] * (key[source] + edge)).sum(-1) / layer.out_channels ** 0.5
    weight = softmax(score, destination, len(x_destination))
    out = scatter((value[source] + edge) * weight.unsqueeze(-1), destination, len(x_destination))
    out = out.flatten(1) if layer.concat else out.mean(1)
    if not layer.root_weight:
        return out, weight
    root = layer.lin_skip(x_destination)
    if layer.lin_beta is None:
        return out + root, weight
    beta = layer.lin_beta(torch.cat((out, root, out - root), -1)).sigmoid()
    return beta * root + (1 - beta) * out, weight


@pytest.mark.parametrize("concat, beta, edge_dim, root_weight", list(itertools.product(
    [True, False], [True, False], [None, 3], [True, False])))
def test_the_transformer_layer_is_its_formula(concat, beta, edge_dim, root_weight):
    x, edge_index, edge_attr = inputs()
    layer = TransformerConv(SIZE, 4, 2, concat, beta, 0.0, edge_dim, True, root_weight).double()
    edge_attr = None if edge_dim is None else edge_attr.requires_grad_()
    found, (edges, weight) = layer(x, edge_index, edge_attr, return_attention_weights=True)
    expected, expected_weight = transformer_by_formula(layer, x, edge_index, edge_attr)
    assert torch.allclose(found, expected) and torch.allclose(weight, expected_weight) and edges is edge_index
    relation = Relation.from_edge_index(edge_index, NODES)
    assert torch.equal(layer(x, relation, edge_attr), layer(x, edge_index, edge_attr))
    tensors = [x, *([] if edge_attr is None else [edge_attr]), *layer.parameters()]
    mask = torch.randn_like(found)
    for a, b in zip(torch.autograd.grad((found * mask).sum(), tensors, allow_unused=True),
                    torch.autograd.grad((expected * mask).sum(), tensors, allow_unused=True)):
        assert (a is None) == (b is None) and (a is None or torch.allclose(a, b))


def test_the_transformer_layer_takes_two_types_of_nodes():
    _, edge_index, edge_attr = inputs()
    x = torch.randn(NODES, 5, dtype=torch.float64), torch.randn(NODES + 2, SIZE, dtype=torch.float64)
    layer = TransformerConv((5, SIZE), 4, 2, edge_dim=3).double()
    assert torch.allclose(layer(x, edge_index, edge_attr), transformer_by_formula(layer, x, edge_index, edge_attr)[0])


def gat_by_formula(layer, x, edge_index, edge_attr):
    """sum of alpha W x, with alpha = softmax of leaky_relu of the sum of three products."""
    x_source, x_destination = x if isinstance(x, tuple) else (x, x)
    count = len(x_destination)
    if layer.add_self_loops:
        kept = edge_index[0] != edge_index[1]
        edge_index = edge_index[:, kept]
        loops = min(len(x_source), count)
        if edge_attr is not None:
            edge_attr = edge_attr[kept]
            degree = torch.bincount(edge_index[1], minlength=count).clamp(min=1)
            mean = scatter(edge_attr, edge_index[1], count) / degree.unsqueeze(1)
            edge_attr = torch.cat((edge_attr, mean[:loops] if layer.fill_value == "mean" else
                                   torch.full((loops, edge_attr.shape[1]), layer.fill_value, dtype=torch.float64)))
        edge_index = torch.cat((edge_index, torch.arange(loops).expand(2, loops)), 1)
    source, destination = edge_index
    states = [heads(layer, linear(tensor)) for linear, tensor in zip(
        (layer.lin, layer.lin) if layer.lin is not None else (layer.lin_src, layer.lin_dst), (x_source, x_destination))]
    score = (states[0] * layer.att_src).sum(-1)[source] + (states[1] * layer.att_dst).sum(-1)[destination]
    if layer.lin_edge is not None:
        score = score + (heads(layer, layer.lin_edge(edge_attr)) * layer.att_edge).sum(-1)
    weight = softmax(F.leaky_relu(score, layer.negative_slope), destination, count)
    out = scatter(states[0][source] * weight.unsqueeze(-1), destination, count)
    out = out.flatten(1) if layer.concat else out.mean(1)
    out = out if layer.res is None else out + layer.res(x_destination)
    return out if layer.bias is None else out + layer.bias, (edge_index, weight)


@pytest.mark.parametrize("concat, loops, edge_dim, residual", list(itertools.product(
    [True, False], [True, False], [None, 3], [True, False])))
@pytest.mark.parametrize("fill_value", ["mean", 2.0])
def test_the_attention_layer_is_its_formula(concat, loops, edge_dim, residual, fill_value):
    x, edge_index, edge_attr = inputs()
    layer = GATConv(SIZE, 4, 2, concat, 0.1, 0.0, loops, edge_dim, fill_value, not residual, residual).double()
    edge_attr = None if edge_dim is None else edge_attr.requires_grad_()
    found, (edges, weight) = layer(x, edge_index, edge_attr, return_attention_weights=True)
    expected, (expected_edges, expected_weight) = gat_by_formula(layer, x, edge_index, edge_attr)
    assert torch.allclose(found, expected) and torch.allclose(weight, expected_weight)
    assert torch.equal(edges, expected_edges)
    tensors = [x, *([] if edge_attr is None else [edge_attr]), *layer.parameters()]
    mask = torch.randn_like(found)
    for a, b in zip(torch.autograd.grad((found * mask).sum(), tensors),
                    torch.autograd.grad((expected * mask).sum(), tensors)):
        assert torch.allclose(a, b)
    relation = layer.relation(edge_index, NODES)
    assert torch.equal(relation.edge_index(), edges)
    if edge_attr is None:
        assert torch.equal(layer(x, relation), found)


def test_the_attention_layer_takes_two_types_of_nodes():
    _, edge_index, _ = inputs()
    x = torch.randn(NODES, 5, dtype=torch.float64), torch.randn(NODES + 2, SIZE, dtype=torch.float64)
    layer = GATConv((5, SIZE), 4, 2, add_self_loops=False).double()
    assert torch.allclose(layer(x, edge_index), gat_by_formula(layer, x, edge_index, None)[0])
    with torch.no_grad():
        layer.att_dst.zero_()
    assert torch.allclose(layer((x[0], None), edge_index, size=(NODES, NODES + 2)), layer(x, edge_index))


def test_layers_over_a_relation_are_compiled_without_graph_breaks():
    x, edge_index, edge_attr = inputs()
    relation = Relation.from_edge_index(edge_index, NODES)
    for layer in (GATConv(SIZE, 4, 2, edge_dim=3).double(), TransformerConv(SIZE, 4, 2, edge_dim=3).double()):
        compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
        assert torch.allclose(compiled(x, relation, edge_attr), layer(x, relation, edge_attr))


def test_the_attention_layer_has_second_derivatives():
    x, edge_index, edge_attr = inputs()
    layer = GATConv(SIZE, 2, 2, edge_dim=3).double()
    assert torch.autograd.gradgradcheck(lambda x, e: layer(x, edge_index, e), (x, edge_attr.requires_grad_()))


def test_the_edges_of_a_tensor_are_kept_until_it_is_written():
    x, edge_index, _ = inputs()
    first, second = TransformerConv(SIZE, 4).double(), GATConv(SIZE, 4, add_self_loops=False).double()
    kept = _conv.edge_list(edge_index, NODES, NODES)
    first(x, edge_index), second(x, edge_index)
    assert _conv.edge_list(edge_index, NODES, NODES) is kept
    assert _conv.edge_list(edge_index, NODES, NODES + 1) is not kept
    edge_index[:, 0] = 0
    assert torch.equal(_conv.edge_list(edge_index, NODES, NODES).relation.edge_index(), edge_index)


@pytest.mark.parametrize("name, options", [
    ("TransformerConv", {"edge_dim": 3, "beta": True}), ("TransformerConv", {"concat": False}),
    ("GATConv", {"edge_dim": 3, "residual": True}), ("GATConv", {"concat": False, "add_self_loops": False})])
def test_the_layers_take_the_weights_of_pyg(name, options):
    pyg = pytest.importorskip("torch_geometric.nn")
    x, edge_index, edge_attr = inputs()
    attributes = edge_attr if "edge_dim" in options else None
    original = getattr(pyg, name)(SIZE, 4, 2, **options).double()
    layer = {"TransformerConv": TransformerConv, "GATConv": GATConv}[name](SIZE, 4, 2, **options).double()
    layer.load_state_dict(original.state_dict())
    assert torch.allclose(layer(x, edge_index, attributes), original(x, edge_index, attributes))


def test_a_batch_of_pyg_holds_relations_that_calls_take():
    data = pytest.importorskip("torch_geometric.data")
    relations = [Relation.causal(3), Relation.complete(4)]
    batch = data.Batch.from_data_list([
        data.Data(x=torch.randn(relation.num_sources, SIZE), relation=relation) for relation in relations])
    joined = Relation.batch(relations)
    for layer in (TransformerConv(SIZE, 4, 2), GATConv(SIZE, 4, 2)):
        assert torch.equal(layer(batch.x, batch.relation), layer(batch.x, joined))
    nodes = batch.x.unsqueeze(1)
    assert torch.equal(attend(batch.relation, nodes, nodes, nodes), attend(joined, nodes, nodes, nodes))
    assert graph(batch.relation).num_edges() == joined.num_edges

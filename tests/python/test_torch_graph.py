# SPDX-License-Identifier: Apache-2.0
import pickle

import pytest

torch = pytest.importorskip("torch")

import edgewise  # noqa: E402
import edgewise.torch.function as fn  # noqa: E402
from edgewise.torch import Relation, attend, batch, graph, heterograph, pair_graph, unbatch  # noqa: E402

OPERATIONS = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
              "div": lambda a, b: a / b, "dot": lambda a, b: (a * b).sum(-1, keepdim=True)}
REDUCTIONS = {"sum": lambda x: x.sum(1), "mean": lambda x: x.mean(1), "max": lambda x: x.max(1).values,
              "min": lambda x: x.min(1).values}


def random_graph(seed=0, nodes=7, edges=15):
    """A graph with equal edges, self-loops and nodes without edges."""
    generator = torch.Generator().manual_seed(seed)
    sources, destinations = torch.randint(nodes - 1, (2, edges), generator=generator)
    destinations[destinations == 2] = 3
    g = graph((sources, destinations), nodes)
    for end, rows in (("u", nodes), ("v", nodes), ("e", edges)):
        values = torch.rand(rows, 2, 3, generator=generator, dtype=torch.float64) + 0.5
        (g.edata if end == "e" else g.ndata)[end] = values.requires_grad_()
    return g


def columns_of(batch):
    return {"u": batch.src, "v": batch.dst, "e": batch.data}


def user_message(left, operation, right):
    def message(edges):
        columns = columns_of(edges)
        return {"m": OPERATIONS[operation](columns[left][left], columns[right][right])}

    return message


def user_reduction(name):
    return lambda nodes: {"out": REDUCTIONS[name](nodes.mailbox["m"])}


def gradients(g, out):
    inputs = g.ndata["u"], g.ndata["v"], g.edata["e"]
    weight = torch.arange(out.numel(), dtype=out.dtype).view_as(out)
    return torch.autograd.grad((out * weight).sum(), inputs, allow_unused=True, retain_graph=True)


def test_reductions_of_one_call_are_those_of_calls_of_their_own():
    reductions = [fn.sum("m", "sum"), fn.mean("m", "mean"), fn.sum("e", "same"), fn.max("e", "max"), fn.mean("n", "n")]
    messages = [fn.u_mul_e("u", "e", "m"), fn.copy_e("e", "e"), lambda edges: {"n": edges.src["u"] * 2}]
    for selected in (None, [0, 3, 4, 11]):
        together, alone = random_graph(), random_graph()
        send = (lambda g, *of: g.update_all(*of)) if selected is None else (
            lambda g, *of: g.send_and_recv(selected, *of))
        send(together, messages, reductions)
        for reduction in reductions:
            send(alone, messages, reduction)
            assert torch.allclose(together.ndata[reduction.out], alone.ndata[reduction.out], rtol=1e-14, atol=0)
            for a, b in zip(gradients(together, together.ndata[reduction.out]),
                            gradients(alone, alone.ndata[reduction.out])):
                assert (a is None) == (b is None) and (a is None or torch.allclose(a, b))


@pytest.mark.parametrize("left, right", ["uv", "ue", "vu", "ve", "eu", "ev"])
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_built_ins_are_what_functions_of_users_compute(left, right, operation, reduction):
    g = random_graph()
    name = f"{left}_{operation}_{right}"
    message = getattr(fn, name)(left, right, "m")
    assert message.name == name
    for selected in (None, [0, 3, 4, 11], torch.arange(15)):
        results = []
        for messages in (message, user_message(left, operation, right)):
            for reductions in (getattr(fn, reduction)("m", "out"), user_reduction(reduction)):
                with g.local_scope():
                    if selected is None:
                        g.update_all(messages, reductions)
                    else:
                        g.send_and_recv(selected, messages, reductions)
                    results.append((g.ndata["out"], gradients(g, g.ndata["out"])))
        for out, grads in results[1:]:
            assert torch.allclose(out, results[0][0])
            for found, expected in zip(grads, results[0][1]):
                assert (found is None) == (expected is None)
                assert found is None or torch.allclose(found, expected)


@pytest.mark.parametrize("message, column", [(fn.copy_u("u", "m"), "u"), (fn.copy_e("e", "m"), "e"),
                                             (fn.copy_src("u", "m"), "u"), (fn.copy_edge("e", "m"), "e")])
def test_copies_are_the_columns(message, column):
    g = random_graph()
    g.apply_edges(message)
    expected = g.edata["e"] if column == "e" else g.ndata["u"][g.edges()[0]]
    assert torch.equal(g.edata["m"], expected)


def test_edges_in_any_order_write_their_own_rows():
    g = random_graph()
    g.apply_edges(fn.u_add_v("u", "v", "x"))
    whole = g.edata.pop("x")
    g.apply_edges(fn.u_add_v("u", "v", "x"), [9, 2, 5])
    assert torch.equal(g.edata["x"][[2, 5, 9]], whole[[2, 5, 9]])
    assert g.edata["x"][[0, 1, 3, 4, 6]].abs().sum() == 0
    u, v = g.edges()
    unique = torch.stack((u, v)).unique(dim=1)
    with g.local_scope():
        g.apply_edges(lambda edges: {"x": torch.ones_like(edges.data["e"])}, (unique[0], unique[1]))
        numbers = g.edge_ids(unique[0], unique[1])
        assert (g.edata["x"][numbers] == 1).all()
    assert torch.equal(torch.stack(g.find_edges(numbers)), unique)


def test_rows_are_aligned_at_the_last_dimension():
    g = random_graph()
    g.edata["w"] = torch.randn(15, dtype=torch.float64)
    g.edata["head"] = torch.randn(15, 2, 1, dtype=torch.float64)
    for name in ("w", "head"):
        g.update_all(fn.u_mul_e("u", name, "m"), fn.sum("m", "out"))
        weight = g.edata[name].reshape(15, -1, 1)
        expected = torch.zeros(7, 2, 3, dtype=torch.float64).index_add(
            0, g.edges()[1], g.ndata["u"][g.edges()[0]] * weight)
        assert torch.allclose(g.ndata["out"], expected)


def test_lists_of_messages_and_reductions_read_the_columns_from_before():
    g = random_graph()
    before = g.ndata["u"]
    g.update_all([fn.copy_u("u", "m"), fn.copy_e("e", "n")], [fn.sum("m", "u"), fn.mean("n", "v"), fn.max("m", "w")])
    separate = random_graph()
    for message, reduction, name in ((fn.copy_u("u", "m"), fn.sum("m", "x"), "u"),
                                     (fn.copy_e("e", "m"), fn.mean("m", "x"), "v"),
                                     (fn.copy_u("u", "m"), fn.max("m", "x"), "w")):
        separate.update_all(message, reduction)
        assert torch.equal(g.ndata[name], separate.ndata["x"])
    assert torch.equal(separate.ndata["u"], before)


def test_nodes_without_messages_keep_their_values_in_send_and_recv_and_pull():
    g = graph(([0, 1, 2], [1, 2, 2]), 4)
    g.ndata["h"] = torch.arange(1.0, 5.0)
    for call in (lambda: g.send_and_recv([1, 2], fn.copy_u("h", "m"), fn.sum("m", "h")),
                 lambda: g.pull([2, 3], fn.copy_u("h", "m"), fn.sum("m", "h")),
                 lambda: g.push([1, 2], fn.copy_u("h", "m"), fn.sum("m", "h"))):
        with g.local_scope():
            call()
            assert g.ndata["h"].tolist() == [1, 2, 5, 4]
    g.update_all(fn.copy_u("h", "m"), fn.sum("m", "h"))
    assert g.ndata["h"].tolist() == [0, 1, 5, 0]


def test_node_functions_see_what_was_reduced():
    g = graph(([0, 1, 2], [1, 2, 2]), 4)
    g.ndata["h"] = torch.arange(1.0, 5.0)
    seen = []

    def double(nodes):
        seen.append(nodes.nodes().tolist())
        return {"h": 2 * nodes.data["x"]}

    g.send_and_recv([0], fn.copy_u("h", "m"), fn.sum("m", "x"), double)
    assert g.ndata["h"].tolist() == [1, 2, 3, 4]
    g.pull([3, 1], fn.copy_u("h", "m"), fn.sum("m", "x"), double)
    g.update_all(fn.copy_u("h", "m"), fn.sum("m", "x"), double)
    assert seen == [[1], [3, 1], [0, 1, 2, 3]]
    assert g.ndata["x"].tolist() == [0, 1, 5, 0]
    assert g.ndata["h"].tolist() == [0, 2, 10, 0]


def test_reduce_functions_are_called_once_for_each_in_degree():
    g = graph(([0, 1, 2, 3, 3], [1, 2, 2, 1, 0]), 5)
    g.edata["number"] = torch.arange(5)
    seen = {}

    def reduce(nodes):
        seen[nodes.mailbox["m"].shape[1]] = nodes.nodes().tolist(), nodes.mailbox["m"].tolist()
        assert len(nodes) == nodes.batch_size() == len(nodes.data["number"])
        return {"sum": nodes.mailbox["m"].sum(1)}

    g.ndata["number"] = torch.arange(5)
    g.update_all(fn.copy_e("number", "m"), reduce)
    assert seen == {1: ([0], [[4]]), 2: ([1, 2], [[0, 3], [1, 2]])}
    assert g.ndata["sum"].tolist() == [4, 3, 3, 0, 0]


def test_functions_are_called_without_edges_so_that_their_columns_exist():
    g = graph(([0], [1]))
    g.ndata["h"] = torch.ones(2, 3)
    g.send_and_recv([], lambda edges: {"m": edges.src["h"]}, lambda nodes: {"x": nodes.mailbox["m"].sum(1)})
    assert g.ndata["x"].tolist() == [[0, 0, 0]] * 2
    g.apply_edges(lambda edges: {"y": edges.dst["h"]}, [])
    assert g.edata["y"].tolist() == [[0, 0, 0]]


def test_batches_know_their_nodes_and_edges():
    g = random_graph()
    u, v = g.edges()

    def check(edges):
        numbers = edges.edges()[2]
        assert numbers.tolist() == [3, 8]
        assert torch.equal(torch.stack(edges.edges()[:2]), torch.stack((u[numbers], v[numbers])))
        assert len(edges) == edges.batch_size() == 2
        assert set(edges.src) == {"u", "v"} and set(edges.data) == {"e"} and "u" in edges.dst
        assert len(edges.data) == 1 and edges.canonical_etype == ("_N", "_E", "_N")
        return {}

    g.apply_edges(check, [8, 3])


def test_filters_return_the_numbers_that_were_given():
    g = graph(([0, 1, 2, 0], [1, 2, 0, 2]))
    g.ndata["active"] = torch.tensor([1, 0, 1], dtype=torch.uint8)
    assert g.filter_nodes(lambda nodes: nodes.data["active"]).tolist() == [0, 2]
    assert g.filter_nodes(lambda nodes: nodes.data["active"] == 1, [2, 1, 0]).tolist() == [2, 0]
    assert g.filter_edges(lambda edges: edges.dst["active"]).tolist() == [1, 2, 3]
    assert g.filter_edges(lambda edges: edges.dst["active"], [3, 0]).tolist() == [3]


def test_the_layers_of_a_tutorial_give_attention():
    g = pair_graph([3, 4], [2, 3])
    g.ndata["q"], g.ndata["k"], g.ndata["v"] = torch.randn(3, 12, 2, 4).double().requires_grad_().unbind()
    for name in ("ee", "ed", "dd"):
        with g.local_scope():
            g.apply_edges(fn.u_dot_v("k", "q", "score"), name)
            g.apply_edges(lambda edges: {"score": (edges.data["score"] / 2).exp()}, name)
            g.send_and_recv(name, [fn.u_mul_e("v", "score", "m"), fn.copy_e("score", "n")],
                            [fn.sum("m", "wv"), fn.sum("n", "z")])
            nodes = g.node_set("encoder" if name == "ee" else "decoder")
            found = (g.ndata["wv"] / g.ndata["z"])[nodes]
            expected = attend(g.relation(name), g.ndata["q"], g.ndata["k"], g.ndata["v"])[nodes]
            assert torch.allclose(found, expected)


def test_the_graph_of_a_pair_has_the_numbers_of_the_tutorial():
    g = pair_graph(9, 10)
    assert g.node_set("encoder").tolist() == list(range(9))
    assert g.node_set("decoder").tolist() == list(range(9, 19))
    assert [(g.edge_set(name)[[0, -1]]).tolist() for name in ("ee", "ed", "dd")] == [[0, 80], [81, 170], [171, 225]]
    assert (g.num_nodes(), g.num_edges()) == (19, 226)
    assert g.relation("dd").has_intervals
    joined, expected = batch([pair_graph(2, 3), pair_graph(4, 1)]), pair_graph([2, 4], [3, 1])
    assert torch.equal(torch.stack(joined.edges()), torch.stack(expected.edges()))
    for name in ("ee", "ed", "dd"):
        assert torch.equal(joined.edge_set(name), expected.edge_set(name))
        assert joined.relation(name) == expected.relation(name)
        u, v = joined.find_edges(joined.edge_set(name))
        assert torch.equal(joined.relation(name).edge_index(), torch.stack((u, v)))
    for name in ("encoder", "decoder"):
        assert torch.equal(joined.node_set(name), expected.node_set(name))
    assert joined.batch_num_nodes().tolist() == [5, 5]
    assert joined.batch_num_edges().tolist() == expected.batch_num_edges().tolist() == [16, 21]


def test_the_numbers_of_a_set_find_its_relation():
    g = pair_graph(3, 2)
    by_name = g._structure.select_edges("test", "ed", ("_N", "_E", "_N"))
    assert g._structure.select_edges("test", g.edge_set("ed"), ("_N", "_E", "_N")) is by_name
    numbers = torch.tensor([1, 0])
    first = g._structure.select_edges("test", numbers, ("_N", "_E", "_N"))
    assert g._structure.select_edges("test", numbers, ("_N", "_E", "_N")) is first
    numbers[0] = 2
    assert g._structure.select_edges("test", numbers, ("_N", "_E", "_N")).numbers.tolist() == [0, 2]


def test_names_stand_for_numbers():
    g = random_graph()
    g.name_nodes("some", [1, 4])
    g.name_edges("few", [7, 2])
    assert g.edge_set("few").tolist() == [2, 7]
    assert torch.equal(g.nodes["some"].data["u"], g.ndata["u"][[1, 4]])
    assert torch.equal(g.edges["few"].data["e"], g.edata["e"][[2, 7]])
    g.apply_nodes(lambda nodes: {"x": nodes.data["u"]}, "some")
    assert g.ndata["x"].abs().sum((1, 2)).nonzero()[:, 0].tolist() == [1, 4]
    assert g.nodes("some").tolist() == [1, 4]


def test_columns_behave_like_a_dict():
    g = random_graph()
    assert set(g.ndata) == {"u", "v"} and len(g.ndata) == 2 and "u" in g.ndata and "x" not in g.ndata
    assert g.ndata.get("x") is None
    g.ndata.update({"x": torch.ones(7)})
    assert g.ndata.pop("x").sum() == 7
    del g.ndata["v"]
    assert list(g.ndata) == ["u"]
    g.ndata.clear()
    assert not g.ndata
    g.nodes[[1, 2]].data["y"] = torch.ones(2, 3)
    assert g.ndata["y"].sum(1).tolist() == [0, 3, 3, 0, 0, 0, 0]
    g.edges[0].data["z"] = torch.ones(1)
    g.edges[1:3].data["z"] = torch.tensor([2.0, 3.0])
    assert g.edata["z"][:4].tolist() == [1, 2, 3, 0]
    assert "y" in repr(g) and "num_nodes=7" in repr(g)


def test_writing_some_rows_has_gradients():
    g = graph(([0], [1]), 3)
    column, rows = torch.ones(3, requires_grad=True), torch.ones(2, requires_grad=True)
    g.ndata["h"] = column
    g.nodes[[2, 0]].data["h"] = rows
    (g.ndata["h"] * torch.arange(1.0, 4.0)).sum().backward()
    assert column.grad.tolist() == [0, 2, 0]
    assert rows.grad.tolist() == [3, 1]
    assert column.tolist() == [1, 1, 1]


def test_a_call_that_raises_changes_no_column():
    g = random_graph()
    before = dict(g.ndata), dict(g.edata)

    def fail(batch):
        g.ndata["u"] = torch.zeros(7)
        raise RuntimeError("no")

    for call in (lambda: g.apply_nodes(fail), lambda: g.apply_edges(fail),
                 lambda: g.update_all(fn.copy_u("u", "m"), fn.sum("m", "v"), fail),
                 lambda: g.update_all(fail, fn.sum("m", "v"))):
        with pytest.raises(RuntimeError, match="^no$"):
            call()
        for view, columns in zip((g.ndata, g.edata), before):
            assert set(view) == set(columns)
            assert all(view[name] is column for name, column in columns.items())


def test_a_local_scope_undoes_what_is_written():
    g = random_graph()
    column = g.ndata["u"]
    with pytest.raises(RuntimeError), g.local_scope():
        g.ndata["u"] = torch.zeros(7)
        g.edata["new"] = torch.zeros(15)
        raise RuntimeError
    assert g.ndata["u"] is column and "new" not in g.edata
    copy = g.local_var()
    copy.ndata["u"] = torch.zeros(7)
    assert g.ndata["u"] is column


def test_added_nodes_and_edges_have_columns():
    g = graph([])
    g.add_nodes(2)
    g.ndata["h"] = torch.ones(2)
    g.add_nodes(1, {"x": torch.ones(1, 2)})
    g.add_edges(0, [1, 2], {"w": torch.tensor([1.0, 2.0])})
    g.add_edges([2, 1], [0, 0])
    assert torch.stack(g.edges()).tolist() == [[0, 0, 2, 1], [1, 2, 0, 0]]
    assert g.ndata["h"].tolist() == [1, 1, 0]
    assert g.ndata["x"].tolist() == [[0, 0], [0, 0], [1, 1]]
    assert g.edata["w"].tolist() == [1, 2, 0, 0]
    assert g.in_degrees().tolist() == [2, 1, 1] and g.out_degrees([2, 0]).tolist() == [1, 2]
    assert not g.is_multigraph
    g.add_edges(0, 1)
    assert g.is_multigraph


def many_types():
    g = heterograph({("user", "follows", "user"): ([0, 1], [1, 2]), ("user", "plays", "game"): ([0, 1, 1], [0, 0, 1]),
                     ("maker", "makes", "game"): ([0], [1])}, {"user": 4})
    for name in g.ntypes:
        g.nodes[name].data["h"] = torch.arange(1.0, 1 + g.num_nodes(name))
    return g


def test_several_types_have_numbers_and_columns_of_their_own():
    g = many_types()
    assert g.ntypes == ["game", "maker", "user"] and g.etypes == ["makes", "follows", "plays"]
    assert (g.num_nodes("user"), g.num_nodes(), g.num_edges("plays"), g.num_edges()) == (4, 7, 3, 6)
    assert g.to_canonical_etype("plays") == ("user", "plays", "game")
    assert (g.srctypes, g.dsttypes) == (["maker", "user"], ["game", "user"])
    g.update_all(fn.copy_u("h", "m"), fn.sum("m", "x"), etype="plays")
    assert g.nodes["game"].data["x"].tolist() == [3, 2]
    assert set(g.ndata["x"]) == {"game"}
    g.ndata["y"] = {"game": torch.ones(2), "maker": torch.ones(1)}
    assert set(g.ndata["y"]) == {"game", "maker"} and "y" in g.ndata
    g["follows"].apply_nodes(lambda nodes: {"h": -nodes.data["h"]}, [0])
    assert g.nodes["user"].data["h"].tolist() == [-1, 2, 3, 4]
    g.apply_edges(fn.copy_u("h", "h"))
    assert {name: column.tolist() for name, column in g.edata["h"].items()} == {
        ("maker", "makes", "game"): [1], ("user", "follows", "user"): [-1, 2], ("user", "plays", "game"): [-1, 2, 2]}


@pytest.mark.parametrize("reducer, expected", [
    ("sum", [3, 3]), ("mean", [1.5, 1.5]), ("max", [3, 2]), ("min", [0, 1]), ("stack", [[0, 3], [1, 2]]),
    (lambda columns: columns[0] - columns[1], [-3, -1])])
def test_results_of_several_types_are_reduced(reducer, expected):
    g = many_types()
    g.multi_update_all({"plays": (fn.copy_u("h", "m"), fn.sum("m", "x")),
                        "makes": (fn.copy_u("h", "m"), fn.sum("m", "x"))}, reducer)
    assert g.nodes["game"].data["x"].tolist() == expected


def test_an_extremum_over_types_leaves_out_types_without_messages():
    g = many_types()
    g.nodes["user"].data["h"] = -g.nodes["user"].data["h"]
    g.nodes["maker"].data["h"] = torch.tensor([-5.0])
    g.update_all(fn.copy_u("h", "m"), fn.max("m", "x"))
    assert g.nodes["game"].data["x"].tolist() == [-1, -2]
    assert g.nodes["user"].data["x"].tolist() == [0, -1, -2, 0]


def test_a_batch_taken_apart_is_its_graphs():
    graphs = [random_graph(seed, nodes=5 + seed, edges=9 + seed) for seed in range(3)]
    for part in graphs:
        part.name_nodes("first", [0])
        part.name_edges("last", [part.num_edges() - 1])
    joined = batch([graphs[0], batch(graphs[1:])])
    assert joined.batch_size == 3
    assert joined.batch_num_nodes().tolist() == [5, 6, 7]
    assert joined.node_set("first").tolist() == [0, 5, 11]
    assert joined.edge_set("last").tolist() == [8, 18, 29]
    joined.update_all(fn.copy_u("u", "m"), fn.mean("m", "x"))
    for part, found in zip(graphs, unbatch(joined)):
        part.update_all(fn.copy_u("u", "m"), fn.mean("m", "x"))
        assert torch.equal(torch.stack(found.edges()), torch.stack(part.edges()))
        assert set(found.ndata) == set(part.ndata) and set(found.edata) == set(part.edata)
        assert all(torch.allclose(found.ndata[name], part.ndata[name]) for name in part.ndata)
        assert found.node_set("first").tolist() == [0]
        assert found.edge_set("last").tolist() == [part.num_edges() - 1]
    assert batch(graphs, ndata=["u"], edata=None).ndata.keys() == {"u"}


def test_propagation_calls_in_turn():
    g = graph(([0, 1, 2], [1, 2, 3]))
    for call in (lambda: g.prop_nodes([[1], [2], [3]], fn.copy_u("h", "m"), fn.sum("m", "h")),
                 lambda: g.prop_edges([[0], [1], [2]], fn.copy_u("h", "m"), fn.sum("m", "h"))):
        g.ndata["h"] = torch.tensor([5.0, 0, 0, 0])
        call()
        assert g.ndata["h"].tolist() == [5, 5, 5, 5]


def test_data_loaders_join_graphs():
    graphs = [random_graph(seed) for seed in range(4)]
    for part in graphs:
        for view in (part.ndata, part.edata):
            view.update({name: column.detach() for name, column in view.items()})
    loader = torch.utils.data.DataLoader([{"graph": part} for part in graphs], batch_size=2)
    for found, parts in zip(loader, (graphs[:2], graphs[2:])):
        expected = batch(parts)
        assert torch.equal(torch.stack(found["graph"].edges()), torch.stack(expected.edges()))
        assert torch.equal(found["graph"].ndata["u"], expected.ndata["u"])
    again = pickle.loads(pickle.dumps(pair_graph(3, 2)))
    assert again.edge_set("dd").tolist() == [15, 16, 17]


def test_a_graph_of_a_relation_keeps_it():
    relation = Relation.window(50, 3)
    g = graph(relation)
    assert g.relation() is relation
    g.ndata["h"] = torch.randn(50, 2, 4)
    assert torch.allclose(g.relation().in_degrees(), g.in_degrees())
    assert graph(torch.tensor([[0, 1], [1, 3]])).num_nodes() == 4

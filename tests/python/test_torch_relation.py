# SPDX-License-Identifier: Apache-2.0
import copy
import io
import pickle
import subprocess
import sys
import threading

import pytest

torch = pytest.importorskip("torch")

from torch_reference import RELATIONS, dense_mask, gradients, random_inputs, random_relation  # noqa: E402

import edgewise  # noqa: E402
from edgewise.torch import Relation, attend, attention_weights  # noqa: E402


def test_the_package_does_not_import_torch():
    code = "import sys, edgewise; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_the_error_without_torch_says_what_to_install():
    code = "import sys; sys.modules['torch'] = None; import edgewise.torch"
    errors = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stderr
    assert errors.splitlines()[-1] == ("ModuleNotFoundError: edgewise.torch: torch is not installed, needs version "
                                       "2.10 or newer; run pip install torch")


def blocks(*masks):
    return torch.block_diag(*[mask.float() for mask in masks]).bool()


@pytest.mark.parametrize("relation, mask", [
    (lambda: Relation.complete(3), torch.ones(3, 3)),
    (lambda: Relation.complete([2, 0, 1]), blocks(torch.ones(2, 2), torch.ones(1, 1))),
    (lambda: Relation.causal(torch.tensor([2, 3], dtype=torch.int32)), blocks(torch.ones(2, 2).tril(),
                                                                            torch.ones(3, 3).tril())),
    (lambda: Relation.bipartite(2, 3), torch.ones(3, 2)),
    (lambda: Relation.bipartite([2, 1], [1, 2]), blocks(torch.ones(1, 2), torch.ones(2, 1))),
    (lambda: Relation.window(5, before=1, after=2), torch.ones(5, 5).tril(2).triu(-1)),
    (lambda: Relation.window(3, before=10**12, after=10**12), torch.ones(3, 3)),
    (lambda: Relation.window([2, 3], before=1), blocks(torch.ones(2, 2).tril(),
                                                       torch.ones(3, 3).tril().triu(-1))),
    (lambda: Relation.prefix(3, [0, 2, 3]), torch.tensor([[0, 0, 0], [1, 1, 0], [1, 1, 1]])),
    (lambda: Relation.from_mask(torch.eye(4).bool()), torch.eye(4)),
    (lambda: Relation.from_csr(torch.tensor([0, 2, 2]), torch.tensor([1, 0])), torch.tensor([[1, 1], [0, 0]])),
])
def test_builders_make_the_edges_of_their_mask(relation, mask):
    relation = relation()
    assert torch.equal(dense_mask(relation), mask.bool())
    assert relation.num_edges == mask.bool().sum()
    assert torch.equal(relation.in_degrees(), mask.bool().sum(1))


@pytest.mark.parametrize("lengths", [11, [4, 7]], ids=["one", "batch"])
def test_a_dilated_window_takes_steps(lengths):
    relation = Relation.window(lengths, before=2, after=1, dilation=3)
    expected = torch.zeros(11, 11, dtype=torch.bool)
    begin = 0
    for length in [lengths] if isinstance(lengths, int) else lengths:
        for node in range(length):
            for step in (-2, -1, 0, 1):
                if 0 <= node + 3 * step < length:
                    expected[begin + node, begin + node + 3 * step] = True
        begin += length
    assert torch.equal(dense_mask(relation), expected)


def test_windows_know_their_number_of_edges():
    for nodes in range(5):
        for before in range(6):
            for after in range(6):
                relation = Relation.window(nodes, before, after)
                assert relation.num_edges == relation.in_degrees().sum()


def test_builders_store_intervals():
    assert Relation.causal([3, 4]).has_intervals
    assert not random_relation(5, 5).has_intervals
    assert Relation.complete(40_000).num_edges == 1_600_000_000


def test_edges_keep_the_order_in_which_they_were_given():
    edges = torch.tensor([[3, 0, 1, 2, 0], [2, 0, 2, 1, 1]])
    relation = Relation.from_edge_index(edges)
    assert (relation.num_sources, relation.num_destinations) == (4, 4)
    assert torch.equal(relation.edge_index(), edges)
    query, key = torch.randn(4, 2, 3), torch.randn(4, 2, 3)
    bias = torch.randn(5, 2)
    weight = attention_weights(relation, query, key, bias)
    score = ((query[edges[1]] * key[edges[0]]).sum(-1) / 3**0.5 + bias).exp()
    for edge in range(5):
        total = score[edges[1] == edges[1, edge]].sum(0)
        assert torch.allclose(weight[edge], score[edge] / total, atol=1e-6)


def test_a_batch_joins_relations_and_their_edges():
    parts = [random_relation(5, 4, seed=1), Relation.causal(3), random_relation(2, 6, 0.8, seed=2)]
    relation = Relation.batch(parts)
    assert torch.equal(dense_mask(relation), blocks(*map(dense_mask, parts)))
    source = destination = 0
    expected = []
    for part in parts:
        expected.append(part.edge_index() + torch.tensor([[source], [destination]]))
        source += part.num_sources
        destination += part.num_destinations
    assert torch.equal(relation.edge_index(), torch.cat(expected, 1))
    assert Relation.batch([Relation.causal(2), Relation.complete(3)]).has_intervals
    assert Relation.batch([]) == Relation.complete(0)


def test_the_result_of_a_batch_is_that_of_its_parts():
    parts = [random_relation(5, 4), Relation.causal(3), Relation.window(90, 3, 3)]
    inputs = [random_inputs(part, 2, 8, dtype=torch.float32, seed=i) for i, part in enumerate(parts)]
    found = attend(Relation.batch(parts), *(torch.cat(tensors) for tensors in zip(*inputs)))
    assert torch.allclose(found, torch.cat([attend(part, *x) for part, x in zip(parts, inputs)]), atol=1e-6)


class FakeGraph:
    """The part of a DGL graph that from_dgl reads."""

    def __init__(self, edges, sources, destinations):
        self.ends, self.sources, self.destinations = edges, sources, destinations

    def edges(self, form="uv", order=None, etype=None):
        assert order == "eid" and etype in (None, "likes")
        return self.ends

    def num_src_nodes(self, ntype=None):
        return self.sources

    def num_dst_nodes(self, ntype=None):
        return self.destinations

    def to_canonical_etype(self, etype):
        return "user", etype, "item"


def test_a_graph_of_dgl_becomes_a_relation():
    edges = torch.tensor([[0, 2, 1], [1, 0, 1]])
    for etype in (None, "likes"):
        relation = Relation.from_dgl(FakeGraph((edges[0], edges[1]), 3, 2), etype)
        assert relation == Relation.from_edge_index(edges, (3, 2))
    with pytest.raises(TypeError, match="^from_dgl: graph is 3, needs a graph of DGL$"):
        Relation.from_dgl(3)
    for sources, destinations, wrong in [(2**31, 2, "src"), (3, 2**62, "dst"), (-1, 2, "src")]:
        with pytest.raises(edgewise.Error, match=rf"^from_dgl: graph.num_{wrong}_nodes\(\) is -?\d+, needs a number"):
            Relation.from_dgl(FakeGraph((edges[0], edges[1]), sources, destinations))
    with pytest.raises(edgewise.Error, match=r"^from_dgl: sources\[1\] is 2, needs a number in \[0, 2\)$"):
        Relation.from_dgl(FakeGraph((edges[0], edges[1]), 2, 2))


class EdgeIndex(torch.Tensor):
    """The part of PyG's EdgeIndex that from_edge_index reads."""

    def as_tensor(self):
        return self.as_subclass(torch.Tensor)

    def sparse_size(self):
        return self.sizes


@pytest.mark.parametrize("sizes, expected", [((8, 9), (8, 9)), ((None, None), (4, 4)), ((None, 6), (4, 6))])
def test_an_edge_index_of_pyg_gives_its_size(sizes, expected):
    edges = torch.tensor([[3, 0], [2, 0]]).as_subclass(EdgeIndex)
    edges.sizes = sizes
    relation = Relation.from_edge_index(edges)
    assert (relation.num_sources, relation.num_destinations) == expected
    assert type(relation.edge_index()) is torch.Tensor
    assert Relation.from_edge_index(edges, 5).num_sources == 5


def test_default_collate_joins_relations():
    from torch.utils.data import default_collate

    parts = [Relation.causal(3), random_relation(3, 3)]
    batch = default_collate([(part, torch.ones(2)) for part in parts])
    assert batch[0] == Relation.batch(parts)
    loader = torch.utils.data.DataLoader([{"relation": part} for part in parts * 2], batch_size=2)
    assert [batch["relation"] for batch in loader] == [Relation.batch(parts)] * 2


@pytest.mark.parametrize("name", RELATIONS)
def test_relations_can_be_pickled_and_copied(name):
    relation = RELATIONS[name]()
    again = pickle.loads(pickle.dumps(relation))
    assert again == relation
    assert hash(again) == hash(relation)
    assert torch.equal(again.edge_index(), relation.edge_index())
    assert copy.deepcopy(relation) is relation
    file = io.BytesIO()
    torch.save({"relation": relation}, file)
    file.seek(0)
    assert torch.load(file, weights_only=True)["relation"] == relation
    inputs = random_inputs(relation, 2, 4, dtype=torch.float32)
    assert torch.equal(attend(again, *inputs), attend(relation, *inputs))


@pytest.mark.parametrize("change", [
    {"num_edges": 4}, {"num_edges": 2**40}, {"num_edges": -1}, {"order": torch.tensor([0, 1, 1])},
    {"order": torch.tensor([0, 1, 2**40])}, {"order": torch.tensor([-1, 0, 1])}, {"order": torch.tensor([0, 1])},
    {"row_begin": torch.tensor([0, 3, 2])}, {"row_begin": torch.tensor([1, 2, 3])},
    {"sources": torch.tensor([0, 9, 1], dtype=torch.int32)}, {"num_sources": 1}, {"num_sources": 2**40},
    {"sources": torch.tensor([[0, 2], [0, 2]], dtype=torch.int32)}, {"sources": torch.tensor([0, 1, 1])},
], ids=str)
def test_a_pickle_of_a_relation_that_cannot_be_is_an_error(change):
    restore, _ = Relation.causal(2).__reduce__()
    arrays = {"num_sources": 2, "row_begin": torch.tensor([0, 1, 3]),
              "sources": torch.tensor([0, 0, 1], dtype=torch.int32), "num_edges": 3, "order": torch.tensor([2, 0, 1])}
    assert restore(**arrays).num_edges == 3
    with pytest.raises(edgewise.Error):
        restore(**(arrays | change))


def test_relations_with_other_edges_differ():
    assert Relation.causal(4) != Relation.complete(4)
    assert Relation.causal(4) != Relation.causal([1, 3])
    assert Relation.causal(4) != 4
    assert Relation.causal(4) == Relation.from_mask(torch.ones(4, 4).tril().bool())
    assert repr(Relation.causal(4)) == "Relation(num_sources=4, num_destinations=4, num_edges=10)"


def test_writing_to_the_given_arrays_changes_no_relation():
    row_begin, sources = torch.tensor([0, 1, 2]), torch.tensor([0, 1], dtype=torch.int32)
    relation = Relation.from_csr(row_begin, sources)
    edges = relation.edge_index()
    row_begin[1] = 2
    sources[1] = 0
    assert torch.equal(relation.edge_index(), edges)


def test_jagged_tensors_give_lengths_and_take_attention():
    parts = [torch.randn(length, 2, 8) for length in (3, 1, 5)]
    nodes = torch.nested.nested_tensor(parts, layout=torch.jagged, requires_grad=True)
    relation = Relation.causal(nodes)
    assert relation == Relation.causal([3, 1, 5])
    out = attend(relation, nodes, nodes, nodes)
    assert out.is_nested
    assert torch.equal(out.offsets(), nodes.offsets())
    for found, part in zip(out.unbind(), parts):
        assert torch.allclose(found, attend(Relation.causal(len(part)), part, part, part), atol=1e-6)
    out.values().sum().backward()
    assert nodes.grad.is_nested
    queries = torch.nested.nested_tensor([torch.randn(length, 2, 8) for length in (2, 2, 4)], layout=torch.jagged)
    out = attend(Relation.bipartite(nodes, queries), queries, nodes, nodes)
    assert torch.equal(out.offsets(), queries.offsets())
    compiled = torch.compile(attend, fullgraph=True, backend="aot_eager")
    assert torch.allclose(compiled(relation, nodes, nodes, nodes).values(),
                          attend(relation, nodes, nodes, nodes).values(), atol=1e-6)


def test_threads_may_use_one_relation_at_once():
    relation = random_relation(200, 200, 0.1)
    inputs = random_inputs(relation, 2, 16, dtype=torch.float32)
    expected = [attend(relation, *inputs), *gradients(attend(relation, *inputs), inputs)]
    failures = []

    def run(index):
        for _ in range(10):
            mine = pickle.loads(pickle.dumps(relation)) if index % 2 else relation
            out = attend(mine, *inputs)
            found = [out, *gradients(out, inputs)]
            if not all(torch.equal(a, b) for a, b in zip(found, expected)):
                failures.append(index)

    threads = [threading.Thread(target=run, args=(index,)) for index in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_a_process_may_end_with_relations():
    code = """
import threading, torch
from edgewise.torch import Relation, attend
relation = Relation.causal(300)
nodes = torch.randn(300, 4, 16, requires_grad=True)
out = attend(relation, nodes, nodes, nodes)
torch.kept = Relation.complete(5), out
threading.kept = relation
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_forked_process_attends():
    code = """
import os, torch
from edgewise.torch import Relation, attend
relation = Relation.causal(300)
nodes = torch.randn(300, 4, 16)
torch.set_num_threads(2)
expected = attend(relation, nodes, nodes, nodes)
child = os.fork()
if child == 0:
    torch.set_num_threads(1)
    os._exit(0 if torch.equal(attend(relation, nodes, nodes, nodes), expected) else 3)
assert os.waitpid(child, 0)[1] == 0
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr

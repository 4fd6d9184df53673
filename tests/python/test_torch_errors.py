# SPDX-License-Identifier: Apache-2.0
import pytest

torch = pytest.importorskip("torch")

import edgewise  # noqa: E402
from edgewise.torch import (  # noqa: E402
    MultiheadAttention, Relation, _library, aggregate, attend, attention_weights, edge_softmax)

RELATION = Relation.causal(4)
NODES = torch.zeros(4, 2, 8)
BIAS = torch.zeros(10, 2)


def refused(error, text, call, *arguments, **options):
    with pytest.raises(error) as caught:
        call(*arguments, **options)
    assert str(caught.value) == text


@pytest.mark.parametrize("arguments, options, error, text", [
    ((3, NODES, NODES, NODES), {}, TypeError, "attend: relation is 3, needs a Relation"),
    ((torch.zeros(2, 3), NODES, NODES, NODES), {}, TypeError,
     "attend: relation is a tensor, needs a Relation; make one with Relation.from_edge_index"),
    ((RELATION, 3, NODES, NODES), {}, TypeError, "attend: query is 3, needs a tensor"),
    ((RELATION, NODES.int(), NODES, NODES), {}, edgewise.Error,
     "attend: query has type int32, needs float32, bfloat16 or float64"),
    ((RELATION, NODES, NODES.half(), NODES), {}, edgewise.Error,
     "attend: key has type float16, needs float32, bfloat16 or float64"),
    ((RELATION, NODES, NODES.double(), NODES), {}, edgewise.Error,
     "attend: key has type float64, needs float32, the type of query"),
    ((RELATION, NODES, NODES, NODES.bfloat16()), {}, edgewise.Error,
     "attend: value has type bfloat16, needs float32, the type of query"),
    ((RELATION, NODES[0], NODES, NODES), {}, edgewise.Error,
     "attend: query has shape [2, 8], needs 3 dimensions: destinations, heads, head size"),
    ((RELATION, NODES[:3], NODES, NODES), {}, edgewise.Error,
     "attend: query has 3 rows, needs 4, one for each destination of the relation"),
    ((RELATION, NODES, NODES[:3], NODES), {}, edgewise.Error,
     "attend: key has 3 rows, needs 4, one for each source of the relation"),
    ((RELATION, NODES, NODES, NODES[:3]), {}, edgewise.Error,
     "attend: value has 3 rows, needs 4, one for each source of the relation"),
    ((RELATION, NODES, torch.zeros(4, 3, 8), NODES), {}, edgewise.Error,
     "attend: key has 3 heads, needs 2, the heads of query, or 1"),
    ((RELATION, NODES, torch.zeros(4, 2, 7), NODES), {}, edgewise.Error,
     "attend: key has shape [4, 2, 7] and query [4, 2, 8], needs the same head size of at least 1"),
    ((RELATION, NODES, NODES, NODES, BIAS[:9]), {}, edgewise.Error,
     "attend: edge_bias has 9 rows, needs 10, one for each edge of the relation"),
    ((RELATION, NODES, NODES, NODES, BIAS.double()), {}, edgewise.Error,
     "attend: edge_bias has type float64, needs float32, the type of query"),
    ((RELATION, NODES, NODES, NODES, torch.zeros(10, 3)), {}, edgewise.Error,
     "attend: edge_bias has 3 heads, needs 2, the heads of query, or 1"),
    ((RELATION, NODES, NODES, NODES, None, 1.0), {}, edgewise.Error,
     "attend: dropout is 1.0, needs at least 0 and less than 1"),
    ((RELATION, NODES, NODES, NODES), {"scale": float("nan")}, edgewise.Error,
     "attend: scale is nan, needs a finite number"),
    ((RELATION, NODES, NODES, NODES), {"clamp": 0.0}, edgewise.Error, "attend: clamp is 0.0, needs a positive number"),
    ((RELATION, NODES.to_sparse(), NODES, NODES), {}, edgewise.Error,
     "attend: query has layout torch.sparse_coo, needs torch.strided"),
])
def test_attend_names_what_it_needs(arguments, options, error, text):
    refused(error, text, attend, *arguments, **options)


def test_jagged_tensors_name_what_they_need():
    parts = [torch.zeros(2, 2, 8), torch.zeros(2, 2, 8)]
    jagged = torch.nested.nested_tensor(parts, layout=torch.jagged)
    refused(TypeError, "attend: key is no jagged tensor, needs to be one, as query is", attend, RELATION, jagged, NODES,
            NODES)
    refused(edgewise.Error, "attend: key has layout torch.jagged, needs torch.strided", attend, RELATION, NODES, jagged,
            NODES)
    strided = torch.nested.nested_tensor(parts, layout=torch.strided)
    refused(edgewise.Error, "attend: query is a nested tensor of layout torch.strided, needs torch.jagged", attend,
            RELATION, strided, jagged, jagged)
    refused(edgewise.Error, "causal: lengths is a nested tensor of layout torch.strided, needs torch.jagged",
            Relation.causal, strided)


@pytest.mark.parametrize("call, error, text", [
    (lambda: attention_weights(RELATION, NODES, NODES, BIAS[:1]), edgewise.Error,
     "attention_weights: edge_bias has 1 rows, needs 10, one for each edge of the relation"),
    (lambda: edge_softmax(RELATION, BIAS[:9]), edgewise.Error,
     "edge_softmax: score has 9 rows, needs 10, one for each edge of the relation"),
    (lambda: edge_softmax(RELATION, torch.zeros(())), edgewise.Error,
     "edge_softmax: score has no dimensions, needs at least one: edges"),
    (lambda: aggregate(RELATION, BIAS, NODES[:1]), edgewise.Error,
     "aggregate: value has 1 rows, needs 4, one for each source of the relation"),
    (lambda: aggregate(RELATION, BIAS, torch.zeros(4, 3, 8)), edgewise.Error,
     "aggregate: weight has 2 heads, needs 3, the heads of value, or 1"),
    (lambda: aggregate(RELATION, BIAS.double(), NODES), edgewise.Error,
     "aggregate: weight has type float64, needs float32, the type of value"),
    (lambda: Relation.complete("3"), TypeError, "complete: lengths is '3', needs an int"),
    (lambda: Relation.complete(True), TypeError, "complete: lengths is True, needs an int"),
    (lambda: Relation.complete(-1), edgewise.Error, "complete: lengths is -1, needs a number from 0 to 2147483647"),
    (lambda: Relation.causal([2, 2**31]), edgewise.Error,
     "causal: lengths[1] is 2147483648, needs a number from 0 to 2147483647"),
    (lambda: Relation.causal([2**31 - 1, 1]), edgewise.Error,
     "causal: the sum of lengths is 2147483648, needs at most 2147483647"),
    (lambda: Relation.causal(torch.tensor([2, -1])), edgewise.Error,
     "causal: lengths[1] is -1, needs a number in [0, 2147483648)"),
    (lambda: Relation.causal(torch.tensor([2.0])), edgewise.Error, "causal: lengths has type float32, needs integers"),
    (lambda: Relation.bipartite([1, 2], [1]), edgewise.Error,
     "bipartite: num_sources has 2 graphs and num_destinations has 1, needs as many of each"),
    (lambda: Relation.bipartite(3, [1]), edgewise.Error,
     "bipartite: num_sources and num_destinations are one number and several, needs the same kind of both"),
    (lambda: Relation.window(4, -1), edgewise.Error, "window: before is -1, needs 0 or more"),
    (lambda: Relation.window(4, 1, dilation=0), edgewise.Error, "window: dilation is 0, needs 1 or more"),
    (lambda: Relation.window(4, 1.0), TypeError, "window: before is 1.0, needs an int"),
    (lambda: Relation.prefix(4, [5]), edgewise.Error, "prefix: lengths[0] is 5, needs a number in [0, 5)"),
    (lambda: Relation.prefix(4, 5), TypeError,
     "prefix: lengths is 5, needs a list or tensor with a number for each destination"),
    (lambda: Relation.from_edge_index(torch.tensor([[0, 4], [0, 1]]), 4), edgewise.Error,
     "from_edge_index: sources[1] is 4, needs a number in [0, 4)"),
    (lambda: Relation.from_edge_index(torch.tensor([[0, -1], [0, 1]])), edgewise.Error,
     "from_edge_index: sources[1] is -1, needs a number in [0, 2)"),
    (lambda: Relation.from_edge_index(torch.tensor([[0, 2**31 - 1], [0, 1]])), edgewise.Error,
     "from_edge_index: edge_index has the node 2147483647, needs nodes up to 2147483646"),
    (lambda: Relation.from_edge_index(torch.tensor([[0, 2**62], [0, 1]])), edgewise.Error,
     "from_edge_index: edge_index has the node 4611686018427387904, needs nodes up to 2147483646"),
    (lambda: Relation.from_edge_index(torch.tensor([[0, 3], [0, 1]]), (4, 1)), edgewise.Error,
     "from_edge_index: destinations[1] is 1, needs a number in [0, 1)"),
    (lambda: Relation.from_edge_index(torch.zeros(3, 4, dtype=torch.long)), edgewise.Error,
     "from_edge_index: edge_index has shape [3, 4], needs 2 rows: sources and destinations"),
    (lambda: Relation.from_edge_index(torch.zeros(2, 4)), edgewise.Error,
     "from_edge_index: edge_index has type float32, needs integers"),
    (lambda: Relation.from_edge_index([[0], [0]]), TypeError,
     "from_edge_index: edge_index is [[0], [0]], needs a tensor"),
    (lambda: Relation.from_edge_index(torch.zeros(2, 4, dtype=torch.long), (1, 2, 3)), TypeError,
     "from_edge_index: size is (1, 2, 3), needs a number of nodes or two: sources and destinations"),
    (lambda: Relation.from_csr(torch.tensor([1, 1]), torch.tensor([0])), edgewise.Error,
     "from_csr: row_begin[0] is 1, needs 0"),
    (lambda: Relation.from_csr(torch.tensor([0, 2, 1]), torch.tensor([0])), edgewise.Error,
     "from_csr: row_begin[2] is 1, needs at least 2, the number before it"),
    (lambda: Relation.from_csr(torch.tensor([0, 2]), torch.tensor([0])), edgewise.Error,
     "from_csr: row_begin ends with 2, needs 1, the number of sources given"),
    (lambda: Relation.from_csr(torch.tensor([0, 1]), torch.tensor([1])), edgewise.Error,
     "from_csr: sources[0] is 1, needs a number in [0, 1)"),
    (lambda: Relation.from_csr(torch.zeros(0, dtype=torch.long), torch.tensor([1])), edgewise.Error,
     "from_csr: row_begin is empty, needs one number more than there are rows"),
    (lambda: Relation.from_mask(torch.zeros(2, 2)), edgewise.Error, "from_mask: mask has type float32, needs bool"),
    (lambda: Relation.batch([RELATION, 3]), TypeError, "batch: relations[1] is 3, needs a Relation"),
    (lambda: MultiheadAttention(7, 2), edgewise.Error,
     "MultiheadAttention: embed_dim is 7 and num_heads is 2, needs a positive multiple of a positive number"),
    (lambda: MultiheadAttention(8, 2)(RELATION, torch.zeros(4, 7)), edgewise.Error,
     "MultiheadAttention: query has shape [4, 7], needs [nodes, 8] or a jagged tensor [graphs, nodes, 8]"),
    (lambda: MultiheadAttention.from_torch(torch.nn.MultiheadAttention(8, 2, add_zero_attn=True)), edgewise.Error,
     "from_torch: module has add_zero_attn=True, needs False; add a node and its edges to the relation"),
    (lambda: MultiheadAttention.from_torch(torch.nn.Linear(8, 2)), TypeError,
     "from_torch: module is Linear, needs a torch.nn.MultiheadAttention"),
])
def test_other_functions_name_what_they_need(call, error, text):
    refused(error, text, call)


def test_an_old_torch_is_named():
    refused(edgewise.Error, "edgewise.torch: torch has version 2.9.1+cpu, needs 2.10 or newer", _library._check_torch,
            "2.9.1+cpu")
    for version in ("2.10.0", "2.11.0a0+git1", "3.0.0"):
        _library._check_torch(version)


def test_operations_called_directly_refuse_what_would_not_be_safe():
    operations = torch.ops.edgewise
    arrays = RELATION._row_begin, RELATION._sources, RELATION._handle
    with pytest.raises(RuntimeError, match="attend: key has size 2 in dimension 1, needs 3"):
        operations.attend(torch.zeros(4, 3, 8), NODES, NODES, None, *arrays, None, 1.0, None, 0.0, 0)
    with pytest.raises(RuntimeError, match="from_intervals: rows"):
        operations.attend(NODES, NODES, NODES, None, arrays[0], arrays[1] + 7, torch.zeros(0, dtype=torch.long), None,
                          1.0, None, 0.0, 0)
    with pytest.raises(RuntimeError, match="attend: the type of key has number"):
        operations.attend(NODES, NODES.double(), NODES, None, *arrays, None, 1.0, None, 0.0, 0)
    # The handle is of another relation, so the arrays count.
    out = operations.attend(NODES, NODES, NODES + 1, None, *arrays[:2], Relation.causal(5)._handle, None, 1.0, None,
                            0.0, 3)[0]
    assert torch.equal(out, NODES + 1)

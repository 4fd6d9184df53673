# SPDX-License-Identifier: Apache-2.0
"""The operations of messages equal their definitions in torch, with gradients of any order."""
import pytest

torch = pytest.importorskip("torch")

from torch.autograd import gradcheck, gradgradcheck  # noqa: E402

from edgewise.torch import Relation  # noqa: E402
from edgewise.torch._messages import RowsOf, edge_extremum, edge_sum  # noqa: E402

RELATION = Relation.from_csr(torch.tensor([0, 2, 2, 5]), torch.tensor([3, 0, 1, 1, 2], dtype=torch.int32), 4)
SOURCES, DESTINATIONS = torch.tensor([3, 0, 1, 1, 2]), torch.tensor([0, 0, 2, 2, 2])
NUMBERS = torch.tensor([6, 0, 4, 2, 3])
OPERATIONS = {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div}
SHAPES = [((2, 3), (2, 1), (2, 3)), ((2, 3), (2, 3), (2, 1)), ((3,), (2, 3), (2, 3)), ((), (), ())]


def rows(letter, shape, seed, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    count = {"u": 4, "v": 3, "e": 7}[letter]
    values = torch.randn(count, *shape, generator=generator, dtype=torch.float64)
    return (values + values.sign()).to(dtype).requires_grad_()


def rows_of(letter):
    return RowsOf(letter, NUMBERS if letter == "e" else None)


def on_edges(letter, values):
    return values[{"u": SOURCES, "v": DESTINATIONS, "e": NUMBERS}[letter]]


def messages(operation, left, right):
    left, right = on_edges(*left), on_edges(*right)
    while left.dim() < right.dim():
        left = left.unsqueeze(1)
    return OPERATIONS[operation](left, right)


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("shapes", SHAPES)
@pytest.mark.parametrize("letters", ["uve", "vue", "eeu", "uev", "uuu"])
def test_a_sum_equals_its_definition_and_has_two_derivatives(operation, shapes, letters):
    left_letter, right_letter, target = letters
    left, right = rows(left_letter, shapes[0], 1), rows(right_letter, shapes[1], 2)

    def sum_of(left, right):
        return edge_sum(RELATION, rows_of(target), operation, (rows_of(left_letter), left),
                        (rows_of(right_letter), right), shapes[2], 7 if target == "e" else None)

    values = messages(operation, (left_letter, left), (right_letter, right))
    if shapes[2] != values.shape[1:]:
        values = values.sum(-1, keepdim=True)
    count, index = {"u": (4, SOURCES), "v": (3, DESTINATIONS), "e": (7, NUMBERS)}[target]
    expected = torch.zeros(count, *shapes[2], dtype=torch.float64).index_add(0, index, values)
    torch.testing.assert_close(sum_of(left, right), expected)
    assert gradcheck(sum_of, (left, right))
    assert gradgradcheck(sum_of, (left, right))


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("kind", ["max", "min"])
def test_an_extremum_has_two_derivatives(operation, kind):
    left, right = rows("u", (2, 3), 1), rows("e", (2, 1), 2)

    def extremum_of(left, right):
        return edge_extremum(RELATION, kind, operation, (rows_of("u"), left), (rows_of("e"), right), (2, 3))

    values = messages(operation, ("u", left), ("e", right))
    function = torch.amax if kind == "max" else torch.amin
    expected = torch.stack([function(values[:2], 0), torch.zeros(2, 3, dtype=torch.float64), function(values[2:], 0)])
    torch.testing.assert_close(extremum_of(left, right), expected)
    assert gradcheck(extremum_of, (left, right))
    assert gradgradcheck(extremum_of, (left, right))


def test_sums_of_bfloat16_are_rounded_once():
    left = rows("u", (2, 16), 1, torch.bfloat16)
    expected = torch.zeros(3, 2, 16).index_add(0, DESTINATIONS, left.float()[SOURCES]).to(torch.bfloat16)
    found = edge_sum(RELATION, RowsOf("v"), "copy", (RowsOf("u"), left), None, (2, 16))
    assert torch.equal(found, expected)

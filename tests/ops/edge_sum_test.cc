// SPDX-License-Identifier: Apache-2.0
#include "edgewise/ops/edge_sum.h"

#include <c10/core/GradMode.h>

#include <string>
#include <vector>

#include "edgewise/ops/backend.h"
#include "edgewise/ops/edge_softmax.h"
#include "tests/ops/allocation_counter.h"
#include "tests/ops/tensors.h"
#include "tests/support/gradient_check.h"
#include "tests/support/relation_zoo.h"

namespace edgewise {
namespace {

using Sizes = std::vector<std::int64_t>;

constexpr MessageOperator kMessageOperators[] = {MessageOperator::kCopy, MessageOperator::kAdd,
                                                 MessageOperator::kSubtract, MessageOperator::kMultiply,
                                                 MessageOperator::kDivide};
constexpr RowsOf kKindsOfRows[] = {RowsOf::kSources, RowsOf::kDestinations, RowsOf::kEdges};

struct RowCase {
  Sizes left, right, out;
};

const std::vector<RowCase>& row_cases() {
  static const std::vector<RowCase> cases = {
      {{3}, {3}, {3}},                 // equal rows
      {{2, 5}, {2, 1}, {2, 5}},        // a factor for each head
      {{1}, {2, 3}, {2, 3}},           // a left operand that is repeated
      {{2, 5}, {2, 5}, {2, 1}},        // dot products
      {{2, 1, 3}, {4, 3}, {2, 4, 3}},  // both operands are repeated
      {{2, 4, 3}, {4, 3}, {2, 1, 3}},  // a middle dimension is summed
      {{2, 4}, {1}, {2, 1}},           // a sum over a dimension that one operand has
      {{}, {}, {}},                    // numbers
      {{2, 1}, {2, 1}, {2, 4}},        // the result is repeated
  };
  return cases;
}

std::int64_t count_rows_of(const Relation& relation, RowsOf rows_of) {
  if (rows_of == RowsOf::kEdges) return relation.num_edges();
  return rows_of == RowsOf::kSources ? relation.num_sources() : relation.num_destinations();
}

/// A sum whose operands a test gives later.
struct SumCase {
  MessageOperator op;
  RowsOf left, right, rows_of;
  RowCase rows;

  bool has_right() const { return op != MessageOperator::kCopy; }

  EdgeSum sum(const Tensors& inputs) const {
    EdgeSum result = {{op, {inputs[0], left}}, rows_of, rows.out};
    if (has_right()) result.message.right = {inputs[1], right};
    return result;
  }

  /// Returns operands, of which the right one can be a divisor.
  Tensors inputs(const Relation& relation, at::ScalarType type) const {
    const auto shape = [&](RowsOf operand_rows, Sizes row) {
      row.insert(row.begin(), count_rows_of(relation, operand_rows));
      return row;
    };
    Tensors result = {normal(shape(left, rows.left), 1, type)};
    if (has_right()) {
      const at::Tensor x = normal(shape(right, rows.right), 2, type);
      result.push_back(x + at::sign(x));
    }
    return result;
  }

  std::string name() const {
    return "operator " + std::to_string(static_cast<int>(op)) + ", left " + std::to_string(static_cast<int>(left)) +
           ", right " + std::to_string(static_cast<int>(right)) + ", result " +
           std::to_string(static_cast<int>(rows_of)) + ", rows " +
           at::str(at::IntArrayRef(rows.left), at::IntArrayRef(rows.right), at::IntArrayRef(rows.out));
  }
};

/// Returns each operator with each case of rows. The tensors' rows change from case to case, beginning with `first`.
std::vector<SumCase> sum_cases(int first) {
  std::vector<SumCase> cases;
  int i = first;
  for (const RowCase& rows : row_cases()) {
    for (const MessageOperator op : kMessageOperators) {
      i += 7;
      cases.push_back({op, kKindsOfRows[i % 3], kKindsOfRows[i / 3 % 3], kKindsOfRows[i / 9 % 3], rows});
    }
  }
  return cases;
}

/// Returns the gradient of the sum of f's squares in the first input, which has a gradient even if f is linear.
at::Tensor gradient_of_squares(const TensorFunction& f, const Tensors& x) {
  const c10::AutoGradMode records(true);
  Tensors inputs = x;
  for (at::Tensor& input : inputs) {
    if (!input.requires_grad()) input = input.detach().requires_grad_();
  }
  return torch::autograd::grad({f(inputs).square().sum()}, {inputs[0]}, {}, /*retain_graph=*/{},
                               /*create_graph=*/true)[0];
}

TEST(EdgeSum, MatchesItsDefinition) {
  int first = 0;
  for (const auto& [name, relation] : relation_zoo()) {
    for (const SumCase& c : sum_cases(first++)) {
      for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
        SCOPED_TRACE(name + ", " + c.name());
        expect_same_function([&, &r = relation](const Tensors& x) { return edge_sum(r, c.sum(x)); },
                             [&, &r = relation](const Tensors& x) { return edge_sum_plain(r, c.sum(x)); },
                             c.inputs(relation, type));
      }
    }
  }
}

TEST(EdgeSum, AddsInFp32AndRoundsOnceForBf16) {
  for (const auto& [name, relation] : relation_zoo()) {
    SCOPED_TRACE(name);
    const SumCase c = {MessageOperator::kMultiply, RowsOf::kSources, RowsOf::kEdges, RowsOf::kDestinations,
                       row_cases()[1]};
    const Tensors inputs = c.inputs(relation, at::kBFloat16);
    const Tensors exact = {inputs[0].to(at::kDouble), inputs[1].to(at::kDouble)};

    expect_close(edge_sum(relation, c.sum(inputs)), edge_sum_plain(relation, c.sum(exact)).to(at::kBFloat16), "sum",
                 0x1p-8);
  }
}

TEST(EdgeSum, HasGradientsAndSecondDerivativesThatMatchFiniteDifferences) {
  const Relation relation = Relation::from_csr(3, {0, 2, 2, 4}, {2, 0, 1, 1});
  for (int first : {0, 1, 4, 8, 10}) {
    for (const SumCase& c : sum_cases(first)) {
      SCOPED_TRACE(c.name());
      const TensorFunction f = [&](const Tensors& x) { return edge_sum(relation, c.sum(x)); };
      const Tensors inputs = c.inputs(relation, at::kDouble);
      expect_gradients_match(f, inputs);
      expect_gradients_match([&](const Tensors& x) { return gradient_of_squares(f, x); }, inputs);
    }
  }
}

TEST(EdgeSum, ReadsAndWritesTheRowsOfEdgesByNumber) {
  const Relation relation = Relation::from_csr(3, {0, 2, 2, 4}, {2, 0, 1, 1});
  const at::Tensor numbers = at::tensor({5, 0, 3, 2}, at::kLong);
  const at::Tensor source = normal({3, 2}, 1);
  const at::Tensor edge = normal({6, 2}, 2);
  const at::Tensor own_edge = edge.index_select(0, numbers.to(edge.device()));
  const auto by_number = [&](const Tensors& x) {
    return edge_sum(relation, {{MessageOperator::kMultiply, {x[0], RowsOf::kSources}, {x[1], RowsOf::kEdges, numbers}},
                               RowsOf::kEdges,
                               {2},
                               {numbers, 7}});
  };

  const at::Tensor written = by_number({source, edge});

  const at::Tensor in_order = edge_sum(
      relation,
      {{MessageOperator::kMultiply, {source, RowsOf::kSources}, {own_edge, RowsOf::kEdges}}, RowsOf::kEdges, {2}});
  EXPECT_TRUE(at::equal(written.index_select(0, numbers.to(edge.device())), in_order));
  EXPECT_TRUE(at::equal(written.index_select(0, at::tensor({1, 4, 6}, at::kLong).to(edge.device())),
                        at::zeros({3, 2}, edge.options())));
  expect_gradients_match(by_number, {source, edge});
}

TEST(EdgeSum, ComputesSeveralSumsOfDifferentRowsAndTypes) {
  const Relation relation = random_relation(6, 5, 3, /*seed=*/1);
  const at::Tensor source = normal({6, 2}, 1);
  const at::Tensor floats = normal({15, 3}, 2, at::kFloat);
  const std::vector<EdgeSum> sums = {
      {{MessageOperator::kCopy, {source, RowsOf::kSources}}, RowsOf::kDestinations, {2}},
      {{MessageOperator::kCopy, {floats, RowsOf::kEdges}}, RowsOf::kSources, {3}},
      {{MessageOperator::kCopy, {source, RowsOf::kSources}}, RowsOf::kEdges, {2}},
      {{MessageOperator::kAdd, {source, RowsOf::kSources}, {source, RowsOf::kSources}}, RowsOf::kDestinations, {2}}};

  const Tensors together = edge_sums(relation, sums);

  for (std::size_t i = 0; i < sums.size(); ++i) EXPECT_TRUE(at::equal(together[i], edge_sum(relation, sums[i]))) << i;
}

TEST(EdgeSum, TakesNoMemoryForMessages) {
  const Relation relation = complete(200);
  const at::Tensor value = normal({200, 4, 16}, 1, at::kFloat).requires_grad_();
  if (backend_of(value, /*has_gpu_kernel=*/false) == Backend::kDefinition) {
    GTEST_SKIP() << "the definition has a tensor of all messages";
  }
  const at::Tensor weight = normal({40000, 4, 1}, 2, at::kFloat).requires_grad_();
  const auto run = [&] {
    edge_sum(relation, {{MessageOperator::kMultiply, {value, RowsOf::kSources}, {weight, RowsOf::kEdges}},
                        RowsOf::kDestinations,
                        {4, 16}})
        .sum()
        .backward();
    value.mutable_grad().reset();
    weight.mutable_grad().reset();
  };
  run();  // derives the edges by source

  // The gradients of weight, value and result, and less than a tenth of a tensor of messages.
  EXPECT_LT(peak_allocation(run), 40000 * 4 * 4 + 4 * 200 * 64 * 4 + 40000 * 64 * 4 / 10);
}

TEST(EdgeExtremum, MatchesItsDefinition) {
  int first = 0;
  for (const auto& [name, relation] : relation_zoo()) {
    for (SumCase c : sum_cases(first++)) {
      const ExtremumKind kind = first % 2 == 0 ? ExtremumKind::kMaximum : ExtremumKind::kMinimum;
      SCOPED_TRACE(name + ", " + c.name());
      expect_same_function(
          [&, &r = relation](const Tensors& x) { return edge_extremum(r, c.sum(x).message, kind); },
          [&, &r = relation](const Tensors& x) { return edge_extremum_plain(r, c.sum(x).message, kind); },
          c.inputs(relation, at::kDouble));
    }
  }
}

TEST(EdgeExtremum, HasGradientsAndSecondDerivativesThatMatchFiniteDifferences) {
  const Relation relation = Relation::from_csr(3, {0, 2, 2, 4}, {2, 0, 1, 1});
  for (const SumCase& c : sum_cases(3)) {
    SCOPED_TRACE(c.name());
    const TensorFunction f = [&](const Tensors& x) {
      return edge_extremum(relation, c.sum(x).message, ExtremumKind::kMaximum);
    };
    const Tensors inputs = c.inputs(relation, at::kDouble);
    expect_gradients_match(f, inputs);
    expect_gradients_match([&](const Tensors& x) { return gradient_of_squares(f, x); }, inputs);
  }
}

TEST(EdgeExtremum, GivesTheGradientToTheFirstEdgeThatHasTheExtremum) {
  const at::Tensor x = at::tensor({2.0, 5.0, 5.0}, at::kDouble).to(test_device()).requires_grad_();

  edge_extremum(complete(3), {MessageOperator::kCopy, {x, RowsOf::kSources}}, ExtremumKind::kMaximum).sum().backward();

  EXPECT_TRUE(at::equal(x.grad(), at::tensor({0.0, 3.0, 0.0}, at::kDouble).to(test_device())));
}

TEST(EdgeSoftmax, HasASecondDerivativeThatMatchesFiniteDifferences) {
  const Relation relation = Relation::from_csr(3, {0, 2, 2, 5}, {2, 0, 1, 1, 0});
  const TensorFunction f = [&](const Tensors& x) { return edge_softmax(relation, x[0]); };
  expect_gradients_match([&](const Tensors& x) { return gradient_of_squares(f, x); }, {normal({5, 2}, 1)});
}

TEST(EdgeSumErrors, NameOperandsThatDoNotFit) {
  const Relation relation = bipartite(3, 2);
  const at::Tensor source = at::zeros({3, 4});
  const auto sum_error = [&](const EdgeMessage& message, const Sizes& row) {
    return error_of([&] { edge_sum(relation, {message, RowsOf::kDestinations, row}); });
  };
  EXPECT_EQ(sum_error({MessageOperator::kCopy, {source, RowsOf::kDestinations}}, {4}),
            "edge_sum: left has 3 rows, but the relation has 2 destinations, needs one row per destination");
  EXPECT_EQ(sum_error({MessageOperator::kCopy, {at::zeros({3}, at::kLong), RowsOf::kSources}}, {}),
            "edge_sum: left has type Long, needs Float, BFloat16 or Double");
  EXPECT_EQ(sum_error({MessageOperator::kAdd, {source, RowsOf::kSources}, {at::zeros({6, 3}), RowsOf::kEdges}}, {4}),
            "edge_sum: left is [3, 4] and right is [6, 3], needs last dimensions of one size or 1");
  EXPECT_EQ(
      sum_error({MessageOperator::kCopy, {source, RowsOf::kSources}}, {3}),
      "edge_sum: dimension 0 from the last of row_shape is 3, but that of the messages is 4, needs one size or 1");
  EXPECT_EQ(sum_error({MessageOperator::kCopy, {source, RowsOf::kSources, at::zeros({6}, at::kLong)}}, {4}),
            "edge_sum: left has numbers and rows of sources, needs rows of edges");
  EXPECT_EQ(sum_error({MessageOperator::kCopy, {at::zeros({9, 4}), RowsOf::kEdges, at::zeros({5}, at::kLong)}}, {4}),
            "edge_sum: the numbers of left are Long [5], need Long [6] on the CPU, contiguous");
}

}  // namespace
}  // namespace edgewise

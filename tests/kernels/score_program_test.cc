// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/score/score_program.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "edgewise/base/random.h"
#include "edgewise/kernels/score/score_numbers.h"
#include "tests/support/error_of.h"

namespace edgewise::kernels {
namespace {

using Node = ScoreGraph::Node;

constexpr std::int32_t kNumColumns = 3;
constexpr std::int32_t kTable = 3;

/// The numbers of one edge, and their gradients.
struct Edge {
  double product_value = 0.7;
  std::vector<double> column_values = {-0.4, 1.3, 0.9};
  std::vector<double> table = {0.3, -1.1, 0.8, 0.2};
  double grad_score = 1.0;
  double grad_product = std::nan("");
  std::vector<double> grad_columns = {std::nan(""), std::nan(""), std::nan("")};
  std::vector<double> grad_table = {0, 0, 0, 0};

  double product() const { return product_value; }
  double column(std::int32_t column) const { return column_values[column]; }
  double gradient() const { return grad_score; }
  double lookup(std::int32_t /*column*/, std::int64_t index) const { return table[index]; }
  std::int64_t table_size(std::int32_t /*column*/) const { return std::ssize(table); }
  void store(std::int32_t column, double gradient) {
    (column == kProductColumn ? grad_product : grad_columns[column]) = gradient;
  }
  void store_looked_up(std::int32_t /*column*/, std::int64_t index, double gradient) { grad_table[index] += gradient; }

  /// Returns all numbers in which the score has a derivative.
  std::vector<double*> numbers() {
    std::vector<double*> result = {&product_value};
    for (double& value : column_values) result.push_back(&value);
    for (double& value : table) result.push_back(&value);
    return result;
  }
  std::vector<double> gradients() const {
    std::vector<double> result = {grad_product};
    result.insert(result.end(), grad_columns.begin(), grad_columns.end());
    result.insert(result.end(), grad_table.begin(), grad_table.end());
    return result;
  }
};

double run_forward(const ScoreProgram& program, Edge& edge) {
  std::vector<double> registers(program.forward.num_registers, std::nan(""));
  run_score_list(program.forward, registers.data(), edge);
  return registers[program.forward.result];
}

void run_backward(const ScoreProgram& program, Edge& edge) {
  std::vector<double> registers(program.backward.num_registers, std::nan(""));
  run_score_list(program.backward, registers.data(), edge);
}

/// Draws a smooth expression of all inputs.
Node draw(ScoreGraph& graph, RandomStream& random, int depth) {
  auto below = [&](std::uint64_t end) { return static_cast<int>(random.next_below(end)); };
  auto constant = [&] { return graph.constant(0.5 + random.uniform()); };
  if (depth == 0) {
    switch (below(4)) {
      case 0:
        return graph.product();
      case 1:
        return graph.column(below(kNumColumns));
      case 2:
        return graph.lookup(kTable, graph.constant(below(6) - 1));
      default:
        return constant();
    }
  }
  const Node a = draw(graph, random, depth - 1);
  const Node b = draw(graph, random, depth - 1);
  switch (below(10)) {
    case 0:
      return graph.apply(ScoreOp::kAdd, a, b);
    case 1:
      return graph.apply(ScoreOp::kSubtract, a, b);
    case 2:
      return graph.apply(ScoreOp::kMultiply, a, graph.apply(ScoreOp::kTanh, b));
    case 3:
      return graph.apply(ScoreOp::kDivide, a,
                         graph.apply(ScoreOp::kAdd, constant(), graph.apply(ScoreOp::kMultiply, b, b)));
    case 4:
      return graph.apply(ScoreOp::kExp, graph.apply(ScoreOp::kTanh, a));
    case 5:
      return graph.apply(ScoreOp::kLog, graph.apply(ScoreOp::kAdd, constant(), graph.apply(ScoreOp::kMultiply, a, a)));
    case 6:
      return graph.apply(ScoreOp::kSigmoid, a);
    case 7:
      return graph.apply(ScoreOp::kSelectLess, a, b, graph.apply(ScoreOp::kMultiply, a, b), constant());
    case 8:
      return graph.apply(ScoreOp::kDivide, a, constant());
    default:
      return graph.apply(ScoreOp::kAbs, graph.apply(ScoreOp::kSubtract, a, graph.constant(0.2501)));
  }
}

TEST(ScoreProgram, HasGradientsThatMatchFiniteDifferences) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    SCOPED_TRACE(seed);
    RandomStream random(seed);
    ScoreGraph graph;
    const Node score = draw(graph, random, 1 + static_cast<int>(seed % 5));
    const ScoreProgram program = graph.compile(score, {true, true, true, true});
    Edge edge;
    run_backward(program, edge);
    const std::vector<double> gradients = edge.gradients();
    constexpr double kStep = 1e-6;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      // A column that the function does not read has no output.
      if (std::isnan(gradients[i])) continue;
      Edge above, below;
      *above.numbers()[i] += kStep;
      *below.numbers()[i] -= kStep;
      const double expected = (run_forward(program, above) - run_forward(program, below)) / (2 * kStep);
      ASSERT_NEAR(gradients[i], expected, 1e-6 + 1e-5 * std::abs(expected)) << i;
    }
  }
}

TEST(ScoreProgram, ComputesEqualPartsOnce) {
  ScoreGraph graph;
  const Node once = graph.apply(ScoreOp::kTanh, graph.product());
  const Node again = graph.apply(ScoreOp::kTanh, graph.product());
  const ScoreProgram program = graph.compile(graph.apply(ScoreOp::kMultiply, once, again), {});

  EXPECT_EQ(once, again);
  EXPECT_EQ(program.forward.instructions.size(), 3u);  // product, tanh, square
  EXPECT_EQ(program.forward.num_registers, 1);
}

TEST(ScoreProgram, FoldsConstants) {
  ScoreGraph graph;
  const Node fifty = graph.constant(50);
  const Node inner = graph.apply(ScoreOp::kDivide, graph.product(), graph.apply(ScoreOp::kMultiply, fifty, fifty));
  const Node outer = graph.apply(ScoreOp::kAdd, inner, graph.apply(ScoreOp::kSubtract, fifty, fifty));
  const ScoreProgram program = graph.compile(outer, {});

  ASSERT_EQ(program.forward.instructions.size(), 2u);
  EXPECT_EQ(program.forward.instructions[1].op, ScoreOp::kMultiply);
  EXPECT_EQ(program.forward.constants, std::vector<double>{1.0 / 2500});
}

TEST(ScoreProgram, NeedsNoProductBackwardIfTheScoreOnlyAddsToIt) {
  ScoreGraph graph;
  const Node sum = graph.apply(ScoreOp::kAdd, graph.product(), graph.column(0));
  EXPECT_FALSE(graph.compile(sum, {true}).backward_reads_product);
  EXPECT_TRUE(graph.compile(graph.apply(ScoreOp::kTanh, sum), {true}).backward_reads_product);
}

TEST(ScoreProgram, StoresNothingBeforeItReadsTheGradient) {
  ScoreGraph graph;
  const Node zero = graph.constant(0);  // the gradient of the product, too
  const Node relu = graph.apply(ScoreOp::kSelectLess, zero, graph.column(0), graph.column(0), zero);
  const ScoreProgram program = graph.compile(relu, {true});

  bool has_gradient = false;
  for (const ScoreInstruction& instruction : program.backward.instructions) {
    if (instruction.op == ScoreOp::kGradient) has_gradient = true;
    EXPECT_TRUE(instruction.op != ScoreOp::kStore || has_gradient);
  }
  EXPECT_TRUE(has_gradient);
}

TEST(ScoreProgram, MayBeAConstant) {
  ScoreGraph graph;
  const ScoreProgram program = graph.compile(graph.constant(3), {});
  Edge edge;

  EXPECT_EQ(run_forward(program, edge), 3);
  run_backward(program, edge);
  EXPECT_EQ(edge.grad_product, 0);
}

TEST(ScoreProgram, IsMadeOfNumbers) {
  auto node = [](ScoreOp op, std::int64_t column = 0, std::vector<std::int64_t> arguments = {}) {
    arguments.resize(4);
    std::vector<std::int64_t> numbers = {static_cast<std::int64_t>(op), column};
    numbers.insert(numbers.end(), arguments.begin(), arguments.end());
    return numbers;
  };
  std::vector<std::int64_t> code;
  for (const auto& numbers : {node(ScoreOp::kProduct), node(ScoreOp::kConstant), node(ScoreOp::kColumn, 2),
                              node(ScoreOp::kMultiply, 0, {0, 1}), node(ScoreOp::kLookup, kTable, {1}),
                              node(ScoreOp::kAdd, 0, {3, 2}), node(ScoreOp::kSubtract, 0, {5, 4})}) {
    code.insert(code.end(), numbers.begin(), numbers.end());
  }
  const std::vector<double> constants = {0, 2, 0, 0, 0, 0, 0};
  const std::vector<bool> needs_gradient(4, true);
  const ScoreProgram program = compile_score_code("attend", code, constants, needs_gradient);
  Edge edge;

  EXPECT_DOUBLE_EQ(run_forward(program, edge), 2 * 0.7 + 0.9 - 0.8);
  run_backward(program, edge);
  EXPECT_EQ(edge.grad_product, 2);
  EXPECT_EQ(edge.grad_columns[2], 1);
  EXPECT_EQ(edge.grad_table[2], -1);

  auto error = [&](std::vector<std::int64_t> bad) {
    const std::vector<double> no_constants(bad.size() / 6);
    return error_of([&] { compile_score_code("attend", bad, no_constants, needs_gradient); });
  };
  EXPECT_EQ(error({}), "attend: score code has 0 numbers, needs 6 for each node");
  EXPECT_EQ(error(node(ScoreOp::kColumn, 4)),
            "attend: node 0 of the score code has column 4, needs a number from 0 to below 4");
  EXPECT_EQ(error(node(ScoreOp::kExp, 0, {0})),
            "attend: node 0 of the score code has argument 0, needs a number from 0 to below 0");
  EXPECT_EQ(error(node(ScoreOp::kStore)),
            "attend: node 0 of the score code has operation 18, needs a number from 0 to below 18");
  EXPECT_EQ(error(node(ScoreOp::kGradient)),
            "attend: node 0 of the score code is a gradient, needs a function or an input");
}

TEST(ScoreProgram, UsesRegistersAgain) {
  ScoreGraph graph;
  Node sum = graph.product();
  for (int i = 0; i < 100; ++i) sum = graph.apply(ScoreOp::kTanh, graph.apply(ScoreOp::kAdd, sum, graph.column(i % 3)));

  EXPECT_LE(graph.compile(sum, {false, false, false}).forward.num_registers, 5);
}

}  // namespace
}  // namespace edgewise::kernels

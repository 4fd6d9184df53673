// SPDX-License-Identifier: Apache-2.0
#include "edgewise/nn/halting.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "edgewise/base/random.h"
#include "tests/nn/tensors.h"
#include "tests/support/gradient_check.h"

namespace edgewise {
namespace {

/// The result of adaptive computation time (ACT) for one node, by the scalar formulas of Graves (2016).
struct ScalarResult {
  std::vector<double> weights;
  double remainder = 0;
  std::int64_t steps = 0;
};

ScalarResult simulate(const std::vector<double>& halting, double epsilon) {
  ScalarResult result;
  double sum = 0;
  for (std::size_t n = 0; n < halting.size(); ++n) {
    const bool ends = sum + halting[n] >= 1.0 - epsilon || n + 1 == halting.size();
    result.weights.push_back(ends ? 1.0 - sum : halting[n]);
    ++result.steps;
    if (ends) {
      result.remainder = 1.0 - sum;
      break;
    }
    sum += halting[n];
  }
  return result;
}

/// The result of HaltingState for all nodes.
struct PonderResult {
  std::vector<std::vector<double>> weights;  // [nodes][steps], zeros after the last step of a node
  std::vector<std::int64_t> steps;
  double cost = 0;
};

/// Runs HaltingState with the halting probabilities of each node: [nodes][steps].
PonderResult ponder(const std::vector<std::vector<double>>& halting, double epsilon) {
  const std::size_t most_steps = halting.front().size();
  HaltingState state(std::ssize(halting), epsilon);
  PonderResult result{std::vector(halting.size(), std::vector<double>(most_steps)), {}, 0};
  for (std::size_t step = 0; step < most_steps && !state.active().empty(); ++step) {
    const std::vector<NodeIndex> active = state.active();
    std::vector<double> probabilities;
    for (const NodeIndex node : active) probabilities.push_back(halting[static_cast<std::size_t>(node)][step]);
    const at::Tensor weights = state.step(at::tensor(probabilities, at::kDouble), step + 1 == most_steps).weight_A;
    for (std::size_t i = 0; i < active.size(); ++i) {
      result.weights[static_cast<std::size_t>(active[i])][step] = weights[static_cast<std::int64_t>(i)].item<double>();
    }
  }
  result.steps = state.steps();
  result.cost = state.cost().item<double>();
  return result;
}

TEST(HaltingState, MatchesTheScalarFormulasForAHundredThousandNodes) {
  constexpr int kNodes = 1000;
  RandomStream random(7);
  for (int round = 0; round < 100; ++round) {
    const std::size_t most_steps = 1 + random.next_below(10);
    const double epsilon = 0.001 + 0.1 * random.uniform();
    const double scale = random.uniform();  // with a small scale, nodes halt only because the last step is reached
    std::vector<std::vector<double>> halting(kNodes, std::vector<double>(most_steps));
    for (auto& node : halting) {
      for (double& h : node) h = scale * random.uniform();
    }
    const PonderResult result = ponder(halting, epsilon);

    double cost = 0;
    for (std::size_t node = 0; node < halting.size(); ++node) {
      const ScalarResult expected = simulate(halting[node], epsilon);
      cost += static_cast<double>(expected.steps) + expected.remainder;
      ASSERT_EQ(result.steps[node], expected.steps);
      for (std::size_t step = 0; step < expected.weights.size(); ++step) {
        ASSERT_NEAR(result.weights[node][step], expected.weights[step], 1e-12);
      }
      const auto& weights = result.weights[node];
      ASSERT_NEAR(std::accumulate(weights.begin(), weights.end(), 0.0), 1.0, 1e-12);
    }
    ASSERT_NEAR(result.cost, cost, 1e-9 * cost);
  }
}

TEST(HaltingState, HasGradientsThatMatchFiniteDifferences) {
  const at::Tensor halting = at::sigmoid(random_tensor({4, 5}, 3));  // [steps, nodes]
  const auto weighted = [](const std::vector<at::Tensor>& x) {
    HaltingState state(5, 0.01);
    at::Tensor sum = at::zeros({}, at::kDouble);
    for (std::int64_t step = 0; step < 4 && !state.active().empty(); ++step) {
      const std::vector<std::int64_t> active(state.active().begin(), state.active().end());
      const at::Tensor probabilities = x[0][step].index_select(0, at::tensor(active));
      sum =
          sum + (state.step(probabilities, step == 3).weight_A * random_tensor({std::ssize(active)}, 10 + step)).sum();
    }
    return sum + 0.3 * state.cost();
  };
  expect_gradients_match(weighted, {halting});
}

TEST(HaltingState, NeedsAProbabilityForEachActiveNode) {
  HaltingState state(3, 0.01);
  EXPECT_EQ(error_of([&] { state.step(at::zeros({2}), false); }),
            "HaltingState::step: halting has 2 probabilities, needs one for each of 3 active nodes");
}

}  // namespace
}  // namespace edgewise

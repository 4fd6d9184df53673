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

/// Adaptive computation time of one node by Graves' formulas, one number after the other.
struct Trajectory {
  std::vector<double> weights;
  double remainder = 0;
  std::int64_t steps = 0;
};

Trajectory simulate(const std::vector<double>& halting, double epsilon) {
  Trajectory trajectory;
  double sum = 0;
  for (std::size_t n = 0; n < halting.size(); ++n) {
    const bool ends = sum + halting[n] >= 1.0 - epsilon || n + 1 == halting.size();
    trajectory.weights.push_back(ends ? 1.0 - sum : halting[n]);
    ++trajectory.steps;
    if (ends) {
      trajectory.remainder = 1.0 - sum;
      break;
    }
    sum += halting[n];
  }
  return trajectory;
}

/// The same of many nodes at once. `halting` has each node's probabilities; weights come back likewise, zeros behind
/// the last.
struct Pondered {
  std::vector<std::vector<double>> weights;
  std::vector<std::int64_t> steps;
  double cost = 0;
};

Pondered ponder(const std::vector<std::vector<double>>& halting, double epsilon) {
  const std::size_t most_steps = halting.front().size();
  Ponder ponder(std::ssize(halting), epsilon);
  Pondered result{std::vector(halting.size(), std::vector<double>(most_steps)), {}, 0};
  for (std::size_t step = 0; step < most_steps && !ponder.active().empty(); ++step) {
    const std::vector<NodeIndex> active = ponder.active();
    std::vector<double> said;
    for (const NodeIndex node : active) said.push_back(halting[static_cast<std::size_t>(node)][step]);
    const at::Tensor weights = ponder.step(at::tensor(said, at::kDouble), step + 1 == most_steps).weight_A;
    for (std::size_t i = 0; i < active.size(); ++i) {
      result.weights[static_cast<std::size_t>(active[i])][step] = weights[static_cast<std::int64_t>(i)].item<double>();
    }
  }
  result.steps = ponder.steps();
  result.cost = ponder.cost().item<double>();
  return result;
}

TEST(Ponder, IsGravesAlgebraOverAHundredThousandTrajectories) {
  constexpr int kNodes = 1000;
  RandomStream random(7);
  for (int round = 0; round < 100; ++round) {
    const std::size_t most_steps = 1 + random.below(10);
    const double epsilon = 0.001 + 0.1 * random.uniform();
    const double scale = random.uniform();  // small ones are forced to halt at the last step
    std::vector<std::vector<double>> halting(kNodes, std::vector<double>(most_steps));
    for (auto& node : halting) {
      for (double& h : node) h = scale * random.uniform();
    }
    const Pondered found = ponder(halting, epsilon);

    double cost = 0;
    for (std::size_t node = 0; node < halting.size(); ++node) {
      const Trajectory expected = simulate(halting[node], epsilon);
      cost += static_cast<double>(expected.steps) + expected.remainder;
      ASSERT_EQ(found.steps[node], expected.steps);
      for (std::size_t step = 0; step < expected.weights.size(); ++step) {
        ASSERT_NEAR(found.weights[node][step], expected.weights[step], 1e-12);
      }
      const auto& weights = found.weights[node];
      ASSERT_NEAR(std::accumulate(weights.begin(), weights.end(), 0.0), 1.0, 1e-12);
    }
    ASSERT_NEAR(found.cost, cost, 1e-9 * cost);
  }
}

TEST(Ponder, HasGradientsThatMatchFiniteDifferences) {
  const at::Tensor halting = at::sigmoid(random_tensor({4, 5}, 3));  // [steps, nodes]
  const auto weighted = [](const std::vector<at::Tensor>& x) {
    Ponder ponder(5, 0.01);
    at::Tensor sum = at::zeros({}, at::kDouble);
    for (std::int64_t step = 0; step < 4 && !ponder.active().empty(); ++step) {
      const std::vector<std::int64_t> active(ponder.active().begin(), ponder.active().end());
      const at::Tensor said = x[0][step].index_select(0, at::tensor(active));
      sum = sum + (ponder.step(said, step == 3).weight_A * random_tensor({std::ssize(active)}, 10 + step)).sum();
    }
    return sum + 0.3 * ponder.cost();
  };
  expect_gradients_match(weighted, {halting});
}

TEST(Ponder, WantsAProbabilityOfEachActiveNode) {
  Ponder ponder(3, 0.01);
  EXPECT_EQ(error_of([&] { ponder.step(at::zeros({2}), false); }),
            "Ponder::step: halting has 2 probabilities, needs one for each of 3 active nodes");
}

}  // namespace
}  // namespace edgewise

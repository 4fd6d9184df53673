// SPDX-License-Identifier: Apache-2.0
// Compares attention with random score functions with its definition, on thousands of random relations.
#include <functional>
#include <map>
#include <vector>

#include "edgewise/base/threads.h"
#include "tests/ops/random_attend.h"

namespace edgewise {
namespace {

/// The columns and tables that a random score function may read.
struct ScoreTensors {
  at::Tensor edges_E, edges_EH, sources_S, sources_SH, destinations_D, destinations_DH, heads_H, table_T, table_TH;
  at::Tensor kinds_E;  // integers

  std::vector<at::Tensor*> list() {
    return {&edges_E,         &edges_EH, &sources_S, &sources_SH, &destinations_D,
            &destinations_DH, &heads_H,  &table_T,   &table_TH};
  }
};

/// Draws a score function. The same random numbers give the same function of other tensors. Values stay small, and in
/// types with rounding errors no comparison has two sides that are nearly equal.
class RandomScore {
 public:
  RandomScore(std::uint64_t number, const ScoreTensors& tensors, bool is_exact)
      : random_(/*seed=*/23, number), tensors_(tensors), is_exact_(is_exact) {}

  Score draw() {
    Score result = draw_value(static_cast<int>(1 + below(4))) + weight() * Score::product();
    // A tensor that only a comparison reads would have no gradient in autograd's graph.
    const ScoreTensors& t = tensors_;
    auto add = [&](const at::Tensor& tensor, const Score& term) {
      if (used_.contains(&tensor)) result = result + 0.1 * term;
    };
    for (const at::Tensor* x : {&t.edges_E, &t.edges_EH}) add(*x, Score::of_edges(*x));
    for (const at::Tensor* x : {&t.sources_S, &t.sources_SH}) add(*x, Score::of_sources(*x));
    for (const at::Tensor* x : {&t.destinations_D, &t.destinations_DH}) add(*x, Score::of_destinations(*x));
    add(t.heads_H, Score::of_heads(t.heads_H));
    for (const at::Tensor* x : {&t.table_T, &t.table_TH}) add(*x, Score::lookup(*x, 0.0));
    return result;
  }

  /// Returns the tensors that the function reads.
  const std::map<const at::Tensor*, bool>& used() const { return used_; }

 private:
  std::uint64_t below(std::uint64_t end) { return random_.next_below(end); }
  double weight() { return 0.25 * static_cast<double>(1 + below(6)); }

  const at::Tensor& use(const at::Tensor& tensor) {
    used_[&tensor] = true;
    return tensor;
  }

  Score draw_leaf() {
    switch (below(11)) {
      case 0:
      case 1:
        return Score::product();
      case 2:
        return Score::of_edges(use(below(2) == 0 ? tensors_.edges_E : tensors_.edges_EH));
      case 3:
        return Score::of_sources(use(below(2) == 0 ? tensors_.sources_S : tensors_.sources_SH));
      case 4:
        return Score::of_destinations(use(below(2) == 0 ? tensors_.destinations_D : tensors_.destinations_DH));
      case 5:
        return Score::of_heads(use(tensors_.heads_H));
      case 6:
        return 0.1 * clamp(Score::distance(), -20.5, 20.5);
      case 7:
        return weight() - 0.6;
      default:
        return Score::lookup(use(below(2) == 0 ? tensors_.table_T : tensors_.table_TH), draw_integer());
    }
  }

  /// Returns a function whose values are integers, or halves and quarters of integers.
  Score draw_integer() {
    switch (below(6)) {
      case 0:
        return abs(Score::distance()) / 2;
      case 1:
        return Score::of_edges(tensors_.kinds_E);
      case 2:
        return Score::of_edges(tensors_.kinds_E) + 0.5 * Score::distance();
      case 3:
        return floor(Score::source() / 4) - floor(Score::destination() / 4);
      case 4:
        return Score::distance() + 3;
      default:
        return max(Score::of_edges(tensors_.kinds_E), Score::distance() / 4);
    }
  }

  Score draw_condition(int depth) {
    if (is_exact_ && below(2) == 0) {
      const Score a = draw_value(depth);
      const Score b = draw_value(depth);
      return below(2) == 0 ? a < b : a >= b;
    }
    const Score a = draw_integer();
    const Score b = draw_integer();
    switch (below(5)) {
      case 0:
        return a == b;
      case 1:
        return a != b;
      case 2:
        return a < b;
      case 3:
        return a <= b;
      default:
        return a > b;
    }
  }

  Score draw_value(int depth) {
    if (depth == 0) return draw_leaf();
    const Score a = draw_value(depth - 1);
    switch (below(is_exact_ ? 14 : 11)) {
      case 0:
        return 0.7 * (a + draw_value(depth - 1));
      case 1:
        return 0.7 * (a - draw_value(depth - 1));
      case 2:
        return a * tanh(draw_value(depth - 1));
      case 3: {
        const Score b = draw_value(depth - 1);
        return a / (1.5 + b * b);
      }
      case 4:
        return exp(tanh(a));
      case 5:
        return log(1.5 + a * a);
      case 6:
        return tanh(a);
      case 7:
        return sigmoid(a) - 0.25;
      case 8:
        return where(draw_condition(depth - 1), a, draw_value(depth - 1));
      case 9:
        return a * (0.5 + draw_condition(depth - 1));
      case 10:
        return -a;
      case 11:
        return below(2) == 0 ? min(a, draw_value(depth - 1)) : max(a, draw_value(depth - 1));
      case 12:
        return clamp(a, -0.5, 0.75) + abs(a);
      default:
        return leaky_relu(a, 0.2) + relu(0.3 - a);
    }
  }

  RandomStream random_;
  const ScoreTensors& tensors_;
  bool is_exact_;
  std::map<const at::Tensor*, bool> used_;
};

ScoreTensors draw_tensors(const Relation& relation, std::int64_t heads, std::uint64_t number, at::ScalarType type) {
  const at::ScalarType column_type = type == at::kBFloat16 ? at::kFloat : type;
  auto column = [&](at::IntArrayRef sizes, std::uint64_t seed) {
    return normal(sizes, 10 * number + seed, column_type);
  };
  const std::int64_t table_size = 1 + static_cast<std::int64_t>(number % 7);
  return {.edges_E = column({relation.num_edges()}, 0),
          .edges_EH = column({relation.num_edges(), heads}, 1),
          .sources_S = column({relation.num_sources()}, 2),
          .sources_SH = column({relation.num_sources(), heads}, 3),
          .destinations_D = column({relation.num_destinations()}, 4),
          .destinations_DH = column({relation.num_destinations(), heads}, 5),
          .heads_H = column({heads}, 6),
          .table_T = column({table_size}, 7),
          .table_TH = column({table_size, heads}, 8),
          .kinds_E = (3 * column({relation.num_edges()}, 9)).to(at::kLong)};
}

void expect_definition_of_random_scores(std::uint64_t begin, std::uint64_t end, at::ScalarType type) {
  const int threads_before = num_threads();
  for (std::uint64_t number = begin; number < end && !testing::Test::HasFailure(); ++number) {
    SCOPED_TRACE(number);
    RandomAttend random(number);
    const Relation relation = random.draw_relation();
    AttentionOptions options = random.draw_options();
    options.clamp = {};
    Tensors inputs = random.draw_inputs(relation, type);
    inputs.resize(3);
    const std::int64_t heads = inputs[0].size(1);
    ScoreTensors tensors = draw_tensors(relation, heads, number, type);
    const bool is_exact = type == at::kDouble;
    RandomScore first(number, tensors, is_exact);
    first.draw();
    std::vector<std::size_t> used;
    for (std::size_t i = 0; i < tensors.list().size(); ++i) {
      if (first.used().contains(tensors.list()[i])) used.push_back(i);
    }
    for (const std::size_t i : used) inputs.push_back(*tensors.list()[i]);

    auto options_with = [&](const Tensors& x) {
      ScoreTensors replaced = tensors;
      for (std::size_t i = 0; i < used.size(); ++i) *replaced.list()[used[i]] = x[3 + i];
      AttentionOptions result = options;
      result.score = RandomScore(number, replaced, is_exact).draw();
      return result;
    };
    std::vector<double> rounding = rounding_errors(relation, options, inputs);
    // The gradient of a column adds up those of many scores.
    const double of_sums = 40 * rounding.back() * std::sqrt(static_cast<double>(relation.num_edges()));
    for (std::size_t i = 1; i < 3; ++i) rounding[i] *= 8;
    rounding.resize(1 + inputs.size(), of_sums);
    for (std::size_t i = 4; i < rounding.size(); ++i) rounding[i] = of_sums;

    set_num_threads(static_cast<int>(1 + random.below(3)));
    const auto sets = kernels::runnable_instruction_sets();
    const kernels::ForcedInstructionSet forced(sets[static_cast<std::size_t>(random.below(std::ssize(sets)))]);
    expect_matches([&](const Tensors& x) { return attend(relation, x[0], x[1], x[2], options_with(x)); },
                   [&](const Tensors& x) { return attend_plain(relation, x[0], x[1], x[2], options_with(x)); }, inputs,
                   rounding, OnInstructionSets::kForced);
  }
  set_num_threads(threads_before);
}

TEST(RandomScores, MatchTheirDefinitionInFloat) { expect_definition_of_random_scores(0, 5000, at::kFloat); }

TEST(RandomScores, MatchTheirDefinitionInBFloat16) { expect_definition_of_random_scores(5000, 7500, at::kBFloat16); }

TEST(RandomScores, MatchTheirDefinitionInDouble) { expect_definition_of_random_scores(7500, 10'000, at::kDouble); }

}  // namespace
}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/attention/node_attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "edgewise/base/random.h"
#include "edgewise/kernels/simd/instruction_set.h"
#include "tests/kernels/not_written.h"

namespace edgewise::kernels {
namespace {

struct Shape {
  std::int64_t num_heads, head_size;
};

enum class Bias { kNone, kSlopes, kTable, kPositions };

/// Rows with sources in any order, some of which several rows share. T is the type of keys and values.
template <typename T>
class Problem {
 public:
  Problem(const Shape& shape, bool is_additive, Bias bias = Bias::kNone, std::int64_t group_size = 1)
      : shape_(shape), is_additive_(is_additive), bias_(bias), group_size_(group_size) {
    RandomStream random(/*seed=*/4);
    const std::int64_t size = shape.num_heads * shape.head_size;
    for (std::int64_t i = 0; i < kSources * 2 * size; ++i) memory_.push_back(T(normal(random)));
    for (std::int64_t i = 0; i < size; ++i) vector_.push_back(normal(random));
    for (const std::int64_t count : {1, 0, 2, 5, 16, 33}) ranges_.push_back({append_sources(count, random), count});
    // The next rows share their sources, as hypotheses of a sentence do.
    for (std::int64_t row = 6; row < 11; ++row) ranges_.push_back(ranges_[4]);
    // The next rows are a part of a text: each has the sources of the row before and one more.
    const std::int64_t text = append_sources(24, random);
    for (std::int64_t row = 0; row < 9; ++row) ranges_.push_back({text, 16 + row});
    // The next rows are windows over a text, which begin with the same two sources; then windows without these.
    for (std::int64_t row = 0; row < 9; ++row) {
      ranges_.push_back({std::ssize(order_), 13});
      order_.insert(order_.end(), {order_[static_cast<std::size_t>(text)], order_[static_cast<std::size_t>(text) + 1]});
      for (std::int64_t i = 0; i < 11; ++i) order_.push_back(order_[static_cast<std::size_t>(text + 2 + row + i)]);
    }
    for (std::int64_t row = 0; row < 8; ++row) ranges_.push_back({text + row, 12});
    // The last rows have two texts of different lengths: some of these rows share sources, others do not.
    for (std::int64_t row = 0; row < 2; ++row) ranges_.push_back({text, 3 + row});
    const std::int64_t other = append_sources(9, random);
    for (std::int64_t row = 0; row < 3; ++row) ranges_.push_back({other, 7 + row});
    for (std::int64_t i = 0; i < num_rows() * (group_size * size + kGap); ++i) query_.push_back(normal(random));
    for (std::int64_t row = 0; row < num_rows(); ++row) row_positions_.push_back(row * 3 % 7);
    for (std::size_t i = 0; i < order_.size(); ++i) source_positions_.push_back(static_cast<std::int32_t>(i * 5 % 11));
    const std::int64_t lanes = score_bias_lanes(shape.num_heads);
    for (std::int64_t i = 0; i < (2 * kMaxDistance + 2) * group_size * lanes; ++i) {
      const std::int64_t head = i % lanes;
      biases_.push_back(head < shape.num_heads ? normal(random)
                                               : biases_[static_cast<std::size_t>(i - shape.num_heads)]);
    }
  }

  std::int64_t num_rows() const { return std::ssize(ranges_); }

  struct Result {
    std::vector<float> out;
    std::vector<std::vector<float>> weights;
  };

  template <class Run>
  Result run(float clamp, Run&& run) const {
    const std::int64_t size = shape_.num_heads * shape_.head_size;
    Result result = {not_written(num_rows() * group_size_ * size), {}};
    std::vector<float*> weights;
    for (std::int64_t row = 0; row < num_rows() * group_size_; ++row) {
      result.weights.push_back(
          not_written(ranges_[static_cast<std::size_t>(row / group_size_)].count * shape_.num_heads));
    }
    for (auto& row : result.weights) weights.push_back(row.data());
    std::vector<const T*> sources;
    for (const std::int64_t source : order_) sources.push_back(memory_.data() + source * 2 * size);
    ScoreBias bias = {.slopes = biases_.data()};
    if (bias_ != Bias::kSlopes) {
      bias = {.table = biases_.data() + group_size_ * score_bias_lanes(shape_.num_heads), .max_distance = kMaxDistance};
    }
    run(NodeAttention<T>{.rows = num_rows() * group_size_,
                         .num_heads = shape_.num_heads,
                         .head_size = shape_.head_size,
                         .ranges = ranges_.data(),
                         .sources = sources.data(),
                         .key_offset = size,
                         .value_offset = 0,
                         .query = query_.data(),
                         .query_stride = group_size_ * size + kGap,
                         .out = result.out.data(),
                         .scale = 0.3f,
                         .clamp = clamp,
                         .score_vector = is_additive_ ? vector_.data() : nullptr,
                         .weights = weights.data(),
                         .bias = bias_ == Bias::kNone ? nullptr : &bias,
                         .node_positions = row_positions_.data(),
                         .source_positions = bias_ == Bias::kPositions ? source_positions_.data() : nullptr,
                         .group_size = group_size_});
    return result;
  }

 private:
  static constexpr std::int64_t kSources = 20;
  static constexpr std::int64_t kGap = 7;          // between the queries of two nodes
  static constexpr std::int64_t kMaxDistance = 4;  // some rows and sources are farther
  static float normal(RandomStream& random) { return static_cast<float>(random.normal()); }

  /// Appends `count` random sources, and returns the place of the first.
  std::int64_t append_sources(std::int64_t count, RandomStream& random) {
    const std::int64_t begin = std::ssize(order_);
    for (std::int64_t i = 0; i < count; ++i) order_.push_back(static_cast<std::int64_t>(random.next_below(kSources)));
    return begin;
  }

  Shape shape_;
  bool is_additive_;
  Bias bias_;
  std::int64_t group_size_;
  std::vector<float> biases_;  // slopes, then a table
  std::vector<std::int64_t> row_positions_;
  std::vector<std::int32_t> source_positions_;
  std::vector<T> memory_;
  std::vector<float> query_, vector_;
  std::vector<std::int64_t> order_;
  std::vector<SourceRange> ranges_;
};

template <typename T>
class NodeAttentionOf : public testing::Test {};
using Elements = testing::Types<float, BFloat16>;
TYPED_TEST_SUITE(NodeAttentionOf, Elements);

void expect_near(const std::vector<float>& actual, const std::vector<float>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(actual[i], expected[i], 2e-5f) << "at " << i;
}

TYPED_TEST(NodeAttentionOf, MatchesTheReferenceOnEveryInstructionSet) {
  for (const InstructionSet set : runnable_instruction_sets()) {
    const ForcedInstructionSet forced(set);
    for (const Shape& shape : {Shape{1, 16}, {2, 8}, {4, 32}, {8, 64}, {16, 3}, {32, 2}, {64, 1}}) {
      for (const bool is_additive : {false, true}) {
        for (const float clamp : {0.5f, std::numeric_limits<float>::infinity()}) {
          SCOPED_TRACE(std::string(instruction_set_name(set)) + ", " + std::to_string(shape.num_heads) + " heads of " +
                       std::to_string(shape.head_size) + (is_additive ? ", additive" : "") +
                       (clamp < 1 ? ", clamped" : ""));
          const Problem<TypeParam> problem(shape, is_additive);
          const auto expected =
              problem.run(clamp, [](const NodeAttention<TypeParam>& p) { reference::node_attention(p); });
          const auto actual = problem.run(clamp, [](const NodeAttention<TypeParam>& p) { node_attention(p); });
          expect_near(actual.out, expected.out);
          for (std::size_t row = 0; row < actual.weights.size(); ++row) {
            expect_near(actual.weights[row], expected.weights[row]);
          }
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
}

TYPED_TEST(NodeAttentionOf, AddsNumbersByDistanceAsTheReferenceOnEveryInstructionSet) {
  for (const InstructionSet set : runnable_instruction_sets()) {
    const ForcedInstructionSet forced(set);
    for (const Shape& shape : {Shape{1, 16}, {2, 8}, {8, 64}, {16, 3}, {32, 2}}) {
      for (const Bias bias : {Bias::kSlopes, Bias::kTable, Bias::kPositions}) {
        for (const float clamp : {0.5f, std::numeric_limits<float>::infinity()}) {
          SCOPED_TRACE(std::string(instruction_set_name(set)) + ", " + std::to_string(shape.num_heads) + " heads, " +
                       std::to_string(static_cast<int>(bias)));
          const Problem<TypeParam> problem(shape, /*is_additive=*/false, bias, shape.num_heads == 8 ? 3 : 1);
          const auto expected =
              problem.run(clamp, [](const NodeAttention<TypeParam>& p) { reference::node_attention(p); });
          const auto actual = problem.run(clamp, [](const NodeAttention<TypeParam>& p) { node_attention(p); });
          expect_near(actual.out, expected.out);
          for (std::size_t row = 0; row < actual.weights.size(); ++row) {
            expect_near(actual.weights[row], expected.weights[row]);
          }
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
}

TYPED_TEST(NodeAttentionOf, SharesTheSourcesOfANodeBetweenItsRows) {
  for (const InstructionSet set : runnable_instruction_sets()) {
    const ForcedInstructionSet forced(set);
    for (const std::int64_t group_size : {2, 3, 4, 8}) {
      const Problem<TypeParam> problem({2, 8}, /*is_additive=*/false, Bias::kNone, group_size);
      const float infinity = std::numeric_limits<float>::infinity();
      const auto expected =
          problem.run(infinity, [](const NodeAttention<TypeParam>& p) { reference::node_attention(p); });
      const auto actual = problem.run(infinity, [](const NodeAttention<TypeParam>& p) { node_attention(p); });
      expect_near(actual.out, expected.out);
      for (std::size_t row = 0; row < actual.weights.size(); ++row)
        expect_near(actual.weights[row], expected.weights[row]);
    }
  }
}

TYPED_TEST(NodeAttentionOf, GivesARowTheSameBitsAloneAndBesideOtherRows) {
  for (const InstructionSet set : runnable_instruction_sets()) {
    const ForcedInstructionSet forced(set);
    for (const bool is_additive : {false, true}) {
      const Problem<TypeParam> problem({4, 36}, is_additive);
      const auto together = problem.run(1.0f, [](const NodeAttention<TypeParam>& p) { node_attention(p); });
      const auto alone = problem.run(1.0f, [](const NodeAttention<TypeParam>& all) {
        for (std::int64_t row = 0; row < all.rows; ++row) {
          NodeAttention<TypeParam> one = all;
          one.rows = 1;
          one.ranges += row;
          one.query += row * all.query_stride;
          one.out += row * all.num_heads * all.head_size;
          one.weights += row;
          node_attention(one);
        }
      });
      EXPECT_EQ(together.out, alone.out);
      EXPECT_EQ(together.weights, alone.weights);
    }
  }
}

}  // namespace
}  // namespace edgewise::kernels

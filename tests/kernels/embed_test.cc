// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/embedding/embed.h"

#include <gtest/gtest.h>

#include <vector>

#include "edgewise/base/random.h"
#include "edgewise/base/threads.h"
#include "edgewise/kernels/simd/instruction_set.h"
#include "tests/kernels/not_written.h"

namespace edgewise::kernels {
namespace {

constexpr std::int64_t kVocabulary = 9;
constexpr std::int64_t kPositions = 6;

std::vector<float> normal(std::int64_t count, std::uint64_t seed) {
  RandomStream random(seed);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = static_cast<float>(random.normal());
  return values;
}

std::vector<std::int64_t> indices(std::int64_t count, std::int64_t bound, std::uint64_t seed) {
  RandomStream random(seed);
  std::vector<std::int64_t> values(static_cast<std::size_t>(count));
  for (std::int64_t& value : values)
    value = static_cast<std::int64_t>(random.next_below(static_cast<std::uint64_t>(bound)));
  return values;
}

struct Case {
  std::int64_t tokens;
  std::int64_t size;
  float scale = 1.0f;
  double dropout = 0.0;
  bool has_positions = true;
  double word_dropout = 0.0;
};

struct Results {
  std::vector<float> out;
  std::vector<float> grad_weight;
};

Results run(const Case& c, bool reference) {
  const auto tokens = indices(c.tokens, kVocabulary, 1);
  const auto positions = indices(c.tokens, kPositions, 2);
  const auto weight = normal(kVocabulary * c.size, 3);
  const auto table = normal(kPositions * c.size, 4);
  const auto grad_out = normal(c.tokens * c.size, 5);
  Results r = {not_written(grad_out.size()), /*grad_weight, which backward adds to=*/weight};
  const EmbedForward<float> forward = {.weight = weight.data(),
                                       .tokens = tokens.data(),
                                       .position_table = c.has_positions ? table.data() : nullptr,
                                       .positions = c.has_positions ? positions.data() : nullptr,
                                       .out = r.out.data(),
                                       .num_tokens = c.tokens,
                                       .size = c.size,
                                       .scale = c.scale,
                                       .dropout = {c.dropout, 6, 7},
                                       .word_dropout = {c.word_dropout, 6, 8}};
  const EmbedBackward<float> backward = {.tokens = tokens.data(),
                                         .grad_out = grad_out.data(),
                                         .grad_weight = r.grad_weight.data(),
                                         .num_tokens = c.tokens,
                                         .size = c.size,
                                         .scale = c.scale,
                                         .dropout = {c.dropout, 6, 7},
                                         .word_dropout = {c.word_dropout, 6, 8}};
  reference ? reference::embed_forward(forward) : embed_forward(forward);
  reference ? reference::embed_backward(backward) : embed_backward(backward);
  return r;
}

void expect_bits_of_reference(const Case& c) {
  const Results actual = run(c, /*reference=*/false);
  const Results expected = run(c, /*reference=*/true);
  ASSERT_EQ(actual.out, expected.out) << c.tokens << " tokens of " << c.size;
  ASSERT_EQ(actual.grad_weight, expected.grad_weight) << c.tokens << " tokens of " << c.size;
}

TEST(Embed, GivesTheBitsOfTheReferenceOnEveryInstructionSet) {
  for (const InstructionSet set : runnable_instruction_sets()) {
    const ForcedInstructionSet forced(set);
    SCOPED_TRACE(instruction_set_name(set));
    for (const std::int64_t size : {1, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 64, 65, 512, 1025}) {
      expect_bits_of_reference({12, size, 1.7f, 0.3});
      expect_bits_of_reference({12, size});
      expect_bits_of_reference({12, size, 1.7f, 0.0, /*has_positions=*/false});
      expect_bits_of_reference({12, size, 1.7f, 0.3, /*has_positions=*/true, /*word_dropout=*/0.4});
    }
    for (const std::int64_t tokens : {0, 1, 2, 3000}) expect_bits_of_reference({tokens, 40, 0.5f, 0.1});
  }
}

TEST(Embed, GivesTheSameBitsForAnyNumberOfThreads) {
  const int threads_before = num_threads();
  const Case c = {3000, 100, 2.0f, 0.1, true, 0.2};
  set_num_threads(1);
  const Results expected = run(c, /*reference=*/false);
  for (const int threads : {2, 3, 7}) {
    set_num_threads(threads);
    const Results actual = run(c, /*reference=*/false);
    EXPECT_EQ(actual.out, expected.out);
    EXPECT_EQ(actual.grad_weight, expected.grad_weight);
  }
  set_num_threads(threads_before);
}

}  // namespace
}  // namespace edgewise::kernels

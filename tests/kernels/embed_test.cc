// SPDX-License-Identifier: Apache-2.0
#include "edgewise/kernels/embedding/embed.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/kernels/implementations.h"
#include "tests/kernels/random_numbers.h"

namespace edgewise::kernels {
namespace {

constexpr std::int64_t kVocabulary = 9;
constexpr std::int64_t kPositions = 6;

struct Case {
  std::int64_t tokens;
  std::int64_t size;
  double dropout = 0.0;
  bool has_positions = true;
  double word_dropout = 0.0;
  float scale = 1.7f;
  bool has_cut = false;  // every third token is kNoToken
};

/// The tokens grouped, where a kernel for GPUs reads them.
struct GroupArrays {
  explicit GroupArrays(const TokenGroups& groups) : rows(groups.rows), begin(groups.begin), tokens(groups.tokens) {}

  TokenGroupsView view() const { return {rows.data(), begin.data(), tokens.data(), std::ssize(rows)}; }

  Array<std::int64_t> rows;
  Array<std::int32_t> begin;
  Array<std::int32_t> tokens;
};

struct Results {
  std::vector<float> out;
  std::vector<float> grad_weight;

  friend bool operator==(const Results&, const Results&) = default;
};

class Problem {
 public:
  explicit Problem(const Case& c)
      : case_(c),
        tokens_(random_indices<std::int64_t>(c.tokens, kVocabulary, 1)),
        positions_(random_indices<std::int64_t>(c.tokens, kPositions, 2)),
        weight_(normal_numbers<float>(kVocabulary * c.size, 3)),
        table_(normal_numbers<float>(kPositions * c.size, 4)),
        grad_out_(normal_numbers<float>(c.tokens * c.size, 5)) {
    for (std::size_t i = 1; c.has_cut && i < tokens_.size(); i += 3) tokens_[i] = kNoToken;
  }

  Results run() const {
    const Array<std::int64_t> tokens(tokens_), positions(positions_);
    const Array<float> weight(weight_), table(table_), grad_out(grad_out_);
    Array<float> out(grad_out_.size());
    Array<float> grad_weight(weight_);  // backward adds to it
    call_kernel([&](auto... stream) {
      embed_forward(forward(weight.data(), tokens.data(), table.data(), positions.data(), out.data()), stream...);
    });
    if constexpr (kTestsGpu) {
      const GroupArrays groups(group_tokens(tokens_));
      embed_backward(backward(nullptr, grad_out.data(), grad_weight.data()), groups.view(), device::Stream());
    } else {
      embed_backward(backward(tokens.data(), grad_out.data(), grad_weight.data()));
    }
    return {out.read(), grad_weight.read()};
  }

  Results run_reference() const {
    Results r = {std::vector<float>(grad_out_.size()), weight_};
    reference::embed_forward(forward(weight_.data(), tokens_.data(), table_.data(), positions_.data(), r.out.data()));
    reference::embed_backward(backward(tokens_.data(), grad_out_.data(), r.grad_weight.data()));
    return r;
  }

 private:
  EmbedForward<float> forward(const float* weight, const std::int64_t* tokens, const float* table,
                              const std::int64_t* positions, float* out) const {
    return {.weight = weight,
            .tokens = tokens,
            .position_table = case_.has_positions ? table : nullptr,
            .positions = case_.has_positions ? positions : nullptr,
            .out = out,
            .num_tokens = case_.tokens,
            .size = case_.size,
            .scale = case_.scale,
            .dropout = {case_.dropout, 6, 7},
            .word_dropout = {case_.word_dropout, 6, 8}};
  }

  EmbedBackward<float> backward(const std::int64_t* tokens, const float* grad_out, float* grad_weight) const {
    return {.tokens = tokens,
            .grad_out = grad_out,
            .grad_weight = grad_weight,
            .num_tokens = case_.tokens,
            .size = case_.size,
            .scale = case_.scale,
            .dropout = {case_.dropout, 6, 7},
            .word_dropout = {case_.word_dropout, 6, 8}};
  }

  Case case_;
  std::vector<std::int64_t> tokens_, positions_;
  std::vector<float> weight_, table_, grad_out_;
};

void expect_bits_of_reference(const Case& c) {
  SCOPED_TRACE(std::to_string(c.tokens) + " tokens of " + std::to_string(c.size));
  const Problem problem(c);
  const Results actual = problem.run();
  const Results expected = problem.run_reference();
  ASSERT_EQ(actual.out, expected.out);
  ASSERT_EQ(actual.grad_weight, expected.grad_weight);
}

// Around the vectors of each instruction set, and the chunks and strips of a warp; the emulator is slow.
const std::vector<std::int64_t> kSizes =
    kTestsGpu ? std::vector<std::int64_t>{1, 3, 4, 7, 33, 128, 129, 512, 516, 1025}
              : std::vector<std::int64_t>{1, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 64, 65, 512, 1025};

TEST(Embed, GivesTheBitsOfTheReference) {
  for_implementations([] {
    for (const std::int64_t size : kSizes) {
      expect_bits_of_reference({12, size, 0.3});
      expect_bits_of_reference({12, size, 0.0, true, 0.0, /*scale=*/1.0f});
      expect_bits_of_reference({12, size, 0.0, /*has_positions=*/false});
      expect_bits_of_reference({12, size, 0.3, /*has_positions=*/true, /*word_dropout=*/0.4});
      expect_bits_of_reference({12, size, 0.3, true, /*word_dropout=*/0.4, 1.7f, /*has_cut=*/true});
      expect_bits_of_reference({12, size, 0.0, /*has_positions=*/false, 0.0, 1.7f, /*has_cut=*/true});
    }
    for (const std::int64_t tokens : {0, 1, 2, kTestsGpu ? 300 : 3000}) {
      expect_bits_of_reference({tokens, 40, 0.1, true, 0.0, /*scale=*/0.5f});
    }
  });
}

TEST(Embed, GivesTheSameBitsInEverySchedule) {
  for (const std::int64_t size : {36, 37}) {
    const Problem problem({kTestsGpu ? 50 : 3000, size, 0.1, true, 0.2});
    const Results expected = problem.run();
    for_schedules([&] { EXPECT_EQ(problem.run(), expected); });
  }
}

TEST(TokenGroups, HaveEachTokenOnceInOrder) {
  const TokenGroups groups = group_tokens(std::vector<std::int64_t>{7, 2, 7, 7, 0, 2});

  EXPECT_EQ(groups.rows, (std::vector<std::int64_t>{0, 2, 7}));
  EXPECT_EQ(groups.begin, (std::vector<std::int32_t>{0, 1, 3, 6}));
  EXPECT_EQ(groups.tokens, (std::vector<std::int32_t>{4, 1, 5, 0, 2, 3}));
}

TEST(TokenGroups, AreEmptyWithoutTokens) {
  const TokenGroups groups = group_tokens({});

  EXPECT_EQ(groups.view().num_groups, 0);
  EXPECT_EQ(groups.begin, std::vector<std::int32_t>{0});
}

}  // namespace
}  // namespace edgewise::kernels

// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "edgewise/base/error.h"
#include "edgewise/data/corpus.h"

namespace edgewise {
namespace {

using testing::ThrowsMessage;

std::string letters_of(std::string sentence) {
  std::erase(sentence, ' ');
  return sentence;
}

DataOptions options_of(DataTask task) {
  DataOptions options;
  options.task = task;
  return options;
}

TEST(Synthetic, HasTheTutorialsSizesLengthsAndLetters) {
  const Splits corpus = make_synthetic(options_of(DataTask::kCopy));

  EXPECT_EQ(corpus.train.size(), 9000U);
  EXPECT_EQ(corpus.valid.size(), 1000U);
  EXPECT_EQ(corpus.test.size(), 1000U);

  std::set<char> letters;
  double sum = 0.0;
  double sum_of_squares = 0.0;
  for (const std::string& sentence : corpus.train.inputs) {
    const std::string word = letters_of(sentence);
    letters.insert(word.begin(), word.end());
    sum += static_cast<double>(word.size());
    sum_of_squares += static_cast<double>(word.size() * word.size());
  }
  const double mean = sum / 9000;
  // Five standard errors; rounding adds 1/12 to the variance.
  EXPECT_NEAR(mean, 15.0, 5 * 3.0 / std::sqrt(9000.0));
  EXPECT_NEAR(sum_of_squares / 9000 - mean * mean, 9.0 + 1.0 / 12, 5 * 9.0 * std::sqrt(2.0 / 9000));
  EXPECT_EQ(std::string(letters.begin(), letters.end()), "abcdefghijklmnopqrstuvwxyz");
}

TEST(Synthetic, SeparatesLettersWithSpaces) {
  const Splits corpus = make_synthetic(options_of(DataTask::kCopy));
  for (const std::string& sentence : corpus.valid.inputs) {
    ASSERT_EQ(sentence.size() % 2, 1U);
    for (std::size_t i = 0; i < sentence.size(); ++i) ASSERT_EQ(sentence[i] == ' ', i % 2 == 1) << sentence;
  }
}

TEST(Synthetic, CopiesReversesAndSorts) {
  const Splits copy = make_synthetic(options_of(DataTask::kCopy));
  const Splits reverse = make_synthetic(options_of(DataTask::kReverse));
  const Splits sort = make_synthetic(options_of(DataTask::kSort));
  EXPECT_EQ(copy.test.inputs, copy.test.outputs);
  for (std::size_t i = 0; i < 1000; ++i) {
    const std::string input = letters_of(reverse.test.inputs[i]);
    EXPECT_EQ(letters_of(reverse.test.outputs[i]), std::string(input.rbegin(), input.rend()));

    std::string sorted = letters_of(sort.test.inputs[i]);
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(letters_of(sort.test.outputs[i]), sorted);
  }
}

/// Returns the digits of a number, the least significant one first, as the number. `which` is 0 or 1 in columns.
std::uint64_t number_of(const std::string& sentence, std::size_t width, std::size_t which) {
  std::uint64_t number = 0;
  std::uint64_t weight = 1;
  for (std::size_t i = which; i < sentence.size(); i += width + 1, weight *= 10) {
    number += weight * static_cast<std::uint64_t>(sentence[i] - '0');
  }
  return number;
}

TEST(Synthetic, AddsNumbersThatAreColumnsOfDigits) {
  DataOptions options = options_of(DataTask::kAddition);
  options.length_mean = 5;
  options.length_deviation = 2;
  const Splits corpus = make_synthetic(options);
  int carries = 0;
  int first_shorter = 0;
  for (std::size_t i = 0; i < corpus.train.size(); ++i) {
    const std::string& input = corpus.train.inputs[i];
    const std::string& output = corpus.train.outputs[i];
    SCOPED_TRACE(input);
    ASSERT_GE(input.size(), 5U);
    ASSERT_EQ((input.size() + 1) / 3, (output.size() + 1) / 2);
    ASSERT_TRUE(input.ends_with(" 00"));
    const std::uint64_t first = number_of(input, 2, 0);
    const std::uint64_t second = number_of(input, 2, 1);
    ASSERT_EQ(number_of(output, 1, 0), first + second);
    if (output.back() == '1') ++carries;
    if (first < second) ++first_shorter;
  }
  EXPECT_GT(carries, 800);
  EXPECT_LT(carries, 2000);
  EXPECT_NEAR(first_shorter, 4500, 300);
}

TEST(Synthetic, IsAFunctionOfItsSeed) {
  DataOptions options = options_of(DataTask::kSort);
  const Splits corpus = make_synthetic(options);
  EXPECT_EQ(make_synthetic(options).train.inputs, corpus.train.inputs);
  EXPECT_NE(corpus.valid.inputs, corpus.test.inputs);

  options.train_size = 10;
  EXPECT_EQ(make_synthetic(options).valid.inputs, corpus.valid.inputs);

  options.seed = 2;
  EXPECT_NE(make_synthetic(options).valid.inputs, corpus.valid.inputs);
}

TEST(Synthetic, HasNoEmptySentence) {
  DataOptions options = options_of(DataTask::kCopy);
  options.length_mean = 0.5;
  options.length_deviation = 4.0;
  options.symbols = 1;
  for (const std::string& sentence : make_synthetic(options).train.inputs) ASSERT_EQ(sentence.substr(0, 1), "a");
}

TEST(Synthetic, RejectsInvalidOptions) {
  const auto make_with = [](auto change) {
    return [change] {
      DataOptions options = options_of(DataTask::kCopy);
      change(options);
      make_synthetic(options);
    };
  };
  EXPECT_THAT(make_with([](DataOptions& options) { options.task = DataTask::kText; }),
              ThrowsMessage<Error>("make_synthetic: task is text, needs copy, reverse, sort or addition"));
  EXPECT_THAT(make_with([](DataOptions& options) { options.symbols = 27; }),
              ThrowsMessage<Error>("make_synthetic: symbols is 27, needs 1 to 26"));
  EXPECT_THAT(make_with([](DataOptions& options) { options.train_size = 0; }),
              ThrowsMessage<Error>("make_synthetic: train_size is 0, needs at least 1"));
}

TEST(Synthetic, NamesTheMemoryOfTheMeanLengthThatTheDeviationGives) {
  DataOptions options = options_of(DataTask::kCopy);
  options.train_size = std::int64_t{1'000'000'000'000};
  options.length_mean = 1.0;
  options.length_deviation = 10'000.0;
  // The mean of max(1, x) is 1 + 10 000 / sqrt(2 * pi); a pair has two strings with spaces between the letters.
  EXPECT_THAT([&] { make_synthetic(options); },
              ThrowsMessage<Error>(testing::StartsWith(
                  "make_synthetic: 1000000000000 + 1000 + 1000 pairs of 3990 letters needs at least 16.0 PB of memory, "
                  "but ")));
  options.length_mean = 15.0;
  options.length_deviation = 0.0;
  EXPECT_THAT([&] { make_synthetic(options); }, ThrowsMessage<Error>(testing::HasSubstr(" pairs of 15 letters ")));
}

}  // namespace
}  // namespace edgewise

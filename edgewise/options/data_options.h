// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "edgewise/base/fields.h"
#include "edgewise/text/pair_reader.h"

namespace edgewise {

/// Where sentence pairs come from: files, or a generator (synthetic.h).
enum class DataTask { kText, kCopy, kReverse, kSort };

inline constexpr auto enum_names(DataTask) {
  return std::array{EnumName<DataTask>{DataTask::kText, "text"}, EnumName<DataTask>{DataTask::kCopy, "copy"},
                    EnumName<DataTask>{DataTask::kReverse, "reverse"}, EnumName<DataTask>{DataTask::kSort, "sort"}};
}

/// What becomes of a pair with a sentence of more tokens than `max_length`.
enum class LongSentences { kSkip, kTruncate };

inline constexpr auto enum_names(LongSentences) {
  return std::array{EnumName<LongSentences>{LongSentences::kSkip, "skip"},
                    EnumName<LongSentences>{LongSentences::kTruncate, "truncate"}};
}

struct DataOptions {
  DataTask task = DataTask::kText;

  // Of the text task: one TSV (input TAB output) or two files (input, output), plain, gz, xz or zst. With weights,
  // `train` has as many corpora as there are weights, all TSVs or all of two files.
  std::vector<std::string> train;
  std::vector<double> weights;
  std::vector<std::string> valid;
  std::vector<std::string> test;
  std::int64_t limit = 0;
  BadUtf8 bad_utf8 = BadUtf8::kSkip;
  SameSides same_sides = SameSides::kKeep;

  std::int64_t max_length = 256;
  LongSentences too_long = LongSentences::kSkip;
  std::int64_t min_length = 0;
  double max_ratio = 0.0;
  bool end_input = false;

  // Of the other tasks: the graph tutorial's sizes, and letters from a to z.
  std::int64_t train_size = 9000;
  std::int64_t valid_size = 1000;
  std::int64_t test_size = 1000;
  std::int64_t symbols = 26;
  double length_mean = 15.0;
  double length_deviation = 3.0;
  std::uint64_t seed = 1;

  template <class Self, class Field>
  static void list_fields(Self& self, Field&& field) {
    field("task", self.task, "text: pairs from files; else letters that the output copies, reverses or sorts");
    field("train", self.train, "text: pairs to learn from: one TSV file, or two files with a sentence a line");
    field("weights", self.weights,
          "text: where train names the files of several corpora, how many times an epoch goes through each",
          at_least(0.001).at_most(1e6));
    field("valid", self.valid, "text: pairs that say which model is best");
    field("test", self.test, "text: pairs for the final score");
    field("limit", self.limit, "text: training pairs used of each corpus, the first ones that can be; 0: all",
          at_least(0));
    field("bad_utf8", self.bad_utf8,
          "text: training pairs with bytes that are not UTF-8 are skipped, or an error, or these bytes are replaced");
    field("same_sides", self.same_sides, "text: training pairs with the same text on both sides are kept or skipped");
    field("max_length", self.max_length, "tokens of the longest sentence; 0: no limit", at_least(0));
    field("too_long", self.too_long, "training pairs with a longer sentence are skipped, or the sentence is truncated");
    field("min_length", self.min_length, "training pairs with a sentence of fewer tokens are skipped; 0: no limit",
          at_least(0));
    field(
        "max_ratio", self.max_ratio,
        "training pairs are skipped whose longer side has more than so many times the tokens of the other; 0: no limit",
        at_least(0));
    field("end_input", self.end_input, "input sentences end with the end token, as output sentences always do");
    field("train_size", self.train_size, "letters: training pairs", at_least(1).at_most(1e8));
    field("valid_size", self.valid_size, "letters: validation pairs", at_least(0).at_most(1e8));
    field("test_size", self.test_size, "letters: test pairs", at_least(0).at_most(1e8));
    field("symbols", self.symbols, "letters: how many different ones", at_least(1).at_most(26));
    field("length_mean", self.length_mean, "letters: mean of the normal distribution of lengths",
          above(0).at_most(1e4));
    field("length_deviation", self.length_deviation, "letters: its standard deviation", at_least(0).at_most(1e4));
    field("seed", self.seed, "letters: what they are drawn from");
  }
};

}  // namespace edgewise

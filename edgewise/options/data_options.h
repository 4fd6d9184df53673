// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/base/config/fields.h"
#include "edgewise/base/error.h"
#include "edgewise/text/corpus/parallel_text.h"

namespace edgewise {

/// Sources of sentence pairs: files, or a generator of letters (data/corpus.h).
enum class DataTask { kText, kCopy, kReverse, kSort, kAddition };

inline constexpr auto enum_names(DataTask) {
  return names_in_order<DataTask>("text", "copy", "reverse", "sort", "addition");
}

/// Treatment of training pairs with a sentence of more tokens than `max_length`.
enum class LongSentences { kSkip, kTruncate };

inline constexpr auto enum_names(LongSentences) { return names_in_order<LongSentences>("skip", "truncate"); }

/// Shares of the training pairs that are changed (data/augment.h), so that a model translates texts that its corpus
/// lacks, too.
struct AugmentOptions {
  double upper_case = 0.0;
  double title_case = 0.0;
  double no_stop = 0.0;
  double typos = 0.0;

  bool changes_pairs() const { return upper_case > 0 || title_case > 0 || no_stop > 0 || typos > 0; }

  static void list_fields(auto& self, auto&& field) {
    field("upper_case", self.upper_case, "share of training pairs in capitals only; with title_case at most 1",
          at_least(0).at_most(1));
    field("title_case", self.title_case, "share of training pairs with a capital at the beginning of each word",
          at_least(0).at_most(1));
    field("no_stop", self.no_stop, "share of training pairs whose last full stop or other stop mark is left out",
          at_least(0).at_most(1));
    field("typos", self.typos, "share of training pairs whose input has typos", at_least(0).at_most(1));
  }
};

struct DataOptions {
  DataTask task = DataTask::kText;

  // The text task reads one TSV (input TAB output) or two files (input, output), plain, gz, xz or zst. With weights,
  // `train` has as many corpora as there are weights: all of them one TSV, or all of them two files.
  std::vector<std::string> train;
  std::vector<double> weights;
  std::vector<std::string> alignments;
  std::vector<std::string> valid;
  double valid_share = 0.0;
  std::vector<std::string> test;
  std::string document_separator;
  std::int64_t limit = 0;
  BadUtf8 bad_utf8 = BadUtf8::kSkip;
  SameSides same_sides = SameSides::kKeep;

  std::int64_t max_length = 256;
  LongSentences too_long = LongSentences::kSkip;
  std::int64_t min_length = 0;
  double max_ratio = 0.0;
  bool end_input = false;
  AugmentOptions augment;
  std::string input_language;
  std::string output_language;

  // Options of the tasks that generate letters; the defaults are the sizes of the graph tutorial.
  std::int64_t train_size = 9000;
  std::int64_t valid_size = 1000;
  std::int64_t test_size = 1000;
  std::int64_t symbols = 26;
  double length_mean = 15.0;
  double length_deviation = 3.0;
  std::uint64_t seed = 1;

  static void list_fields(auto& self, auto&& field) {
    field("task", self.task,
          "text: sentence pairs from files; copy, reverse, sort: random letters, and an output that copies, reverses "
          "or sorts them; addition: columns of digits of two random numbers, and the digits of their sum");
    field(
        "train", self.train,
        "text: training pairs: one TSV file, or two files with a sentence on each line; language_model: files of text, "
        "plain or compressed");
    field("weights", self.weights,
          "text: how often an epoch visits each corpus of train, if train lists the files of several corpora",
          at_least(0.001).at_most(1000));
    field("alignments", self.alignments,
          "text: links between the words of the training pairs, 0-0 1-2 on the line of a pair, as fast_align and "
          "eflomal write them; one file for each corpus of train");
    field("valid", self.valid, "text: validation pairs, or files of text, which decide the best model");
    field("valid_share", self.valid_share,
          "language_model: share of the file of train, at its end, that validates instead of files of valid; 0: none",
          at_least(0).at_most(0.9));
    field("test", self.test, "text: test pairs, or files of text, for the final score");
    field("document_separator", self.document_separator,
          "language_model: line that ends a document, such as <|endoftext|>; tokens attend within their document only; "
          "empty: each file is one document");
    field("limit", self.limit, "text: number of usable training pairs to read from each corpus; 0: all",
          at_least(0).at_most(1e12));
    field("bad_utf8", self.bad_utf8,
          "text: what to do with training pairs, or lines of a text, that are not valid UTF-8: skip, error, or replace "
          "invalid bytes by U+FFFD");
    field("same_sides", self.same_sides, "text: keep or skip training pairs whose output equals the input");
    field("max_length", self.max_length, "most tokens of a sentence; 0: no limit", at_least(0).at_most(1e6));
    field("too_long", self.too_long,
          "what to do with training pairs that have a longer sentence: skip the pair or truncate the sentence");
    field("min_length", self.min_length,
          "fewest tokens of a sentence; training pairs with a shorter one are skipped; 0: no limit",
          at_least(0).at_most(1e6));
    field("max_ratio", self.max_ratio,
          "largest ratio of the token counts of a training pair, longer side to shorter side; others are skipped; 0: "
          "no limit",
          at_least(0).at_most(1e6));
    field("end_input", self.end_input, "end input sentences with the end token; output sentences always end with it");
    field("augment", self.augment, "text: changes of training pairs, which each epoch draws anew");
    field("input_language", self.input_language,
          "mapped vocabulary of a multilingual model: name of the language of all inputs, such as eng_Latn; `edgewise "
          "translate --from` names another; empty: none");
    field("output_language", self.output_language,
          "mapped vocabulary of a multilingual model: name of the language of all outputs; `edgewise translate --to` "
          "names another; empty: none");
    field("train_size", self.train_size, "letters: number of training pairs", at_least(1).at_most(1e6));
    field("valid_size", self.valid_size, "letters: number of validation pairs", at_least(0).at_most(1e5));
    field("test_size", self.test_size, "letters: number of test pairs", at_least(0).at_most(1e5));
    field("symbols", self.symbols, "letters: number of different letters", at_least(1).at_most(26));
    field("length_mean", self.length_mean,
          "letters: mean of the normal distribution of sentence lengths, in letters or columns", above(0).at_most(1e4));
    field("length_deviation", self.length_deviation, "letters: standard deviation of the sentence lengths",
          at_least(0).at_most(1e4));
    field("seed", self.seed, "letters: seed of the random numbers");
  }
};

/// Throws Error, beginning with `caller`, unless `train` names the files of as many corpora as there are weights, or of
/// one corpus without weights, and `alignments` as many files, or none.
inline void check_files(const DataOptions& options, std::string_view caller) {
  const std::size_t files = options.train.size();
  const std::size_t corpora = options.weights.size();
  check(files > 0, "{}: data.train names no file, needs one TSV file, or two files with a sentence a line", caller);
  check(corpora > 0 || files <= 2,
        "{}: data.train names {} files, needs one TSV file, or two files with a sentence a line; for several corpora "
        "give data.weights, a number each",
        caller, files);
  check(corpora == 0 || files == corpora || files == 2 * corpora,
        "{}: data.train names {} files, but data.weights has {} numbers, needs one TSV file for each, or two files",
        caller, files, corpora);
  const std::size_t links = options.alignments.size();
  check(links == 0 || links == std::max<std::size_t>(corpora, 1),
        "{}: data.alignments names {} files, needs {}, one for each corpus of data.train", caller, links,
        std::max<std::size_t>(corpora, 1));
}

/// Positions of the tokens of a training pair; data/random_positions.h gives the reason to draw them at random.
enum class TrainingPositions { kCounted, kShifted, kSpread };

inline constexpr auto enum_names(TrainingPositions) {
  return names_in_order<TrainingPositions>("counted", "shifted", "spread");
}

struct BatchOptions {
  std::int64_t tokens = 4096;
  std::int64_t sentences = 0;
  std::int64_t length = 256;
  std::int64_t bucket = 32;
  std::int64_t window = 262144;
  TrainingPositions positions = TrainingPositions::kCounted;
  std::int64_t positions_below = 512;

  static void list_fields(auto& self, auto&& field) {
    field("tokens", self.tokens,
          "most tokens of a batch, on the side with more tokens; a longer pair is a batch by itself; 0: no limit",
          at_least(0).at_most(1e8));
    field("sentences", self.sentences, "most sentence pairs, or chunks of texts, of a batch; 0: no limit",
          at_least(0).at_most(1e8));
    field(
        "length", self.length,
        "language_model: most tokens of a chunk of a text; a longer document is cut at other places in each epoch, and "
        "tokens attend within their chunk",
        at_least(1).at_most(1e6));
    field("bucket", self.bucket,
          "number of batches whose pairs are sorted by length together; 0: all batches of an epoch",
          at_least(0).at_most(1e9));
    field("window", self.window,
          "most sentence pairs, or chunks of texts, in memory at once; an epoch reads a larger corpus in several "
          "windows; "
          "0: no limit",
          at_least(0).at_most(1e9));
    field("positions", self.positions,
          "positions of tokens in training: counted from 0, shifted by a random offset, or spread over random "
          "increasing positions; shifted and spread help with sentences longer than those of the training data");
    field("positions_below", self.positions_below, "upper limit of shifted and spread positions",
          at_least(1).at_most(1e6));
  }
};

}  // namespace edgewise

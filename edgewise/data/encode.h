// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/base/stop_request.h"
#include "edgewise/data/augment.h"
#include "edgewise/graph/batch.h"
#include "edgewise/options/data_options.h"
#include "edgewise/text/corpus/parallel_text.h"
#include "edgewise/text/vocabulary/sentence_frame.h"
#include "edgewise/text/vocabulary/vocabulary.h"

namespace edgewise {

struct EncodeOptions {
  std::int64_t max_length = 0;  // tokens of a sentence without those around it; 0: no limit
  LongSentences too_long = LongSentences::kSkip;
  std::int64_t min_length = 0;   // tokens of a sentence without those around it
  double max_ratio = 0.0;        // tokens of the longer side per token of the shorter side; 0: no limit
  bool end_input = false;        // inputs end with the end token, as in the textbook chapter
  PairLanguages languages = {};  // languages of all pairs, for a multilingual vocabulary
  Sampling input_sampling = {};
  Sampling output_sampling = {};
  AugmentOptions augment = {};

  /// Whether encode() draws by its seed.
  bool is_random() const {
    return input_sampling.strength > 0.0 || output_sampling.strength > 0.0 || augment.changes_pairs();
  }
};

/// Returns the encoding options in `data`, without sampling and changes.
EncodeOptions make_encode_options(const DataOptions& data);

/// Counts the encoded pairs and, by reason, the pairs left out.
struct EncodeReport {
  std::int64_t kept = 0;
  std::int64_t empty = 0;      // pairs left out: a side has no tokens
  std::int64_t too_long = 0;   // pairs left out: a sentence above max_length
  std::int64_t too_short = 0;  // pairs left out: a sentence below min_length
  std::int64_t uneven = 0;     // pairs left out: above max_ratio
  std::int64_t truncated = 0;  // kept pairs with a sentence cut to max_length

  std::int64_t num_skipped() const { return empty + too_long + too_short + uneven; }

  /// Returns "2 pairs with a side without tokens, 1 with …"; empty when nothing was skipped.
  std::string describe_skipped() const;

  EncodeReport& operator+=(const EncodeReport& other);
};

/// Puts the tokens of a pair into their frames.
TokenPair frame_pair(const std::vector<std::int64_t>& input, const SentenceFrame& input_frame,
                     const std::vector<std::int64_t>& output, const SentenceFrame& output_frame);

/// Encodes sentence pairs as token pairs with special tokens. Immutable.
class PairEncoder {
 public:
  /// Throws Error for sampling with a vocabulary that has no SentencePiece model, and for options and languages that
  /// the vocabularies do not have.
  PairEncoder(std::shared_ptr<const Vocabulary> input_vocabulary, std::shared_ptr<const Vocabulary> output_vocabulary,
              const EncodeOptions& options);

  /// Encodes a pair and counts the pair in `report`; nullopt if the options leave out its most likely segmentation.
  /// Changes and sampling draw by `seed`. The pair as it is replaces a changed one without tokens or above max_length,
  /// and the most likely segmentation replaces a sample above max_length. The result has the links between the words of
  /// the pair (link_tokens.h).
  std::optional<TokenPair> encode(std::string_view input, std::string_view output, std::uint64_t seed,
                                  EncodeReport& report, std::span<const WordLink> links = {}) const;

  /// Counts a pair in `report` as encode() does.
  void count(std::string_view input, std::string_view output, EncodeReport& report) const;

  const EncodeOptions& options() const { return options_; }

  /// Returns a hash of vocabularies and options.
  std::uint64_t fingerprint() const;

 private:
  using Tokens = std::vector<std::int64_t>;

  FramedInput frame(std::string_view input) const;
  bool exceeds_max_length(const Tokens& tokens) const;
  bool check_and_count(const Tokens& input, const Tokens& output, EncodeReport& report) const;
  void sample_tokens(const Vocabulary& vocabulary, std::string_view sentence, const Sampling& sampling,
                     std::uint64_t seed, Tokens& tokens) const;
  void replace_by_changed(std::uint64_t seed, AugmentedPair& texts, Tokens& inputs, Tokens& outputs) const;

  std::shared_ptr<const Vocabulary> input_vocabulary_;
  std::shared_ptr<const Vocabulary> output_vocabulary_;
  EncodeOptions options_;
  SentenceFrame output_frame_;
};

struct EncodedPairs {
  std::vector<TokenPair> pairs;
  EncodeReport report;
};

/// Throws Error, with counts and reasons, when no pair was kept.
void check_any_kept(const EncodeReport& report);

/// Encodes pairs without sampling. Throws Error when every pair is left out, and StopException if `stop` is set before
/// the end.
EncodedPairs encode_pairs(const SentencePairs& pairs, const PairEncoder& encoder, const StopRequest* stop = nullptr);

}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/graph/batch.h"
#include "edgewise/options/data_options.h"
#include "edgewise/text/parallel_text.h"
#include "edgewise/text/vocabulary.h"

namespace edgewise {

struct EncodeOptions {
  std::int64_t max_length = 0;  // tokens of a sentence, begin and end not counted; 0: no limit
  LongSentences too_long = LongSentences::kSkip;
  std::int64_t min_length = 0;  // likewise
  double max_ratio = 0.0;       // of the longer side's tokens to the other's; 0: no limit
  bool end_input = false;       // inputs end with the end token, as the textbook chapter has them
  Sampling input_sampling = {};
  Sampling output_sampling = {};

  bool has_sampling() const { return input_sampling.strength > 0.0 || output_sampling.strength > 0.0; }
};

/// Those of `data`, for training, without sampling.
EncodeOptions encode_options(const DataOptions& data);

/// What became of pairs for their tokens.
struct EncodeAccount {
  std::int64_t kept = 0;
  std::int64_t empty = 0;      // pairs left out because a side has no tokens
  std::int64_t too_long = 0;   // because of a sentence above max_length
  std::int64_t too_short = 0;  // because of one below min_length
  std::int64_t uneven = 0;     // because of max_ratio
  std::int64_t truncated = 0;  // pairs kept with a sentence cut to max_length

  std::int64_t skipped() const { return empty + too_long + too_short + uneven; }

  /// "2 pairs with a side without tokens, 1 with …"; empty when nothing was skipped.
  std::string skipped_in_words() const;

  EncodeAccount& operator+=(const EncodeAccount& other);
};

/// The tokens of two sentences as a model takes them: the output between begin and end.
TokenPair with_special_tokens(std::vector<std::int64_t> input, const std::vector<std::int64_t>& output,
                              const EncodeOptions& options);

/// Makes tokens of pairs: the outputs stand between the begin and the end token. Never changes.
class PairEncoder {
 public:
  /// Throws Error for sampling from a vocabulary that is not SentencePiece's.
  PairEncoder(std::shared_ptr<const Vocabulary> input_vocabulary, std::shared_ptr<const Vocabulary> output_vocabulary,
              const EncodeOptions& options);

  /// None for a pair that the options leave out, by the likeliest split of its sentences. Samples are drawn from
  /// `seed`; one above max_length gives way to the likeliest split.
  std::optional<TokenPair> encode(std::string_view input, std::string_view output, std::uint64_t seed,
                                  EncodeAccount& account) const;

  /// Only counts what would become of a pair.
  void count(std::string_view input, std::string_view output, EncodeAccount& account) const;

  const EncodeOptions& options() const { return options_; }

  /// Differs when vocabularies or options do.
  std::uint64_t fingerprint() const;

 private:
  using Tokens = std::vector<std::int64_t>;

  bool is_longer(const Tokens& tokens) const;
  bool keeps(const Tokens& input, const Tokens& output, EncodeAccount& account) const;
  void draw(const Vocabulary& vocabulary, std::string_view sentence, const Sampling& sampling, std::uint64_t seed,
            Tokens& tokens) const;

  std::shared_ptr<const Vocabulary> input_vocabulary_;
  std::shared_ptr<const Vocabulary> output_vocabulary_;
  EncodeOptions options_;
};

struct EncodedPairs {
  std::vector<TokenPair> pairs;
  EncodeAccount account;
};

/// All of some pairs, none of them sampled. Throws Error when none is left.
EncodedPairs encode_pairs(const SentencePairs& pairs, const PairEncoder& encoder);

/// Throws Error, with what was left out, when no pair was kept.
void check_tokens_left(const EncodeAccount& account);

}  // namespace edgewise

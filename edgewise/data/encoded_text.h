// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "edgewise/data/encode.h"
#include "edgewise/data/pair_source.h"
#include "edgewise/text/corpus/text_blocks.h"

namespace edgewise {

/// A training corpus: its text and its weight.
struct TrainingText {
  std::string name;
  std::shared_ptr<const TextBlocks> text;
  double weight = 1.0;  // how often an epoch reads each pair; may be a fraction
};

/// A source that encodes the pairs of corpora when it reads them. With a fractional weight w, an epoch visits each pair
/// floor(w) or ceil(w) times, such that all pairs occur equally often over many epochs: with w = 0.5, each pair occurs
/// exactly once in two successive epochs.
class EncodedText final : public PairSource {
 public:
  /// Throws Error for no corpora and for a weight of 0 or less.
  EncodedText(std::vector<TrainingText> corpora, PairEncoder encoder);

  std::vector<Visit> visits() const override;
  std::vector<TokenPair> read(const Visit& visit, std::uint64_t seed, std::int64_t epoch) const override;
  bool is_same_every_epoch() const override;
  std::uint64_t fingerprint() const override;

  /// Encodes and counts every pair once, whatever the weights. Throws Error if the encoder leaves out every pair.
  EncodeReport count_pairs() const;

 private:
  struct CorpusBlock {
    const TrainingText* corpus;
    std::int64_t block;  // number of the block in `corpus`
  };

  CorpusBlock find_block(std::int64_t block) const;
  std::int64_t num_blocks() const { return first_blocks_.back(); }

  std::vector<TrainingText> corpora_;
  std::vector<std::int64_t> first_blocks_;  // number of each corpus's first block; at the end, the number of all blocks
  PairEncoder encoder_;
};

/// Returns how often an epoch visits a pair: the number of integers k with
/// weight · epoch <= k + draw < weight · (epoch + 1), where `draw` from [0, 1) is fixed for each pair.
std::int64_t count_repetitions(double weight, std::int64_t epoch, double draw);

}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "edgewise/data/encode.h"
#include "edgewise/data/pair_source.h"
#include "edgewise/text/text_blocks.h"

namespace edgewise {

/// A corpus to learn from.
struct TrainingText {
  std::string name;
  std::shared_ptr<const TextBlocks> text;
  double weight = 1.0;  // how many times an epoch goes through it
};

/// Corpora whose pairs become tokens when they are read. Of a weight that is not whole, each epoch takes a pair the
/// whole number below or above it of times, chosen so that over many epochs all pairs come equally often: of 0.5, each
/// exactly once in any two epochs.
class EncodedText final : public PairSource {
 public:
  /// Throws Error for no corpora and for weights that are not above 0.
  EncodedText(std::vector<TrainingText> corpora, PairEncoder encoder);

  std::vector<Visit> visits() const override;
  std::vector<TokenPair> read(const Visit& visit, std::uint64_t seed, std::int64_t epoch) const override;
  bool is_same_every_epoch() const override;
  std::uint64_t fingerprint() const override;

  /// Reads and encodes all once, to say what becomes of the pairs, whatever their weights. Throws Error when none is
  /// left.
  EncodeAccount survey() const;

 private:
  struct Place {
    const TrainingText* corpus;
    std::int64_t block;  // its number in the corpus
  };

  Place place_of(std::int64_t block) const;
  std::int64_t num_blocks() const { return first_blocks_.back(); }

  std::vector<TrainingText> corpora_;
  std::vector<std::int64_t> first_blocks_;  // of each corpus among all, and behind the last
  PairEncoder encoder_;
};

/// How many times an epoch takes a pair of a corpus with this weight; `draw` from [0, 1) is the pair's own.
std::int64_t times_taken(double weight, std::int64_t epoch, double draw);

}  // namespace edgewise

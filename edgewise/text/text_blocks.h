// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/text/parallel_text.h"

namespace edgewise {

/// The usable sentence pairs of a corpus in numbered blocks, which can be read in any order, by several threads at
/// once. Each pair is in one block, the blocks are in the corpus's order, and it never changes.
class TextBlocks {
 public:
  /// Lines of a block: few enough that some hundreds of blocks are a good sample, so many that their index is small.
  static constexpr std::int64_t kBlockSize = 1024;

  virtual ~TextBlocks() = default;

  virtual std::int64_t num_blocks() const = 0;

  /// Of a block; it may have none.
  virtual std::int64_t num_pairs(std::int64_t block) const = 0;

  /// The pairs of a block; their account stays empty.
  virtual SentencePairs read(std::int64_t block) const = 0;

  /// Of the whole corpus.
  virtual const PairAccount& account() const = 0;

  /// Differs when the text does.
  virtual std::uint64_t fingerprint() const = 0;
};

/// Pairs that are in memory.
class TextInMemory final : public TextBlocks {
 public:
  explicit TextInMemory(SentencePairs pairs);

  std::int64_t num_blocks() const override;
  std::int64_t num_pairs(std::int64_t block) const override;
  SentencePairs read(std::int64_t block) const override;
  const PairAccount& account() const override { return pairs_.account; }
  std::uint64_t fingerprint() const override { return fingerprint_; }

 private:
  std::size_t begin_of(std::int64_t block) const;

  SentencePairs pairs_;
  std::uint64_t fingerprint_;
};

/// Some of the pairs, at most so many (0: all), evenly spread over the corpus: what a vocabulary is learned from.
SentencePairs sample_pairs(const TextBlocks& text, std::int64_t most);

}  // namespace edgewise

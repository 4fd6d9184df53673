// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include "edgewise/base/sha256.h"
#include "edgewise/text/corpus/parallel_text.h"

namespace edgewise {

/// Computes 64 bits of the SHA-256 of a sequence of texts with their lengths.
class TextHash {
 public:
  void add(std::string_view text) {
    const std::uint64_t size = text.size();
    hash_.update({reinterpret_cast<const char*>(&size), sizeof(size)});
    hash_.update(text);
  }

  /// Returns the hash; `add` must not be called afterwards.
  std::uint64_t value() {
    const std::string digits = hash_.finish();
    std::uint64_t value = 0;
    std::from_chars(digits.data(), digits.data() + 16, value, 16);
    return value;
  }

 private:
  Sha256 hash_;
};

/// The usable sentence pairs of a corpus, in numbered blocks. Several threads may read blocks in any order. Each pair
/// is in one block, and the blocks have the order of the corpus. Immutable.
class TextBlocks {
 public:
  /// Lines of a block. Some hundreds of blocks are a good sample of a corpus, and the index of the blocks is small.
  static constexpr std::int64_t kBlockSize = 1024;

  virtual ~TextBlocks() = default;

  virtual std::int64_t num_blocks() const = 0;

  /// Returns the number of pairs of a block, which may be 0.
  virtual std::int64_t num_pairs(std::int64_t block) const = 0;

  /// Returns the pairs of a block, with an empty report.
  virtual SentencePairs read(std::int64_t block) const = 0;

  /// Returns the report on the whole corpus.
  virtual const PairReport& report() const = 0;

  /// Returns a hash of the text.
  virtual std::uint64_t fingerprint() const = 0;
};

/// Blocks of sentence pairs in memory.
class TextInMemory final : public TextBlocks {
 public:
  explicit TextInMemory(SentencePairs pairs);

  std::int64_t num_blocks() const override;
  std::int64_t num_pairs(std::int64_t block) const override;
  SentencePairs read(std::int64_t block) const override;
  const PairReport& report() const override { return pairs_.report; }
  std::uint64_t fingerprint() const override { return fingerprint_; }

 private:
  std::size_t begin_of(std::int64_t block) const;

  SentencePairs pairs_;
  std::uint64_t fingerprint_;
};

/// Returns at most `max_pairs` pairs (0: all), evenly spread over the corpus, to learn a vocabulary from.
SentencePairs sample_pairs(const TextBlocks& text, std::int64_t max_pairs);

}  // namespace edgewise

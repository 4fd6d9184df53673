// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/text/vocabulary/sentencepiece_check.h"
#include "edgewise/text/vocabulary/vocabulary.h"

namespace sentencepiece {
class SentencePieceProcessor;
}  // namespace sentencepiece

namespace edgewise {

/// Splits sentences into the pieces of a SentencePiece model and joins pieces to sentences. Immutable.
///
/// Pieces are numbers of the model, or texts. As text, a run of characters that the model does not have is one piece
/// with these characters.
class PieceCodec {
 public:
  /// Checks the bytes of a model file (sentencepiece_check.h), then loads them with the SentencePiece library. Errors
  /// begin with "<caller>: <name>".
  PieceCodec(std::string bytes, std::string_view name, SpecialPieces special,
             std::string_view caller = "load_vocabulary");
  ~PieceCodec();

  const std::string& bytes() const { return bytes_; }
  std::span<const Piece> pieces() const { return pieces_; }
  SentencePieceModel algorithm() const { return algorithm_; }

  std::vector<std::int64_t> encode(std::string_view sentence) const;
  std::vector<std::string> split(std::string_view sentence) const;

  /// Returns whether the model normalises the end of a text to a space, which splitting the text leaves out.
  bool ends_with_space(std::string_view text) const;

  // Encode and split with a random segmentation, a function of sentence, sampling and seed.
  std::vector<std::int64_t> sample(std::string_view sentence, const Sampling& sampling, std::uint64_t seed) const;
  std::vector<std::string> sample_split(std::string_view sentence, const Sampling& sampling, std::uint64_t seed) const;

  std::string decode(std::span<const std::int64_t> pieces) const;

  /// Returns the sentence of pieces that the model need not have. A piece that it does not have keeps its `▁`.
  std::string join(const std::vector<std::string_view>& pieces) const;

 private:
  void load(const std::string& where);

  std::string bytes_;
  std::vector<Piece> pieces_;
  SentencePieceModel algorithm_;
  std::unique_ptr<sentencepiece::SentencePieceProcessor> processor_;
};

}  // namespace edgewise

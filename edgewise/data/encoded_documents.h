// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "edgewise/base/stop_request.h"
#include "edgewise/data/pair_source.h"
#include "edgewise/text/corpus/document_text.h"
#include "edgewise/text/vocabulary/vocabulary.h"

// Texts for a language model, as pairs without inputs. A document is the begin token, its tokens and the end token. A
// chunk of at most `length` predicted tokens begins with the token before them.

namespace edgewise {

/// A source that encodes the documents of a text when it reads them. A document of more than `length` predicted tokens
/// is cut into chunks; a random offset, drawn for each epoch and each passage of a block, moves the cuts. The tokens of
/// all chunks of an epoch are those of the text, except for the first token of a block that continues a document: this
/// token is only context.
class EncodedDocuments final : public PairSource {
 public:
  /// Throws Error for a length below 1, and for sampling with a vocabulary that has no SentencePiece model.
  EncodedDocuments(std::shared_ptr<const DocumentText> text, std::shared_ptr<const Vocabulary> vocabulary,
                   std::int64_t length, const Sampling& sampling = {});

  std::vector<Visit> visits() const override;
  std::vector<TokenPair> read(const Visit& visit, std::uint64_t seed, std::int64_t epoch) const override;
  bool is_same_every_epoch() const override { return false; }
  std::uint64_t fingerprint() const override;

  /// Returns the number of tokens that an epoch predicts.
  std::int64_t count_tokens() const;

 private:
  std::shared_ptr<const DocumentText> text_;
  std::shared_ptr<const Vocabulary> vocabulary_;
  std::int64_t length_;
  Sampling sampling_;
  double chunks_per_byte_ = 0.0;  // chunks of the first block per byte
};

/// A chunk of a cover, whose first `first` predicted tokens are only context.
struct CoverChunk {
  std::vector<std::int64_t> tokens;
  std::int64_t first = 0;
};

struct CoverOptions {
  std::int64_t length = 256;  // most predicted tokens of a chunk
  std::int64_t step = 256;    // tokens from the begin of a chunk to that of the next, at most `length`
};

/// Cuts the documents of a text into chunks in which each token of a document, and its end token, is counted once: in
/// the first chunk of a document all tokens, in the others the last `step` ones. With a step below the length, chunks
/// overlap, and a counted token has at least `length - step` tokens before it, unless the document has fewer. Calls
/// `visit` with each chunk in order. Throws StopException if `stop` is set before the end.
void cover_documents(const DocumentText& text, const Vocabulary& vocabulary, const CoverOptions& options,
                     const std::function<void(CoverChunk chunk)>& visit, const StopRequest* stop = nullptr);

}  // namespace edgewise

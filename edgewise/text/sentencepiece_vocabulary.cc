// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/sentencepiece_vocabulary.h"

#include <sentencepiece_processor.h>

#include <random>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/text/protobuf_walk.h"
#include "edgewise/text/sentencepiece_check.h"

namespace sentencepiece::random {
std::mt19937* GetRandomGenerator();  // one per thread; exported by the library, but not declared in Debian's headers
}  // namespace sentencepiece::random

namespace edgewise {
namespace {

constexpr std::size_t kMaxSentenceBytes = std::size_t{16} << 20;  // the library counts bytes after NFKC in an int

void check_size(const char* caller, std::string_view sentence) {
  check(sentence.size() <= kMaxSentenceBytes, "{}: sentence has {} bytes, needs at most {}", caller, sentence.size(),
        kMaxSentenceBytes);
}

/// Reads the algorithm of a checked model. Field numbers are those of sentencepiece_model.proto.
SentencePieceModel find_piece_model(std::string_view bytes) {
  constexpr std::uint32_t kTrainerSpec = 2;
  constexpr std::uint32_t kModelType = 3;
  constexpr std::uint64_t kBpe = 2;
  std::uint64_t type = 0;
  walk_message(bytes, "find_piece_model", [&](const WireField& field) {
    if (field.number != kTrainerSpec) return;
    walk_message(field.bytes, "find_piece_model", [&](const WireField& option) {
      if (option.number == kModelType) type = option.value;
    });
  });
  return type == kBpe ? SentencePieceModel::kBpe : SentencePieceModel::kUnigram;
}

class SentencePieceVocabulary final : public Vocabulary {
 public:
  SentencePieceVocabulary(std::string bytes, std::string_view name)
      : bytes_(std::move(bytes)), pieces_(check_sentencepiece_model(bytes_, name)) {
    silence_sentencepiece();
    const auto status = load();
    check(status.ok(), "load_vocabulary: {} has a model that SentencePiece does not read: {}", name,
          status.error_message());
  }

  VocabularyKind kind() const override { return VocabularyKind::kSentencePiece; }
  std::int64_t size() const override { return static_cast<std::int64_t>(pieces_.size()); }
  std::string serialize() const override { return bytes_; }
  std::optional<SentencePieceModel> piece_model() const override { return find_piece_model(bytes_); }

 private:
  sentencepiece::util::Status load() try {
    return processor_.LoadFromSerializedProto(bytes_);
  } catch (const std::exception& error) {  // the library's trie builder throws
    return {sentencepiece::util::StatusCode::kInternal, error.what()};
  }

  std::vector<std::int64_t> encode_text(std::string_view sentence) const override {
    check_size("encode", sentence);
    std::vector<int> pieces;
    const auto status = processor_.Encode(sentence, &pieces);
    check(status.ok(), "encode: sentence has {} bytes that SentencePiece does not encode: {}", sentence.size(),
          status.error_message());
    return {pieces.begin(), pieces.end()};
  }

  std::vector<std::int64_t> sample_text(std::string_view sentence, const Sampling& sampling,
                                        std::uint64_t seed) const override {
    check_size("sample", sentence);
    sentencepiece::random::GetRandomGenerator()->seed(static_cast<std::uint32_t>(seed ^ (seed >> 32)));
    std::vector<int> pieces;
    const int best = sampling.best == 0 ? -1 : static_cast<int>(sampling.best);
    const auto status = processor_.SampleEncode(sentence, best, static_cast<float>(sampling.strength), &pieces);
    check(status.ok(), "sample: sentence has {} bytes that SentencePiece does not encode: {}", sentence.size(),
          status.error_message());
    return {pieces.begin(), pieces.end()};
  }

  std::string decode_tokens(std::span<const std::int64_t> tokens) const override {
    std::string sentence;
    const auto status = processor_.Decode(std::vector<int>(tokens.begin(), tokens.end()), &sentence);
    check(status.ok(), "decode: tokens are {}, which SentencePiece does not decode: {}", tokens.size(),
          status.error_message());
    return sentence;
  }

  std::string_view text_of(std::int64_t token) const override { return pieces_[static_cast<std::size_t>(token)].text; }

  std::string bytes_;
  std::vector<Piece> pieces_;
  sentencepiece::SentencePieceProcessor processor_;
};

}  // namespace

std::shared_ptr<const Vocabulary> build_sentencepiece_vocabulary(const std::vector<std::span<const std::string>>& sides,
                                                                 const VocabularyOptions& options) {
  return std::make_shared<SentencePieceVocabulary>(train_sentencepiece(sides, options), "the model just trained");
}

std::shared_ptr<const Vocabulary> parse_sentencepiece_vocabulary(std::string_view bytes, std::string_view name) {
  return std::make_shared<SentencePieceVocabulary>(std::string(bytes), name);
}

}  // namespace edgewise

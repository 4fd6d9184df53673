// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/vocabulary/piece_codec.h"

#include <sentencepiece_processor.h>

#include <random>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/files/protobuf_walk.h"
#include "edgewise/base/utf8.h"
#include "edgewise/text/sentences/sentence_marks.h"
#include "edgewise/text/unicode.h"
#include "edgewise/text/vocabulary/sentencepiece_vocabulary.h"

namespace sentencepiece::random {
std::mt19937* GetRandomGenerator();  // one per thread; exported by the library, but not declared in Debian's headers
}  // namespace sentencepiece::random

namespace edgewise {
namespace {

using sentencepiece::SentencePieceProcessor;
using sentencepiece::util::Status;

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

void check_encoded(const char* caller, std::string_view sentence, const Status& status) {
  check(status.ok(), "{}: sentence has {} bytes that SentencePiece does not encode: {}", caller, sentence.size(),
        status.error_message());
}

/// `AnyPiece` is int for numbers, std::string for texts.
template <class AnyPiece>
std::vector<AnyPiece> encode_as(const SentencePieceProcessor& processor, std::string_view sentence) {
  check_size("encode", sentence);
  std::vector<AnyPiece> pieces;
  check_encoded("encode", sentence, processor.Encode(sentence, &pieces));
  return pieces;
}

template <class AnyPiece>
std::vector<AnyPiece> sample_as(const SentencePieceProcessor& processor, std::string_view sentence,
                                const Sampling& sampling, std::uint64_t seed) {
  check_size("sample", sentence);
  sentencepiece::random::GetRandomGenerator()->seed(static_cast<std::uint32_t>(seed ^ (seed >> 32)));
  const int best = sampling.best == 0 ? -1 : static_cast<int>(sampling.best);
  std::vector<AnyPiece> pieces;
  check_encoded("sample", sentence,
                processor.SampleEncode(sentence, best, static_cast<float>(sampling.strength), &pieces));
  return pieces;
}

template <class AnyPiece>
std::string decode_as(const SentencePieceProcessor& processor, const std::vector<AnyPiece>& pieces) {
  std::string sentence;
  const auto status = processor.Decode(pieces, &sentence);
  check(status.ok(), "decode: tokens are {}, which SentencePiece does not decode: {}", pieces.size(),
        status.error_message());
  return sentence;
}

/// Returns whether a model may normalise a code point to a space or to nothing: white space, control and format
/// characters, and the symbols for a space and for a bad character.
bool may_be_space(char32_t code_point) {
  constexpr char32_t kSpaceSymbolPoint = U'\u2581';
  return is_space(code_point) || is_control_or_format(code_point) || code_point == kSpaceSymbolPoint ||
         code_point == kReplacementCharacter;
}

/// Returns the offset of the code points at the end of a text in UTF-8 that a model may normalise to a space.
std::size_t begin_of_last_spaces(std::string_view text) {
  std::size_t end = text.size();
  while (end > 0) {
    const CodePoint point = text_point_before(text, end);
    if (!may_be_space(point.value)) break;
    end -= point.size;
  }
  return end;
}

std::vector<std::int64_t> widen(const std::vector<int>& numbers) { return {numbers.begin(), numbers.end()}; }

}  // namespace

PieceCodec::PieceCodec(std::string bytes, std::string_view name, SpecialPieces special, std::string_view caller)
    : bytes_(std::move(bytes)),
      pieces_(check_sentencepiece_model(bytes_, name, special, caller)),
      algorithm_(find_piece_model(bytes_)),
      processor_(std::make_unique<SentencePieceProcessor>()) {
  silence_sentencepiece();
  load(fmt::format("{}: {}", caller, name));
}

PieceCodec::~PieceCodec() = default;

void PieceCodec::load(const std::string& where) {
  constexpr auto kMessage = "{} has a model that SentencePiece does not read: {}";
  try {
    const auto status = processor_->LoadFromSerializedProto(bytes_);
    check(status.ok(), kMessage, where, status.error_message());
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {  // the library's trie builder throws
    fail(kMessage, where, error.what());
  }
}

std::vector<std::int64_t> PieceCodec::encode(std::string_view sentence) const {
  return widen(encode_as<int>(*processor_, sentence));
}

std::vector<std::string> PieceCodec::split(std::string_view sentence) const {
  return encode_as<std::string>(*processor_, sentence);
}

bool PieceCodec::ends_with_space(std::string_view text) const {
  const std::string_view last = text.substr(begin_of_last_spaces(text));
  if (last.empty()) return false;
  // Between two letters, the model leaves out no space.
  std::string joined;
  for (const std::string& piece : split(fmt::format("x{}x", last))) joined += piece;
  return joined.ends_with("\u2581x");
}

std::vector<std::int64_t> PieceCodec::sample(std::string_view sentence, const Sampling& sampling,
                                             std::uint64_t seed) const {
  return widen(sample_as<int>(*processor_, sentence, sampling, seed));
}

std::vector<std::string> PieceCodec::sample_split(std::string_view sentence, const Sampling& sampling,
                                                  std::uint64_t seed) const {
  return sample_as<std::string>(*processor_, sentence, sampling, seed);
}

std::string PieceCodec::decode(std::span<const std::int64_t> pieces) const {
  return decode_as(*processor_, std::vector<int>(pieces.begin(), pieces.end()));
}

std::string PieceCodec::join(const std::vector<std::string_view>& pieces) const {
  return decode_as(*processor_, pieces);
}

}  // namespace edgewise

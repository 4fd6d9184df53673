// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/vocabulary/vocabulary.h"

#include <algorithm>

#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"
#include "edgewise/text/sentences/sentence_marks.h"
#include "edgewise/text/vocabulary/lookup_vocabulary.h"
#include "edgewise/text/vocabulary/sentencepiece_check.h"
#include "edgewise/text/vocabulary/sentencepiece_vocabulary.h"
#include "edgewise/text/vocabulary/vocabulary_names.h"

namespace edgewise {
namespace {

constexpr std::uint32_t kFirstPlaceholder = 0xE001;

void check_options(const VocabularyOptions& options) {
  const auto special = static_cast<std::int64_t>(kSpecialTokens.size());
  check(options.size == 0 || options.size > special,
        "build_vocabulary: size is {}, needs 0 for no limit or more than the {} special tokens", options.size, special);
  check(options.min_count >= 1, "build_vocabulary: min_count is {}, needs 1 or more", options.min_count);
  check(options.kind != VocabularyKind::kMapped,
        "build_vocabulary: kind is mapped, needs words, characters, bytes or sentencepiece; a mapped vocabulary comes "
        "with a "
        "model of another system");
}

void check_sentences(const std::vector<std::span<const std::string>>& sides) {
  for (std::size_t side = 0; side < sides.size(); ++side) {
    for (std::size_t i = 0; i < sides[side].size(); ++i) {
      const auto bad = find_bad_utf8(sides[side][i]);
      check(!bad, "build_vocabulary: sides[{}][{}] has a byte at {} that is not UTF-8, needs UTF-8", side, i,
            bad.value_or(0));
    }
  }
}

void check_sentence(std::string_view sentence, VocabularyKind kind) {
  if (kind == VocabularyKind::kBytes) return;
  const auto bad = find_bad_utf8(sentence);
  check(!bad, "encode: sentence has a byte at {} that is not UTF-8, needs UTF-8", bad.value_or(0));
}

}  // namespace

std::string placeholder(std::int64_t number) {
  check(number >= 0 && number < kMaxPlaceholders, "placeholder: number is {}, needs 0 to {}", number,
        kMaxPlaceholders - 1);
  std::string text;
  append_utf8(text, kFirstPlaceholder + static_cast<std::uint32_t>(number));
  return text;
}

bool is_placeholder(std::string_view text) {
  const CodePoint point = text_point_at(text, 0);
  return point.size == text.size() && point.value >= kFirstPlaceholder &&
         point.value < kFirstPlaceholder + kMaxPlaceholders;
}

const SentenceRules& Vocabulary::rules() const {
  static const SentenceRules kOwnRules;
  return kOwnRules;
}

std::vector<std::int64_t> Vocabulary::encode(std::string_view sentence) const {
  check_sentence(sentence, kind());
  return encode_text(sentence);
}

std::vector<std::int64_t> Vocabulary::sample(std::string_view sentence, const Sampling& sampling,
                                             std::uint64_t seed) const {
  check_sentence(sentence, kind());
  return sampling.strength == 0.0 ? encode_text(sentence) : sample_text(sentence, sampling, seed);
}

std::vector<std::int64_t> Vocabulary::sample_text(std::string_view /*sentence*/, const Sampling& /*sampling*/,
                                                  std::uint64_t /*seed*/) const {
  fail("sample: the vocabulary is of {}, needs sentencepiece; only its pieces can be drawn", enum_name(kind()));
}

std::string Vocabulary::decode(std::span<const std::int64_t> tokens) const {
  std::vector<std::int64_t> kept;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::int64_t token = tokens[i];
    check(token >= 0 && token < size(), "decode: tokens[{}] is {}, needs 0 to {}", i, token, size() - 1);
    if (!std::ranges::binary_search(rules().omitted, token)) kept.push_back(token);
  }
  return decode_tokens(kept);
}

std::string_view Vocabulary::token_text(std::int64_t token) const {
  check(token >= 0 && token < size(), "token_text: token is {}, needs 0 to {}", token, size() - 1);
  return text_of(token);
}

std::string_view Vocabulary::file_name() const {
  switch (kind()) {
    case VocabularyKind::kWords:
    case VocabularyKind::kCharacters:
    case VocabularyKind::kBytes:
      return kLookupFile;
    case VocabularyKind::kSentencePiece:
      return kSentencePieceFile;
    case VocabularyKind::kMapped:
      return kMappedFile;
  }
  fail("file_name: kind is {}, needs a kind of vocabulary", static_cast<int>(kind()));
}

std::shared_ptr<const Vocabulary> build_vocabulary(const std::vector<std::span<const std::string>>& sides,
                                                   const VocabularyOptions& options) {
  check_options(options);
  if (options.kind != VocabularyKind::kBytes) check_sentences(sides);
  return options.kind == VocabularyKind::kSentencePiece ? build_sentencepiece_vocabulary(sides, options)
                                                        : build_lookup_vocabulary(sides, options);
}

std::shared_ptr<const Vocabulary> parse_vocabulary(std::string_view bytes, std::string_view name) {
  check(!bytes.starts_with('{'),
        "load_vocabulary: {} is a mapped vocabulary, needs to be read with its directory, which may have a {}", name,
        kPiecesFile);
  return looks_like_sentencepiece_model(bytes) ? parse_sentencepiece_vocabulary(bytes, name)
                                               : parse_lookup_vocabulary(bytes, name);
}

}  // namespace edgewise

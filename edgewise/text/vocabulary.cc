// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/vocabulary.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/files.h"
#include "edgewise/base/utf8.h"
#include "edgewise/text/lookup_vocabulary.h"
#include "edgewise/text/sentencepiece_check.h"
#include "edgewise/text/sentencepiece_vocabulary.h"
#include "edgewise/text/vocabulary_file.h"

namespace edgewise {
namespace {

constexpr std::string_view kLoadVocabulary = "load_vocabulary";
constexpr std::string_view kTextFile = "vocabulary.txt";
constexpr std::string_view kModelFile = "vocabulary.model";

void check_options(const VocabularyOptions& options) {
  const auto special = static_cast<std::int64_t>(kSpecialTokens.size());
  check(options.size == 0 || options.size > special,
        "build_vocabulary: size is {}, needs 0 for no limit or more than the {} special tokens", options.size, special);
  check(options.min_count >= 1, "build_vocabulary: min_count is {}, needs 1 or more", options.min_count);
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

void check_sentence(std::string_view sentence) {
  const auto bad = find_bad_utf8(sentence);
  check(!bad, "encode: sentence has a byte at {} that is not UTF-8, needs UTF-8", bad.value_or(0));
}

}  // namespace

std::vector<std::int64_t> Vocabulary::encode(std::string_view sentence) const {
  check_sentence(sentence);
  return encode_text(sentence);
}

std::vector<std::int64_t> Vocabulary::sample(std::string_view sentence, const Sampling& sampling,
                                             std::uint64_t seed) const {
  check_sentence(sentence);
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
    if (token != kPaddingToken && token != kBeginToken && token != kEndToken) kept.push_back(token);
  }
  return decode_tokens(kept);
}

std::string_view Vocabulary::token_text(std::int64_t token) const {
  check(token >= 0 && token < size(), "token_text: token is {}, needs 0 to {}", token, size() - 1);
  return text_of(token);
}

std::string_view Vocabulary::file_name() const {
  return kind() == VocabularyKind::kSentencePiece ? kModelFile : kTextFile;
}

std::shared_ptr<const Vocabulary> build_vocabulary(const std::vector<std::span<const std::string>>& sides,
                                                   const VocabularyOptions& options) {
  check_options(options);
  check_sentences(sides);
  return options.kind == VocabularyKind::kSentencePiece ? build_sentencepiece_vocabulary(sides, options)
                                                        : build_lookup_vocabulary(sides, options);
}

std::shared_ptr<const Vocabulary> parse_vocabulary(std::string_view bytes, std::string_view name) {
  if (looks_like_sentencepiece_model(bytes)) return parse_sentencepiece_vocabulary(bytes, name);
  VocabularyFile file = parse_vocabulary_file(bytes, name);
  return std::make_shared<LookupVocabulary>(file.kind, file.preprocessing, std::move(file.tokens));
}

void save_vocabulary(const Vocabulary& vocabulary, const std::filesystem::path& directory) {
  const std::filesystem::path path = directory / vocabulary.file_name();
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file << vocabulary.serialize();
  file.close();
  check(file.good(), "save_vocabulary: {}: {}", path.string(), std::strerror(errno));
}

std::shared_ptr<const Vocabulary> load_vocabulary(const std::filesystem::path& directory) {
  const std::filesystem::path text = directory / kTextFile;
  const std::filesystem::path model = directory / kModelFile;
  const bool has_text = has_entry(text, kLoadVocabulary);
  const bool has_model = has_entry(model, kLoadVocabulary);
  check(has_text != has_model, "{}: {} has {} of {} and {}, needs one of them", kLoadVocabulary, directory.string(),
        has_text ? "both" : "none", kTextFile, kModelFile);
  const std::filesystem::path& path = has_text ? text : model;
  return parse_vocabulary(read_file(path, kLoadVocabulary, kMaxVocabularyBytes), path.string());
}

}  // namespace edgewise

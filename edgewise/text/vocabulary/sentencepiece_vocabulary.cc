// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/vocabulary/sentencepiece_vocabulary.h"

#include <sentencepiece_trainer.h>

#include <algorithm>
#include <charconv>
#include <latch>
#include <optional>
#include <thread>
#include <unordered_map>
#include <utility>

#include "edgewise/base/address_space.h"
#include "edgewise/base/background.h"
#include "edgewise/base/error.h"
#include "edgewise/base/random.h"
#include "edgewise/base/utf8.h"
#include "edgewise/text/unicode.h"
#include "edgewise/text/vocabulary/piece_codec.h"
#include "edgewise/text/vocabulary/sentencepiece_check.h"

namespace sentencepiece::logging {
void SetMinLogLevel(int level);  // exported by the library, but not declared in Debian's headers
}  // namespace sentencepiece::logging

namespace edgewise {
namespace {

constexpr std::size_t kMaxTrainingSentenceBytes = 4192;
constexpr std::string_view kReserved = "\u2585";  // the library ignores sentences that contain its unknown character

/// Iterates over the sentences of all sides.
class Sentences final : public sentencepiece::SentenceIterator {
 public:
  explicit Sentences(const std::vector<std::span<const std::string>>& sides) : sides_(sides) { skip_empty_sides(); }

  bool done() const override { return side_ == sides_.size(); }
  void Next() override {
    ++index_;
    skip_empty_sides();
  }
  const std::string& value() const override { return sides_[side_][index_]; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  void skip_empty_sides() {
    while (side_ < sides_.size() && index_ == sides_[side_].size()) {
      ++side_;
      index_ = 0;
    }
  }

  const std::vector<std::span<const std::string>>& sides_;
  std::size_t side_ = 0;
  std::size_t index_ = 0;
};

bool is_usable(const std::string& sentence) {
  if (sentence.size() > kMaxTrainingSentenceBytes || sentence.find(kReserved) != std::string::npos) return false;
  bool has_text = false;
  for_each_code_point(sentence, [&](CodePoint point, std::size_t) {
    has_text = has_text || is_letter(point.value) || is_number(point.value);
  });
  return has_text;
}

/// Throws Error if no sentence passes the library's own filters, because the library would end the process.
void check_some_usable(const std::vector<std::span<const std::string>>& sides) {
  for (const auto& sentences : sides) {
    if (std::any_of(sentences.begin(), sentences.end(), is_usable)) return;
  }
  fail("build_vocabulary: the sentences have none of at most {} bytes with a letter or a digit, needs at least one",
       kMaxTrainingSentenceBytes);
}

void check_training(const VocabularyOptions& options) {
  check(!options.separate_punctuation,
        "build_vocabulary: separate_punctuation is true, but kind is sentencepiece; only words need it");
  check(options.min_count == 1, "build_vocabulary: min_count is {}, but kind is sentencepiece; size limits its tokens",
        options.min_count);
  check(options.size > 0 && options.size <= std::int64_t{kMaxPieces},
        "build_vocabulary: size is {}, but kind is sentencepiece, needs the number of tokens to learn, at most {}",
        options.size, kMaxPieces);
  check(options.character_coverage >= 0.98 && options.character_coverage <= 1.0,
        "build_vocabulary: character_coverage is {}, needs 0.98 to 1", options.character_coverage);
  check(options.placeholders >= 0 && options.placeholders <= kMaxPlaceholders,
        "build_vocabulary: placeholders is {}, needs 0 to {}", options.placeholders, kMaxPlaceholders);
}

constexpr int kThreads = 4;  // fixed, because the order of summation depends on it

/// Throws Error unless the system starts all threads of the trainer. The library would end the process if it started
/// only some of them.
void require_threads() {
  std::latch all_started(1);
  std::vector<std::jthread> threads;  // joined at the end of this scope
  while (threads.size() < kThreads) {
    auto thread = try_start_thread([&all_started] { all_started.wait(); });
    if (!thread) break;
    threads.push_back(std::move(*thread));
  }
  all_started.count_down();
  check(threads.size() == kThreads, "build_vocabulary: the system starts {} threads, needs {} for SentencePiece; {}",
        threads.size(), kThreads, kRaiseProcessLimit);
}

/// Under a limit of address space, requires what the trainer maps for any sentences of this size: the library ends the
/// process if an allocation fails. Measured: 57 bytes for each byte of sentences in which all words are different.
void require_trainer_memory(const std::vector<std::span<const std::string>>& sides) {
  constexpr std::int64_t kAnySentences = 100'000'000;
  constexpr std::int64_t kPerByte = 64;
  std::int64_t bytes = 0;
  for (const auto& side : sides) {
    for (const std::string& sentence : side) bytes += std::ssize(sentence);
  }
  require_address_space(kAnySentences + kPerByte * bytes);
}

constexpr std::int64_t kNumBytes = 256;
constexpr std::int64_t kSmallestWithBytes = 4 * kNumBytes;  // for ByteFallback::kAuto

bool has_byte_fallback(const VocabularyOptions& options) {
  if (options.byte_fallback != ByteFallback::kAuto) return options.byte_fallback == ByteFallback::kAlways;
  return options.size >= kSmallestWithBytes;
}

constexpr std::string_view kLineFeed = "\n";

/// Returns the texts of the placeholders, and of the line feed if it is a token, with commas between them.
std::string list_user_defined(const VocabularyOptions& options) {
  std::vector<std::string> texts;
  for (std::int64_t i = 0; i < options.placeholders; ++i) texts.push_back(placeholder(i));
  if (options.line_feeds) texts.emplace_back(kLineFeed);
  return fmt::format("{}", fmt::join(texts, ","));
}

std::unordered_map<std::string, std::string> trainer_arguments(const VocabularyOptions& options) {
  std::unordered_map<std::string, std::string> arguments = {
      {"vocab_size", std::to_string(options.size)},
      {"model_type", options.model == SentencePieceModel::kUnigram ? "unigram" : "bpe"},
      {"normalization_rule_name", "nmt_nfkc"},
      {"character_coverage", fmt::format("{}", options.character_coverage)},
      {"max_sentence_length", std::to_string(kMaxTrainingSentenceBytes)},
      {"num_threads", std::to_string(kThreads)},
      {"byte_fallback", has_byte_fallback(options) ? "true" : "false"},
      {"split_digits", options.split_digits ? "true" : "false"},
      {"user_defined_symbols", list_user_defined(options)},
      {"unk_surface", std::string(kSpecialTokens[SpecialTokens().unknown])}};
  constexpr std::array<std::string_view, 4> kNames = {"pad", "unk", "bos", "eos"};
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    arguments.emplace(fmt::format("{}_id", kNames[i]), std::to_string(i));
    arguments.emplace(fmt::format("{}_piece", kNames[i]), kSpecialTokens[i]);
  }
  return arguments;
}

/// Returns the number after `before` in an error message of the library.
std::optional<std::int64_t> number_after(std::string_view text, std::string_view before) {
  const auto found = text.find(before);
  if (found == std::string_view::npos) return std::nullopt;
  const std::string_view rest = text.substr(found + before.size());
  std::int64_t number = 0;
  const auto end = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  return end.ec == std::errc() ? std::optional(number) : std::nullopt;
}

[[noreturn]] void fail_with_advice(const VocabularyOptions& options, std::string_view message) {
  if (auto most = number_after(message, "Please set it to a value <= ")) {
    const bool lacks_bytes = options.byte_fallback == ByteFallback::kAuto && *most < kSmallestWithBytes;
    if (has_byte_fallback(options) && lacks_bytes) *most -= kNumBytes;
    fail(
        "build_vocabulary: size is {}, but these sentences give SentencePiece at most {} tokens; set size to {} or "
        "less",
        options.size, *most, *most);
  }
  if (const auto least = number_after(message, fmt::format("smaller than required_chars. {} vs ", options.size))) {
    fail("build_vocabulary: size is {}, but these sentences have {} for {} tokens; set size to {} or more",
         options.size, has_byte_fallback(options) ? "characters, with the 256 bytes," : "characters", *least, *least);
  }
  fail("build_vocabulary: size is {}, with which SentencePiece does not learn from these sentences: {}", options.size,
       message);
}

bool is_ascii_control(std::size_t byte) { return byte < 0x20 || byte == 0x7F; }

/// Returns the rules of a vocabulary that is learned here. Outputs do not contain the bytes of control characters,
/// which would break lines; normalisation leaves no such byte in a training sentence.
SentenceRules rules_of(std::span<const Piece> pieces) {
  SentenceRules rules;
  std::size_t byte = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].type != PieceType::kByte) continue;
    if (is_ascii_control(byte++)) rules.forbidden.push_back(static_cast<std::int64_t>(i));
  }
  return rules;
}

/// Returns the number of the line feed's own token.
std::optional<std::int64_t> find_line_feed(std::span<const Piece> pieces) {
  const auto found = std::ranges::find_if(
      pieces, [](const Piece& piece) { return piece.text == kLineFeed && piece.type == PieceType::kUserDefined; });
  return found == pieces.end() ? std::nullopt : std::optional<std::int64_t>(found - pieces.begin());
}

/// A vocabulary of pieces. With a token for the line feed, each line of a text is split into pieces by itself, so that
/// all lines begin alike and memory does not grow with the text.
class SentencePieceVocabulary final : public Vocabulary {
 public:
  SentencePieceVocabulary(std::string bytes, std::string_view name)
      : codec_(std::move(bytes), name, SpecialPieces::kOwn),
        rules_(rules_of(codec_.pieces())),
        line_feed_(find_line_feed(codec_.pieces())) {}

  VocabularyKind kind() const override { return VocabularyKind::kSentencePiece; }
  std::int64_t size() const override { return std::ssize(codec_.pieces()); }
  const SentenceRules& rules() const override { return rules_; }
  std::string serialize() const override { return codec_.bytes(); }
  std::optional<SentencePieceModel> piece_model() const override { return codec_.algorithm(); }

 private:
  std::vector<std::int64_t> encode_text(std::string_view sentence) const override {
    return encode_lines(sentence, [this](std::string_view line) { return codec_.encode(line); });
  }
  std::vector<std::int64_t> sample_text(std::string_view sentence, const Sampling& sampling,
                                        std::uint64_t seed) const override {
    return encode_lines(sentence, [&, number = std::uint64_t{0}](std::string_view line) mutable {
      return codec_.sample(line, sampling, number++ == 0 ? seed : mix(seed, number));
    });
  }
  std::string decode_tokens(std::span<const std::int64_t> tokens) const override {
    std::string text;
    while (line_feed_) {
      const auto end = std::ranges::find(tokens, *line_feed_);
      if (end == tokens.end()) break;
      const auto size = static_cast<std::size_t>(end - tokens.begin());
      text += codec_.decode(tokens.first(size)) + std::string(kLineFeed);
      tokens = tokens.subspan(size + 1);
    }
    return text + codec_.decode(tokens);
  }

  /// Encodes each line of a text by `encode`; the whole text if the line feed is no token.
  std::vector<std::int64_t> encode_lines(std::string_view text, auto&& encode) const {
    std::size_t end = line_feed_ ? text.find(kLineFeed) : std::string_view::npos;
    if (end == std::string_view::npos) return encode(text);
    std::vector<std::int64_t> tokens;
    while (true) {
      const std::vector<std::int64_t> line = encode(text.substr(0, end));
      tokens.insert(tokens.end(), line.begin(), line.end());
      if (end == std::string_view::npos) return tokens;
      tokens.push_back(*line_feed_);
      text.remove_prefix(end + 1);
      end = text.find(kLineFeed);
    }
  }
  std::string_view text_of(std::int64_t token) const override {
    return codec_.pieces()[static_cast<std::size_t>(token)].text;
  }

  PieceCodec codec_;
  SentenceRules rules_;
  std::optional<std::int64_t> line_feed_;
};

/// Returns the bytes of the file of a model.
std::string train_sentencepiece(const std::vector<std::span<const std::string>>& sides,
                                const VocabularyOptions& options) {
  check_training(options);
  check_some_usable(sides);
  require_threads();
  require_trainer_memory(sides);
  const LibraryCall call;
  silence_sentencepiece();
  Sentences sentences(sides);
  std::string model;
  const auto status = sentencepiece::SentencePieceTrainer::Train(trainer_arguments(options), &sentences, &model);
  if (!status.ok()) fail_with_advice(options, status.error_message());
  return model;
}

}  // namespace

void silence_sentencepiece() {
  constexpr int kFatalOnly = 3;
  sentencepiece::logging::SetMinLogLevel(kFatalOnly);
}

std::shared_ptr<const Vocabulary> build_sentencepiece_vocabulary(const std::vector<std::span<const std::string>>& sides,
                                                                 const VocabularyOptions& options) {
  return std::make_shared<SentencePieceVocabulary>(train_sentencepiece(sides, options), "the model just trained");
}

std::shared_ptr<const Vocabulary> parse_sentencepiece_vocabulary(std::string_view bytes, std::string_view name) {
  return std::make_shared<SentencePieceVocabulary>(std::string(bytes), name);
}

}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/base/config/fields.h"
#include "edgewise/text/vocabulary/sentence_case.h"
#include "edgewise/text/vocabulary/sentence_rules.h"

namespace edgewise {

/// The kind of a vocabulary's tokens. build_vocabulary learns all kinds but kMapped.
enum class VocabularyKind {
  kWords,          // text between white space (lookup_vocabulary.h)
  kCharacters,     // code points, white space among them (lookup_vocabulary.h)
  kBytes,          // the 256 bytes, whatever the text (lookup_vocabulary.h)
  kSentencePiece,  // pieces that SentencePiece learns (sentencepiece_vocabulary.h)
  kMapped          // tokens of a model of another system (mapped_vocabulary.h)
};

enum class SentencePieceModel { kUnigram, kBpe };

/// When a SentencePiece vocabulary encodes characters that it does not have as their bytes in UTF-8.
enum class ByteFallback {
  kAuto,  // if the 256 tokens of the bytes are at most a quarter of the vocabulary
  kAlways,
  kNever  // such characters are unknown
};

inline constexpr auto enum_names(VocabularyKind) {
  return std::array{EnumName{VocabularyKind::kWords, "words"}, EnumName{VocabularyKind::kCharacters, "characters"},
                    EnumName{VocabularyKind::kBytes, "bytes"},
                    EnumName{VocabularyKind::kSentencePiece, "sentencepiece"},
                    EnumName{VocabularyKind::kMapped, "mapped"}};
}

inline constexpr auto enum_names(SentencePieceModel) {
  return std::array{EnumName{SentencePieceModel::kUnigram, "unigram"}, EnumName{SentencePieceModel::kBpe, "bpe"}};
}

inline constexpr auto enum_names(ByteFallback) {
  return std::array{EnumName{ByteFallback::kAuto, "auto"}, EnumName{ByteFallback::kAlways, "always"},
                    EnumName{ByteFallback::kNever, "never"}};
}

inline constexpr std::int64_t kMaxPlaceholders = 100;

struct VocabularyOptions {
  VocabularyKind kind = VocabularyKind::kWords;
  std::int64_t size = 0;
  std::int64_t min_count = 1;
  bool separate_punctuation = false;
  SentencePieceModel model = SentencePieceModel::kUnigram;
  double character_coverage = 1.0;
  ByteFallback byte_fallback = ByteFallback::kAuto;
  std::int64_t placeholders = 0;
  bool split_digits = false;
  bool line_feeds = false;

  template <class Self, class Field>
  static void list_fields(Self& self, Field&& field) {
    field("kind", self.kind,
          "kind of tokens: words between spaces, characters, bytes, pieces that SentencePiece learns, or mapped: the "
          "tokens of "
          "another system's model, which cannot be learned");
    field("size", self.size,
          "most tokens of the vocabulary, with the four special ones; 0: no limit; sentencepiece: the exact number, "
          "default 8000",
          at_least(0).at_most(1e6));
    field("min_count", self.min_count, "words and characters: smallest frequency of a token; rarer ones become unknown",
          at_least(1).at_most(1e12));
    field("separate_punctuation", self.separate_punctuation,
          "words: split the marks `,.!?` from words, as tokens of their own");
    field("model", self.model, "SentencePiece: algorithm that learns the pieces");
    field("character_coverage", self.character_coverage,
          "SentencePiece: share of the text whose characters are kept; rarer characters become bytes or unknown",
          at_least(0.98).at_most(1));
    field("byte_fallback", self.byte_fallback,
          "SentencePiece: whether characters without a token become the 256 tokens of the bytes (always) or unknown "
          "(never); auto: bytes, if size is at least 1024");
    field("placeholders", self.placeholders,
          "SentencePiece: number of tokens for the characters U+E001, U+E002, ..., which stand for text that a model "
          "copies",
          at_least(0).at_most(kMaxPlaceholders));
    field("split_digits", self.split_digits, "SentencePiece: each digit is a token of its own");
    field("line_feeds", self.line_feeds,
          "SentencePiece: a line feed is a token, and each line is split by itself; otherwise it becomes a space; "
          "default true for a language model");
  }
};

/// Limit for the size of a file of a vocabulary. In memory, a vocabulary may need twenty times as much.
inline constexpr std::uint64_t kMaxVocabularyBytes = std::uint64_t{32} << 20;

/// Returns the private-use character U+E001, U+E002, … of a placeholder, numbered from 0 to kMaxPlaceholders - 1.
std::string placeholder(std::int64_t number);
bool is_placeholder(std::string_view text);

/// Names of the special tokens, by number, in the vocabularies that are learned.
inline constexpr std::array<std::string_view, 4> kSpecialTokens = {"<pad>", "<unknown>", "<begin>", "<end>"};

/// Subword regularisation: random segmentations of sentences in training.
struct Sampling {
  // BPE: share of merges that are skipped (Provilkov et al. 2020, "BPE-Dropout"). Unigram: exponent of the
  // probabilities of segmentations; smaller values sample more freely (Kudo 2018, "Subword Regularization"). 0: no
  // sampling.
  double strength = 0.0;
  std::int64_t best = 0;  // unigram: number of best segmentations to sample from; 0: all
};

/// Converts sentences into tokens and back. Immutable, so several threads may use it.
class Vocabulary {
 public:
  virtual ~Vocabulary() = default;

  virtual VocabularyKind kind() const = 0;
  virtual std::int64_t size() const = 0;

  /// Returns the roles of tokens other than text.
  virtual const SentenceRules& rules() const;
  const SpecialTokens& special() const { return rules().special; }

  /// Returns the tokens of a sentence, without those around it (sentence_frame.h). Text that looks like a special
  /// token, such as `<end>`, does not become that token, unless a mapped vocabulary says otherwise. Throws Error for a
  /// sentence that is not UTF-8, unless the tokens are bytes.
  std::vector<std::int64_t> encode(std::string_view sentence) const;

  /// Encodes with a random segmentation, a function of sentence, sampling and seed; a strength of 0 equals encode.
  /// Throws Error also if the vocabulary has no SentencePiece model.
  std::vector<std::int64_t> sample(std::string_view sentence, const Sampling& sampling, std::uint64_t seed) const;

  /// Returns the sentence without the tokens that rules() omits: padding, begin and end, in mapped vocabularies others
  /// too. Other unknown tokens become `<unknown>`. Restores an encoded sentence except for information that the
  /// vocabulary does not store: white space (words), unknown characters, lowered capitals, and differences that NFKC
  /// removes (SentencePiece). The text of bytes may not be UTF-8. Throws Error for tokens outside the vocabulary.
  std::string decode(std::span<const std::int64_t> tokens) const;

  /// Returns the text of a token: a word, a character, a byte of ASCII or `<0xC3>` for another byte, or a piece with
  /// `▁` for a space. Valid as long as the vocabulary.
  std::string_view token_text(std::int64_t token) const;

  /// Return the name, "vocabulary.txt", "vocabulary.model" or "vocabulary.json", and the bytes of the vocabulary's
  /// file.
  std::string_view file_name() const;
  virtual std::string serialize() const = 0;

  /// Returns whether words are separated from the marks after them.
  virtual bool separates_punctuation() const { return false; }

  /// Return the name, "pieces.model" or "tokenizer.json", and the bytes of the file that splits the text of a mapped
  /// vocabulary: a SentencePiece model or a tokenizer; empty if there is no such file.
  virtual std::string_view pieces_name() const { return {}; }
  virtual std::string serialize_pieces() const { return {}; }

  /// Returns the algorithm that learned the pieces; nothing for a vocabulary without a SentencePiece model.
  virtual std::optional<SentencePieceModel> piece_model() const { return std::nullopt; }

  virtual CaseKind case_kind() const { return CaseKind::kKeep; }

  /// Returns the bytes of the case file (sentence_case.h); empty if capitals are kept.
  virtual std::string serialize_case() const { return {}; }

 protected:
  // Implementations. Arguments are checked: UTF-8, except for a vocabulary of bytes, and tokens of this vocabulary that
  // rules() does not omit.
  virtual std::vector<std::int64_t> encode_text(std::string_view sentence) const = 0;
  virtual std::vector<std::int64_t> sample_text(std::string_view sentence, const Sampling& sampling,
                                                std::uint64_t seed) const;
  virtual std::string decode_tokens(std::span<const std::int64_t> tokens) const = 0;
  virtual std::string_view text_of(std::int64_t token) const = 0;
};

/// Learns a vocabulary from the sentences of one or several sides of a corpus, `build_vocabulary({pairs.inputs}, …)`.
/// Use training sentences only, or scores will be too high. Words and characters are ordered by frequency, then by
/// their bytes. Throws Error for sentences without tokens or not in UTF-8, for options that do not fit, and for a
/// SentencePiece size that is too large for the sentences.
std::shared_ptr<const Vocabulary> build_vocabulary(const std::vector<std::span<const std::string>>& sides,
                                                   const VocabularyOptions& options = {});

/// Parses the result of serialize() after checking it; error messages contain `name`. Also accepts models from the
/// SentencePiece tools that were trained with --pad_id=0 --unk_id=1 --bos_id=2 --eos_id=3. Throws Error for a mapped
/// vocabulary, which may have two files (token_list.h, mapped_vocabulary.h).
std::shared_ptr<const Vocabulary> parse_vocabulary(std::string_view bytes, std::string_view name);

}  // namespace edgewise

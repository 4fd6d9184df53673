// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/base/fields.h"

namespace edgewise {

enum class VocabularyKind { kWords, kCharacters, kSentencePiece };
enum class SentencePieceModel { kUnigram, kBpe };

inline constexpr auto enum_names(VocabularyKind) {
  return std::array{EnumName<VocabularyKind>{VocabularyKind::kWords, "words"},
                    EnumName<VocabularyKind>{VocabularyKind::kCharacters, "characters"},
                    EnumName<VocabularyKind>{VocabularyKind::kSentencePiece, "sentencepiece"}};
}

inline constexpr auto enum_names(SentencePieceModel) {
  return std::array{EnumName<SentencePieceModel>{SentencePieceModel::kUnigram, "unigram"},
                    EnumName<SentencePieceModel>{SentencePieceModel::kBpe, "bpe"}};
}

struct VocabularyOptions {
  VocabularyKind kind = VocabularyKind::kWords;
  std::int64_t size = 0;
  std::int64_t min_count = 1;
  bool separate_punctuation = false;
  SentencePieceModel model = SentencePieceModel::kUnigram;
  double character_coverage = 1.0;

  template <class Self, class Field>
  static void list_fields(Self& self, Field&& field) {
    field("kind", self.kind,
          "what a token is: a word between spaces, a character, or a piece that SentencePiece learns");
    field("size", self.size,
          "most tokens, the four special ones among them; 0: no limit; SentencePiece has exactly these");
    field("min_count", self.min_count, "words and characters: rarer ones are unknown");
    field("separate_punctuation", self.separate_punctuation, "words: `,.!?` are words of their own");
    field("model", self.model, "SentencePiece: how pieces are learned");
    field("character_coverage", self.character_coverage,
          "SentencePiece: share of the text whose characters are kept, from 0.98 to 1; rarer ones are unknown");
  }
};

// The same in every vocabulary.
inline constexpr std::int64_t kPaddingToken = 0;
inline constexpr std::int64_t kUnknownToken = 1;
inline constexpr std::int64_t kBeginToken = 2;
inline constexpr std::int64_t kEndToken = 3;
inline constexpr std::array<std::string_view, 4> kSpecialTokens = {"<pad>", "<unknown>", "<begin>", "<end>"};

/// How freely a sentence is split into other pieces than the likeliest, so that a model learns from more than one way
/// (subword regularisation).
struct Sampling {
  // BPE: the share of merges left out (Provilkov et al. 2020, "BPE-Dropout"). Unigram: the power that probabilities of
  // splits are raised to, the freer the smaller (Kudo 2018, "Subword Regularization"). 0: no sampling.
  double strength = 0.0;
  std::int64_t best = 0;  // unigram: among so many best splits; 0: among all
};

/// Sentences to tokens and back. Never changes, so several threads may use it.
class Vocabulary {
 public:
  virtual ~Vocabulary() = default;

  virtual VocabularyKind kind() const = 0;
  virtual std::int64_t size() const = 0;

  /// The tokens of a sentence, without begin and end: those are for who trains or searches to add. A text that looks
  /// like a special token, `<end>`, is unknown. Throws Error for a sentence that is not UTF-8.
  std::vector<std::int64_t> encode(std::string_view sentence) const;

  /// Likewise, in pieces drawn at random: a function of sentence, sampling and seed. Throws Error too for a vocabulary
  /// that is not SentencePiece's; a strength of 0 is as encode.
  std::vector<std::int64_t> sample(std::string_view sentence, const Sampling& sampling, std::uint64_t seed) const;

  /// The sentence of tokens. Padding, begin and end are left out, unknown tokens become `<unknown>`. Gives back what
  /// was encoded up to what the kind does not keep: white space for words, rare characters, small letters where
  /// capitals were; SentencePiece keeps the text's NFKC form. Throws Error for a token that the vocabulary does not
  /// have.
  std::string decode(std::span<const std::int64_t> tokens) const;

  /// How a token is shown: a word, a character, a piece with `▁` for a space. It lives as long as the vocabulary.
  std::string_view token_text(std::int64_t token) const;

  /// The file that holds it, "vocabulary.txt" or "vocabulary.model", and what is in that.
  std::string_view file_name() const;
  virtual std::string serialize() const = 0;

  /// What a file of its sentences' case holds (sentence_case.h); empty where capitals are kept.
  virtual std::string serialize_case() const { return {}; }

 protected:
  /// After the checks: UTF-8; tokens of this vocabulary that are none of padding, begin and end; a token of it.
  virtual std::vector<std::int64_t> encode_text(std::string_view sentence) const = 0;
  virtual std::vector<std::int64_t> sample_text(std::string_view sentence, const Sampling& sampling,
                                                std::uint64_t seed) const;
  virtual std::string decode_tokens(std::span<const std::int64_t> tokens) const = 0;
  virtual std::string_view text_of(std::int64_t token) const = 0;
};

/// Learns a vocabulary from the sentences of one or several sides of a corpus, `build_vocabulary({pairs.inputs}, …)`:
/// those of the training part only, or scores will be too good. The order of tokens depends on nothing but counts and
/// texts: the most frequent first, equals by their bytes. Throws Error for sentences without tokens, for what is not
/// UTF-8, for options that do not fit, and for a SentencePiece size that the sentences are too few for.
std::shared_ptr<const Vocabulary> build_vocabulary(const std::vector<std::span<const std::string>>& sides,
                                                   const VocabularyOptions& options = {});

/// Reads what serialize() gave; `name` is what errors call it. Everything in it is checked before it is used. Models
/// that SentencePiece itself wrote are read too, when they were trained with --pad_id=0 --unk_id=1 --bos_id=2
/// --eos_id=3.
std::shared_ptr<const Vocabulary> parse_vocabulary(std::string_view bytes, std::string_view name);

/// Writes the vocabulary's one file into a directory that exists.
void save_vocabulary(const Vocabulary& vocabulary, const std::filesystem::path& directory);

/// Reads the one vocabulary file of a directory.
std::shared_ptr<const Vocabulary> load_vocabulary(const std::filesystem::path& directory);

}  // namespace edgewise

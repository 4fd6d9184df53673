// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>

#include "edgewise/base/config/fields.h"

namespace edgewise {

class Vocabulary;

/// Treatment of capitals before a sentence is split into tokens. kKeep keeps them. kLower makes all letters lower case.
/// kTruecase writes the first word as inside a sentence, and capitalises the first word of decoded text.
enum class CaseKind { kKeep, kLower, kTruecase };

inline constexpr auto enum_names(CaseKind) {
  return std::array{EnumName{CaseKind::kKeep, "keep"}, EnumName{CaseKind::kLower, "lower"},
                    EnumName{CaseKind::kTruecase, "truecase"}};
}

/// Applies and undoes the case treatment of inputs or of outputs. Immutable, so several threads may use it.
class SentenceCase {
 public:
  /// Keeps capitals.
  SentenceCase() = default;

  /// For kTruecase, learns which words inside sentences most often begin with a lower-case letter. A sentence begins at
  /// the beginning of a line and after each of `.:!?`. Other kinds ignore `sentences`.
  static SentenceCase learn(CaseKind kind, std::span<const std::string> sentences);

  /// Parses the result of serialize(); throws Error for other bytes, with `name` in the message.
  static SentenceCase parse(std::string_view bytes, std::string_view name);
  std::string serialize() const;

  CaseKind kind() const { return kind_; }

  /// Returns the sentence with the treatment. Truecasing changes only the first word, which may follow quotes: "The"
  /// becomes "the" if learned words contain "the".
  std::string apply(std::string_view sentence) const;

  /// Capitalises the first word for kTruecase; cannot restore the capitals that kLower removed.
  std::string undo(std::string_view sentence) const;

 private:
  std::string header() const;

  CaseKind kind_ = CaseKind::kKeep;
  std::unordered_set<std::string> lowercase_words_;
};

/// Returns a vocabulary that applies `sentence_case` before encoding and undoes it after decoding; `vocabulary` itself
/// if capitals are kept.
std::shared_ptr<const Vocabulary> with_case(std::shared_ptr<const Vocabulary> vocabulary, SentenceCase sentence_case);

}  // namespace edgewise

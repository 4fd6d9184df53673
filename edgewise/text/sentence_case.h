// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "edgewise/base/fields.h"

namespace edgewise {

/// What becomes of capitals before a sentence is split into tokens: they stay; all become small; or the word that
/// begins the sentence is written as inside of one, and made to begin with a capital again when text is put together.
enum class CaseKind { kKeep, kLower, kTruecase };

inline constexpr auto enum_names(CaseKind) {
  return std::array{EnumName<CaseKind>{CaseKind::kKeep, "keep"}, EnumName<CaseKind>{CaseKind::kLower, "lower"},
                    EnumName<CaseKind>{CaseKind::kTruecase, "truecase"}};
}

/// The case of one side's sentences. Never changes, so several threads may use it.
class SentenceCase {
 public:
  /// Keeps capitals, or makes all letters small.
  SentenceCase() = default;

  /// Of truecasing, learns from sentences which words are most often written small where they do not begin one; a line
  /// is a sentence, and what stands behind one of `.:!?` begins another. The other kinds look at no sentence.
  static SentenceCase learn(CaseKind kind, std::span<const std::string> sentences);

  /// Reads what serialize() gave; `name` is what errors call it. Throws Error for anything else.
  static SentenceCase parse(std::string_view bytes, std::string_view name);
  std::string serialize() const;

  CaseKind kind() const { return kind_; }

  /// As the model reads it. Of truecasing, only the line's first word is looked at, behind quotes and the like: "The"
  /// becomes "the" when that is how most write it; words never seen stay as they are.
  std::string apply(std::string_view sentence) const;

  /// As people write it: truecasing gives the first word its capital. Capitals that were made small are lost.
  std::string undo(std::string_view sentence) const;

 private:
  CaseKind kind_ = CaseKind::kKeep;
  std::unordered_set<std::string> small_;  // words that begin with a small letter
};

}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "edgewise/base/fields.h"
#include "edgewise/translate/model_files.h"
#include "edgewise/translate/translation.h"
#include "edgewise/search/hypothesis.h"

namespace edgewise {

/// What becomes of an input of more tokens than the model is for: parts that fit are translated one by one
/// (long_sentences.h), or its beginning is translated alone.
enum class LongInputs { kSplit, kCut };

inline constexpr auto enum_names(LongInputs) {
  return std::array{EnumName<LongInputs>{LongInputs::kSplit, "split"}, EnumName<LongInputs>{LongInputs::kCut, "cut"}};
}

/// How text becomes what a model reads, and back.
struct Coding {
  Vocabularies vocabularies;
  bool end_input = false;      // inputs end with the end token
  std::int64_t max_input = 0;  // tokens of an input, the end token not counted; 0: no limit
  LongInputs long_inputs = LongInputs::kSplit;
};

/// As a model was trained, with inputs as long as it saw.
Coding coding_of(const Experiment& experiment, const Vocabularies& vocabularies);
inline Coding coding_of(const ModelFiles& files) { return coding_of(files.experiment, files.vocabularies); }

/// A sentence as a model reads it: in several parts where it is too long, in an empty one where it has no tokens.
struct CodedSentence {
  std::vector<Tokens> parts;
  Tokens prefix = {};  // of the first part
  bool was_cut = false;

  std::int64_t num_tokens() const;
};

/// Throws Error for what is not UTF-8.
CodedSentence encode(const TranslationRequest& request, const Coding& coding);

/// `found` holds for each part what a search found. Of several parts one output comes out: their best, one after the
/// other.
Translation decode(const CodedSentence& sentence, std::span<const std::vector<Hypothesis>> found, const Coding& coding);

}  // namespace edgewise

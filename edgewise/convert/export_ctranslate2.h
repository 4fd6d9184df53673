// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "edgewise/translate/model_files.h"

namespace edgewise {

/// Returns the files of a CTranslate2 model by name: model.bin with F32 variables, config.json, the vocabularies, and
/// the SentencePiece models that split texts: sentencepiece.model, or source.spm and target.spm. They are left out for
/// a model whose vocabulary.input_case or output_case is not `keep`: its tokens are those of texts of another case.
/// Positions by a formula become a table of 1024 rows, the most tokens of a sentence with those around it. Outputs may
/// contain tokens that search excludes here, such as `<unknown>`: translate_batch() has suppress_sequences for them.
/// Languages of a multilingual model must be written as tokens. Throws Error, beginning with `caller`, for options that
/// CTranslate2 does not have.
std::map<std::string, std::string> export_ctranslate2(const ModelFiles& model, std::string_view caller);

}  // namespace edgewise

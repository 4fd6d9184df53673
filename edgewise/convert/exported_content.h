// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "edgewise/convert/stored_tensor.h"
#include "edgewise/text/vocabulary/token_list.h"
#include "edgewise/text/vocabulary/vocabulary.h"
#include "edgewise/translate/model_files.h"

// Parameters and tokens in the form that exporters share.

namespace edgewise {

/// Throws an Error about an option: "edgewise export: model.score is additive, needs dot".
[[noreturn]] void refuse_option(std::string_view caller, std::string_view option, std::string_view has,
                                std::string_view needs);

/// Throws Error, beginning with `caller`, for options that no other system has: of kind, score, clamp, norm,
/// norm_epsilon and case.
void check_exportable(const Experiment& experiment, std::string_view caller);

/// Types of exported parameters: F16 and BF16 stay, or all become F32, which changes no value.
enum class ExportedTypes { kStored, kF32 };

/// Returns the parameters that list_parameters lists for a model with biases in attention, where biases that the model
/// lacks are 0; matrices of I8 become F32. The result views the memory of `model` or has its own. Throws Error,
/// beginning with `caller`, for parameters that do not fit the options.
StoredTensors exported_parameters(const ModelFiles& model, ExportedTypes types, std::string_view caller);

/// Returns the list of a mapped vocabulary.
TokenList mapped_tokens(const Vocabulary& vocabulary);

/// Returns the texts of all tokens, by number.
std::vector<std::string> all_tokens(const Vocabulary& vocabulary);

/// Returns the bytes of a vocabulary's SentencePiece model.
std::string piece_model(const Vocabulary& vocabulary);

}  // namespace edgewise

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

/// Types of exported parameters: kStored keeps F32, F16 and BF16; kF32 converts all to F32, without rounding.
enum class ExportedTypes { kStored, kF32 };

/// Returns the parameters of list_parameters() (tensor_layout.h), always with attention biases: zeros where the model
/// has none. I8 matrices become F32. The result views the memory of `model` or has its own. Throws Error, beginning
/// with `caller`, for parameters that do not fit the options.
StoredTensors exported_parameters(const ModelFiles& model, ExportedTypes types, std::string_view caller);

/// Returns the parameters of list_parameters(options): `options` are those of the model, but may have biases that the
/// model does not have, which are zeros.
StoredTensors exported_parameters(const ModelFiles& model, const TransformerOptions& options, ExportedTypes types,
                                  std::string_view caller);

/// Returns the tokens of a vocabulary of kind kMapped.
TokenList mapped_tokens(const Vocabulary& vocabulary);

/// Returns the texts of all tokens, by number.
std::vector<std::string> all_tokens(const Vocabulary& vocabulary);

/// Returns the bytes of a vocabulary's SentencePiece model.
std::string piece_model(const Vocabulary& vocabulary);

}  // namespace edgewise

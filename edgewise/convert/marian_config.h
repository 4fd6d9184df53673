// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "edgewise/convert/marian_tokens.h"
#include "edgewise/convert/stored_tensor.h"
#include "edgewise/options/transformer_options.h"
#include "edgewise/search/options.h"

namespace edgewise {

/// The norms of Marian have this epsilon.
inline constexpr double kMarianEpsilon = 1e-6;

/// The settings of decoder.yml.
struct MarianDecoder {
  std::filesystem::path model;            // the npz file
  std::filesystem::path vocabularies[2];  // files of input and output; equal for a common vocabulary
  std::int64_t max_length = 0;            // most tokens of an input, with its end token
  MarianTokenRules token_rules;
  SearchOptions search;
};

/// Reads decoder.yml. The search gives the outputs of Marian: scores are divided by a power of the length, and outputs
/// have at most max-length-factor times the length of their inputs, with end tokens. Throws Error for several models,
/// for word penalties, and for a max-length-factor that is no whole number.
MarianDecoder read_marian_decoder(const std::filesystem::path& directory, std::string_view caller);

/// Returns the options of the model with these arrays, which the array special:model.yml describes. The vocabulary has
/// one token more than the tables, for padding. Throws Error for options of Marian that Edgewise does not have.
TransformerOptions read_marian_options(TensorLookup& arrays, std::string_view where);

}  // namespace edgewise

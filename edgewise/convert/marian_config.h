// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "edgewise/convert/stored_tensor.h"
#include "edgewise/options/transformer_options.h"
#include "edgewise/search/options.h"

namespace edgewise {

/// The settings of decoder.yml.
struct MarianDecoder {
  std::filesystem::path model;            // the npz file
  std::filesystem::path vocabularies[2];  // files of input and output; equal for a common vocabulary
  SearchOptions search;
};

/// Reads decoder.yml. The search has the rules of Hugging Face's transformers, the beam and the length normalisation of
/// the file, and outputs of at most 512 tokens, as transformers' converter chooses. Throws Error for several models and
/// for word penalties.
MarianDecoder read_marian_decoder(const std::filesystem::path& directory, std::string_view caller);

/// Returns the options of the model with these arrays, which the array special:model.yml describes. The vocabulary has
/// one token more than the tables, for padding. Throws Error for options of Marian that Edgewise does not have.
TransformerOptions read_marian_options(TensorLookup& arrays, std::string_view where);

}  // namespace edgewise

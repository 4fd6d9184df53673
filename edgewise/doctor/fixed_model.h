// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "edgewise/base/files/safetensors.h"
#include "edgewise/options/transformer_options.h"
#include "edgewise/search/options.h"
#include "edgewise/search/scorer.h"

// A small Transformer with fixed random weights, and what it decodes.

namespace edgewise {

inline constexpr std::string_view kFixedModelDigest =
    "6998ec624abd08b8e8087765c95fdd815ee4e48de1564185894d171b65cf7693";

TransformerOptions fixed_model_options();

/// Returns the parameters, whose file has the same bytes on every machine, with the SHA-256 kFixedModelDigest.
SafetensorsFile fixed_model_parameters();

/// Returns the options with which the expected outputs were found.
SearchOptions fixed_search_options();

/// An input, and the best output of the model in double.
struct FixedOutput {
  Tokens input;
  Tokens output;
  double log_probability;  // the sum over the output and its end token
};

const std::vector<FixedOutput>& fixed_outputs();

}  // namespace edgewise

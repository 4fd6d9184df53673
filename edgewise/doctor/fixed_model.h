// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "edgewise/base/safetensors.h"
#include "edgewise/options/transformer_options.h"
#include "edgewise/search/options.h"
#include "edgewise/search/scorer.h"

// A small Transformer with fixed random weights, and what it decodes.

namespace edgewise {

TransformerOptions fixed_model_options();

/// Returns the parameters, which have the same bits on every machine.
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

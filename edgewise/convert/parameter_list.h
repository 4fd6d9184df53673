// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "edgewise/options/transformer_options.h"

namespace edgewise {

/// Name and shape of a parameter in a model directory.
struct ParameterShape {
  std::string name;
  std::vector<std::int64_t> shape;
};

/// Lists the parameters of a model with dot scores. Throws Error for a Universal Transformer and for additive scores,
/// which no other system has.
std::vector<ParameterShape> list_parameters(const TransformerOptions& options);

}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "edgewise/models/universal_transformer.h"
#include "tests/models/small_models.h"

namespace edgewise {

inline TransformerOptions universal_options(TransformerPreset preset = TransformerPreset::kTutorial) {
  TransformerOptions options = small_options(preset);
  options.kind = ModelKind::kUniversal;
  options.encoder_layers = 6;
  options.decoder_layers = 5;
  options.universal.epsilon = 0.05;
  return options;
}

/// Parameters are random; halting units say little enough that nodes halt at different steps.
inline UniversalTransformer universal_model(const TransformerOptions& options) {
  UniversalTransformer model = randomised(UniversalTransformer(options, 1));
  for (const NamedTensor& named : parameters(model)) {
    if (named.name.ends_with("halting.linear.bias")) named.tensor.detach().fill_(-1.0);
  }
  return model;
}

template <class Enum>
std::vector<Enum> all_of() {
  std::vector<Enum> values;
  for (const auto& named : enum_names(Enum{})) values.push_back(named.value);
  return values;
}

}  // namespace edgewise

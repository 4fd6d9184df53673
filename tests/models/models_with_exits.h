// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "edgewise/models/transformer.h"
#include "tests/models/small_models.h"

namespace edgewise {

/// Returns options of each preset, and of each layer that no preset has, with four decoder layers and exits after the
/// first and the third.
inline std::vector<TransformerOptions> all_kinds_with_exits() {
  std::vector<TransformerOptions> kinds;
  for (const TransformerPreset preset : all_presets()) kinds.push_back(small_options(preset));
  for (const auto& [name, options] : options_without_preset()) kinds.push_back(options);
  for (TransformerOptions& options : kinds) {
    options.decoder_layers = 4;
    options.exits.layers = {1, 3};
  }
  kinds.push_back(kinds.front());
  kinds.back().norm_placement = NormPlacement::kPost;  // with a final norm
  kinds.push_back(kinds.front());
  kinds.back().relation = {{"window 2"}, {"causal"}, {"sinks 1"}};
  return kinds;
}

/// Returns a model with the first layers of `model`, as many as `depth`, which shares its parameters.
inline Transformer truncate(const Transformer& model, std::int64_t depth) {
  TransformerOptions options = model.options();
  options.decoder_layers = depth;
  options.exits = {};
  if (std::ssize(options.relation) > depth) options.relation.resize(static_cast<std::size_t>(depth));
  Transformer shallow(options, 1);
  visit_parameters(shallow, "", [&](const std::string& name, at::Tensor& tensor) {
    visit_parameters(model, "", [&](const std::string& other, const at::Tensor& value) {
      if (name == other) tensor = value;
    });
  });
  return shallow;
}

/// Returns those of all_kinds_with_exits() whose tokens can halt, with thresholds that fall and that do not.
inline std::vector<TransformerOptions> all_kinds_that_halt() {
  std::vector<TransformerOptions> kinds;
  for (TransformerOptions& options : all_kinds_with_exits()) {
    if (options.has_ssru()) continue;
    options.exits.threshold = 0.5;
    options.exits.fall = kinds.size() % 2 == 0 ? 0 : 4;
    kinds.push_back(options);
  }
  return kinds;
}

}  // namespace edgewise

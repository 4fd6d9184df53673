// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "edgewise/models/universal_transformer.h"
#include "tests/models/small_models.h"
#include "tests/support/all_of.h"

namespace edgewise {

inline TransformerOptions universal_options(TransformerPreset preset = TransformerPreset::kTutorial) {
  TransformerOptions options = small_options(preset);
  options.kind = ModelKind::kUniversal;
  options.encoder_layers = 6;
  options.decoder_layers = 5;
  options.universal.epsilon = 0.05;
  return options;
}

/// Makes a model with random parameters; its halting biases are low enough for nodes to halt at different steps.
inline UniversalTransformer universal_model(const TransformerOptions& options) {
  UniversalTransformer model = randomised(UniversalTransformer(options, 1));
  for (const NamedTensor& named : parameters(model)) {
    if (named.name.ends_with("halting.linear.bias")) named.tensor.detach().fill_(-1.0);
  }
  return model;
}

/// Lists options with each value of each enum of UniversalOptions at least once.
inline std::vector<TransformerOptions> all_kinds_of_universal_options() {
  std::vector<TransformerOptions> kinds;
  for (const TransformerPreset preset : all_presets()) {
    for (const HaltedKeys halted_keys : all_of<HaltedKeys>()) {
      kinds.push_back(universal_options(preset));
      kinds.back().universal.halted_keys = halted_keys;
    }
    kinds.push_back(universal_options(preset));
    kinds.back().universal.transition = Transition::kSeparableConvolution;
    kinds.back().universal.filter_width = 4;
  }
  kinds.push_back(universal_options());
  kinds.back().mirror_positions = true;
  for (const HaltedKeys halted_keys : all_of<HaltedKeys>()) {
    kinds.push_back(universal_options());
    kinds.back().universal.halted_keys = halted_keys;
    kinds.back().log_scale = true;
  }
  for (const AdaptiveSides side : {AdaptiveSides::kBoth, AdaptiveSides::kNone}) {
    kinds.push_back(universal_options());
    kinds.back().universal.adaptive = side;
    kinds.back().universal.input_injection = true;
  }
  for (const AdaptiveSides side : all_of<AdaptiveSides>()) {
    for (const Transition transition : all_of<Transition>()) {
      kinds.push_back(universal_options());
      kinds.back().universal.adaptive = side;
      kinds.back().universal.transition = transition;
    }
  }
  return kinds;
}

/// Describes options in failure messages.
inline std::string description(const TransformerOptions& options) {
  const UniversalOptions& universal = options.universal;
  return fmt::format("{}, {}, {}, {}{}{}{}", enum_name(options.preset), enum_name(universal.halted_keys),
                     enum_name(universal.adaptive), enum_name(universal.transition),
                     options.mirror_positions ? ", mirrored positions" : "",
                     universal.input_injection ? ", input injection" : "",
                     options.log_scale ? ", scores by logarithms" : "");
}

}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#include "edgewise/options/experiment.h"

#include "edgewise/base/config.h"
#include "edgewise/base/files.h"

namespace edgewise {

namespace {

/// Returns the defaults of a config whose model is trained already.
Experiment defaults_of(const Experiment& model) {
  Experiment defaults;
  defaults.data.end_input = model.data.end_input;
  defaults.data.input_language = model.data.input_language;
  defaults.data.output_language = model.data.output_language;
  defaults.vocabulary = model.vocabulary;
  defaults.model = model.model;
  defaults.search = model.search;
  return defaults;
}

std::string read_config_text(const std::filesystem::path& config) {
  return read_file(config, "read_config", kMaxConfigBytes);
}

}  // namespace

Experiment parse_experiment(std::string_view toml, std::string_view name, std::span<const std::string> overrides) {
  // The first pass finds the preset; its options are the defaults of the second pass.
  const auto first = parse_config<Experiment>(toml, name, overrides);
  Experiment defaults;
  defaults.model = TransformerOptions::from_preset(first.model.preset);
  return parse_config(toml, name, overrides, defaults);
}

Experiment read_experiment(const std::filesystem::path& config, std::span<const std::string> overrides) {
  return parse_experiment(read_config_text(config), config.string(), overrides);
}

Experiment read_experiment(const std::filesystem::path& config, std::span<const std::string> overrides,
                           const Experiment& model) {
  return parse_config(read_config_text(config), config.string(), overrides, defaults_of(model));
}

}  // namespace edgewise

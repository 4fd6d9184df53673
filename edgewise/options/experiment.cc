// SPDX-License-Identifier: Apache-2.0
#include "edgewise/options/experiment.h"

#include "edgewise/base/config.h"
#include "edgewise/base/files.h"

namespace edgewise {

Experiment parse_experiment(std::string_view toml, std::string_view name, std::span<const std::string> overrides) {
  // The first pass finds the preset; its options are the defaults of the second pass.
  const auto first = parse_config<Experiment>(toml, name, overrides);
  Experiment defaults;
  defaults.model = TransformerOptions::from_preset(first.model.preset);
  return parse_config(toml, name, overrides, defaults);
}

Experiment read_experiment(const std::filesystem::path& config, std::span<const std::string> overrides) {
  return parse_experiment(read_file(config, "read_config", kMaxConfigBytes), config.string(), overrides);
}

}  // namespace edgewise

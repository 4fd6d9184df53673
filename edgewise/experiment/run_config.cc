// SPDX-License-Identifier: Apache-2.0
#include "edgewise/experiment/run_config.h"

#include <optional>

#include "edgewise/base/error.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCommand = "train";

/// Returns the config of a model for runs that start from the model: vocabulary.file names the model.
Experiment as_start(Experiment experiment, const fs::path& path) {
  experiment.vocabulary.file = fs::absolute(path).lexically_normal().string();
  return experiment;
}

std::optional<Experiment> read_last_config(const fs::path& run) {
  for (const char* checkpoint : {"last", "previous"}) {
    try {
      return read_model_config(run / checkpoint, kCommand);
    } catch (const Error&) {  // train() describes the damage, and restores what can be restored
    }
  }
  return std::nullopt;
}

}  // namespace

Experiment read_fine_tuning_config(const fs::path& config, std::span<const std::string> overrides,
                                   const fs::path& model) {
  return read_experiment(config, overrides, as_start(read_model_config(model, kCommand), model));
}

Experiment read_resumed_config(const fs::path& config, std::span<const std::string> overrides, const fs::path& run) {
  const std::optional<Experiment> last = read_last_config(run);
  return last ? read_experiment(config, overrides, *last) : read_experiment(config, overrides);
}

ModelFiles read_start_model(const fs::path& model, const Experiment& experiment) {
  ModelFiles files = read_model_files(model, kCommand);
  check_start(experiment, as_start(files.experiment, model), model.string(), kCommand);
  return files;
}

}  // namespace edgewise

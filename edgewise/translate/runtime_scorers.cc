// SPDX-License-Identifier: Apache-2.0
// In its own file, so that programs that only read model files do not link the runtime.
#include <memory>
#include <string>

#include "edgewise/device/choose_gpu.h"
#include "edgewise/runtime/gpu/model.h"
#include "edgewise/runtime/runtime_model.h"
#include "edgewise/translate/translation_engine.h"

namespace edgewise {

ScorerFactory make_runtime_scorer_factory(ModelFiles files, RuntimePrecision precision,
                                          const CrossHeads& recorded_heads, const StopRequest* stop) {
  const auto model = std::make_shared<const RuntimeModel>(files.experiment.model, files.parameters,
                                                          files.parameters_name, precision, stop);
  return [model, recorded_heads] { return model->make_scorer(recorded_heads); };
}

ScorerFactory make_gpu_scorer_factory(ModelFiles files, RuntimePrecision precision, const CrossHeads& recorded_heads,
                                      const StopRequest* stop, std::int64_t gpu) {
  const auto model =
      std::make_shared<const GpuModel>(files.experiment.model, files.parameters, files.parameters_name,
                                       GpuModelOptions{.precision = precision, .gpu = gpu, .stop = stop});
  return [model, recorded_heads] { return model->make_scorer(recorded_heads); };
}

std::string translation_instructions(const TranslatorOptions& options) {
  return choose_gpu({"Translator: device", options.device}) ? "cuda" : instructions_of(options.precision);
}

}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
// In its own file, so that programs that only read model files do not link the runtime.
#include <memory>
#include <utility>

#include "edgewise/runtime/gpu/model.h"
#include "edgewise/runtime/runtime_model.h"
#include "edgewise/translate/model_files.h"

namespace edgewise {

ScorerFactory make_runtime_scorer_factory(ModelFiles files, RuntimePrecision precision,
                                          const CrossHeads& recorded_heads, const StopRequest* stop) {
  const auto model = std::make_shared<const RuntimeModel>(files.experiment.model, files.parameters,
                                                          files.parameters_name, precision, stop);
  return [model, recorded_heads, shortlist = std::move(files.shortlist)] {
    return model->make_scorer(recorded_heads, shortlist);
  };
}

ScorerFactory make_gpu_scorer_factory(ModelFiles files, RuntimePrecision precision, const CrossHeads& recorded_heads,
                                      const StopRequest* stop, std::int64_t gpu) {
  const auto model =
      std::make_shared<const GpuModel>(files.experiment.model, files.parameters, files.parameters_name,
                                       GpuModelOptions{.precision = precision, .gpu = gpu, .stop = stop});
  return [model, recorded_heads] { return model->make_scorer(recorded_heads); };
}

}  // namespace edgewise

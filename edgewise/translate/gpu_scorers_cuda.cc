// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "edgewise/gpu_runtime/gpu_model.h"
#include "edgewise/translate/model_files.h"

namespace edgewise {

ScorerFactory make_gpu_scorer_factory(ModelFiles files, RuntimePrecision precision, const CrossHeads& recorded_heads,
                                      const StopRequest* stop, std::int64_t gpu) {
  const auto model =
      std::make_shared<const GpuModel>(files.experiment.model, files.parameters, files.parameters_name,
                                       GpuModelOptions{.precision = precision, .gpu = gpu, .stop = stop});
  return [model, recorded_heads] { return model->make_scorer(recorded_heads); };
}

}  // namespace edgewise

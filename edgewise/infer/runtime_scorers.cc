// SPDX-License-Identifier: Apache-2.0
#include "edgewise/infer/runtime_scorers.h"

#include <memory>

#include "edgewise/infer/runtime_model.h"

namespace edgewise {

Translator::MakeScorer open_runtime_scorers(ModelFiles files, RuntimePrecision precision) {
  const TransformerOptions options = transformer_options(files.experiment, files.vocabularies);
  const auto model = std::make_shared<const RuntimeModel>(options, files.parameters, files.parameters_name, precision);
  return [model] { return model->scorer(); };
}

}  // namespace edgewise

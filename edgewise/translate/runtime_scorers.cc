// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/runtime_scorers.h"

#include <memory>

#include "edgewise/runtime/runtime_model.h"

namespace edgewise {

Translator::MakeScorer open_runtime_scorers(ModelFiles files, const ScorerOptions& options) {
  const TransformerOptions of_model = transformer_options(files.experiment, files.vocabularies);
  const auto model =
      std::make_shared<const RuntimeModel>(of_model, files.parameters, files.parameters_name, options.precision);
  return [model, shown = options.attention] { return model->scorer(shown); };
}

}  // namespace edgewise

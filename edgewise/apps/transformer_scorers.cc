// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/transformer_scorers.h"

#include <memory>
#include <utility>

#include "edgewise/apps/model_directory.h"
#include "edgewise/base/error.h"
#include "edgewise/models/transformer_scorer.h"

namespace edgewise {

Translator::MakeScorer open_transformer_scorers(ModelFiles files, RuntimePrecision precision) {
  check(precision == RuntimePrecision::kFp32, "translate: precision is {}, but this build computes in fp32 alone",
        enum_name(precision));
  const auto model = std::make_shared<const TranslationModel>(load_model(std::move(files)));
  return [model] { return std::make_unique<TransformerScorer>(model->transformer); };
}

}  // namespace edgewise

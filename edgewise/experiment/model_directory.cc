// SPDX-License-Identifier: Apache-2.0
#include "edgewise/experiment/model_directory.h"

#include <utility>

#include "edgewise/nn/serialize.h"

namespace edgewise {

LossOptions TranslationModel::loss_options() const {
  // The tokens of a benchmark are numbers without a vocabulary.
  const SpecialTokens special = vocabularies.output == nullptr ? SpecialTokens() : vocabularies.output->special();
  return {.smoothing = experiment.train.smoothing, .ignored = special.padding};
}

std::string_view model_name(ModelKind kind) {
  return kind == ModelKind::kUniversal ? "Universal Transformer" : "Transformer";
}

TranslationModel open_model(const std::filesystem::path& path) {
  return make_model(read_model_files(path, "open_model"));
}

TranslationModel make_model(const ModelFiles& files) {
  std::shared_ptr<const SequenceModel> model = make_model(files.experiment.model, files.experiment.train.seed);
  load_tensors(model->parameters(), files.parameters, files.parameters_name);
  return {files.experiment, files.codec.vocabularies, std::move(model)};
}

}  // namespace edgewise

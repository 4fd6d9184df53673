// SPDX-License-Identifier: Apache-2.0
#include "edgewise/experiment/translation_task.h"

#include <utility>

#include "edgewise/base/config/config.h"
#include "edgewise/base/files/json.h"
#include "edgewise/data/batches.h"
#include "edgewise/experiment/sentence_attention.h"

namespace edgewise {
namespace {

std::optional<TokenPair> encode_recorded_pair(const TranslationModel& model) {
  const RecordedPairOptions& recorded = model.experiment.recorded_pair;
  if (recorded.input.empty()) return std::nullopt;
  return encode_pair(model, recorded.input, recorded.output, "train");
}

AddedLosses added_losses(const TrainOptions& train) {
  const bool has_simcut = train.simcut > 0;
  return {.consistency = {.kind = has_simcut ? kernels::ConsistencyKind::kSimCut : kernels::ConsistencyKind::kRDrop,
                          .weight = has_simcut ? train.simcut : train.rdrop},
          .guided = {.weight = train.guided_alignment, .layer = train.guided_layer, .head = train.guided_head}};
}

}  // namespace

BatchLoss ModelTask::loss(const Batch& batch, Pass& pass) {
  const TrainOptions& train = model_.experiment.train;
  if (train.simcut > 0) pass.set_cut(train.cut);
  return model_.loss(train.has_two_passes() ? repeat_batch(batch) : batch, model_.loss_options(), added_losses(train),
                     pass);
}

void ModelTask::clear_constant_gradients() {
  const TransformerOptions& options = model_.model->options();
  if (options.begin_embedding == BeginEmbedding::kLearned) return;
  for (const NamedTensor& parameter : parameters()) {
    if (parameter.name == options.output_embedding_name())
      parameter.tensor.grad().select(0, options.begin_token).zero_();
  }
}

std::map<std::string, std::string> ModelTask::model_files() {
  std::map<std::string, std::string> files =
      serialize_vocabularies(model_.vocabularies, model_.experiment.vocabulary.shared);
  files[std::string(kConfigFile)] = to_toml(model_.experiment, TomlComments::kHelp);
  return files;
}

std::string ModelTask::attention_json(const TokenPair& pair, const StopRequest& stop) const {
  std::string list = json_array(attention_maps(model_, pair, &stop),
                                [&stop](const AttentionMaps& maps) { return json_of(maps, &stop); });
  std::erase(list, '\n');  // the line feeds between rows; line feeds in token texts are escaped
  return list;
}

TranslationTask::TranslationTask(TranslationModel translation_model, EvaluationPairs validation,
                                 ProcessGroup& processes)
    : ModelTask(std::move(translation_model)),
      validation_(std::move(validation)),
      processes_(processes),
      recorded_pair_(encode_recorded_pair(model())) {}

Validation TranslationTask::validate(const StopRequest& stop) {
  Validation validation = evaluate(model(), validation_, &stop, processes_);
  if (recorded_pair_) validation.attention = attention_json(*recorded_pair_, stop);
  return validation;
}

}  // namespace edgewise

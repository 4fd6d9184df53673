// SPDX-License-Identifier: Apache-2.0
#include "edgewise/experiment/translation_model.h"

#include <utility>

#include "edgewise/data/encode.h"
#include "edgewise/nn/serialize.h"

namespace edgewise {

LossOptions TranslationModel::loss_options() const {
  // The tokens of a benchmark are numbers without a vocabulary.
  const SpecialTokens special = vocabularies.output == nullptr ? SpecialTokens() : vocabularies.output->special();
  const bool has_padding = special.padding != special.end;
  return {.smoothing = experiment.train.smoothing, .ignored = has_padding ? special.padding : LossOptions().ignored};
}

BatchLoss TranslationModel::loss(const Batch& batch, const LossOptions& options, const AddedLosses& added,
                                 Pass& pass) const {
  if (experiment.train.part == TrainedPart::kHalting) return model->halting_loss(batch, options);
  if (experiment.train.quantise == ProductRounding::kInt8) pass.set_int8();
  return model->loss(batch, options, added, pass);
}

TranslationModel load_model(const std::filesystem::path& path) {
  return make_model(read_model_files(path, "load_model"));
}

TranslationModel make_model(const ModelFiles& files) {
  std::shared_ptr<const SequenceModel> model = make_model(files.experiment.model, files.experiment.train.seed);
  load_tensors(model->parameters(), files.parameters, files.parameters_name);
  return {files.experiment, files.codec.vocabularies, std::move(model)};
}

EncodedInput encode_input(const TranslationModel& model, std::string_view input, std::string_view caller) {
  const DataOptions& data = model.experiment.data;
  const Vocabulary& vocabulary = *model.vocabularies.input;
  FramedInput framed =
      frame_input(vocabulary, input, data.end_input, {data.input_language, data.output_language}, caller);
  return {vocabulary.encode(framed.text), std::move(framed.frame)};
}

TokenPair pair_with_output(const TranslationModel& model, const EncodedInput& input,
                           const std::vector<std::int64_t>& output, std::string_view caller) {
  return frame_pair(input.tokens, input.frame, output,
                    frame_output(*model.vocabularies.output, model.experiment.data.output_language, caller));
}

}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#include "edgewise/experiment/encoded_input.h"

#include <utility>

#include "edgewise/data/encode.h"

namespace edgewise {

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

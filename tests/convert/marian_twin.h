// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "edgewise/convert/imported_model.h"
#include "edgewise/convert/marian_config.h"

namespace edgewise {

/// Replaces the last element of the output bias, which is F32.
inline void set_last_output_bias(ImportedModel& model, float value) {
  const auto bias = std::ranges::find(model.parameters.tensors, "generator.bias", &TensorInfo::name);
  std::string bytes(reinterpret_cast<const char*>(bias->bytes.data()), bias->bytes.size());
  std::memcpy(bytes.data() + bytes.size() - sizeof(value), &value, sizeof(value));
  bias->bytes = std::as_bytes(std::span(model.parameters.keep(std::move(bytes))));
}

/// Sets the options in which models of Marian differ from MarianMT models of transformers.
inline void set_marian_options(Experiment& experiment) {
  experiment.model.norm_epsilon = kMarianEpsilon;
  experiment.model.positions = PositionKind::kMarian;
  experiment.model.begin_embedding = BeginEmbedding::kZero;
  experiment.search = {.beam = 4,
                       .length_norm = LengthNorm::kPower,
                       .length_penalty = 1,
                       .recorded_heads = {.head = 0},
                       .length_factor = 3,
                       .length_offset = 0,
                       .stop_loops = false,
                       .force_end = false};
}

/// Makes the model of Marian out of which transformers' converter would have made an imported MarianMT model.
inline ImportedModel marian_twin(ImportedModel model) {
  set_marian_options(model.experiment);
  set_last_output_bias(model, kPaddingBias);
  return model;
}

}  // namespace edgewise

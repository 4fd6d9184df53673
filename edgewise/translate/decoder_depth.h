// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "edgewise/translate/model_files.h"

namespace edgewise {

/// The part of the decoder that translates, in a model with exits (options/exit_options.h).
struct DecoderDepth {
  std::optional<std::int64_t> layers = {};    // the first layers alone; by default all
  std::optional<double> exit_threshold = {};  // by default that of the model's config
};

/// Sets the threshold, or removes the decoder layers of a model that do not translate: then the model is that of a
/// shallower decoder, with its bits, in which no token halts. Throws Error, beginning with `caller`, for a number of
/// layers after which the model has no exit, for a threshold in a model without exits or out of its range, and if both
/// are set.
void set_decoder_depth(ModelFiles& model, const DecoderDepth& depth, std::string_view caller);

}  // namespace edgewise

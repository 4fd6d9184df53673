// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/layout_builder.h"

#include <fmt/format.h>

#include <utility>

namespace edgewise {

std::vector<TensorLayout> LayoutBuilder::run() && {
  add_embeddings();
  add_side("encoder", options_.encoder_layers);
  add_side("decoder", options_.decoder_layers);
  return std::move(layout_);
}

void LayoutBuilder::add(std::string theirs, std::vector<std::string> ours, Orientation orientation) {
  layout_.push_back({std::move(theirs), std::move(ours), orientation});
}

void LayoutBuilder::add_side(std::string_view side, std::int64_t layers) {
  for (std::int64_t i = 0; i < layers; ++i) add_layer(side, i, fmt::format("{}.layers.{}.", side, i));
  if (options_.final_norm) add_final_norm(side, fmt::format("{}.norm", side));
}

}  // namespace edgewise

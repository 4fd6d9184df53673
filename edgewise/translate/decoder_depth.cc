// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/decoder_depth.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <vector>

#include "edgewise/base/error.h"

namespace edgewise {
namespace {

/// Returns whether a parameter belongs to a decoder layer from number `first` on, counted from 0.
bool is_in_layer_from(std::string_view name, std::int64_t first) {
  constexpr std::string_view kLayers = "decoder.layers.";
  if (!name.starts_with(kLayers)) return false;
  std::int64_t layer = 0;
  std::from_chars(name.data() + kLayers.size(), name.data() + name.size(), layer);
  return layer >= first;
}

}  // namespace

void set_decoder_depth(ModelFiles& model, const DecoderDepth& depth, std::string_view caller) {
  TransformerOptions& options = model.experiment.model;
  if (depth.exit_threshold) {
    check(!depth.layers, "{}: decoder_layers and exit_threshold are set, needs one of them", caller);
    check(options.exits.are_on(), "{}: exit_threshold is {}, but {} has no exits, needs a model with exits", caller,
          *depth.exit_threshold, model.parameters_name);
    options.exits.threshold = *depth.exit_threshold;
    check_ranges(options.exits, caller, "exit_");
  }
  if (!depth.layers) return;
  const std::int64_t layers = *depth.layers;
  const std::vector<std::int64_t> possible = options.exits.layers_and(options.decoder_layers);
  check(std::ranges::find(possible, layers) != possible.end(), "{}: decoder_layers is {}, but {} needs one of {}",
        caller, layers, model.parameters_name, possible);
  options.exits = {};
  options.decoder_layers = layers;
  if (std::ssize(options.relation) > layers) options.relation.resize(static_cast<std::size_t>(layers));
  model.parameters.keep_tensors(
      [layers](std::string_view name) { return !is_in_layer_from(name, layers) && !name.starts_with("exits."); });
}

}  // namespace edgewise

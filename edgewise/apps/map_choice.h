// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "edgewise/experiment/sentence_attention.h"
#include "edgewise/base/fields.h"
#include "edgewise/viz/attention_maps.h"

namespace edgewise {

enum class AttentionKind { kEncoderSelf = kEncoderMaps, kDecoderSelf = kDecoderMaps, kCross = kCrossMaps };

inline constexpr auto enum_names(AttentionKind) {
  return std::array{EnumName<AttentionKind>{AttentionKind::kEncoderSelf, "encoder"},
                    EnumName<AttentionKind>{AttentionKind::kDecoderSelf, "decoder"},
                    EnumName<AttentionKind>{AttentionKind::kCross, "cross"}};
}

inline constexpr std::string_view kMeanMap = "mean";

/// Which map a person asked for; what is empty was not said.
struct MapOptions {
  std::optional<AttentionKind> kind;
  std::string layer;  // a number or "mean"
  std::string head;
};

/// --attention, --layer and --head.
void add_map_options(CLI::App& command, MapOptions& options);

/// Cross where nothing is said.
AttentionKind kind_of(const MapOptions& options);

bool asks_for_a_map(const MapOptions& options);

/// Where nothing is said the mean over the last layer's heads, as `translate --alignments`. Throws Error, in the name
/// of `caller`, for a layer or head that there is not.
MapChoice chosen_map(const MapOptions& options, const AttentionMaps& maps, std::string_view caller);

}  // namespace edgewise

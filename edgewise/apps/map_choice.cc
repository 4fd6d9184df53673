// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/map_choice.h"

#include <charconv>

#include "edgewise/apps/runtime/enum_option.h"
#include "edgewise/base/error.h"

namespace edgewise {
namespace {

/// None for the mean.
std::optional<std::size_t> index_of(const std::string& text, std::size_t count, std::string_view option,
                                    std::string_view caller) {
  if (text == kMeanMap) return std::nullopt;
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  check(error == std::errc() && end == text.data() + text.size() && index < count,
        "{}: {} is {}, needs a number from 0 to {}, or mean", caller, option, text, count - 1);
  return index;
}

}  // namespace

void add_map_options(CLI::App& command, MapOptions& options) {
  command.add_option("--attention", options.kind, "what is shown first, or drawn: encoder, decoder or cross (default)")
      ->transform(one_of<AttentionKind>());
  command.add_option("--layer", options.layer, "of it, from 0, or mean; a drawing without it shows all");
  command.add_option("--head", options.head, "likewise");
}

AttentionKind kind_of(const MapOptions& options) { return options.kind.value_or(AttentionKind::kCross); }

bool asks_for_a_map(const MapOptions& options) {
  return options.kind || !options.layer.empty() || !options.head.empty();
}

MapChoice chosen_map(const MapOptions& options, const AttentionMaps& maps, std::string_view caller) {
  const std::string last = std::to_string(maps.num_layers() - 1);
  return {index_of(options.layer.empty() ? last : options.layer, maps.num_layers(), "--layer", caller),
          index_of(options.head.empty() ? std::string(kMeanMap) : options.head, maps.num_heads(), "--head", caller)};
}

}  // namespace edgewise

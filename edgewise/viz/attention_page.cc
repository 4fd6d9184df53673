// SPDX-License-Identifier: Apache-2.0
#include "edgewise/viz/attention_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "edgewise/base/escape_html.h"
#include "edgewise/base/files/json.h"
#include "edgewise/viz/page.h"
#include "edgewise/viz/palette.h"
#include "edgewise/viz/svg.h"

namespace edgewise {
namespace {

constexpr int kNumColours = 256;
constexpr std::size_t kMaxLabel = 14;      // characters of a token beside a map
constexpr std::size_t kMaxToken = 1000;    // characters of a token in other texts
constexpr double kScale = 10000;           // number that encodes a weight of 1
constexpr std::uint16_t kNoEdge = 0xFFFF;  // number that encodes a missing edge

constexpr std::string_view kBody = R"(<p class="pair"><span dir="auto">{}</span> → <span dir="auto">{}</span></p>
<noscript><p>The script of this page draws its maps; it must be allowed to run.</p></noscript>
<div class="choices" id="kinds" role="radiogroup" aria-label="Attention"></div>
<div class="look">
<section aria-labelledby="all"><h2 id="all">All heads</h2>
<p class="hint">Choose one to see it large. Arrow keys go from map to map.</p>
<div class="wide" id="grid"></div></section>
<section aria-labelledby="chosen"><h2 id="chosen">One head</h2>
<div class="choices" id="views" role="radiogroup" aria-label="View"></div>
<div class="legend">{}</div>
<p id="readout" role="status"></p>
<div class="wide" id="view"></div>
<p class="hint" id="hint"></p>
<div id="alignment"></div></section>
</div>
)";

/// Writes a JSON array without spaces, because pages have long arrays.
std::string compact_json_array(const auto& items, auto text) {
  std::vector<std::string> list;
  list.reserve(items.size());
  for (const auto& item : items) list.push_back(std::invoke(text, item));
  return fmt::format("[{}]", fmt::join(list, ","));
}

std::string base64(const std::string& bytes) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t three = 0;
    for (std::size_t j = i; j < i + 3; ++j) {
      three = three << 8 | (j < bytes.size() ? static_cast<unsigned char>(bytes[j]) : 0U);
    }
    for (std::size_t j = 0; j < 4; ++j) text += i + j <= bytes.size() ? kLetters[three >> (18 - 6 * j) & 63] : '=';
  }
  return text;
}

/// Encodes the weights of all maps with 16 bits per weight, in Base64: a fifth of their size as text.
std::string pack_weights(const AttentionMaps& maps) {
  std::string bytes;
  for (const MapIndex& index : list_map_indices(maps)) {
    for (const float weight : weights_of(maps, index)) {
      const auto value =
          std::isnan(weight)
              ? kNoEdge
              : static_cast<std::uint16_t>(std::nearbyint(kScale * std::clamp(double{weight}, 0.0, 1.0)));
      bytes += static_cast<char>(value & 0xFF);
      bytes += static_cast<char>(value >> 8);
    }
  }
  return base64(bytes);
}

/// Writes tokens unchanged, or, if `max_characters` is set, printable and cut to that length.
std::string tokens_json(const std::vector<std::string>& tokens, std::optional<std::size_t> max_characters) {
  return compact_json_array(tokens, [max_characters](const std::string& token) {
    return quote_json(max_characters ? printable_token(token, *max_characters) : token);
  });
}

std::string links_json(const WordLinks& links) {
  return compact_json_array(links, [](const auto& link) { return fmt::format("[{},{}]", link.first, link.second); });
}

std::string numbers_json(const std::vector<std::int64_t>& numbers) {
  return compact_json_array(numbers, [](std::int64_t number) { return std::to_string(number); });
}

std::string maps_json(const AttentionMaps& maps) {
  return JsonObject()
      .add("name", maps.name)
      .add("ofLayers", maps.layer_name)
      .add("ofRows", maps.row_title)
      .add("ofColumns", maps.column_title)
      .add_json("rows", tokens_json(maps.rows, kMaxToken))
      .add_json("columns", tokens_json(maps.columns, kMaxToken))
      .add_json("rowLabels", tokens_json(maps.rows, kMaxLabel))
      .add_json("columnLabels", tokens_json(maps.columns, kMaxLabel))
      .add("layers", maps.num_layers())
      .add("heads", maps.num_heads())
      .add("weights", pack_weights(maps))
      .text();
}

std::string map_alignment_json(const MapAlignment& alignment) {
  JsonObject json;
  json.add_json("links", links_json(alignment.links));
  if (alignment.error_rate) json.add("error_rate", *alignment.error_rate);
  if (alignment.corpus_error_rate) {
    json.add("corpus_error_rate", *alignment.corpus_error_rate).add("corpus_pairs", alignment.counted_pairs);
  }
  return json.text();
}

std::string alignment_json(const AlignmentReport& report, std::optional<std::size_t> max_characters) {
  return JsonObject()
      .add_json("input_words", tokens_json(report.input_words, max_characters))
      .add_json("output_words", tokens_json(report.output_words, max_characters))
      .add_json("word_of_row", numbers_json(report.word_of_row))
      .add_json("word_of_column", numbers_json(report.word_of_column))
      .add_json("sure", links_json(report.sure))
      .add_json("possible", links_json(report.possible))
      .add_json("found", compact_json_array(report.map_alignments, map_alignment_json))
      .add("corpus_pairs", report.corpus_pairs)
      .add("left_out", report.skipped_pairs)
      .text();
}

std::string page_data(const AttentionPage& page) {
  const AttentionMaps& first = page.maps[page.initial_kind];
  JsonObject json;  // a layer or head equal to the number of layers or heads selects the mean
  json.add_json("maps", compact_json_array(page.maps, maps_json))
      .add_json("colours", compact_json_array(make_colour_table(kNumColours),
                                              [](const Colour& colour) { return quote_json(hex(colour)); }))
      .add("kind", page.initial_kind)
      .add("layer", page.initial_map.layer.value_or(first.num_layers()))
      .add("head", page.initial_map.head.value_or(first.num_heads()));
  if (page.alignment) {
    json.add("aligned", page.aligned_kind).add_json("alignment", alignment_json(*page.alignment, kMaxToken));
  }
  return json.text();
}

}  // namespace

std::string html_of(const AttentionPage& page) {
  const SvgPicture legend = {kLegendWidth + 20, kLegendHeight, "Colours of weights, from 0 to 1",
                             colour_legend(6, 4, "weight")};
  return html_page({.title = page.title,
                    .body = fmt::format(kBody, escape_html(printable_token(page.input, kMaxToken)),
                                        escape_html(printable_token(page.output, kMaxToken)), svg_for_page(legend)),
                    .style = page_file("attention.css"),
                    .script = page_file("attention.js"),
                    .data = page_data(page)});
}

std::string json_of(const AttentionPage& page) {
  JsonObject json;
  json.add("input", page.input)
      .add("output", page.output)
      .add_json("attention", compact_json_array(page.maps, [](const auto& maps) { return json_of(maps); }));
  if (page.alignment) {
    std::string names = compact_json_array(list_map_indices(page.maps[page.aligned_kind]), [&](const MapIndex& index) {
      return quote_json(name_of(page.maps[page.aligned_kind], index));
    });
    json.add_json("alignment_of", names).add_json("alignment", alignment_json(*page.alignment, std::nullopt));
  }
  return json.text() + "\n";
}

}  // namespace edgewise

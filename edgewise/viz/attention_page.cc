// SPDX-License-Identifier: Apache-2.0
#include "edgewise/viz/attention_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <functional>

#include "edgewise/base/json.h"
#include "edgewise/viz/colour_scale.h"
#include "edgewise/viz/page.h"
#include "edgewise/viz/pages.h"

namespace edgewise {
namespace {

constexpr int kColoursOfPage = 256;
constexpr std::size_t kLabel = 14;      // characters of a token beside a map
constexpr std::size_t kLongest = 1000;  // of one that is read out
constexpr double kUnits = 10000;        // of a weight of 1
constexpr std::uint16_t kNoEdge = 0xFFFF;

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

template <class Items, class Text>
std::string list_of(const Items& items, Text text) {
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
    for (std::size_t j = 0; j < 4; ++j) {
      text += i + j <= bytes.size() ? kLetters[three >> (18 - 6 * j) & 63] : '=';
    }
  }
  return text;
}

/// All maps of all_choices, each weight as the number of its four digits: a fifth of what it takes as text.
std::string packed(const AttentionMaps& maps) {
  std::string bytes;
  for (const MapChoice& choice : all_choices(maps)) {
    for (const float weight : weights_of(maps, choice)) {
      const auto units = std::isnan(weight) ? kNoEdge : static_cast<std::uint16_t>(std::nearbyint(kUnits * weight));
      bytes += static_cast<char>(units & 0xFF);
      bytes += static_cast<char>(units >> 8);
    }
  }
  return base64(bytes);
}

/// As they are, or as people can see them.
std::string tokens_json(const std::vector<std::string>& tokens, std::optional<std::size_t> most) {
  return list_of(tokens,
                 [most](const std::string& token) { return json_quoted(most ? shown_token(token, *most) : token); });
}

std::string links_json(const WordLinks& links) {
  return list_of(links, [](const auto& link) { return fmt::format("[{},{}]", link.first, link.second); });
}

std::string numbers_json(const std::vector<std::int64_t>& numbers) {
  return list_of(numbers, [](std::int64_t number) { return std::to_string(number); });
}

std::string maps_json(const AttentionMaps& maps) {
  return JsonObject()
      .add("name", maps.name)
      .add("ofLayers", maps.of_layers)
      .add("ofRows", maps.of_rows)
      .add("ofColumns", maps.of_columns)
      .add_json("rows", tokens_json(maps.rows, kLongest))
      .add_json("columns", tokens_json(maps.columns, kLongest))
      .add_json("rowLabels", tokens_json(maps.rows, kLabel))
      .add_json("columnLabels", tokens_json(maps.columns, kLabel))
      .add("layers", maps.num_layers())
      .add("heads", maps.num_heads())
      .add("weights", packed(maps))
      .text();
}

std::string found_json(const FoundAlignment& found) {
  JsonObject json;
  json.add_json("links", links_json(found.links));
  if (found.error_rate) json.add("error_rate", *found.error_rate);
  if (found.corpus_error_rate) json.add("corpus_error_rate", *found.corpus_error_rate);
  return json.text();
}

std::string alignment_json(const AlignmentReport& report, std::optional<std::size_t> longest) {
  return JsonObject()
      .add_json("input_words", tokens_json(report.input_words, longest))
      .add_json("output_words", tokens_json(report.output_words, longest))
      .add_json("word_of_row", numbers_json(report.word_of_row))
      .add_json("word_of_column", numbers_json(report.word_of_column))
      .add_json("sure", links_json(report.sure))
      .add_json("possible", links_json(report.possible))
      .add_json("found", list_of(report.found, found_json))
      .add("corpus_pairs", report.corpus_pairs)
      .add("left_out", report.left_out)
      .text();
}

std::string colours_json() {
  return list_of(colour_table(kColoursOfPage), [](const Colour& colour) { return json_quoted(hex(colour)); });
}

/// The number of a layer or head; their count stands for the mean.
std::size_t index_of(const std::optional<std::size_t>& index, std::size_t count) { return index.value_or(count); }

std::string page_data(const AttentionPage& page) {
  const AttentionMaps& open = page.maps[page.open_maps];
  JsonObject json;
  json.add_json("maps", list_of(page.maps, maps_json))
      .add_json("colours", colours_json())
      .add("kind", page.open_maps)
      .add("layer", index_of(page.open_map.layer, open.num_layers()))
      .add("head", index_of(page.open_map.head, open.num_heads()));
  if (page.alignment) {
    json.add("aligned", page.aligned_maps).add_json("alignment", alignment_json(*page.alignment, kLongest));
  }
  return json.text();
}

}  // namespace

std::string html_of(const AttentionPage& page) {
  const SvgPicture legend = {kLegendWidth + 20, kLegendHeight, "Colours of weights, from 0 to 1",
                             colour_legend(6, 4, "weight")};
  return html_page({.title = page.title,
                    .body = fmt::format(kBody, escaped_html(shown_token(page.input, kLongest)),
                                        escaped_html(shown_token(page.output, kLongest)), svg_for_page(legend)),
                    .style = std::string(page_file("attention.css")),
                    .script = std::string(page_file("attention.js")),
                    .data = page_data(page)});
}

std::string json_of(const AttentionPage& page) {
  JsonObject json;
  json.add("input", page.input)
      .add("output", page.output)
      .add_json("attention", list_of(page.maps, [](const auto& maps) { return json_of(maps); }));
  if (page.alignment) {
    std::string choices = list_of(all_choices(page.maps[page.aligned_maps]), [&](const MapChoice& choice) {
      return json_quoted(name_of(page.maps[page.aligned_maps], choice));
    });
    json.add_json("alignment_of", choices).add_json("alignment", alignment_json(*page.alignment, std::nullopt));
  }
  return json.text() + "\n";
}

}  // namespace edgewise

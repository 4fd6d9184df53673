// SPDX-License-Identifier: Apache-2.0
#include "attention_picture.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <cstddef>

#include "edgewise/base/escape_html.h"
#include "edgewise/viz/heat_map.h"

namespace edgewise::python {
namespace {

HeatMap make_map(const Translation& translation, const TranslatedText& output) {
  HeatMap map = {.title = "Cross-attention",
                 .row_title = "output",
                 .column_title = "input",
                 .rows = output.tokens,
                 .columns = translation.input_tokens,
                 .values = {}};
  map.values.assign(map.rows.size() * map.columns.size(), 0.0f);
  for (std::size_t row = 0; row < std::min(map.rows.size(), output.attention.size()); ++row) {
    const AttentionRow& weights = output.attention[row];
    const auto begin = map.values.begin() + static_cast<std::ptrdiff_t>(row * map.columns.size());
    std::ranges::copy(weights.weights, begin + weights.first_input);
  }
  return map;
}

std::string encode_base64(const std::string& bytes) {
  std::string text(4 * ((bytes.size() + 2) / 3) + 1, '\0');
  const int size =
      EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                      reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(size));
  return text;
}

}  // namespace

std::string attention_html(const Translation& translation, const TranslatedText& output) {
  // An image has styles of its own, which an SVG element would share with the page. The drawing follows the light or
  // dark theme of the browser, and so does the canvas behind it, whatever the colours of the page are.
  const std::string svg = svg_file(draw(make_map(translation, output)));
  return fmt::format(
      R"(<figure><img style="color-scheme: light dark; background: Canvas" alt="{}" src="data:image/svg+xml;base64,{}">)"
      "<figcaption>{}</figcaption></figure>",
      "Cross-attention weights", encode_base64(svg), escape_html(output.text));
}

}  // namespace edgewise::python

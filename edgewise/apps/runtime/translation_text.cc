// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/runtime/translation_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "edgewise/apps/runtime/line_output.h"
#include "edgewise/base/json.h"

namespace edgewise {
namespace {

std::string alignment_text(const TranslatedText& output) {
  std::string text;
  for (const AlignedPair& pair : output.alignment) {
    text += fmt::format("{}{}-{}", text.empty() ? "" : " ", pair.input, pair.output);
  }
  return text;
}

/// A vocabulary may have learned a line feed; a line is a line.
std::string on_one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

std::string json_list(const std::vector<std::string>& texts) {
  std::string list;
  for (const std::string& text : texts) list += (list.empty() ? "" : ", ") + json_quoted(text);
  return "[" + list + "]";
}

std::string attention_json(const TranslatedText& output) {
  std::string rows;
  for (const std::vector<float>& weights : output.attention) {
    rows += fmt::format("{}[{:.4f}]", rows.empty() ? "" : ", ", fmt::join(weights, ", "));
  }
  return "[" + rows + "]";
}

std::string json_of(const TranslatedText& output, const TranslationFormat& format) {
  JsonObject json;
  json.add("text", output.text)
      .add("score", output.score)
      .add("log_probability", output.log_probability)
      .add_json("tokens", json_list(output.tokens));
  if (!output.steps.empty()) json.add_json("steps", fmt::format("[{}]", fmt::join(output.steps, ", ")));
  if (format.has_attention) json.add_json("attention", attention_json(output));
  if (format.has_alignments) {
    std::string pairs;
    for (const AlignedPair& pair : output.alignment) {
      pairs += fmt::format("{}[{}, {}]", pairs.empty() ? "" : ", ", pair.input, pair.output);
    }
    json.add_json("alignment", "[" + pairs + "]");
  }
  return json.text();
}

std::string json_of(const Translation& translation, std::int64_t number, const TranslationFormat& format) {
  std::string outputs;
  for (const TranslatedText& output : translation.outputs) {
    outputs += (outputs.empty() ? "" : ", ") + json_of(output, format);
  }
  JsonObject json;
  json.add("line", number)
      .add_json("input_tokens", json_list(translation.input_tokens))
      .add_json("outputs", "[" + outputs + "]");
  if (translation.was_cut) json.add("was_cut", true);
  return json.text() + "\n";
}

}  // namespace

std::string translation_text(const Translation& translation, std::int64_t number, const TranslationFormat& format) {
  if (format.is_json) return json_of(translation, number, format);
  std::string lines;
  for (const TranslatedText& output : translation.outputs) {
    if (format.is_n_best) lines += fmt::format("{}\t", number);
    if (format.has_scores) lines += fmt::format("{:.6f}\t", output.score);
    lines += on_one_line(output.text);
    if (format.has_alignments) lines += "\t" + alignment_text(output);
    lines += "\n";
  }
  return lines;
}

void write_translations(Translator& translator, const Translator::NextSentence& next, const std::string& destination,
                        std::string_view caller, const TranslationFormat& format) {
  LineOutput output(destination, caller);
  std::int64_t number = 0;
  translator.translate(
      next, [&](const Translation& translation) { output.write(translation_text(translation, ++number, format)); });
  output.finish();
}

}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/translation.h"

#include <fmt/format.h>

#include "edgewise/text/vocabulary/token_ranges.h"

namespace edgewise {
namespace {

std::string attention_json(const TranslatedText& output) {
  return json_array(output.attention,
                    [](const AttentionRow& row) { return fmt::format("[{:.4f}]", fmt::join(row.weights, ", ")); });
}

std::string attention_begin_json(const TranslatedText& output) {
  return json_array(output.attention, [](const AttentionRow& row) { return std::to_string(row.first_input); });
}

std::string output_json(const TranslatedText& output, const TranslationMembers& members) {
  JsonObject json;
  json.add("text", output.text)
      .add("score", output.score)
      .add("log_probability", output.log_probability)
      .add_json("tokens", json_array(output.tokens, quote_json));
  if (members.has_token_ranges) json.add_json("token_ranges", token_ranges_json(output.text, output.tokens));
  if (!output.ponder_steps.empty()) json.add_json("steps", fmt::format("[{}]", fmt::join(output.ponder_steps, ", ")));
  if (members.has_attention) {
    json.add_json("attention", attention_json(output)).add_json("attention_begin", attention_begin_json(output));
  }
  if (members.has_alignments) {
    json.add_json("alignment", json_array(output.alignment, [](const AlignedPair& pair) {
                    return fmt::format("[{}, {}]", pair.input, pair.output);
                  }));
  }
  return json.text();
}

}  // namespace

std::string range_json(const ByteRange& range) { return fmt::format("[{}, {}]", range.begin, range.end); }

std::string token_ranges_json(std::string_view text, std::span<const std::string> tokens) {
  return json_array(find_token_ranges(text, tokens), range_json);
}

void add_translation(JsonObject& json, const Translation& translation, const TranslationMembers& members) {
  json.add_json("input_tokens", json_array(translation.input_tokens, quote_json))
      .add_json("outputs", json_array(translation.outputs,
                                      [&](const TranslatedText& output) { return output_json(output, members); }));
  if (translation.was_cut) json.add("was_cut", true);
}

}  // namespace edgewise

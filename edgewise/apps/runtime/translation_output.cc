// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/runtime/translation_output.h"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "edgewise/apps/runtime/line_output.h"
#include "edgewise/base/files/json.h"
#include "edgewise/translate/text_sentences.h"
#include "edgewise/translate/translation.h"

namespace edgewise {
namespace {

std::string alignment_text(const TranslatedText& output) {
  std::string text;
  for (const AlignedPair& pair : output.alignment) {
    text += fmt::format("{}{}-{}", text.empty() ? "" : " ", pair.input, pair.output);
  }
  return text;
}

std::string json_of(const Translation& translation, std::int64_t number, const TranslationFormat& format) {
  JsonObject json;
  json.add("line", number);
  add_translation(json, translation, {.has_alignments = format.has_alignments, .has_attention = format.has_attention});
  return json.text() + "\n";
}

}  // namespace

std::string format_translation(const Translation& translation, std::int64_t number, const TranslationFormat& format) {
  if (format.is_json) return json_of(translation, number, format);
  std::string lines;
  for (const TranslatedText& output : translation.outputs) {
    if (format.is_n_best) lines += fmt::format("{}\t", number);
    if (format.has_scores) lines += fmt::format("{:.6f}\t", output.score);
    lines += replace_line_feeds(output.text);
    if (format.has_alignments) lines += "\t" + alignment_text(output);
    lines += "\n";
  }
  return lines;
}

void write_translations(Translator& translator, RequestReader& requests, AtomicFile* file, std::string_view caller,
                        const TranslationFormat& format) {
  LineOutput output(file, caller);
  std::int64_t number = 0;
  translator.translate(
      [&] { return requests.next(); },
      [&](const Translation& translation) { output.write(format_translation(translation, ++number, format), 1); },
      [&] { requests.stop(); });
  output.finish();
}

}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/runtime/translation_lines.h"

#include <tuple>

#include "edgewise/apps/runtime/line_output.h"
#include "edgewise/base/error.h"
#include "edgewise/base/files/json.h"
#include "edgewise/translate/text_sentences.h"

namespace edgewise {
namespace {

TextLinesOptions with_stop(TextLinesOptions options, const StopRequest& stop) {
  options.stop = &stop;
  return options;
}

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

/// Returns the lines of a translation. Each output is one line with these columns, separated by TABs, as far as
/// `format` has them: the number of the input, which is counted from 1, the score, the text, and the alignment as
/// `input-output` pairs of tokens counted from 0. JSON is one line per translation.
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

}  // namespace

RequestReader::RequestReader(TextLinesOptions inputs, std::optional<TextLinesOptions> prefixes, const TextShard& shard)
    : inputs_(with_stop(std::move(inputs), stop_)), shard_(shard) {
  if (prefixes) prefixes_.emplace(with_stop(*std::move(prefixes), stop_));
}

std::optional<TranslationRequest> RequestReader::next() {
  while (inputs_.line_number() % shard_.count != shard_.index && inputs_.skip()) {
    if (prefixes_) prefixes_->skip();
  }
  auto input = inputs_.next();
  if (!prefixes_) return input ? std::optional(TranslationRequest{*std::move(input)}) : std::nullopt;

  auto prefix = prefixes_->next();
  if (input.has_value() != prefix.has_value()) {
    const auto& [shorter, longer] = input ? std::tie(*prefixes_, inputs_) : std::tie(inputs_, *prefixes_);
    fail("{}: {} has {} lines, needs as many as {}, which has more", inputs_.caller(), shorter.path(),
         shorter.line_number(), longer.path());
  }
  if (!input) return std::nullopt;
  return TranslationRequest{*std::move(input), *std::move(prefix),
                            fmt::format("{}:{}", prefixes_->path(), prefixes_->line_number())};
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

// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/native_response.h"

#include <algorithm>
#include <utility>

namespace edgewise {

NativeResponse::NativeResponse(const NativeRequest& request, std::int64_t max_bytes)
    : request_(request), max_bytes_(max_bytes), kept_(request.texts.texts.size()) {}

std::string NativeResponse::event_of(const StreamedSentence& sentence) {
  JsonObject json;
  json.add("text", sentence.text).add("number", sentence.number).add("gap", sentence.gap);
  return take(std::move(json), sentence.translation);
}

void NativeResponse::keep(const StreamedSentence& sentence) {
  std::vector<std::string>& kept = kept_[sentence.text];
  kept.resize(std::max(kept.size(), sentence.number + 1));
  kept[sentence.number] = take({}, sentence.translation);
}

std::string NativeResponse::text(const std::vector<TextTranslation>& results) {
  std::string translations;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::string json = result_json(results[i], i);
    count(json.size());
    translations += (i == 0 ? "" : ", ") + json;
  }
  return JsonObject()
      .add("target", request_.languages.target)
      .add_json("translations", "[" + translations + "]")
      .text();
}

/// Adds the members of a translation, and leaves in it what the text of the result needs.
std::string NativeResponse::take(JsonObject json, Translation& translation) {
  add_translation(json, translation, request_.members);
  for (TranslatedText& output : translation.outputs) {
    TranslatedText rest;
    rest.text = std::move(output.text);
    output = std::move(rest);
  }
  std::string text = json.text();
  count(text.size());
  return text;
}

std::string NativeResponse::result_json(const TextTranslation& result, std::size_t number_of_text) {
  const SourceLanguage& source = request_.languages.sources[number_of_text];
  JsonObject json;
  json.add("source", source.code);
  if (source.confidence) json.add("confidence", *source.confidence);
  json.add("text", result.text).add_json("alternatives", json_array(result.alternatives, quote_json));
  if (result.intermediate) json.add("intermediate", *result.intermediate);
  json.add_json("sentences", sentences_json(result, number_of_text));
  return json.text();
}

std::string NativeResponse::sentences_json(const TextTranslation& result, std::size_t number_of_text) {
  const std::string& input = result.intermediate ? *result.intermediate : request_.texts.texts[number_of_text];
  std::size_t next = 0;
  return json_array(result.sentences,
                    [&](const TextSentence& sentence) { return sentence_json(sentence, input, number_of_text, next); });
}

/// `input` is the text that has the bytes of sentence.input, `next` the number of the next translated sentence.
std::string NativeResponse::sentence_json(const TextSentence& sentence, std::string_view input, std::size_t text,
                                          std::size_t& next) {
  const bool is_copied = sentence.translation.outputs.empty();
  JsonObject json;
  json.add_json("input", range_json(sentence.input)).add_json("output", range_json(sentence.output));
  if (request_.members.has_token_ranges) {
    const std::string_view own = input.substr(sentence.input.begin, sentence.input.size());
    json.add_json("input_token_ranges", token_ranges_json(own, sentence.translation.input_tokens));
  }
  if (is_copied) add_translation(json, sentence.translation, request_.members);
  if (is_copied) return json.text();
  const std::size_t number = next++;
  if (request_.is_stream) return json.add("number", number).text();
  const std::string kept = std::exchange(kept_[text][number], {});  // counted by take()
  num_bytes_ -= static_cast<std::int64_t>(kept.size());
  std::string members = json.text();
  members.pop_back();
  return members + ", " + kept.substr(1);
}

void NativeResponse::count(std::size_t bytes) {
  num_bytes_ += static_cast<std::int64_t>(bytes);
  check_answer_bytes(num_bytes_, max_bytes_);
}

}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "edgewise/base/files/json.h"
#include "edgewise/base/stop_request.h"
#include "edgewise/base/utf8.h"
#include "edgewise/server/endpoints.h"
#include "edgewise/server/http.h"
#include "edgewise/server/request_fields.h"
#include "edgewise/server/text_request.h"
#include "edgewise/server/translation_endpoint.h"
#include "edgewise/translate/translation.h"

namespace edgewise {
namespace {

/// Writes the response of /v1/translate as JSON, sentence by sentence, so that no more than one copy of the tokens and
/// attention weights of a request exists. The functions throw RequestError with status 400 if the response has more
/// bytes than the limit.
class NativeResponse {
 public:
  /// The request must outlive the response.
  NativeResponse(const TextRequest& request, const TranslationMembers& members, bool is_stream, std::int64_t max_bytes)
      : request_(request),
        members_(members),
        is_stream_(is_stream),
        max_bytes_(max_bytes),
        kept_(request.texts.size()) {}

  /// Returns the event of a sentence of a stream. Removes what the event has from the translation.
  std::string event_of(const StreamedSentence& sentence) {
    JsonObject json;
    json.add("text", sentence.text).add("number", sentence.number).add("gap", sentence.gap);
    return take(std::move(json), sentence.translation);
  }

  /// Keeps a sentence for text(). Removes what it keeps from the translation.
  void keep(const StreamedSentence& sentence) {
    std::vector<std::string>& kept = kept_[sentence.text];
    kept.resize(std::max(kept.size(), sentence.number + 1));
    kept[sentence.number] = take({}, sentence.translation);
  }

  /// Returns the whole response, or, after a stream, what its events do not have.
  std::string text(const std::vector<TextTranslation>& results) {
    std::string translations;
    for (std::size_t i = 0; i < results.size(); ++i) {
      const std::string json = result_json(results[i], i);
      count(json.size());
      translations += (i == 0 ? "" : ", ") + json;
    }
    return JsonObject().add("target", request_.target).add_json("translations", "[" + translations + "]").text();
  }

 private:
  /// Adds the members of a translation, and leaves in it what the text of the result needs.
  std::string take(JsonObject json, Translation& translation) {
    add_translation(json, translation, members_);
    for (TranslatedText& output : translation.outputs) {
      TranslatedText rest;
      rest.text = std::move(output.text);
      output = std::move(rest);
    }
    std::string text = json.text();
    count(text.size());
    return text;
  }

  std::string result_json(const TextTranslation& result, std::size_t number_of_text) {
    const SourceLanguage& source = request_.sources[number_of_text];
    JsonObject json;
    json.add("source", source.code);
    if (source.confidence) json.add("confidence", *source.confidence);
    json.add("text", result.text).add_json("alternatives", json_array(result.alternatives, quote_json));
    if (result.intermediate) json.add("intermediate", *result.intermediate);
    json.add_json("sentences", sentences_json(result, number_of_text));
    return json.text();
  }

  std::string sentences_json(const TextTranslation& result, std::size_t number_of_text) {
    const std::string& input = result.intermediate ? *result.intermediate : request_.texts[number_of_text];
    std::size_t next = 0;
    return json_array(result.sentences, [&](const TextSentence& sentence) {
      return sentence_json(sentence, input, number_of_text, next);
    });
  }

  /// `input` is the text that has the bytes of sentence.input, `next` the number of the next translated sentence.
  std::string sentence_json(const TextSentence& sentence, std::string_view input, std::size_t text, std::size_t& next) {
    const bool is_copied = sentence.translation.outputs.empty();
    JsonObject json;
    json.add_json("input", range_json(sentence.input)).add_json("output", range_json(sentence.output));
    if (members_.has_token_ranges) {
      const std::string_view own = input.substr(sentence.input.begin, sentence.input.size());
      json.add_json("input_token_ranges", token_ranges_json(own, sentence.translation.input_tokens));
    }
    if (is_copied) add_translation(json, sentence.translation, members_);
    if (is_copied) return json.text();
    const std::size_t number = next++;
    if (is_stream_) return json.add("number", number).text();
    const std::string kept = std::exchange(kept_[text][number], {});  // counted by take()
    num_bytes_ -= static_cast<std::int64_t>(kept.size());
    std::string members = json.text();
    members.pop_back();
    return members + ", " + kept.substr(1);
  }

  void count(std::size_t bytes) {
    num_bytes_ += static_cast<std::int64_t>(bytes);
    check_answer_bytes(num_bytes_, max_bytes_);
  }

  const TextRequest& request_;
  TranslationMembers members_;
  bool is_stream_;
  std::int64_t max_bytes_;
  std::int64_t num_bytes_ = 0;
  std::vector<std::vector<std::string>> kept_;  // JSON of the translated sentences of each text
};

LineBreaks read_line_breaks(const RequestFields& fields) {
  const std::string name = fields.text("line_breaks").value_or("end");
  if (const auto line_breaks = find_enum<LineBreaks>(name)) return *line_breaks;
  fail("request: line_breaks is {}, needs end or space", quote_unless_plain(name));
}

TextRequest read_native_request(ServerState& state, const std::string& client, const RequestFields& fields) {
  TextRequest request{.client = client, .texts = fields.texts("text")};
  check(!request.texts.empty(), "request: text is missing, needs a text or a list of texts");
  request.format = parse_format(fields.text("format"));
  request.line_breaks = read_line_breaks(fields);
  request.alternatives = parse_alternatives(fields.word("alternatives"));
  check_limits(request, state.options);
  const auto target = fields.text("target");
  check(target.has_value(), "request: target is missing, needs the code of a language");
  const std::string source = fields.text("source").value_or(std::string(kDetectSource));
  find_languages(*state.models.languages(), source, *target, request);
  return request;
}

/// Answers with server-sent events. Errors before the first one are responses with their status; the events of the
/// others have it.
void stream_translation(ServerState& state, HttpExchange& exchange, const TextRequest& request,
                        NativeResponse& response) {
  bool has_begun = false;
  // Throws StopException if the client is gone.
  const auto send = [&](std::string_view event, const std::string& json) {
    if (!std::exchange(has_begun, true)) {
      exchange.begin_stream({.content_type = "text/event-stream", .headers = {{"Cache-Control", "no-store"}}});
    }
    if (!exchange.write(fmt::format("event: {}\ndata: {}\n\n", event, json))) throw StopException();
  };
  const auto end_with_error = [&](int status, std::string_view message) {
    send("error", JsonObject().add("status", status).add("error", message).text());
    exchange.end_stream();
  };
  try {
    const std::vector<TextTranslation> results =
        run_request(state, exchange, request,
                    [&](const StreamedSentence& sentence) { send("sentence", response.event_of(sentence)); });
    send("result", response.text(results));
    exchange.end_stream();
  } catch (const StopException&) {
    throw;
  } catch (const RequestError& error) {
    if (!has_begun) throw;
    end_with_error(error.status(), error.what());
  } catch (const std::exception& error) {
    if (!has_begun) throw;
    if (state.log) state.log(fmt::format("{}: {}", exchange.request().path, error.what()));
    end_with_error(500, "Internal Server Error");
  }
}

void handle_native_translate(ServerState& state, HttpExchange& exchange) {
  auto key = state.keys.find(bearer_key(exchange.request()));
  const RequestFields fields = read_request_fields(exchange.request());
  TextRequest request = read_native_request(state, exchange.request().client, fields);
  request.key = std::move(key);
  const TranslationMembers members{.has_alignments = true,
                                   .has_attention = fields.flag("attention"),
                                   .has_token_ranges = fields.flag("token_ranges")};
  const bool is_stream = fields.flag("stream");
  NativeResponse response(request, members, is_stream, state.options.answer_bytes);
  if (is_stream) return stream_translation(state, exchange, request, response);
  const std::vector<TextTranslation> results =
      run_request(state, exchange, request, [&](const StreamedSentence& sentence) { response.keep(sentence); });
  exchange.respond({.body = response.text(results)});
}

}  // namespace

void add_native(Router& router) { router.add("POST", "/v1/translate", handle_native_translate); }

}  // namespace edgewise

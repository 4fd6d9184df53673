// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/native.h"

#include <optional>
#include <string>
#include <utility>

#include "edgewise/base/ascii.h"
#include "edgewise/base/files/json.h"
#include "edgewise/base/stop_request.h"
#include "edgewise/base/utf8.h"
#include "edgewise/server/native_response.h"
#include "edgewise/server/request_error.h"
#include "edgewise/server/request_fields.h"
#include "edgewise/server/translation_endpoint.h"

namespace edgewise {
namespace {

std::optional<std::string> bearer_key(const HttpRequest& request) {
  constexpr std::string_view kScheme = "bearer ";
  const auto header = request.header("Authorization");
  if (!header || !equal_without_case(header->substr(0, kScheme.size()), kScheme)) return std::nullopt;
  return std::string(trim_ascii(header->substr(kScheme.size())));
}

bool read_flag(const RequestFields& fields, std::string_view name) {
  const std::string text = fields.word(name).value_or("false");
  check(text == "true" || text == "false", "request: {} is {}, needs true or false", name, quote_unless_plain(text));
  return text == "true";
}

LineBreaks read_line_breaks(const RequestFields& fields) {
  const std::string name = fields.text("line_breaks").value_or("end");
  if (const auto line_breaks = find_enum<LineBreaks>(name)) return *line_breaks;
  fail("request: line_breaks is {}, needs end or space", quote_unless_plain(name));
}

NativeRequest read_native_request(ServerState& state, const HttpRequest& http) {
  const RequestFields fields = read_request_fields(http);
  NativeRequest request;
  TextRequest& texts = request.texts;
  texts.client = http.client;
  texts.texts = fields.texts("text");
  check(!texts.texts.empty(), "request: text is missing, needs a text or a list of texts");
  texts.format = parse_format(fields.text("format"));
  texts.line_breaks = read_line_breaks(fields);
  texts.alternatives = parse_alternatives(fields.word("alternatives"));
  check_limits(texts, state.options);
  const auto target = fields.text("target");
  check(target.has_value(), "request: target is missing, needs the code of a language");
  const std::string source = fields.text("source").value_or(std::string(kDetectSource));
  request.languages = find_languages(*state.models.languages(), source, *target, texts.texts, texts.format);
  texts.routes = request.languages.routes;
  request.members.has_attention = read_flag(fields, "attention");
  request.members.has_token_ranges = read_flag(fields, "token_ranges");
  request.is_stream = read_flag(fields, "stream");
  return request;
}

/// A stream of server-sent events, which begins with the first event.
class EventStream {
 public:
  explicit EventStream(HttpExchange& exchange) : exchange_(exchange) {}

  bool has_begun() const { return has_begun_; }

  /// Throws StopException if the client is gone.
  void send(std::string_view event, const std::string& json) {
    if (!std::exchange(has_begun_, true)) {
      exchange_.begin_stream({.content_type = "text/event-stream", .headers = {{"Cache-Control", "no-store"}}});
    }
    if (!exchange_.write(fmt::format("event: {}\ndata: {}\n\n", event, json))) throw StopException();
  }

  void end() { exchange_.end_stream(); }

 private:
  HttpExchange& exchange_;
  bool has_begun_ = false;
};

void send_error(EventStream& events, int status, std::string_view message) {
  events.send("error", JsonObject().add("status", status).add("error", message).text());
  events.end();
}

/// Errors before the first sentence are responses with their status; the events of the others have it.
void stream_translation(ServerState& state, HttpExchange& exchange, const NativeRequest& request) {
  EventStream events(exchange);
  NativeResponse response(request, state.options.answer_bytes);
  const StreamSink send_sentence = [&](const StreamedSentence& sentence) {
    events.send("sentence", response.event_of(sentence));
  };
  try {
    const std::vector<TextTranslation> results = run_request(state, exchange, request.texts, send_sentence);
    events.send("result", response.text(results));
    events.end();
  } catch (const StopException&) {
    throw;
  } catch (const RequestError& error) {
    if (!events.has_begun()) throw;
    send_error(events, error.status(), error.what());
  } catch (const std::exception& error) {
    if (!events.has_begun()) throw;
    if (state.log) state.log(fmt::format("{}: {}", exchange.request().path, error.what()));
    send_error(events, 500, "Internal Server Error");
  }
}

void handle_native_translate(ServerState& state, HttpExchange& exchange) {
  auto key = state.keys.find(bearer_key(exchange.request()));
  NativeRequest request = read_native_request(state, exchange.request());
  request.texts.key = std::move(key);
  if (request.is_stream) return stream_translation(state, exchange, request);
  NativeResponse response(request, state.options.answer_bytes);
  const std::vector<TextTranslation> results =
      run_request(state, exchange, request.texts, [&](const StreamedSentence& sentence) { response.keep(sentence); });
  exchange.respond({.body = response.text(results)});
}

}  // namespace

void add_native(Router& router, ServerState& state) {
  router.add("POST", "/v1/translate", [&state](const auto& exchange) { handle_native_translate(state, *exchange); });
}

}  // namespace edgewise

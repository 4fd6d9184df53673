// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/translation_endpoint.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "edgewise/base/ascii.h"
#include "edgewise/base/config/fields.h"
#include "edgewise/base/utf8.h"

namespace edgewise {
namespace {

std::string require_code(const ServedLanguages& languages, const std::string& name) {
  auto code = languages.find_code(name);
  check(code.has_value(), "{} is not supported", quote_unless_plain(name));
  return *std::move(code);
}

std::vector<SourceLanguage> find_sources(const ServedLanguages& languages, const std::string& source,
                                         const TextRequest& request) {
  if (!equal_without_case(source, kDetectSource)) {
    return {request.texts.size(), {.code = require_code(languages, source)}};
  }
  check(!languages.models().empty(), "the server has no model");
  std::vector<SourceLanguage> sources;
  const bool is_html = request.format == TextFormat::kHtml;
  for (DetectedLanguage& detected : detect_language_of_each(request.texts, languages, is_html)) {
    sources.push_back({std::move(detected.code), detected.confidence});
  }
  return sources;
}

}  // namespace

std::optional<std::string> bearer_key(const HttpRequest& request) {
  constexpr std::string_view kScheme = "bearer ";
  const auto header = request.header("Authorization");
  if (!header || !equal_without_case(header->substr(0, kScheme.size()), kScheme)) return std::nullopt;
  return std::string(trim_ascii(header->substr(kScheme.size())));
}

void refuse_while_draining(ServerState& state) {
  if (!state.is_draining) return;
  state.metrics.count_rejection("drain");
  throw RequestError(503, "the server is about to end", {{"Retry-After", "10"}});
}

KeyCharge::KeyCharge(ServerState& state, const std::optional<ApiKey>& key, std::int64_t characters,
                     int status_over_quota)
    : state_(state), key_(key), characters_(characters) {
  if (!key_ || state.keys.charge(*key_, characters_)) return;
  state.metrics.count_rejection("quota");
  throw RequestError(status_over_quota, "Quota exceeded");
}

KeyCharge::~KeyCharge() {
  if (key_ && !is_kept_) state_.keys.refund(*key_, characters_);
}

void KeyCharge::keep() {
  is_kept_ = true;
  if (key_ && !key_->name.empty()) state_.metrics.count_characters(key_->name, characters_);
}

void find_languages(const ServedLanguages& languages, const std::string& source, const std::string& target,
                    TextRequest& request) {
  request.sources = find_sources(languages, source, request);
  request.target = require_code(languages, target);
  for (const SourceLanguage& language : request.sources) {
    auto route = languages.find_route(language.code, request.target);
    check(route.has_value(), "{} ({}) is not available as a target language from {} ({})",
          language_name(request.target), request.target, language_name(language.code), language.code);
    request.routes.push_back(*std::move(route));
  }
}

std::int64_t count_characters(const std::vector<std::string>& texts) {
  std::size_t characters = 0;
  for (const std::string& text : texts) characters += count_code_points(text);
  return static_cast<std::int64_t>(characters);
}

TextFormat parse_format(const std::optional<std::string>& name) {
  if (!name || name->empty()) return TextFormat::kText;
  if (const auto format = find_enum<TextFormat>(*name)) return *format;
  fail("{} format is not supported", quote_unless_plain(*name));
}

std::int64_t parse_alternatives(const std::optional<std::string>& text) {
  constexpr double kMost = 1e9;  // far beyond any limit
  double number = 0;
  const bool is_whole = !text || (parse_number(*text, Range(), number) && number == std::round(number));
  check(is_whole, "Invalid request: alternatives parameter is not a number");
  return static_cast<std::int64_t>(std::clamp(number, 0.0, kMost));
}

void check_answer_bytes(std::int64_t bytes, std::int64_t most) {
  if (bytes <= most) return;
  throw RequestError(400, fmt::format("Invalid request: the answer would have more than {} bytes; send fewer texts, or "
                                      "ask for less than alternatives, attention and ranges of tokens",
                                      most));
}

void respond_translation(ServerState& state, HttpExchange& exchange, std::string json) {
  check_answer_bytes(std::ssize(json), state.options.answer_bytes);
  exchange.respond({.body = std::move(json)});
}

std::vector<TextTranslation> run_request(ServerState& state, HttpExchange& exchange, const TextRequest& request,
                                         const StreamSink& sink) {
  refuse_while_draining(state);
  KeyCharge charge(state, request.key, count_characters(request.texts), request.status_over_quota);
  const auto time = std::chrono::duration_cast<RequestWait::Clock::duration>(
      std::chrono::duration<double>(state.options.request_seconds));
  RequestWait wait(exchange, RequestWait::Clock::now() + time, state.metrics);
  std::vector<TextTranslation> results = translate(request, wait, sink);
  charge.keep();
  return results;
}

}  // namespace edgewise

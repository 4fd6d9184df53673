// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/translation_endpoint.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "edgewise/base/ascii.h"
#include "edgewise/base/parse_number.h"
#include "edgewise/server/language_codes.h"
#include "edgewise/server/request_error.h"

namespace edgewise {
namespace {

DetectedLanguage detect_source(const ServedLanguages& languages, const std::vector<std::string>& texts,
                               TextFormat format) {
  std::string all;
  for (const std::string& text : texts) all += text + "\n";
  const std::vector<DetectedLanguage> detected = detect_languages(all, languages, format == TextFormat::kHtml);
  check(!detected.empty(), "the server has no model");
  return detected.front();
}

std::string require_code(const ServedLanguages& languages, const std::string& name) {
  auto code = languages.find_code(name);
  check(code.has_value(), "{} is not supported", name);
  return *std::move(code);
}

}  // namespace

RequestLanguages find_languages(const ServedLanguages& languages, const std::string& source, const std::string& target,
                                const std::vector<std::string>& texts, TextFormat format) {
  RequestLanguages found;
  if (equal_without_case(source, kDetectSource)) {
    found.detected = detect_source(languages, texts, format);
    found.source = found.detected->code;
  } else {
    found.source = require_code(languages, source);
  }
  found.target = require_code(languages, target);
  auto route = languages.find_route(found.source, found.target);
  check(route.has_value(), "{} ({}) is not available as a target language from {} ({})", language_name(found.target),
        found.target, language_name(found.source), found.source);
  found.route = *std::move(route);
  return found;
}

TextFormat parse_format(const std::optional<std::string>& name) {
  if (!name || name->empty()) return TextFormat::kText;
  if (const auto format = find_enum<TextFormat>(*name)) return *format;
  fail("{} format is not supported", *name);
}

std::int64_t parse_alternatives(const std::optional<std::string>& text) {
  constexpr double kMost = 1e9;  // far beyond any limit
  double number = 0;
  const bool is_whole = !text || (parse_number(*text, Range(), number) && number == std::round(number));
  check(is_whole, "Invalid request: alternatives parameter is not a number");
  return static_cast<std::int64_t>(std::clamp(number, 0.0, kMost));
}

std::vector<TextResult> run_request(ServerState& state, HttpExchange& exchange, const TextRequest& request,
                                    const StreamSink& sink) {
  if (state.is_draining) {
    state.metrics.count_rejection("drain");
    throw RequestError(503, "the server is about to end", {{"Retry-After", "10"}});
  }
  const auto time = std::chrono::duration_cast<RequestWait::Clock::duration>(
      std::chrono::duration<double>(state.options.request_seconds));
  RequestWait wait(exchange, RequestWait::Clock::now() + time, state.metrics);
  return translate(request, wait, sink);
}

}  // namespace edgewise

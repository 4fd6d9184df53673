// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "edgewise/base/files/json.h"
#include "edgewise/server/endpoints.h"
#include "edgewise/server/http.h"
#include "edgewise/server/languages.h"
#include "edgewise/server/request_fields.h"
#include "edgewise/server/translation_endpoint.h"

namespace edgewise {
namespace {

/// Browsers send the line breaks of a form as CR LF.
std::string replace_carriage_returns(const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool begins_pair = text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n';
    if (!begins_pair) result += text[i] == '\r' ? '\n' : text[i];
  }
  return result;
}

bool is_list_of_texts(const RequestFields& fields) {
  const RequestField* field = fields.find("q");
  return field != nullptr && field->is_list;
}

/// Returns the texts of the field q.
std::vector<std::string> read_texts(const RequestFields& fields) {
  std::vector<std::string> texts;
  if (is_list_of_texts(fields)) {
    texts = fields.find("q")->values;
  } else if (auto text = fields.text("q"); text && !text->empty()) {
    texts.push_back(*std::move(text));
  }
  check(!texts.empty(), "Invalid request: missing q parameter");
  if (!fields.is_json()) std::ranges::transform(texts, texts.begin(), replace_carriage_returns);
  return texts;
}

std::string require_field(const RequestFields& fields, std::string_view name) {
  auto text = fields.text(name);
  check(text && !text->empty(), "Invalid request: missing {} parameter", name);
  return *std::move(text);
}

std::string detected_json(const DetectedLanguage& language) {
  return JsonObject().add("confidence", language.confidence).add("language", language.code).text();
}

/// Returns the JSON of the first element, or a list of all.
template <class Element, class JsonOf>
std::string one_or_list(const std::vector<Element>& elements, bool is_list, JsonOf json_of) {
  return is_list ? json_array(elements, json_of) : json_of(elements.front());
}

std::string detected_source_json(const SourceLanguage& source) {
  return detected_json({.code = source.code, .confidence = *source.confidence});
}

std::string translation_json(const std::vector<TextTranslation>& results, const std::vector<SourceLanguage>& sources,
                             bool is_list, bool has_alternatives) {
  JsonObject json;
  json.add_json("translatedText",
                one_or_list(results, is_list, [](const TextTranslation& result) { return quote_json(result.text); }));
  if (sources.front().confidence) {
    json.add_json("detectedLanguage", one_or_list(sources, is_list, detected_source_json));
  }
  if (has_alternatives) {
    json.add_json("alternatives", one_or_list(results, is_list, [](const TextTranslation& result) {
                    return json_array(result.alternatives, quote_json);
                  }));
  }
  return json.text();
}

void handle_translate(ServerState& state, HttpExchange& exchange) {
  const RequestFields fields = read_request_fields(exchange.request());
  auto key = state.keys.find(fields.text("api_key"));
  TextRequest request{.client = exchange.request().client, .texts = read_texts(fields)};
  const std::string source = require_field(fields, "source");
  const std::string target = require_field(fields, "target");
  request.key = std::move(key);
  request.alternatives = parse_alternatives(fields.word("alternatives"));
  check_limits(request, state.options);
  request.format = parse_format(fields.text("format"));
  find_languages(*state.models.languages(), source, target, request);
  const std::vector<TextTranslation> results = run_request(state, exchange, request);
  respond_translation(state, exchange,
                      translation_json(results, request.sources, is_list_of_texts(fields), request.alternatives > 0));
}

void handle_detect(ServerState& state, HttpExchange& exchange) {
  const RequestFields fields = read_request_fields(exchange.request());
  state.keys.find(fields.text("api_key"));
  const TextRequest request{.texts = read_texts(fields)};
  check_limits(request, state.options);
  const std::string text = fmt::format("{}\n", fmt::join(request.texts, "\n"));
  exchange.respond({.body = json_array(detect_languages(text, *state.models.languages()), detected_json)});
}

void handle_languages(ServerState& state, HttpExchange& exchange) {
  const auto languages = state.models.languages();
  exchange.respond({.body = json_array(languages->targets(), [](const auto& language) {
                      return JsonObject()
                          .add("code", language.first)
                          .add("name", language_name(language.first))
                          .add_json("targets", json_array(language.second, quote_json))
                          .text();
                    })});
}

std::string named_language_json(const std::string& code, const std::string& name) {
  return JsonObject().add("code", code).add("name", name).text();
}

void handle_settings(ServerState& state, HttpExchange& exchange) {
  const auto languages = state.models.languages();
  const std::string target = languages->models().empty() ? "" : languages->models().front()->targets.begin()->first;
  const std::string pair = JsonObject()
                               .add_json("source", named_language_json(std::string(kDetectSource), "Auto Detect"))
                               .add_json("target", named_language_json(target, language_name(target)))
                               .text();
  constexpr int kMillisecondsBetweenKeys = 500;  // how long a page waits for the next key
  exchange.respond({.body = JsonObject()
                                .add("charLimit", state.options.characters)
                                .add("frontendTimeout", kMillisecondsBetweenKeys)
                                .add("apiKeys", !state.keys.is_empty())
                                .add("keyRequired", state.keys.is_required())
                                .add("suggestions", false)
                                .add("filesTranslation", false)
                                .add_json("supportedFilesFormat", "[]")
                                .add_json("language", pair)
                                .text()});
}

}  // namespace

void add_libretranslate(Router& router) {
  router.add("POST", "/translate", handle_translate);
  router.add("POST", "/detect", handle_detect);
  router.add("GET", "/languages", handle_languages);
  router.add("GET", "/frontend/settings", handle_settings);
  router.add("POST", "/translate_file", [](ServerState&, HttpExchange&) {
    throw RequestError(403, "Files translation are disabled on this server.");
  });
}

}  // namespace edgewise

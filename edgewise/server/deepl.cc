// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "edgewise/base/ascii.h"
#include "edgewise/base/files/json.h"
#include "edgewise/base/utf8.h"
#include "edgewise/server/endpoints.h"
#include "edgewise/server/languages.h"
#include "edgewise/server/request_fields.h"
#include "edgewise/server/translation_endpoint.h"

namespace edgewise {
namespace {

constexpr int kQuotaExceeded = 456;  // DeepL's status

std::string message_body(int /*status*/, std::string_view message) {
  return JsonObject().add("message", message).text();
}

/// Returns the key of the header `Authorization: DeepL-Auth-Key KEY` or of the field auth_key.
std::optional<std::string> read_key(const HttpRequest& request, const RequestFields& fields) {
  constexpr std::string_view kScheme = "DeepL-Auth-Key ";
  auto field = fields.text("auth_key");
  const auto header = request.header("Authorization");
  if (header && header->starts_with(kScheme)) return std::string(trim_ascii(header->substr(kScheme.size())));
  return field;
}

/// DeepL calls Chinese in its usual script ZH.
std::string deepl_code(const std::string& code) { return code == "zh-Hans" ? "ZH" : upper_ascii(code); }

void refuse_unknown_options(const RequestFields& fields) {
  const std::string formality = fields.text("formality").value_or("");
  // No model knows degrees of formality. DeepL then refuses `more` and `less`, and ignores what a client only prefers.
  check(formality != "more" && formality != "less", "'formality' is not supported for given 'target_lang'.");
  check(formality.empty() || formality == "default" || formality == "prefer_more" || formality == "prefer_less",
        "Value for 'formality' not supported.");
  check(fields.text("glossary_id").value_or("").empty(), "glossary_id is set, but this server has no glossaries");
}

/// Reads names of elements, with commas between them or as a list.
std::vector<std::string> read_ignore_tags(const RequestFields& fields) {
  std::vector<std::string> tags;
  for (const std::string& names : fields.texts("ignore_tags")) {
    for (std::size_t begin = 0; begin <= names.size();) {
      const std::size_t end = std::min(names.find(',', begin), names.size());
      tags.push_back(lower_ascii(trim_ascii(std::string_view(names).substr(begin, end - begin))));
      begin = end + 1;
    }
  }
  return tags;
}

void read_markup(const RequestFields& fields, TextRequest& request) {
  const std::string handling = fields.text("tag_handling").value_or("");
  check(handling.empty() || handling == "html" || handling == "xml", "tag_handling is {}, needs html or xml",
        quote_unless_plain(handling));
  std::vector<std::string> ignored = read_ignore_tags(fields);
  if (handling.empty()) return;
  request.format = TextFormat::kHtml;
  request.markup.syntax = handling == "xml" ? MarkupSyntax::kXml : MarkupSyntax::kHtml;
  request.markup.copied = std::move(ignored);
}

LineBreaks read_split_sentences(const RequestFields& fields) {
  const std::string split = fields.word("split_sentences").value_or("1");
  check(split == "0" || split == "1" || split == "nonewlines", "split_sentences is {}, needs 0, 1 or nonewlines",
        quote_unless_plain(split));
  return split == "1" ? LineBreaks::kEnd : LineBreaks::kSpace;
}

TextRequest read_deepl_request(const HttpRequest& http, const RequestFields& fields) {
  TextRequest request{.client = http.client, .texts = fields.texts("text")};
  check(!request.texts.empty(), "Parameter 'text' not specified.");
  read_markup(fields, request);
  request.line_breaks = read_split_sentences(fields);
  return request;
}

void read_languages(ServerState& state, const RequestFields& fields, TextRequest& request) {
  const std::string target = fields.text("target_lang").value_or("");
  check(!target.empty(), "Value for 'target_lang' not specified.");
  const std::string source = fields.text("source_lang").value_or("");
  find_languages(*state.models.languages(), source.empty() ? std::string(kDetectSource) : source, target, request);
}

std::string translations_json(const TextRequest& request, const std::vector<TextTranslation>& results) {
  std::size_t next = 0;
  return json_array(results, [&](const TextTranslation& result) {
    const std::size_t number = next++;
    return JsonObject()
        .add("detected_source_language", deepl_code(request.sources[number].code))
        .add("text", result.text)
        .add("billed_characters", count_code_points(request.texts[number]))
        .text();
  });
}

void handle_deepl_translate(ServerState& state, HttpExchange& exchange) {
  const RequestFields fields = read_request_fields(exchange.request());
  auto key = state.keys.find(read_key(exchange.request(), fields));
  refuse_unknown_options(fields);
  TextRequest request = read_deepl_request(exchange.request(), fields);
  request.key = std::move(key);
  request.status_over_quota = kQuotaExceeded;
  check_limits(request, state.options);
  read_languages(state, fields, request);
  const std::vector<TextTranslation> results = run_request(state, exchange, request);
  state.deepl_characters += count_characters(request.texts);
  respond_translation(state, exchange,
                      JsonObject().add_json("translations", translations_json(request, results)).text());
}

void handle_deepl_languages(ServerState& state, HttpExchange& exchange) {
  const RequestFields fields = read_request_fields(exchange.request());
  state.keys.find(read_key(exchange.request(), fields));
  const std::string type = fields.text("type").value_or("source");
  check(type == "source" || type == "target", "type is {}, needs source or target", quote_unless_plain(type));
  std::set<std::string> codes;
  for (const auto& model : state.models.languages()->models()) {
    for (const auto& [code, name] : type == "source" ? model->sources : model->targets) codes.insert(code);
  }
  exchange.respond({.body = json_array(codes, [&](const std::string& code) {
                      JsonObject json;
                      json.add("language", deepl_code(code)).add("name", language_name(code));
                      if (type == "target") json.add("supports_formality", false);
                      return json.text();
                    })});
}

void handle_usage(ServerState& state, HttpExchange& exchange) {
  constexpr std::int64_t kNoLimit = 1'000'000'000'000;  // DeepL's number for accounts without a limit
  const RequestFields fields = read_request_fields(exchange.request());
  const auto key = state.keys.find(read_key(exchange.request(), fields));
  const std::int64_t count = key ? state.keys.characters_of(*key) : state.deepl_characters.load();
  const std::int64_t limit = key ? key->characters.value_or(kNoLimit) : kNoLimit;
  exchange.respond({.body = JsonObject().add("character_count", count).add("character_limit", limit).text()});
}

}  // namespace

void add_deepl(Router& router) {
  router.add("POST", "/v2/translate", handle_deepl_translate, message_body);
  for (const char* method : {"GET", "POST"}) {
    router.add(method, "/v2/languages", handle_deepl_languages, message_body);
    router.add(method, "/v2/usage", handle_usage, message_body);
  }
}

}  // namespace edgewise

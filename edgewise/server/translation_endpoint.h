// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "edgewise/server/http.h"
#include "edgewise/server/language_detector.h"
#include "edgewise/server/server_state.h"
#include "edgewise/server/text_request.h"

// What the interfaces have in common: from the fields of a request to translations.

namespace edgewise {

/// The name of a source language that the server detects.
inline constexpr std::string_view kDetectSource = "auto";

/// The languages of a request.
struct RequestLanguages {
  std::string source;  // code
  std::string target;
  std::optional<DetectedLanguage> detected = {};  // if the client does not name the source
  Route route = {};
};

/// Finds the languages and the models between them; detects the source language of all texts together if it is
/// kDetectSource. Throws Error for languages that the server does not have or between which it does not translate. The
/// errors have the texts of LibreTranslate.
RequestLanguages find_languages(const ServedLanguages& languages, const std::string& source, const std::string& target,
                                const std::vector<std::string>& texts, TextFormat format);

/// Reads the names of formats, by default text. Throws Error for others.
TextFormat parse_format(const std::optional<std::string>& name);

/// Reads the number of alternatives, by default 0; a negative number is 0. Throws Error for text that is no whole
/// number.
std::int64_t parse_alternatives(const std::optional<std::string>& text);

/// Translates for the client of an exchange within options.request_seconds, as translate() of text_request.h does.
/// Throws RequestError with status 503 if the server is about to end.
std::vector<TextResult> run_request(ServerState& state, HttpExchange& exchange, const TextRequest& request,
                                    const StreamSink& sink = {});

}  // namespace edgewise

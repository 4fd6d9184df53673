// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "edgewise/server/http.h"
#include "edgewise/server/languages.h"
#include "edgewise/server/router.h"
#include "edgewise/server/text_request.h"

// What the interfaces have in common: from the fields of a request to translations.

namespace edgewise {

/// The name of a source language that the server detects.
inline constexpr std::string_view kDetectSource = "auto";

/// Sets the languages of a request and the models between them; detects the language of each text if `source` is
/// kDetectSource. Throws Error for languages that the server does not have or between which it does not translate. The
/// errors have the texts of LibreTranslate.
void find_languages(const ServedLanguages& languages, const std::string& source, const std::string& target,
                    TextRequest& request);

/// Returns the key of the header `Authorization: Bearer KEY`; nothing if there is none.
std::optional<std::string> bearer_key(const HttpRequest& request);

/// Throws RequestError with status 503 if the server is about to end.
void refuse_while_draining(ServerState& state);

/// Counts the characters of a request for the client's key, and takes them back at the end of the scope unless keep()
/// is called.
class KeyCharge {
 public:
  /// Throws RequestError with status `status_over_quota` if the quota of the key is used up.
  KeyCharge(ServerState& state, const std::optional<ApiKey>& key, std::int64_t characters, int status_over_quota);
  KeyCharge(const KeyCharge&) = delete;
  KeyCharge& operator=(const KeyCharge&) = delete;
  ~KeyCharge();

  void keep();

 private:
  ServerState& state_;
  const std::optional<ApiKey>& key_;
  std::int64_t characters_;
  bool is_kept_ = false;
};

/// Reads the names of formats, by default text. Throws Error for others.
TextFormat parse_format(const std::optional<std::string>& name);

/// Reads the number of alternatives, by default 0; a negative number is 0. Throws Error for text that is no whole
/// number.
std::int64_t parse_alternatives(const std::optional<std::string>& text);

/// Throws RequestError with status 400 for a response of more bytes than options.answer_bytes.
void check_answer_bytes(std::int64_t bytes, std::int64_t most);

/// Responds with JSON within options.answer_bytes.
void respond_translation(ServerState& state, HttpExchange& exchange, std::string json);

/// Returns the code points of all texts.
std::int64_t count_characters(const std::vector<std::string>& texts);

/// Translates for the client of an exchange within options.request_seconds, as translate() of text_request.h does, and
/// counts the characters for the client's key. Throws RequestError with status 503 if the server is about to end, and
/// with request.status_over_quota if the key's quota is used up.
std::vector<TextTranslation> run_request(ServerState& state, HttpExchange& exchange, const TextRequest& request,
                                         const StreamSink& sink = {});

}  // namespace edgewise

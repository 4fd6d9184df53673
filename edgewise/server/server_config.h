// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "edgewise/base/config/fields.h"
#include "edgewise/options/layer_options.h"
#include "edgewise/server/http_options.h"
#include "edgewise/server/server_options.h"
#include "edgewise/translate/translator_options.h"

namespace edgewise {

/// The section [translation] of a server's config: how all models translate.
struct ServedTranslationOptions {
  std::string device = "cpu";
  RuntimePrecision precision = RuntimePrecision::kFp32;
  std::optional<std::int64_t> beam = {};
  std::int64_t batch_sentences = SearchCapacity().sentences;
  std::int64_t batch_tokens = SearchCapacity().tokens;
  int workers = 1;
  bool protect = TranslatorOptions().protect;

  template <class Self, class Field>
  static void list_fields(Self& self, Field&& field) {
    field(
        "device", self.device,
        "where translating computes: cpu; cuda, the first GPU; cuda:N, the GPU number N; or auto, a GPU if one can be "
        "used");
    field("precision", self.precision, "number format of matrix products");
    field("beam", self.beam, "hypotheses in the beam; none: as the config of each model says",
          range_of<SearchOptions>("beam"));
    field("batch_sentences", self.batch_sentences, "most sentences that a worker translates at a time",
          range_of<TranslatorOptions>("batch_sentences"));
    field("batch_tokens", self.batch_tokens, "most input tokens that a worker translates at a time; 0: no limit",
          range_of<TranslatorOptions>("batch_tokens"));
    field("workers", self.workers, "searches of each model that run in parallel and share the threads",
          range_of<TranslatorOptions>("workers"));
    field(
        "protect", self.protect,
        "keep addresses, placeholders, long numbers, emoji and code of a sentence byte for byte, and remove invisible "
        "characters");
  }

  TranslatorOptions translator_options() const;
};

/// The config of a translation server, SERVER.toml.
struct ServerConfig {
  ServerOptions server;
  HttpServerOptions http;
  ServedTranslationOptions translation;

  template <class Self, class Field>
  static void list_fields(Self& self, Field&& field) {
    field("server", self.server, "models, and limits of requests");
    field("http", self.http, "connections and their limits");
    field("translation", self.translation, "how all models translate");
  }
};

/// Throws Error for options out of their range, and for options that contradict each other.
void check_server_config(const ServerConfig& config);

}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "edgewise/base/config/fields.h"
#include "edgewise/generate/options.h"
#include "edgewise/options/layer_options.h"
#include "edgewise/server/http_server.h"
#include "edgewise/translate/translation_engine.h"

namespace edgewise {

/// The section [server] of a server's config. Every limit is on unless the help text says otherwise.
struct ServerOptions {
  std::vector<std::string> models = {};
  std::string models_folder = {};
  std::string pivot = {};
  std::vector<std::string> language_models = {};

  std::int64_t characters = 5000;
  std::int64_t texts = 64;
  std::int64_t alternatives = 3;
  std::int64_t queue_tokens = 1 << 16;
  std::int64_t completion_tokens = 1024;
  std::int64_t answer_bytes = std::int64_t{8} << 20;
  double request_seconds = 60;
  double drain_seconds = 30;

  std::vector<std::string> api_keys = {};
  bool require_api_key = false;
  std::string cors_origin = "*";
  bool access_log = true;

  template <class Self, class Field>
  static void list_fields(Self& self, Field&& field) {
    field("models", self.models, "models, each as PAIR=DIRECTORY, such as en-de=runs/en-de");
    field(
        "models_folder", self.models_folder,
        "folder of more models, each in a folder that is named by its languages, such as en-de; models that are there "
        "or gone at SIGHUP are added and removed; empty: none");
    field("pivot", self.pivot,
          "language through which texts are translated if no model translates directly, such as en; empty: none");
    field(
        "language_models", self.language_models,
        "language models, which continue texts (/v1/completions), each as NAME=DIRECTORY, or DIRECTORY, whose name is "
        "that of the model");
    field("characters", self.characters, "most characters of a text", at_least(1).at_most(1e9));
    field("texts", self.texts, "most texts of a request", at_least(1).at_most(1e6));
    field("alternatives", self.alternatives,
          "most alternatives to a translation; a model has at most one less than its beam has hypotheses",
          at_least(0).at_most(100));
    field("queue_tokens", self.queue_tokens,
          "most input tokens of all requests to a model, or most tokens of prompts and continuations of a language "
          "model; more requests get status 429",
          at_least(1).at_most(1e9));
    field("completion_tokens", self.completion_tokens, "most tokens of a continuation by a language model",
          at_least(1).at_most(1e9));
    field("answer_bytes", self.answer_bytes, "most bytes of the answer to a request; more get status 400",
          at_least(1024).at_most(1 << 30));
    field("request_seconds", self.request_seconds, "time for the translation of a request, in seconds",
          above(0).at_most(1e6));
    field("drain_seconds", self.drain_seconds, "time for running requests when the server ends, in seconds",
          at_least(0).at_most(1e6));
    field("api_keys", self.api_keys,
          "keys that clients may send, each as KEY, NAME KEY or NAME KEY CHARACTERS, with the most characters of a "
          "calendar month; read again at SIGHUP; empty: keys have no effect");
    field("require_api_key", self.require_api_key,
          "refuse requests for translations without a key; read again at SIGHUP");
    field("cors_origin", self.cors_origin,
          "origin whose pages may use the server, *: all pages; empty: only pages of the server itself");
    field("access_log", self.access_log, "log each response as a line of JSON without text of users");
  }
};

/// Throws Error for options out of their range, for keys of another form (api_keys.h), and for require_api_key without
/// keys.
void check_server_options(const ServerOptions& options);

/// The section [translation] of a server's config: how all models translate.
struct ServedTranslationOptions {
  TranslatorOptions translator = {};

  template <class Self, class Field>
  static void list_fields(Self& self, Field&& field) {
    field(
        "device", self.translator.device,
        "where translating computes: cpu; cuda, the first GPU; cuda:N, the GPU number N; or auto, a GPU if one can be "
        "used");
    field("precision", self.translator.precision, "number format of matrix products");
    field("shortlist", self.translator.shortlist,
          "lexical shortlists of models that have one: auto, which computes only the output tokens that it selects for "
          "an input, or off");
    field("decoder_layers", self.translator.depth.layers,
          "first decoder layers, at whose end each model has an exit, to translate with; none: all layers",
          range_of<TranslatorOptions>("decoder_layers"));
    field("exit_threshold", self.translator.depth.exit_threshold,
          "threshold of halting at exits, which each model needs then; 1: no token halts; none: that of each config",
          range_of<TranslatorOptions>("exit_threshold"));
    field("beam", self.translator.beam, "hypotheses in the beam; none: as the config of each model says",
          range_of<SearchOptions>("beam"));
    field("batch_sentences", self.translator.capacity.sentences, "most sentences that a worker translates at a time",
          range_of<TranslatorOptions>("batch_sentences"));
    field("batch_tokens", self.translator.capacity.tokens,
          "most input tokens that a worker translates at a time; 0: no limit",
          range_of<TranslatorOptions>("batch_tokens"));
    field("workers", self.translator.workers, "searches of each model that run in parallel and share the threads",
          range_of<TranslatorOptions>("workers"));
    field(
        "protect", self.translator.protect,
        "keep addresses, placeholders, long numbers, emoji and code of a sentence byte for byte, and remove invisible "
        "characters");
  }
};

/// The config of a translation server, SERVER.toml.
struct ServerConfig {
  ServerOptions server;
  HttpServerOptions http;
  ServedTranslationOptions translation;
  GeneratorOptions generation;

  template <class Self, class Field>
  static void list_fields(Self& self, Field&& field) {
    field("server", self.server, "models, and limits of requests");
    field("http", self.http, "connections and their limits");
    field("translation", self.translation, "how all models translate");
    field("generation", self.generation, "how all language models continue texts");
  }
};

/// Throws Error for options out of their range, and for options that contradict each other.
void check_server_config(const ServerConfig& config);

}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "edgewise/server/endpoints.h"
#include "edgewise/server/model_registry.h"
#include "edgewise/server/router.h"
#include "tests/server/fake_exchange.h"
#include "tests/translate/copying_model.h"

// A server whose models copy the words of copying_model.h.

namespace edgewise {

inline std::shared_ptr<ServedModel> make_served_model(const ModelSpec& spec, const TextCodec& codec,
                                                      ScorerFactory scorers, std::int64_t queue_tokens = 1 << 16) {
  TranslatorOptions options{.workers = 1, .alignment = true, .max_pending_tokens = queue_tokens};
  options.search = SearchOptions{.beam = 3, .n_best = 3, .length_norm = LengthNorm::kNone};
  auto model = std::make_shared<ServedModel>();
  model->path = spec.path;
  model->sources = select_languages(spec.sources, {}, spec.path);
  model->targets = select_languages(spec.targets, {}, spec.path);
  model->max_outputs = options.search->n_best;
  model->service = std::make_unique<TranslationService>(codec, std::move(scorers), options);
  return model;
}

inline std::shared_ptr<ServedModel> make_copying_model(const ModelSpec& spec) {
  const TextCodec codec = make_codec();
  return make_served_model(spec, codec, copying_scorers(codec));
}

inline ModelLoader copying_loader() {
  return {.revision = [](const ModelSpec&) { return "1"; }, .load = make_copying_model};
}

/// A server with all interfaces and without connections.
class CopyingServer {
 public:
  explicit CopyingServer(ServerOptions options = {},
                         const std::vector<std::string>& models = {"en-de=one", "de-en=two"},
                         ModelLoader loader = copying_loader(), LanguageModelLoader language_loader = {})
      : registry(parse_specs(models), std::move(loader), options.pivot),
        language_models(options.language_models, std::move(language_loader)),
        state{.options = std::move(options), .models = registry, .language_models = language_models},
        router(state) {
    add_libretranslate(router);
    add_deepl(router);
    add_native(router);
    add_completions(router);
    add_operation(router);
    add_page(router);
  }

  HttpResponse respond(HttpRequest request) {
    const auto exchange = std::make_shared<FakeExchange>(std::move(request));
    router.handle(exchange);
    return exchange->response;
  }

  HttpResponse get(const std::string& path, const std::string& query = "") {
    return respond({.method = "GET", .path = path, .query = query, .client = "c"});
  }

  HttpResponse post_json(const std::string& path, const std::string& json, std::vector<HttpHeader> headers = {}) {
    headers.push_back({"Content-Type", "application/json"});
    return respond({.method = "POST", .path = path, .headers = std::move(headers), .body = json, .client = "c"});
  }

  HttpResponse post_form(const std::string& path, const std::string& form) {
    return respond({.method = "POST",
                    .path = path,
                    .headers = {{"Content-Type", "application/x-www-form-urlencoded"}},
                    .body = form,
                    .client = "c"});
  }

  ModelRegistry registry;
  LanguageModels language_models;
  ServerState state;
  Router router;

 private:
  static std::vector<ModelSpec> parse_specs(const std::vector<std::string>& texts) {
    std::vector<ModelSpec> specs;
    for (const std::string& text : texts) specs.push_back(parse_model_spec(text));
    return specs;
  }
};

}  // namespace edgewise

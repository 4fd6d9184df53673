// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/model_loader.h"

#include "edgewise/server/model_folder.h"

namespace edgewise {

ModelLoader make_model_loader(const TranslatorOptions& translator, const ServerOptions& server) {
  TranslatorOptions options = translator;
  options.max_pending_tokens = server.queue_tokens;
  const std::int64_t max_outputs = server.alternatives + 1;
  ModelLoader loader{.revision = model_revision, .load = [options, max_outputs](const ModelSpec& spec) {
                       return load_served_model(spec, options, max_outputs);
                     }};
  if (!server.models_folder.empty()) {
    loader.list = [folder = server.models_folder] { return list_models(folder); };
  }
  return loader;
}

}  // namespace edgewise

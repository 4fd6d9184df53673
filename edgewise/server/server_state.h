// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "edgewise/server/api_keys.h"
#include "edgewise/server/metrics.h"
#include "edgewise/server/model_registry.h"
#include "edgewise/server/server_options.h"

namespace edgewise {

/// Options, models, logs and metrics, which the interfaces of a server share. The object must outlive all requests.
struct ServerState {
  ServerOptions options;
  ModelRegistry& models;
  std::function<void(std::string_view line)> log = {};  // receives errors; threads may call it at the same time
  Metrics metrics = {};
  ApiKeys keys = ApiKeys(options.api_keys, options.require_api_key);
  std::atomic<std::int64_t> deepl_characters = 0;  // characters of texts that DeepL's interface has translated
  std::atomic<bool> is_draining = false;           // whether the server is about to end and takes no more texts
};

}  // namespace edgewise

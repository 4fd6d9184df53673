// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/server_config.h"

#include "edgewise/base/error.h"

namespace edgewise {

TranslatorOptions ServedTranslationOptions::translator_options() const {
  return {.device = device,
          .precision = precision,
          .beam = beam,
          .capacity = {.sentences = batch_sentences, .tokens = batch_tokens},
          .workers = workers,
          .protect = protect};
}

void check_server_config(const ServerConfig& config) {
  check_ranges(config, "server");
  check_server_options(config.server);
  check(config.http.certificate.empty() == config.http.key.empty(),
        "server: only one of http.certificate and http.key is set, TLS needs both");
}

}  // namespace edgewise

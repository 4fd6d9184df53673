// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/server_config.h"

#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"
#include "edgewise/server/api_keys.h"
#include "edgewise/server/languages.h"

namespace edgewise {

void check_server_options(const ServerOptions& options) {
  check_ranges(options, "server", "server.");
  parse_api_keys(options.api_keys);
  check(!options.require_api_key || !options.api_keys.empty(),
        "server: server.require_api_key is true and server.api_keys has no key, needs a key");
  check(options.pivot.empty() || find_language_code(options.pivot).has_value(),
        "server: server.pivot is {}, needs a code such as en", quote(options.pivot));
}

void check_server_config(const ServerConfig& config) {
  check_ranges(config, "server");
  check_server_options(config.server);
  check(config.http.certificate.empty() == config.http.key.empty(),
        "server: only one of http.certificate and http.key is set, TLS needs both");
}

}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/api_key.h"

#include "edgewise/base/sha256.h"
#include "edgewise/server/request_error.h"

namespace edgewise {
namespace {

/// Compares hashes, because an attacker cannot choose how many characters of two hashes are equal.
bool is_listed(const std::vector<std::string>& keys, const std::string& key) {
  const std::string hash = sha256(key);
  bool is_found = false;
  for (const std::string& each : keys) is_found = (sha256(each) == hash) || is_found;
  return is_found;
}

}  // namespace

void check_api_key(const ServerOptions& options, const std::optional<std::string>& key) {
  if (options.api_keys.empty()) return;
  if (key && !key->empty()) {
    if (!is_listed(options.api_keys, *key)) throw RequestError(403, "Invalid API key");
  } else if (options.require_api_key) {
    throw RequestError(400, "Please contact the server operator to get an API key");
  }
}

}  // namespace edgewise

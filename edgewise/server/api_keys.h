// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace edgewise {

/// A key that clients may send.
struct ApiKey {
  std::string name = {};                        // for metrics and for the count of characters; empty: none
  std::string hash = {};                        // SHA-256 of the key
  std::optional<std::int64_t> characters = {};  // quota: most characters of texts in a calendar month (UTC)
};

/// Reads keys of the forms `KEY`, `NAME KEY` and `NAME KEY CHARACTERS`. Throws Error for other texts, and for a name or
/// key that is there twice; the error has no key.
std::vector<ApiKey> parse_api_keys(const std::vector<std::string>& texts);

/// The keys of a server, and how many characters each has translated in this month, since the start of the server.
/// Threads may call all functions at the same time.
class ApiKeys {
 public:
  using Time = std::chrono::system_clock::time_point;

  /// `texts` as for parse_api_keys. Keys have no effect if there are none.
  explicit ApiKeys(const std::vector<std::string>& texts = {}, bool is_required = false);

  /// Replaces the keys. A name, and a key without a name, keeps its count.
  void replace(const std::vector<std::string>& texts, bool is_required);

  bool is_empty() const;
  bool is_required() const;

  /// Returns the key with this text; nothing if the client sends none or if there are no keys. Throws RequestError with
  /// status 403 for an unknown key, and with status 400 for a missing or empty key if one is required. The time of the
  /// comparison does not depend on how many characters of the key are right.
  std::optional<ApiKey> find(const std::optional<std::string>& text) const;

  /// Counts characters, unless the count would be above the key's quota. Returns whether it is not.
  bool charge(const ApiKey& key, std::int64_t characters, Time now = std::chrono::system_clock::now());
  /// Takes back what charge() has counted.
  void refund(const ApiKey& key, std::int64_t characters);

  /// Returns the count of the month.
  std::int64_t characters_of(const ApiKey& key, Time now = std::chrono::system_clock::now()) const;

 private:
  struct Count {
    std::chrono::year_month month = {};
    std::int64_t characters = 0;
  };

  mutable std::mutex mutex_;
  std::vector<ApiKey> keys_;
  bool is_required_;
  std::map<std::string, Count> counts_;  // by name, or by hash
};

}  // namespace edgewise

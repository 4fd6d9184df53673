// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/api_keys.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "edgewise/base/config/range.h"
#include "edgewise/base/error.h"
#include "edgewise/base/sha256.h"
#include "edgewise/base/utf8.h"
#include "edgewise/server/http.h"

namespace edgewise {
namespace {

/// `number` counts from 1.
ApiKey parse_api_key(const std::string& text, std::size_t number) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  check(!words.empty(), "server: server.api_keys has an empty key, needs characters");
  check(words.size() <= 3, "server: key {} of server.api_keys has {} words, needs KEY, NAME KEY or NAME KEY CHARACTERS",
        number, words.size());
  if (words.size() == 1) return {.hash = sha256(words[0])};
  check(quote_unless_plain(words[0]) == words[0],
        "server: key {} of server.api_keys has the name {}, needs one of letters, digits and -._", number,
        quote(words[0]));
  ApiKey key{.name = words[0], .hash = sha256(words[1])};
  if (words.size() == 2) return key;
  std::int64_t characters = 0;
  check(parse_number(words[2], at_least(0).at_most(1e15), characters),
        "server: key {} of server.api_keys has {} characters, needs a whole number of at least 0", number,
        quote(words[2]));
  key.characters = characters;
  return key;
}

std::chrono::year_month month_of(ApiKeys::Time time) {
  const std::chrono::year_month_day day(std::chrono::floor<std::chrono::days>(time));
  return day.year() / day.month();
}

const std::string& account_of(const ApiKey& key) { return key.name.empty() ? key.hash : key.name; }

}  // namespace

std::vector<ApiKey> parse_api_keys(const std::vector<std::string>& texts) {
  std::vector<ApiKey> keys;
  for (const std::string& text : texts) {
    ApiKey key = parse_api_key(text, keys.size() + 1);
    for (const ApiKey& other : keys) {
      check(other.hash != key.hash, "server: key {} of server.api_keys is there twice, needs to be there once",
            keys.size() + 1);
      check(key.name.empty() || other.name != key.name, "server: server.api_keys has the name {} twice, needs it once",
            key.name);
    }
    keys.push_back(std::move(key));
  }
  return keys;
}

ApiKeys::ApiKeys(const std::vector<std::string>& texts, bool is_required)
    : keys_(parse_api_keys(texts)), is_required_(is_required) {}

void ApiKeys::replace(const std::vector<std::string>& texts, bool is_required) {
  std::vector<ApiKey> keys = parse_api_keys(texts);
  const std::lock_guard lock(mutex_);
  keys_ = std::move(keys);
  is_required_ = is_required;
}

bool ApiKeys::is_empty() const {
  const std::lock_guard lock(mutex_);
  return keys_.empty();
}

bool ApiKeys::is_required() const {
  const std::lock_guard lock(mutex_);
  return is_required_;
}

std::optional<ApiKey> ApiKeys::find(const std::optional<std::string>& text) const {
  const std::lock_guard lock(mutex_);
  if (keys_.empty()) return std::nullopt;
  if (!text || text->empty()) {
    if (is_required_) throw RequestError(400, "Please contact the server operator to get an API key");
    return std::nullopt;
  }
  // Compares hashes, because an attacker cannot choose how many characters of two hashes are equal.
  const auto found = std::ranges::find(keys_, sha256(*text), &ApiKey::hash);
  if (found == keys_.end()) throw RequestError(403, "Invalid API key");
  return *found;
}

bool ApiKeys::charge(const ApiKey& key, std::int64_t characters, Time now) {
  const std::lock_guard lock(mutex_);
  Count& count = counts_[account_of(key)];
  if (std::exchange(count.month, month_of(now)) != month_of(now)) count.characters = 0;
  if (key.characters && count.characters + characters > *key.characters) return false;
  count.characters += characters;
  return true;
}

void ApiKeys::refund(const ApiKey& key, std::int64_t characters) {
  const std::lock_guard lock(mutex_);
  Count& count = counts_[account_of(key)];
  count.characters = std::max<std::int64_t>(0, count.characters - characters);
}

std::int64_t ApiKeys::characters_of(const ApiKey& key, Time now) const {
  const std::lock_guard lock(mutex_);
  const auto found = counts_.find(account_of(key));
  return found == counts_.end() || found->second.month != month_of(now) ? 0 : found->second.characters;
}

}  // namespace edgewise

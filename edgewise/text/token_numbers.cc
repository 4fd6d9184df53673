// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/token_numbers.h"

#include <cstdint>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/json_scanner.h"
#include "edgewise/base/utf8.h"

namespace edgewise {

std::vector<std::string> parse_token_numbers(std::string_view bytes, std::string_view where) {
  std::vector<std::pair<std::string, std::uint64_t>> numbered;
  JsonScanner json(bytes, std::string(where));
  json.read_object("the vocabulary",
                   [&](const std::string& token) { numbered.emplace_back(token, json.read_whole_number(token)); });
  json.expect_end();

  std::vector<std::string> tokens(numbered.size());
  std::vector<bool> is_set(numbered.size());
  for (auto& [token, number] : numbered) {
    if (number >= tokens.size()) {
      fail("{}: {} has the number {}, needs a number below {}, because there are {} tokens", where, quote(token),
           number, tokens.size(), tokens.size());
    }
    if (is_set[number]) {
      fail("{}: {} and {} have the number {}, needs a number for each", where, quote(tokens[number]), quote(token),
           number);
    }
    is_set[number] = true;
    tokens[number] = std::move(token);
  }
  return tokens;
}

}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace edgewise {

/// Parses vocab.json of Transformers, a JSON object `{"</s>": 0, "<unk>": 1, …}`, and returns the tokens by number.
/// Throws Error, beginning with `where`, unless each number below the number of tokens is there once.
std::vector<std::string> parse_token_numbers(std::string_view bytes, std::string_view where);

}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace edgewise {

/// Returns a text in capitals with the case of sentences: capitals stay at the beginning and behind each of `.!?`. Each
/// character keeps its offset. Returns nothing for a text with another letter than capitals, or without letters.
std::optional<std::string> sentences_of_capitals(std::string_view text);

}  // namespace edgewise

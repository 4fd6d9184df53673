// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace edgewise {

/// Checks a SentencePiece character map: the size of a double-array trie (Darts-clone) in 4 bytes, the trie, and a
/// block of replacements, each terminated by NUL, to which the leaves of the trie point. For a checked map, a reader
/// without bounds checks stays inside the map for any text: every reachable unit exists, no text matches more than 32
/// keys at once, and each replacement is terminated, short and UTF-8. Throws Error, beginning with `where`. Costs
/// O(reachable units · 256).
void check_character_map(std::string_view map, std::string_view where);

}  // namespace edgewise

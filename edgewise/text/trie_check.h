// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace edgewise {

/// Checks a SentencePiece character map: the size of a double-array trie (Darts-clone) in 4 bytes, the trie, and a
/// block of replacements that the trie's leaves point into, each ended by NUL. Afterwards a reader without bounds
/// checks stays inside for any text: all units that a text can reach are there, no text matches more than 32 keys at
/// once, and each replacement is ended, short and UTF-8. Throws Error, beginning with `where`. O(reachable units ·
/// 256).
void check_character_map(std::string_view map, std::string_view where);

}  // namespace edgewise

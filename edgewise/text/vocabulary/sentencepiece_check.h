// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace edgewise {

/// Checks a SentencePiece character map: the size of a double-array trie (Darts-clone) in 4 bytes, the trie, and a
/// block of replacements, each terminated by NUL, to which the leaves of the trie point. For a checked map, a reader
/// without bounds checks stays inside the map for any text: every reachable unit exists, no text matches more than 32
/// keys at once, and each replacement is terminated, short and UTF-8. Throws Error, beginning with `where`. Costs
/// O(reachable units · 256).
void check_character_map(std::string_view map, std::string_view where);

enum class PieceType { kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6 };

/// The largest vocabulary that is trained or read.
inline constexpr std::size_t kMaxPieces = 1'000'000;

/// A token of a SentencePiece model.
struct Piece {
  std::string text;
  float score = 0.0F;
  PieceType type = PieceType::kNormal;
};

/// The special pieces that a model needs: those of the vocabularies that Edgewise learns, at their numbers, or, in a
/// model of another system, one piece for unknown text at any number.
enum class SpecialPieces { kOwn, kAny };

/// Returns whether bytes begin like a SentencePiece model.
bool looks_like_sentencepiece_model(std::string_view bytes);

/// Checks an untrusted model and returns its pieces. The SentencePiece library trusts sizes and offsets in a model, so
/// a corrupt one would crash the program; a checked one can be loaded safely and encodes any UTF-8 text. Checks the
/// wire format, the model type, the character maps and the pieces: at most kMaxPieces, distinct, short, UTF-8 without
/// NUL, finite scores, the special pieces, and either all byte pieces or none. Throws Error beginning with
/// "<caller>: <name>".
std::vector<Piece> check_sentencepiece_model(std::string_view bytes, std::string_view name,
                                             SpecialPieces special = SpecialPieces::kOwn,
                                             std::string_view caller = "load_vocabulary");

}  // namespace edgewise

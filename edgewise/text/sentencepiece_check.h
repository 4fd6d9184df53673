// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace edgewise {

enum class PieceType { kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6 };

/// A token of a SentencePiece model.
struct Piece {
  std::string text;
  float score = 0.0F;
  PieceType type = PieceType::kNormal;
};

/// Whether bytes begin as SentencePiece models do.
bool looks_like_sentencepiece_model(std::string_view bytes);

/// Checks a model from outside before the library sees its bytes, and gives its pieces: the library trusts sizes and
/// offsets in a model, and an altered one crashes the program. Afterwards it may be loaded, and any UTF-8 text encoded.
/// Checked are the wire format, the pieces (at most a million; different; short; UTF-8 without NUL; finite scores; one
/// for unknown, padding, begin and end where this program has them; bytes all or none), the kind of the model, and the
/// character maps. Throws Error beginning with "load_vocabulary: <name>".
std::vector<Piece> check_sentencepiece_model(std::string_view bytes, std::string_view name);

}  // namespace edgewise

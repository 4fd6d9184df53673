// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/vocabulary/sentencepiece_check.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <set>
#include <unordered_map>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/files/protobuf_walk.h"
#include "edgewise/base/utf8.h"
#include "edgewise/text/vocabulary/trie_check.h"
#include "edgewise/text/vocabulary/vocabulary.h"

namespace edgewise {
namespace {

constexpr std::size_t kMaxPieceBytes = 2048;  // SentencePiece's trainer allows 512 characters, at most 4 bytes each
constexpr std::size_t kMaxUserDefinedCharacters = 64;  // see check_text
constexpr std::size_t kNumBytePieces = 256;

struct RequiredPiece {
  PieceType type;
  std::string_view what;
};

constexpr std::array<RequiredPiece, 4> kRequiredPieces = {
    RequiredPiece{PieceType::kControl, "a control piece for padding"},
    RequiredPiece{PieceType::kUnknown, "the piece for unknown text"},
    RequiredPiece{PieceType::kControl, "a control piece for the begin"},
    RequiredPiece{PieceType::kControl, "a control piece for the end"}};

/// Checks the fields that the SentencePiece library interprets. Field numbers are those of sentencepiece_model.proto.
class ModelCheck {
 public:
  ModelCheck(std::string where, SpecialPieces special) : where_(std::move(where)), special_(special) {}

  std::vector<Piece> run(std::string_view bytes) && {
    check(bytes.size() <= kMaxVocabularyBytes, "{} has {} bytes, needs at most {}", where_, bytes.size(),
          kMaxVocabularyBytes);
    std::set<std::uint32_t> seen;
    walk_message(bytes, where_, [&](const WireField& field) {
      if (field.number == 1) {
        add_piece(bytes_of(field, "piece"));
        return;
      }
      constexpr std::uint32_t kLastKnown = 5;
      if (field.number > kLastKnown) return;
      check(seen.insert(field.number).second, "{} has field {} twice, needs it once", where_, field.number);
      if (field.number == 2) read_trainer_spec(bytes_of(field, "trainer_spec"));
      if (field.number == 3) check_normalizer_spec(bytes_of(field, "normalizer_spec"), "normalizer_spec");
      if (field.number == 5) check_normalizer_spec(bytes_of(field, "denormalizer_spec"), "denormalizer_spec");
      check(field.number != 4, "{} has self-test data, which this program does not run; needs none", where_);
    });
    check(seen.contains(2) && seen.contains(3), "{} has no {}, needs one; the file was cut, copy it again", where_,
          seen.contains(2) ? "normalizer_spec" : "trainer_spec");
    if (special_ == SpecialPieces::kOwn) check_own_pieces();
    check_unknown_piece();
    check_byte_pieces();
    return std::move(pieces_);
  }

 private:
  std::string_view bytes_of(const WireField& field, std::string_view what) const {
    check(field.type == WireField::Type::kBytes, "{} has a {} of wire type {}, needs 2", where_, what,
          static_cast<int>(field.type));
    return field.bytes;
  }

  /// Reports an error of the current piece. Callers test the condition first, so that a message is formatted only for
  /// an error: there may be a million pieces.
  template <class... Args>
  [[noreturn]] void fail_at_piece(fmt::format_string<Args...> message, Args&&... args) const {
    fail("{}: piece {} {}", where_, pieces_.size(), fmt::format(message, std::forward<Args>(args)...));
  }

  void add_piece(std::string_view message) {
    check(pieces_.size() < kMaxPieces, "{} has more than {} pieces, needs at most {}", where_, kMaxPieces, kMaxPieces);
    Piece piece;
    walk_message(message, where_, [&](const WireField& field) {
      if (field.number == 1) piece.text = bytes_of(field, "piece text");
      if (field.number == 2) {
        const bool is_score = field.type == WireField::Type::kFixed32 && std::isfinite(field.as_float());
        if (!is_score) fail_at_piece("has a score that is no finite number, needs one");
        piece.score = field.as_float();
      }
      if (field.number == 3) {
        const bool is_type = field.type == WireField::Type::kVarint && field.value >= 1 && field.value <= 6;
        if (!is_type) fail_at_piece("has type {}, needs 1 to 6", field.value);
        piece.type = static_cast<PieceType>(field.value);
      }
    });
    check_text(piece);
    const auto [first, is_new] = index_of_.emplace(piece.text, pieces_.size());
    if (!is_new) fail_at_piece("is {}, which piece {} is too, needs each once", quote(piece.text), first->second);
    pieces_.push_back(std::move(piece));
  }

  /// The SentencePiece library supports at most 64 user-defined pieces that begin at the same character. Such pieces
  /// are prefixes of the longest one, so 64 characters are the limit for its length.
  void check_text(const Piece& piece) const {
    const std::string& text = piece.text;
    const bool has_size = !text.empty() && text.size() <= kMaxPieceBytes;
    if (!has_size) fail_at_piece("has {} bytes, needs 1 to {}", text.size(), kMaxPieceBytes);
    const bool is_text = !find_bad_utf8(text) && text.find('\0') == std::string::npos;
    if (!is_text) fail_at_piece("is {}, needs UTF-8 without NUL", quote(text));
    if (piece.type != PieceType::kUserDefined) return;
    const std::size_t characters = count_code_points(text);
    if (characters > kMaxUserDefinedCharacters) {
      fail_at_piece("is user-defined with {} characters, needs at most {}", characters, kMaxUserDefinedCharacters);
    }
  }

  void read_trainer_spec(std::string_view message) {
    walk_message(message, where_ + ": trainer_spec", [&](const WireField& field) {
      if (field.number == 3) {
        const bool is_known = field.type == WireField::Type::kVarint && (field.value == 1 || field.value == 2);
        check(is_known, "{} has model type {}, needs 1 (unigram) or 2 (BPE)", where_, field.value);
      }
      if (field.number == 35) {
        check(field.type == WireField::Type::kVarint, "{} has a byte_fallback of wire type {}, needs 0", where_,
              static_cast<int>(field.type));
        has_byte_fallback_ = field.value != 0;
      }
      if (field.number == 44) {
        check(!find_bad_utf8(bytes_of(field, "unk_surface")), "{} has the unk_surface {}, needs UTF-8", where_,
              quote(field.bytes));
      }
    });
  }

  void check_normalizer_spec(std::string_view message, std::string_view what) const {
    const std::string where = fmt::format("{}: {}", where_, what);
    walk_message(message, where, [&](const WireField& field) {
      if (field.number == 2) check_character_map(bytes_of(field, "character map"), where + ": the character map");
    });
  }

  void check_own_pieces() const {
    check(pieces_.size() > kRequiredPieces.size(), "{} has {} pieces, needs more than the four special ones", where_,
          pieces_.size());
    for (std::size_t i = 0; i < kRequiredPieces.size(); ++i) {
      check(pieces_[i].type == kRequiredPieces[i].type,
            "{}: piece {} is {}, needs {}; train the model with --pad_id=0 --unk_id=1 --bos_id=2 --eos_id=3", where_, i,
            quote(pieces_[i].text), kRequiredPieces[i].what);
    }
  }

  void check_unknown_piece() const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      count += pieces_[i].type == PieceType::kUnknown ? 1 : 0;
      check(count < 2, "{}: piece {} is a second piece for unknown text, needs one", where_, i);
    }
    check(count == 1, "{} has no piece for unknown text, needs one", where_);
  }

  void check_byte_pieces() const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      if (pieces_[i].type != PieceType::kByte) continue;
      const bool is_next = count < kNumBytePieces && pieces_[i].text == fmt::format("<0x{:02X}>", count);
      if (!is_next) fail("{}: piece {} is {}, needs byte {} of 256", where_, i, quote(pieces_[i].text), count);
      ++count;
    }
    const std::size_t needed = has_byte_fallback_ ? kNumBytePieces : 0;
    check(count == needed, "{} has {} byte pieces, needs {}", where_, count, needed);
  }

  std::string where_;
  SpecialPieces special_;
  std::vector<Piece> pieces_;
  std::unordered_map<std::string, std::size_t> index_of_;
  bool has_byte_fallback_ = false;
};

}  // namespace

bool looks_like_sentencepiece_model(std::string_view bytes) { return bytes.starts_with('\n'); }

std::vector<Piece> check_sentencepiece_model(std::string_view bytes, std::string_view name, SpecialPieces special,
                                             std::string_view caller) {
  return ModelCheck(fmt::format("{}: {}", caller, name), special).run(bytes);
}

}  // namespace edgewise

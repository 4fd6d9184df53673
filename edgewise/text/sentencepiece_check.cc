// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/sentencepiece_check.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <set>
#include <unordered_map>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"
#include "edgewise/text/protobuf_walk.h"
#include "edgewise/text/trie_check.h"

namespace edgewise {
namespace {

constexpr std::size_t kMostModelBytes = std::size_t{64} << 20;
constexpr std::size_t kMostPieces = 1'000'000;
constexpr std::size_t kMostPieceBytes = 2048;           // 512 characters, the trainer's limit
constexpr std::size_t kMostUserDefinedCharacters = 64;  // the library has room for 64 nested matches
constexpr std::size_t kNumBytes = 256;

struct Special {
  PieceType type;
  std::string_view what;
};

constexpr std::array<Special, 4> kSpecials = {Special{PieceType::kControl, "a control piece for padding"},
                                              Special{PieceType::kUnknown, "the piece for unknown text"},
                                              Special{PieceType::kControl, "a control piece for the begin"},
                                              Special{PieceType::kControl, "a control piece for the end"}};

/// The fields that decide what the library does with a model; numbers are those of sentencepiece_model.proto.
class ModelCheck {
 public:
  explicit ModelCheck(std::string where) : where_(std::move(where)) {}

  std::vector<Piece> run(std::string_view bytes) && {
    check(bytes.size() <= kMostModelBytes, "{} has {} bytes, needs at most {}", where_, bytes.size(), kMostModelBytes);
    std::set<std::uint32_t> seen;
    walk_message(bytes, where_, [&](const WireField& field) {
      if (field.number == 1) {
        add_piece(message_of(field, "piece"));
        return;
      }
      constexpr std::uint32_t kLastKnown = 5;
      if (field.number > kLastKnown) return;
      check(seen.insert(field.number).second, "{} has field {} twice, needs it once", where_, field.number);
      if (field.number == 2) read_trainer(message_of(field, "trainer_spec"));
      if (field.number == 3) read_normalizer(message_of(field, "normalizer_spec"), "normalizer_spec");
      if (field.number == 5) read_normalizer(message_of(field, "denormalizer_spec"), "denormalizer_spec");
      check(field.number != 4, "{} has self-test data, which this program does not run; needs none", where_);
    });
    check(seen.contains(2) && seen.contains(3), "{} has no {}, needs one; the file was cut", where_,
          seen.contains(2) ? "normalizer_spec" : "trainer_spec");
    check_specials();
    check_bytes();
    return std::move(pieces_);
  }

 private:
  std::string_view message_of(const WireField& field, std::string_view what) const {
    check(field.type == WireField::Type::kBytes, "{} has a {} of wire type {}, needs 2", where_, what,
          static_cast<int>(field.type));
    return field.bytes;
  }

  /// What is wrong is put into words only when something is: there may be a million pieces.
  template <class... Args>
  [[noreturn]] void fail_at_piece(fmt::format_string<Args...> message, Args&&... args) const {
    fail("{}: piece {} {}", where_, pieces_.size(), fmt::format(message, std::forward<Args>(args)...));
  }

  void add_piece(std::string_view message) {
    check(pieces_.size() < kMostPieces, "{} has more than {} pieces, needs at most that", where_, kMostPieces);
    Piece piece;
    walk_message(message, where_, [&](const WireField& field) {
      if (field.number == 1) piece.text = message_of(field, "piece text");
      if (field.number == 2) {
        const bool is_score = field.type == WireField::Type::kFixed32 && std::isfinite(field.as_float());
        if (!is_score) fail_at_piece("has a score that is no finite number");
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
    if (!is_new)
      fail_at_piece("is {}, which piece {} is too; each is needed once", in_quotes(piece.text), first->second);
    pieces_.push_back(std::move(piece));
  }

  void check_text(const Piece& piece) const {
    const std::string& text = piece.text;
    const bool has_size = !text.empty() && text.size() <= kMostPieceBytes;
    if (!has_size) fail_at_piece("has {} bytes, needs 1 to {}", text.size(), kMostPieceBytes);
    const bool is_text = !find_bad_utf8(text) && text.find('\0') == std::string::npos;
    if (!is_text) fail_at_piece("is {}, needs UTF-8 without NUL", in_quotes(text));
    if (piece.type != PieceType::kUserDefined) return;
    const std::size_t characters = count_code_points(text);
    if (characters > kMostUserDefinedCharacters) {
      fail_at_piece("is user-defined with {} characters, needs at most {}", characters, kMostUserDefinedCharacters);
    }
  }

  void read_trainer(std::string_view message) {
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
        check(!find_bad_utf8(message_of(field, "unk_surface")), "{} has the unk_surface {}, needs UTF-8", where_,
              in_quotes(field.bytes));
      }
    });
  }

  void read_normalizer(std::string_view message, std::string_view what) const {
    const std::string where = fmt::format("{}: {}", where_, what);
    walk_message(message, where, [&](const WireField& field) {
      if (field.number == 2) check_character_map(message_of(field, "character map"), where + ": the character map");
    });
  }

  void check_specials() const {
    check(pieces_.size() > kSpecials.size(), "{} has {} pieces, needs more than the four special ones", where_,
          pieces_.size());
    for (std::size_t i = 0; i < kSpecials.size(); ++i) {
      check(pieces_[i].type == kSpecials[i].type,
            "{}: piece {} is {}, needs {}; train the model with --pad_id=0 --unk_id=1 --bos_id=2 --eos_id=3", where_, i,
            in_quotes(pieces_[i].text), kSpecials[i].what);
    }
    for (std::size_t i = kSpecials.size(); i < pieces_.size(); ++i) {
      check(pieces_[i].type != PieceType::kUnknown, "{}: piece {} is a second piece for unknown text, needs one",
            where_, i);
    }
  }

  void check_bytes() const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      if (pieces_[i].type != PieceType::kByte) continue;
      const bool is_next = count < kNumBytes && pieces_[i].text == fmt::format("<0x{:02X}>", count);
      if (!is_next) fail("{}: piece {} is {}, needs byte {} of 256", where_, i, in_quotes(pieces_[i].text), count);
      ++count;
    }
    const std::size_t needed = has_byte_fallback_ ? kNumBytes : 0;
    check(count == needed, "{} has {} byte pieces, needs {}", where_, count, needed);
  }

  std::string where_;
  std::vector<Piece> pieces_;
  std::unordered_map<std::string, std::size_t> index_of_;
  bool has_byte_fallback_ = false;
};

}  // namespace

bool looks_like_sentencepiece_model(std::string_view bytes) { return bytes.starts_with('\n'); }

std::vector<Piece> check_sentencepiece_model(std::string_view bytes, std::string_view name) {
  return ModelCheck(fmt::format("load_vocabulary: {}", name)).run(bytes);
}

}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/vocabulary/sentencepiece_check.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <set>
#include <unordered_map>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/files/protobuf_walk.h"
#include "edgewise/base/utf8.h"
#include "edgewise/text/vocabulary/vocabulary.h"

namespace edgewise {
namespace {

constexpr std::size_t kMaxMapBytes = std::size_t{4} << 20;  // the map of NFKC with case folding has a quarter of a MiB
constexpr std::size_t kMaxReplacementBytes = 1024;
constexpr std::uint32_t kBlock = 256;  // units in a block, which holds the children of a unit: one for each byte
constexpr int kMaxMatches = 32;        // limit of the library

/// A unit of the array in the format of Darts-clone.
struct Unit {
  std::uint32_t bits;

  bool has_leaf() const { return (bits >> 8 & 1) != 0; }
  bool is_leaf() const { return (bits & 0x80000000) != 0; }
  std::uint32_t label() const { return bits & 0xFF; }  // the byte of the edge to this unit
  std::uint32_t offset() const { return (bits >> 10) << ((bits & 0x200) >> 6); }
  std::uint32_t value() const { return bits & 0x7FFFFFFF; }
};

/// Visits all reachable states depth first, without recursion, and computes for each the largest number of further
/// matches. A state is the index of a block of children; the next byte of a text is xor-ed to it to find the child.
class TrieWalk {
 public:
  TrieWalk(std::string_view units, std::string_view replacements, std::string_view where)
      : units_(units), replacements_(replacements), where_(where), states_(units.size() / sizeof(Unit)) {
    list_children();
  }

  void run() {
    const std::uint32_t root = child_state(0);
    check(!unit(0).has_leaf(), "{} has a rule for the empty text, needs rules for characters", where_);
    open(root);
    while (!path_.empty()) {
      Step& step = path_.back();
      if (step.next_child == kNone) {
        close();
      } else {
        const std::uint32_t child = std::exchange(step.next_child, states_[step.next_child].next_sibling);
        follow(step.state, child);
      }
    }
  }

 private:
  enum class Phase : std::uint8_t { kNew, kOpen, kDone };

  static constexpr std::uint32_t kNone = UINT32_MAX;

  /// Data about the state, and about the unit, with the same index.
  struct State {
    std::uint32_t first_child = kNone;   // a unit, child of the state
    std::uint32_t next_sibling = kNone;  // a unit with the same parent state
    Phase phase = Phase::kNew;
    std::uint8_t most_matches = 0;
  };

  struct Step {
    std::uint32_t state;
    std::uint32_t next_child;
    int matches_on_entry;  // 1 if the edge to this state has a leaf
  };

  Unit unit(std::uint32_t index) const {
    Unit result{};
    std::memcpy(&result.bits, units_.data() + std::size_t{index} * sizeof(Unit), sizeof(Unit));
    return result;
  }

  /// Lists the children of each state. A unit has one possible parent state: its index xor its label.
  void list_children() {
    for (auto index = static_cast<std::uint32_t>(states_.size()); index-- > 0;) {
      if (unit(index).is_leaf()) continue;
      const std::uint32_t parent = index ^ unit(index).label();
      if (parent >= states_.size()) continue;
      states_[index].next_sibling = std::exchange(states_[parent].first_child, index);
    }
  }

  /// Returns the state below a unit; all 256 possible children must lie inside the array.
  std::uint32_t child_state(std::uint32_t index) const {
    const std::uint32_t state = index ^ unit(index).offset();
    check((state | (kBlock - 1)) < states_.size(),
          "{} has a trie of {} units in which unit {} leads to {}, needs a block inside the trie", where_,
          states_.size(), index, state);
    return state;
  }

  void open(std::uint32_t state, int matches_on_entry = 0) {
    states_[state].phase = Phase::kOpen;
    path_.push_back({state, states_[state].first_child, matches_on_entry});
  }

  void follow(std::uint32_t state, std::uint32_t index) {
    const std::uint32_t child = child_state(index);
    const bool has_leaf = unit(index).has_leaf();
    if (has_leaf) check_replacement(unit(child).value());
    if (child == state && !has_leaf) return;  // an unused unit, reached by NUL, has no children
    check(states_[child].phase != Phase::kOpen, "{} has a trie with a loop at unit {}, needs none", where_, index);
    if (states_[child].phase == Phase::kDone) {
      raise_most_matches(state, states_[child].most_matches + (has_leaf ? 1 : 0));
    } else {
      open(child, has_leaf ? 1 : 0);
    }
  }

  void close() {
    const Step step = path_.back();
    path_.pop_back();
    states_[step.state].phase = Phase::kDone;
    if (!path_.empty())
      raise_most_matches(path_.back().state, states_[step.state].most_matches + step.matches_on_entry);
  }

  void raise_most_matches(std::uint32_t state, int matches) {
    check(matches <= kMaxMatches, "{} has a text with more than {} rules for its beginning, needs at most {}", where_,
          kMaxMatches, kMaxMatches);
    states_[state].most_matches = std::max(states_[state].most_matches, static_cast<std::uint8_t>(matches));
  }

  void check_replacement(std::uint32_t begin) const {
    check(begin < replacements_.size(),
          "{} has a rule whose replacement is at byte {}, needs one of the {} bytes of replacements", where_, begin,
          replacements_.size());
    const auto text = replacements_.substr(begin, replacements_.find('\0', begin) - begin);
    check(text.size() <= kMaxReplacementBytes, "{} has a replacement of {} bytes, needs at most {}", where_,
          text.size(), kMaxReplacementBytes);
    if (find_bad_utf8(text)) fail("{} has the replacement {}, needs UTF-8", where_, quote(text));
  }

  std::string_view units_;
  std::string_view replacements_;
  std::string_view where_;
  std::vector<State> states_;
  std::vector<Step> path_;
};

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

void check_character_map(std::string_view map, std::string_view where) {
  if (map.empty()) return;
  std::uint32_t trie_size = 0;
  check(map.size() > sizeof(trie_size) && map.size() <= kMaxMapBytes, "{} has {} bytes, needs 5 to {}", where,
        map.size(), kMaxMapBytes);
  std::memcpy(&trie_size, map.data(), sizeof(trie_size));
  const std::string_view rest = map.substr(sizeof(trie_size));
  constexpr std::size_t kBlockBytes = kBlock * sizeof(Unit);
  check(trie_size >= kBlockBytes && trie_size % sizeof(Unit) == 0 && trie_size < rest.size(),
        "{} has a trie of {} bytes, needs a multiple of {} from {} to {}", where, trie_size, sizeof(Unit), kBlockBytes,
        rest.size() - 1);
  const std::string_view replacements = rest.substr(trie_size);
  check(replacements.ends_with('\0'), "{} has a last replacement without end, needs NUL after it", where);
  TrieWalk(rest.substr(0, trie_size), replacements, where).run();
}

bool looks_like_sentencepiece_model(std::string_view bytes) { return bytes.starts_with('\n'); }

std::vector<Piece> check_sentencepiece_model(std::string_view bytes, std::string_view name, SpecialPieces special,
                                             std::string_view caller) {
  return ModelCheck(fmt::format("{}: {}", caller, name), special).run(bytes);
}

}  // namespace edgewise

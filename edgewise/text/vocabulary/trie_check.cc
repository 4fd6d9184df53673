// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/vocabulary/trie_check.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"

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

}  // namespace edgewise

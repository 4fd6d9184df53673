// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace edgewise {

/// The most bytes of all stop strings together.
inline constexpr std::size_t kMaxStopBytes = std::size_t{1} << 16;

/// Strings that end a text, as an automaton that reads a byte in constant time however many strings there are (Aho and
/// Corasick 1975, "Efficient string matching: an aid to bibliographic search"). Immutable, so several threads may use
/// it.
class StopStrings {
 public:
  /// Throws Error for an empty string, for one that is not UTF-8, and for more than kMaxStopBytes bytes together.
  explicit StopStrings(const std::vector<std::string>& strings = {});

  /// Returns the state after another byte; the state before a text is 0.
  std::int32_t next(std::int32_t state, char byte) const;

  /// Returns how many of the last bytes may be the beginning of a stop string.
  std::size_t depth(std::int32_t state) const { return at(state).depth; }

  /// Returns the size of the longest stop string that the text ends with, or 0.
  std::size_t match(std::int32_t state) const { return at(state).match; }

 private:
  struct State {
    std::size_t depth = 0;
    std::size_t match = 0;
    std::int32_t fallback = 0;  // the state of the longest suffix that is another state
  };
  const State& at(std::int32_t state) const { return states_[static_cast<std::size_t>(state)]; }
  void add(std::string_view string);
  void set_fallbacks();

  std::vector<State> states_;
  std::map<std::pair<std::int32_t, char>, std::int32_t> longer_;  // the state of a state's string and another byte
};

/// Passes a text on without stop strings: it holds back what may be the beginning of one, and ends the text before the
/// first that is complete; of several that end at the same byte, the longest counts. The result does not depend on how
/// the text is divided into pieces.
class StopFilter {
 public:
  /// `strings` must outlive the filter.
  explicit StopFilter(const StopStrings& strings) : strings_(&strings) {}

  /// Returns the part of the text that can be passed on after this piece.
  std::string push(std::string_view piece);

  /// Returns the rest at the end of the text; nothing after a stop string.
  std::string finish() { return std::exchange(held_, {}); }

  bool is_stopped() const { return is_stopped_; }

 private:
  const StopStrings* strings_;
  std::int32_t state_ = 0;
  std::string held_;
  bool is_stopped_ = false;
};

}  // namespace edgewise

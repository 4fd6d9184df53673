// SPDX-License-Identifier: Apache-2.0
#include "edgewise/generate/stop_strings.h"

#include <algorithm>
#include <deque>

#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"

namespace edgewise {

StopStrings::StopStrings(const std::vector<std::string>& strings) : states_(1) {
  std::size_t bytes = 0;
  for (const std::string& string : strings) bytes += string.size();
  check(bytes <= kMaxStopBytes, "generate: the stop strings have {} bytes, needs at most {}", bytes, kMaxStopBytes);
  for (const std::string& string : strings) {
    check(!string.empty(), "generate: a stop string is empty, needs at least one character");
    check(!find_bad_utf8(string), "generate: the stop string {} is not UTF-8, needs UTF-8", quote(string));
    add(string);
  }
  set_fallbacks();
}

void StopStrings::add(std::string_view string) {
  std::int32_t state = 0;
  for (const char byte : string) {
    const auto [longer, is_new] = longer_.try_emplace({state, byte}, static_cast<std::int32_t>(states_.size()));
    if (is_new) states_.push_back({.depth = at(state).depth + 1});
    state = longer->second;
  }
  states_[static_cast<std::size_t>(state)].match = string.size();
}

/// Visits the states by depth, so that those of shorter strings are complete.
void StopStrings::set_fallbacks() {
  std::deque<std::int32_t> waiting = {0};
  while (!waiting.empty()) {
    const std::int32_t state = waiting.front();
    waiting.pop_front();
    for (auto longer = longer_.lower_bound({state, std::numeric_limits<char>::min()});
         longer != longer_.end() && longer->first.first == state; ++longer) {
      State& after = states_[static_cast<std::size_t>(longer->second)];
      if (state != 0) after.fallback = next(at(state).fallback, longer->first.second);
      after.match = std::max(after.match, at(after.fallback).match);
      waiting.push_back(longer->second);
    }
  }
}

std::int32_t StopStrings::next(std::int32_t state, char byte) const {
  while (true) {
    const auto longer = longer_.find({state, byte});
    if (longer != longer_.end()) return longer->second;
    if (state == 0) return 0;
    state = at(state).fallback;
  }
}

std::string StopFilter::push(std::string_view piece) {
  if (is_stopped_) return {};
  for (const char byte : piece) {
    held_ += byte;
    state_ = strings_->next(state_, byte);
    if (const std::size_t match = strings_->match(state_); match > 0) {
      is_stopped_ = true;
      held_.resize(held_.size() - match);
      return finish();
    }
  }
  const std::size_t certain = held_.size() - strings_->depth(state_);
  std::string passed = held_.substr(0, certain);
  held_.erase(0, certain);
  return passed;
}

}  // namespace edgewise

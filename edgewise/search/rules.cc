// SPDX-License-Identifier: Apache-2.0
#include "edgewise/search/rules.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace edgewise {

Rules::Rules(const SearchOptions& options, std::int64_t vocabulary_size)
    : begin_token_(options.begin_token),
      end_token_(options.end_token),
      length_penalty_(options.length_penalty),
      length_factor_(options.length_factor),
      length_offset_(options.length_offset) {
  std::vector<bool> is_allowed(static_cast<std::size_t>(vocabulary_size), true);
  for (const std::int64_t token : options.never) is_allowed[token] = false;
  for (std::int64_t token = 0; token < vocabulary_size; ++token) {
    if (is_allowed[token]) allowed_.push_back(token);
  }
}

std::int64_t Rules::longest_output(std::int64_t input_length) const {
  // A tree counts its nodes in NodeIndex, so nothing longer can be meant.
  constexpr double kLongest = std::numeric_limits<NodeIndex>::max();
  const double longest =
      std::floor(length_factor_ * static_cast<double>(input_length)) + static_cast<double>(length_offset_);
  return static_cast<std::int64_t>(std::min(longest, kLongest));
}

std::span<const std::int64_t> Rules::continuations(std::int64_t length, std::int64_t longest) const {
  if (length < longest) return allowed_;
  return {&end_token_, 1};
}

double Rules::score(double log_probability, std::int64_t length) const {
  return log_probability / std::pow((5.0 + static_cast<double>(length)) / 6.0, length_penalty_);
}

}  // namespace edgewise

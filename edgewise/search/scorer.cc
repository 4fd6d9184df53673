// SPDX-License-Identifier: Apache-2.0
#include "edgewise/search/scorer.h"

#include <algorithm>

namespace edgewise {
namespace {

bool is_likelier(const Candidate& a, const Candidate& b) {
  return a.log_probability != b.log_probability ? a.log_probability > b.log_probability : a.token < b.token;
}

/// Decides which tokens may be candidates. Must be called in ascending order of rows, then tokens.
class CandidateFilter {
 public:
  explicit CandidateFilter(const StepRequest& request) : allowed_(request.allowed), excluded_(request.excluded) {}

  bool accepts(std::int64_t row, std::int64_t token) {
    while (!excluded_.empty() && is_before(excluded_.front(), row, token)) excluded_ = excluded_.subspan(1);
    const bool is_excluded = !excluded_.empty() && excluded_.front().row == row && excluded_.front().token == token;
    return !is_excluded && (allowed_.empty() || allowed_[token] != 0);
  }

 private:
  static bool is_before(const Continuation& a, std::int64_t row, std::int64_t token) {
    return a.row != row ? a.row < row : a.token < token;
  }

  std::span<const std::uint8_t> allowed_;
  std::span<const Continuation> excluded_;
};

void pick_for_row(std::span<const float> row_V, std::int64_t row, CandidateFilter& filter, std::span<Candidate> best) {
  std::size_t count = 0;
  for (std::size_t token = 0; token < row_V.size(); ++token) {
    const Candidate candidate{static_cast<std::int32_t>(token), row_V[token]};
    if (count == best.size() && !is_likelier(candidate, best.front())) continue;
    if (!filter.accepts(row, candidate.token)) continue;
    if (count == best.size()) {
      std::pop_heap(best.begin(), best.end(), is_likelier);
    } else {
      ++count;
    }
    best[count - 1] = candidate;
    std::push_heap(best.begin(), best.begin() + static_cast<std::ptrdiff_t>(count), is_likelier);
  }
  std::sort_heap(best.begin(), best.begin() + static_cast<std::ptrdiff_t>(count), is_likelier);
}

}  // namespace

void pick_candidates(std::span<const float> log_probabilities, const StepRequest& request, StepResult& result) {
  const std::size_t rows = request.nodes.size();
  const std::size_t vocabulary = rows == 0 ? 0 : log_probabilities.size() / rows;
  const auto count = static_cast<std::size_t>(request.num_candidates);
  result.candidates.assign(rows * count, {-1, 0.0F});
  CandidateFilter filter(request);
  for (std::size_t row = 0; count > 0 && row < rows; ++row) {
    pick_for_row(log_probabilities.subspan(row * vocabulary, vocabulary), static_cast<std::int64_t>(row), filter,
                 std::span(result.candidates).subspan(row * count, count));
  }
  result.wanted.clear();
  for (const Continuation& wanted : request.wanted) {
    result.wanted.push_back(log_probabilities[static_cast<std::size_t>(wanted.row) * vocabulary + wanted.token]);
  }
}

}  // namespace edgewise

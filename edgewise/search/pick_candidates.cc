// SPDX-License-Identifier: Apache-2.0
#include "edgewise/search/pick_candidates.h"

#include <algorithm>

namespace edgewise {
namespace {

bool is_likelier(const Candidate& a, const Candidate& b) {
  return a.log_probability != b.log_probability ? a.log_probability > b.log_probability : a.token < b.token;
}

/// Returns whether a continuation may be a candidate, and removes those before it from `request.excluded`. Calls must
/// ascend by row, then by token.
bool is_accepted(StepRequest& request, std::int64_t row, std::int64_t token) {
  std::span<const Continuation>& excluded = request.excluded;
  const auto is_before = [&](const Continuation& a) { return a.row != row ? a.row < row : a.token < token; };
  while (!excluded.empty() && is_before(excluded.front())) excluded = excluded.subspan(1);
  const bool is_excluded = !excluded.empty() && excluded.front().row == row && excluded.front().token == token;
  return !is_excluded && (request.allowed.empty() || request.allowed[token] != 0);
}

/// Writes the most likely tokens of a row, best first. Until the last step, `best` is a heap: its front is the least
/// likely token kept.
void pick_for_row(std::span<const float> row_V, std::int64_t row, StepRequest& request, std::span<Candidate> best) {
  std::size_t count = 0;
  for (std::size_t token = 0; token < row_V.size(); ++token) {
    const Candidate candidate{static_cast<std::int32_t>(token), row_V[token]};
    if (count == best.size() && !is_likelier(candidate, best.front())) continue;
    if (!is_accepted(request, row, candidate.token)) continue;
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
  StepRequest rest = request;
  for (std::size_t row = 0; count > 0 && row < rows; ++row) {
    pick_for_row(log_probabilities.subspan(row * vocabulary, vocabulary), static_cast<std::int64_t>(row), rest,
                 std::span(result.candidates).subspan(row * count, count));
  }
  result.wanted.clear();
  for (const Continuation& wanted : request.wanted) {
    result.wanted.push_back(log_probabilities[static_cast<std::size_t>(wanted.row) * vocabulary + wanted.token]);
  }
}

}  // namespace edgewise

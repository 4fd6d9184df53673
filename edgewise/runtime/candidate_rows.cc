// SPDX-License-Identifier: Apache-2.0
#include "edgewise/runtime/candidate_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace edgewise {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

}  // namespace

void CandidateRows::begin(const StepRequest& request, std::int64_t vocabulary_size, StepResult& result) {
  vocabulary_size_ = vocabulary_size;
  const auto num_rows = request.nodes.size();
  rows_.assign(num_rows, {});
  result.wanted.resize(request.wanted.size());
  result.log_probabilities.resize(request.all ? num_rows * static_cast<std::size_t>(vocabulary_size_) : 0);
  index_excluded(request);
  allocate_candidates(request.num_candidates);
  update_penalties(request.allowed);
}

void CandidateRows::index_excluded(const StepRequest& request) {
  excluded_begin_.resize(rows_.size() + 1);
  std::size_t next = 0;
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    excluded_begin_[row] = next;
    while (next < request.excluded.size() && request.excluded[next].row == static_cast<std::int64_t>(row)) ++next;
  }
  excluded_begin_[rows_.size()] = next;
}

void CandidateRows::allocate_candidates(std::int64_t num_candidates) {
  std::int64_t total = 0;
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    const auto num_excluded = static_cast<std::int64_t>(excluded_begin_[row + 1] - excluded_begin_[row]);
    const std::int64_t num_needed = num_candidates == 0 ? 0 : num_candidates + num_excluded;
    rows_[row].capacity = std::min(vocabulary_size_, num_needed);
    total += rows_[row].capacity;
  }
  top_logits_.resize(static_cast<std::size_t>(total));
  top_tokens_.resize(static_cast<std::size_t>(total));
  std::int64_t used = 0;
  for (kernels::LogSumExpTopK& row : rows_) {
    row.top_logits = top_logits_.data() + used;
    row.top_tokens = top_tokens_.data() + used;
    used += row.capacity;
  }
}

// Returns early if `allowed` has not changed since the last step, which is the usual case.
void CandidateRows::update_penalties(std::span<const std::uint8_t> allowed) {
  if (std::ranges::equal(allowed, allowed_)) return;
  allowed_.assign(allowed.begin(), allowed.end());
  penalty_.clear();
  if (std::ranges::find(allowed, 0) == allowed.end()) return;
  for (const std::uint8_t is_allowed : allowed) penalty_.push_back(is_allowed != 0 ? 0.0f : kInfinity);
}

void CandidateRows::write(const StepRequest& request, StepResult& result) {
  log_sum_exp_.resize(rows_.size());
  result.candidates.assign(rows_.size() * static_cast<std::size_t>(request.num_candidates), {-1, -kInfinity});
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    log_sum_exp_[row] = double{rows_[row].base} + std::log(rows_[row].sum);
    write_candidates(request, static_cast<std::int64_t>(row), result);
  }
  for (std::size_t i = 0; i < request.wanted.size(); ++i) {
    const double log_sum_exp = log_sum_exp_[static_cast<std::size_t>(request.wanted[i].row)];
    result.wanted[i] = static_cast<float>(result.wanted[i] - log_sum_exp);
  }
  for (std::size_t i = 0; i < result.log_probabilities.size(); ++i) {
    const double log_sum_exp = log_sum_exp_[i / static_cast<std::size_t>(vocabulary_size_)];
    result.log_probabilities[i] = static_cast<float>(result.log_probabilities[i] - log_sum_exp);
  }
}

void CandidateRows::write_candidates(const StepRequest& request, std::int64_t row, StepResult& result) const {
  const kernels::LogSumExpTopK& best = rows_[static_cast<std::size_t>(row)];
  const double log_sum_exp = log_sum_exp_[static_cast<std::size_t>(row)];
  const std::size_t begin = excluded_begin_[static_cast<std::size_t>(row)];
  const auto excluded = request.excluded.subspan(begin, excluded_begin_[static_cast<std::size_t>(row) + 1] - begin);
  Candidate* candidates = result.candidates.data() + row * request.num_candidates;
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < best.count && count < request.num_candidates; ++i) {
    const std::int32_t token = best.top_tokens[i];
    if (std::ranges::binary_search(excluded, token, {}, &Continuation::token)) continue;
    candidates[count++] = {token, static_cast<float>(best.top_logits[i] - log_sum_exp)};
  }
}

}  // namespace edgewise

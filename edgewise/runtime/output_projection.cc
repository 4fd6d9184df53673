// SPDX-License-Identifier: Apache-2.0
#include "edgewise/runtime/output_projection.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "edgewise/base/profile.h"
#include "edgewise/base/threads.h"

namespace edgewise {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// The logits of few rows. The threads divide the columns of several tiles at a time: those of one tile would be too
/// little work.
template <typename T>
class GroupedLogits {
 public:
  /// `buffer` receives the logits of a group of tiles: [R, columns] of the first, then of the second.
  GroupedLogits(std::span<const PackedLinear<T>> tiles, std::int64_t rows, const Activations<T>& states,
                std::vector<float>& buffer)
      : tiles_(tiles), rows_(rows), states_(states), buffer_(buffer) {}

  /// Returns the logits of a tile, [R, columns]. The first call has the index 0, each later one the next index.
  const float* compute(std::size_t index) {
    const std::int64_t tile_values = rows_ * tiles_.front().out();
    if (index == end_of_group_) {
      const std::int64_t most =
          std::max<std::int64_t>(1, kValuesPerThread * num_threads() / std::max<std::int64_t>(1, tile_values));
      const auto group = tiles_.subspan(index).first(std::min(tiles_.size() - index, static_cast<std::size_t>(most)));
      buffer_.resize(group.size() * static_cast<std::size_t>(tile_values));
      PackedLinear<T>::write_all(group, rows_, states_, buffer_.data());
      first_of_group_ = index;
      end_of_group_ = index + group.size();
    }
    return buffer_.data() + static_cast<std::int64_t>(index - first_of_group_) * tile_values;
  }

 private:
  static constexpr std::int64_t kValuesPerThread = 1 << 17;  // stay in its second-level cache until they are reduced

  std::span<const PackedLinear<T>> tiles_;
  std::int64_t rows_;
  const Activations<T>& states_;
  std::vector<float>& buffer_;
  std::size_t first_of_group_ = 0;
  std::size_t end_of_group_ = 0;
};

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

/// Returns early if `allowed` has not changed since the last step, which is the usual case.
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

template <typename T>
void OutputProjection::write(const Weights<T>& weights, const Activations<T>& states, const StepRequest& request,
                             ShortlistColumns<T>& shortlist, StepResult& result) {
  const ScopedTimer timer("output");
  vocabulary_size_ = weights.options.output_vocabulary;
  tile_size_ = weights.tile_size;
  candidates_.begin(request, vocabulary_size_, result);
  if (shortlist.is_on()) {
    reduce_selected(shortlist, states, request, result);
  } else {
    allocate_wanted(request);
    reduce_tiles(weights, states, request, result);
  }
  candidates_.write(request, result);
}

template <typename T>
void OutputProjection::reduce_selected(ShortlistColumns<T>& shortlist, const Activations<T>& states,
                                       const StepRequest& request, StepResult& result) {
  constexpr std::int64_t kRowGrain = 8;
  shortlist.compute(request.nodes, states);
  parallel_for(std::ssize(request.nodes), kRowGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) reduce_selected_row(shortlist, row, request, result);
  });
}

/// Reduces the selected logits of a row as one tile, so that its sum does not depend on the other rows. Their order is
/// that of their tokens.
template <typename T>
void OutputProjection::reduce_selected_row(const ShortlistColumns<T>& shortlist, std::int64_t row,
                                           const StepRequest& request, StepResult& result) {
  static thread_local std::vector<float> logits, penalties;
  const std::int64_t slot = request.nodes[static_cast<std::size_t>(row)].slot;
  const std::span<const std::int32_t> tokens = shortlist.tokens(slot);
  logits.resize(tokens.size());
  shortlist.copy_logits(row, slot, logits.data());
  penalties.clear();
  if (const std::span<const float> all = candidates_.penalties(); !all.empty()) {
    for (const std::int32_t token : tokens) penalties.push_back(all[static_cast<std::size_t>(token)]);
  }
  kernels::LogSumExpTopK& sums = candidates_.rows()[static_cast<std::size_t>(row)];
  kernels::reduce_logits_tile({.rows = 1,
                               .columns = std::ssize(tokens),
                               .first_token = 0,
                               .logits = logits.data(),
                               .penalty = penalties.empty() ? nullptr : penalties.data(),
                               .accumulators = &sums});
  for (std::int64_t i = 0; i < sums.count; ++i) {
    sums.top_tokens[i] = tokens[static_cast<std::size_t>(sums.top_tokens[i])];
  }
  for (auto wanted = std::ranges::lower_bound(request.wanted, row, {}, &Continuation::row);
       wanted != request.wanted.end() && wanted->row == row; ++wanted) {
    const auto found = std::ranges::lower_bound(tokens, wanted->token);
    const bool is_selected = found != tokens.end() && *found == wanted->token;
    result.wanted[static_cast<std::size_t>(wanted - request.wanted.begin())] =
        is_selected ? logits[static_cast<std::size_t>(found - tokens.begin())] : -kInfinity;
  }
  if (!request.all) return;
  float* out = result.log_probabilities.data() + row * vocabulary_size_;
  std::fill_n(out, vocabulary_size_, -kInfinity);
  for (std::size_t i = 0; i < tokens.size(); ++i) out[tokens[i]] = logits[i];
}

template <typename T>
void OutputProjection::reduce_tiles(const Weights<T>& weights, const Activations<T>& states, const StepRequest& request,
                                    StepResult& result) {
  const auto num_rows = std::ssize(request.nodes);
  const std::span<const PackedLinear<T>> tiles = weights.output_projection;
  GroupedLogits<T> grouped(tiles, num_rows, states, group_logits_);
  const std::span<const float> penalties = candidates_.penalties();
  std::int64_t first_token = 0;
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    const std::int64_t count = tiles[i].out();
    set_logits_out(request, first_token, count, result);
    kernels::LogitsTile tile = {.rows = num_rows,
                                .columns = count,
                                .first_token = first_token,
                                .penalty = penalties.empty() ? nullptr : penalties.data() + first_token,
                                .accumulators = candidates_.rows().data()};
    if (tiles[i].splits_rows(num_rows, states)) {
      tiles[i].reduce_tile(states, tile);
    } else {
      tile.logits = grouped.compute(i);
      kernels::reduce_logits_tile(tile);
    }
    copy_wanted_logits(request, first_token, count, result);
    first_token += count;
  }
}

void OutputProjection::allocate_wanted(const StepRequest& request) {
  wanted_row_.assign(request.nodes.size(), -1);
  std::int64_t num_rows = 0;
  for (const Continuation& continuation : request.wanted) {
    std::int64_t& row = wanted_row_[static_cast<std::size_t>(continuation.row)];
    if (row < 0) row = num_rows++;
  }
  wanted_logits_.resize(static_cast<std::size_t>(num_rows * tile_size_));
}

/// Without request.all, only rows that have wanted tokens in this tile write their logits: writing costs time.
void OutputProjection::set_logits_out(const StepRequest& request, std::int64_t first_token, std::int64_t count,
                                      StepResult& result) {
  std::vector<kernels::LogSumExpTopK>& rows = candidates_.rows();
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const std::int64_t begin = static_cast<std::int64_t>(row) * vocabulary_size_ + first_token;
    rows[row].logits_out = request.all ? result.log_probabilities.data() + begin : nullptr;
  }
  if (request.all) return;
  for (const Continuation& wanted : request.wanted) {
    if (wanted.token < first_token || wanted.token >= first_token + count) continue;
    const auto row = static_cast<std::size_t>(wanted.row);
    rows[row].logits_out = wanted_logits_.data() + wanted_row_[row] * tile_size_;
  }
}

void OutputProjection::copy_wanted_logits(const StepRequest& request, std::int64_t first_token, std::int64_t count,
                                          StepResult& result) {
  for (std::size_t i = 0; i < request.wanted.size(); ++i) {
    const std::int64_t column = request.wanted[i].token - first_token;
    if (column < 0 || column >= count) continue;
    result.wanted[i] = candidates_.rows()[static_cast<std::size_t>(request.wanted[i].row)].logits_out[column];
  }
}

template void OutputProjection::write(const Weights<float>&, const Activations<float>&, const StepRequest&,
                                      ShortlistColumns<float>&, StepResult&);
template void OutputProjection::write(const Weights<BFloat16>&, const Activations<BFloat16>&, const StepRequest&,
                                      ShortlistColumns<BFloat16>&, StepResult&);
template void OutputProjection::write(const Weights<std::int8_t>&, const Activations<std::int8_t>&, const StepRequest&,
                                      ShortlistColumns<std::int8_t>&, StepResult&);

}  // namespace edgewise

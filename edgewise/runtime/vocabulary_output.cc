// SPDX-License-Identifier: Apache-2.0
#include "edgewise/runtime/vocabulary_output.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "edgewise/base/profile.h"

namespace edgewise {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

}  // namespace

template <typename T>
void VocabularyOutput::write(const Weights<T>& weights, const Activations<T>& states, const StepRequest& request,
                             StepResult& result) {
  const TimedWork timed("output");
  const TileSizes sizes = {weights.options.output_vocabulary, weights.tile_size};
  begin(request, sizes, result);
  const auto num_rows = std::ssize(request.nodes);
  std::int64_t first_token = 0;
  for (const PackedLinear<T>& tile : weights.generator) {
    place_logits(request, first_token, tile.out(), sizes, result);
    tile.see(states, {.rows = num_rows,
                      .columns = 0,
                      .first_token = first_token,
                      .penalty = penalty_.empty() ? nullptr : penalty_.data() + first_token,
                      .state = rows_.data()});
    take_wanted(request, first_token, tile.out(), result);
    first_token += tile.out();
  }
  finish(request, sizes.vocabulary, result);
}

void VocabularyOutput::begin(const StepRequest& request, const TileSizes& sizes, StepResult& result) {
  const auto num_rows = request.nodes.size();
  rows_.assign(num_rows, {});
  log_total_.resize(num_rows);
  result.wanted.resize(request.wanted.size());
  result.log_probabilities.resize(request.all ? num_rows * static_cast<std::size_t>(sizes.vocabulary) : 0);

  // As many more of the best as may turn out to be excluded.
  excluded_begin_.resize(num_rows + 1);
  std::size_t next = 0;
  std::int64_t room = 0;
  for (std::size_t row = 0; row < num_rows; ++row) {
    excluded_begin_[row] = next;
    while (next < request.excluded.size() && request.excluded[next].row == static_cast<std::int64_t>(row)) ++next;
    const auto excluded = static_cast<std::int64_t>(next - excluded_begin_[row]);
    const std::int64_t wanted = request.num_candidates == 0 ? 0 : request.num_candidates + excluded;
    rows_[row].capacity = std::min(sizes.vocabulary, wanted);
    room += rows_[row].capacity;
  }
  excluded_begin_[num_rows] = next;
  best_.resize(static_cast<std::size_t>(room));
  tokens_.resize(static_cast<std::size_t>(room));
  std::int64_t used = 0;
  for (kernels::OutputRow& row : rows_) {
    row.best = best_.data() + used;
    row.tokens = tokens_.data() + used;
    used += row.capacity;
  }

  take_penalties(request.allowed);

  wanted_place_.assign(num_rows, -1);
  std::int64_t places = 0;
  for (const Continuation& wanted : request.wanted) {
    std::int64_t& place = wanted_place_[static_cast<std::size_t>(wanted.row)];
    if (place < 0) place = places++;
  }
  wanted_logits_.resize(static_cast<std::size_t>(places * sizes.tile));
}

// They are the same at each step of a search.
void VocabularyOutput::take_penalties(std::span<const std::uint8_t> allowed) {
  if (std::ranges::equal(allowed, allowed_)) return;
  allowed_.assign(allowed.begin(), allowed.end());
  penalty_.clear();
  if (std::ranges::find(allowed, 0) == allowed.end()) return;
  for (const std::uint8_t is_allowed : allowed) penalty_.push_back(is_allowed != 0 ? 0.0f : kInfinity);
}

// Only where a tile has what is wanted of a row: what is written has to be made twice.
void VocabularyOutput::place_logits(const StepRequest& request, std::int64_t first_token, std::int64_t count,
                                    const TileSizes& sizes, StepResult& result) {
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    const std::int64_t begin = static_cast<std::int64_t>(row) * sizes.vocabulary + first_token;
    rows_[row].logits = request.all ? result.log_probabilities.data() + begin : nullptr;
  }
  if (request.all) return;
  for (const Continuation& wanted : request.wanted) {
    if (wanted.token < first_token || wanted.token >= first_token + count) continue;
    const auto row = static_cast<std::size_t>(wanted.row);
    rows_[row].logits = wanted_logits_.data() + wanted_place_[row] * sizes.tile;
  }
}

void VocabularyOutput::take_wanted(const StepRequest& request, std::int64_t first_token, std::int64_t count,
                                   StepResult& result) const {
  for (std::size_t i = 0; i < request.wanted.size(); ++i) {
    const std::int64_t column = request.wanted[i].token - first_token;
    if (column < 0 || column >= count) continue;
    result.wanted[i] = rows_[static_cast<std::size_t>(request.wanted[i].row)].logits[column];
  }
}

void VocabularyOutput::finish(const StepRequest& request, std::int64_t vocabulary_size, StepResult& result) {
  result.candidates.assign(rows_.size() * static_cast<std::size_t>(request.num_candidates), {-1, -kInfinity});
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    log_total_[row] = double{rows_[row].maximum} + std::log(rows_[row].total);
    write_candidates(request, static_cast<std::int64_t>(row), result);
  }
  for (std::size_t i = 0; i < request.wanted.size(); ++i) {
    const double total = log_total_[static_cast<std::size_t>(request.wanted[i].row)];
    result.wanted[i] = static_cast<float>(result.wanted[i] - total);
  }
  for (std::size_t i = 0; i < result.log_probabilities.size(); ++i) {
    const double total = log_total_[i / static_cast<std::size_t>(vocabulary_size)];
    result.log_probabilities[i] = static_cast<float>(result.log_probabilities[i] - total);
  }
}

void VocabularyOutput::write_candidates(const StepRequest& request, std::int64_t row, StepResult& result) const {
  const kernels::OutputRow& state = rows_[static_cast<std::size_t>(row)];
  const double total = log_total_[static_cast<std::size_t>(row)];
  Candidate* to = result.candidates.data() + row * request.num_candidates;
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < state.count && count < request.num_candidates; ++i) {
    if (is_excluded(request, row, state.tokens[i])) continue;
    to[count++] = {state.tokens[i], static_cast<float>(state.best[i] - total)};
  }
}

bool VocabularyOutput::is_excluded(const StepRequest& request, std::int64_t row, std::int32_t token) const {
  const auto begin = excluded_begin_[static_cast<std::size_t>(row)];
  const auto of_row = request.excluded.subspan(begin, excluded_begin_[static_cast<std::size_t>(row) + 1] - begin);
  return std::ranges::binary_search(of_row, token, {}, &Continuation::token);
}

template void VocabularyOutput::write(const Weights<float>&, const Activations<float>&, const StepRequest&,
                                      StepResult&);
template void VocabularyOutput::write(const Weights<BFloat16>&, const Activations<BFloat16>&, const StepRequest&,
                                      StepResult&);
template void VocabularyOutput::write(const Weights<std::int8_t>&, const Activations<std::int8_t>&, const StepRequest&,
                                      StepResult&);

}  // namespace edgewise

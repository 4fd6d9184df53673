// SPDX-License-Identifier: Apache-2.0
#include "edgewise/runtime/recurrent_layer.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "edgewise/graph/gather.h"

namespace edgewise {
namespace {

using kernels::SourceRange;

/// Computes the filter's output for entries[centre] from the vectors at `offset` in the entries around it in `row`.
template <typename E>
void convolve_depthwise(const ConvolutionParameters& filter, std::int64_t size, const SourceRange& row,
                        std::int64_t centre, const E* const* entries, std::int64_t offset, float* out) {
  const std::int64_t first = centre - filter.window.before;
  const std::int64_t end = std::min(centre + filter.window.after + 1, row.begin + row.count);
  std::fill_n(out, size, 0.0f);
  for (std::int64_t i = std::max(first, row.begin); i < end; ++i) {
    const E* x = entries[i] + offset;
    const float* weight = filter.weight.data() + (i - first) * size;
    for (std::int64_t m = 0; m < size; ++m) out[m] += weight[m] * static_cast<float>(x[m]);
  }
}

}  // namespace

void HaltingRows::begin(std::span<const std::int64_t> positions, std::span<const std::int64_t> mirrored) {
  const std::size_t rows = positions.size();
  positions_.assign(positions.begin(), positions.end());
  const std::span<const std::int64_t> second = mirrored.empty() ? positions : mirrored;
  mirrored_.assign(second.begin(), second.end());
  active_.resize(rows);
  std::iota(active_.begin(), active_.end(), 0);
  ponder_steps_.assign(rows, 0);
  probability_sums_.assign(rows, 0.0);
  remainders_.assign(rows, 1.0f);
  weighted_states_.assign(rows * static_cast<std::size_t>(options_.size), 0.0f);
  step_ = 0;
}

void HaltingRows::add_coordinate_embeddings(TokenEmbedding& embedding, float* states) {
  const bool injects_input = options_.universal.input_injection;
  if (injects_input && step_ == 0) first_states_.assign(states, states + std::ssize(active_) * options_.size);
  const std::int64_t half = options_.size / 2;
  float* state = states;
  for (const NodeIndex row : active_) {
    const std::int64_t mirrored = mirrored_[static_cast<std::size_t>(row)];
    embedding.reserve_positions(std::max({step_, position(row), mirrored}));
    const float* first_half = embedding.position_vector(position(row));
    const float* second_half = embedding.position_vector(mirrored);
    const float* step_vector = embedding.position_vector(step_);
    for (std::int64_t m = 0; m < half; ++m) state[m] += first_half[m] + step_vector[m];
    for (std::int64_t m = half; m < options_.size; ++m) state[m] += second_half[m] + step_vector[m];
    if (injects_input && step_ > 0) {
      const float* first = first_states_.data() + row * options_.size;
      for (std::int64_t m = 0; m < options_.size; ++m) state[m] += first[m];
    }
    state += options_.size;
  }
}

void HaltingRows::end_step(const float* states) {
  ++step_;
  continuing_.clear();
  halting_.clear();
  const std::vector<double> none;
  const std::vector<double>& probabilities =
      is_adaptive() ? probabilities_of_(parameters_, std::ssize(active_), options_.size, states) : none;
  std::vector<NodeIndex> still_active;
  for (std::size_t i = 0; i < active_.size(); ++i) {
    const auto row = static_cast<std::size_t>(active_[i]);
    const double probability = is_adaptive() ? probabilities[i] : 0.0;
    const double sum = probability_sums_[row] + probability;
    const bool halts = step_ == max_steps_ || sum >= 1.0 - options_.universal.epsilon;
    const float weight = halts ? remainders_[row] : static_cast<float>(probability);
    add_weighted_state(active_[i], weight, states + static_cast<std::int64_t>(i) * options_.size);
    if (halts) {
      halting_.push_back(static_cast<NodeIndex>(i));
      ponder_steps_[row] = step_;
    } else {
      continuing_.push_back(static_cast<NodeIndex>(i));
      still_active.push_back(active_[i]);
      probability_sums_[row] = sum;
      remainders_[row] -= static_cast<float>(probability);
    }
  }
  active_ = std::move(still_active);
}

void HaltingRows::add_weighted_state(NodeIndex row, float weight, const float* state) {
  if (weight == 0.0f) return;
  float* sum = weighted_states_.data() + row * options_.size;
  for (std::int64_t m = 0; m < options_.size; ++m) sum[m] += weight * state[m];
}

template <typename T, typename E>
UniversalLayer<T, E>::UniversalLayer(const Weights<T>& weights, const StackParameters<T>& stack, std::int64_t max_steps,
                                     std::int64_t step_offset)
    : options_(weights.options),
      stack_(stack),
      layer_(stack.layers.front()),
      max_steps_(max_steps),
      step_offset_(step_offset),
      heads_(weights.heads),
      rows_(weights.options, weights.heads),
      halted_rows_(weights.options, weights.heads),
      halting_(weights.options, stack.halting, max_steps) {}

template <typename T, typename E>
float* UniversalLayer<T, E>::begin(std::span<const std::int64_t> positions, std::span<E* const> entries,
                                   const AttendedEntries<E>& attended, std::span<const std::int64_t> mirrored) {
  halting_.begin(positions, mirrored);
  entries_ = entries;
  attended_ = &attended;
  if (drops_halted()) {
    for (const E* entry : entries) entry_steps_[entry] = max_steps_;
  }
  return rows_.begin(std::ssize(positions));
}

template <typename T, typename E>
void UniversalLayer<T, E>::write_keys_and_values(std::span<E* const> entries, std::int64_t step,
                                                 const float* projected) const {
  write_entries<E>(entries, entry_offset(step), 2 * heads_.width(), projected + heads_.query_width(),
                   heads_.projected_width());
}

template <typename T, typename E>
void UniversalLayer<T, E>::write_filter_input(std::span<E* const> entries, std::int64_t step,
                                              const float* normed) const {
  write_entries<E>(entries, entry_offset(step) + 2 * heads_.width(), options_.size, normed, options_.size);
}

/// Returns the entries in `ranges` whose rows are active in this step, and makes `ranges` refer to the returned list.
template <typename T, typename E>
std::vector<const E*> UniversalLayer<T, E>::remove_halted(std::span<SourceRange> ranges) const {
  std::vector<const E*> active;
  for (SourceRange& range : ranges) {
    const std::int64_t first = range.begin;
    range.begin = std::ssize(active);
    for (std::int64_t i = first; i < first + range.count; ++i) {
      const E* entry = attended_->entries[static_cast<std::size_t>(i)];
      if (entry_steps_.at(entry) > halting_.step()) active.push_back(entry);
    }
    range.count = std::ssize(active) - range.begin;
  }
  return active;
}

template <typename T, typename E>
void UniversalLayer<T, E>::self_attend(const NormParameters& next_sublayer_norm) {
  const AttentionParameters<T>& attention = layer_.self_attention;
  rows_.prepare_input(rows_.pre_norm(attention.norm));
  const float* projected = rows_.project(attention.query_key_value);
  write_keys_and_values(gather<E*>(entries_, halting_.active()), halting_.step(), projected);

  std::vector<SourceRange> ranges = gather<SourceRange>(attended_->ranges, halting_.active());
  std::vector<const E*> active_entries;
  if (drops_halted()) active_entries = remove_halted(ranges);
  const std::vector<const E*>& sources = drops_halted() ? active_entries : attended_->entries;
  const std::int64_t offset = entry_offset(halting_.step());
  rows_.attend(attention,
               kernels::NodeAttention<E>{.ranges = ranges.data(),
                                         .sources = sources.data(),
                                         .key_offset = offset,
                                         .query = projected,
                                         .query_stride = heads_.projected_width()},
               rows_.pre_norm(next_sublayer_norm));
}

template <typename T, typename E>
void UniversalLayer<T, E>::feed_forward() {
  if (stack_.convolution.is_on()) convolve();
  rows_.feed_forward(layer_.feed_forward, kNoNorm);  // the next step adds embeddings before its first norm
}

/// Replaces the input of feed-forward by its convolution with the inputs of the neighbours.
template <typename T, typename E>
void UniversalLayer<T, E>::convolve() {
  const float* normed = rows_.apply_norm(rows_.pre_norm(layer_.feed_forward.norm));
  write_filter_input(gather<E*>(entries_, halting_.active()), halting_.step(), normed);
  float* convolved = convolved_buffer_.allocate(rows_.num_rows(), options_.size);
  float* out = convolved;
  for (const NodeIndex row : halting_.active()) {
    const SourceRange& range = attended_->ranges[static_cast<std::size_t>(row)];
    convolve_depthwise(stack_.convolution, options_.size, range, range.begin + halting_.position(row),
                       attended_->entries.data(), entry_offset(halting_.step()) + 2 * heads_.width(), out);
    out += options_.size;
  }
  rows_.set_input(convolved);
}

template <typename T, typename E>
void UniversalLayer<T, E>::end_step() {
  const std::vector<NodeIndex> active_before = halting_.active();
  halting_.end_step(rows_.state());
  const std::vector<E*> halted = gather<E*>(entries_, gather<NodeIndex>(active_before, halting_.halting()));
  if (drops_halted()) {
    for (const E* entry : halted) entry_steps_[entry] = halting_.step();
  } else if (!halted.empty() && num_later_entries() > 0) {
    freeze(halted);
  }
  rows_.keep_rows(halting_.continuing());
}

/// Returns how many entries of a halted row later steps read. Nodes that are added to a decoder later may take up to
/// max_steps steps, each of which reads an entry of its own.
template <typename T, typename E>
std::int64_t UniversalLayer<T, E>::num_later_entries() const {
  if (step_offset_ == 0) return is_done() ? 0 : 1;
  return max_steps_ - halting_.step();
}

/// Writes the entries of the rows that halt in this step, computed from their last states, for all later steps.
template <typename T, typename E>
void UniversalLayer<T, E>::freeze(std::span<E* const> entries) {
  float* state = halted_rows_.begin(std::ssize(entries));
  for (const NodeIndex row : halting_.halting()) {
    state = std::copy_n(rows_.state() + row * options_.size, options_.size, state);
  }
  halted_rows_.prepare_input(halted_rows_.pre_norm(layer_.self_attention.norm));
  const float* projected = halted_rows_.project(layer_.self_attention.query_key_value);
  const bool has_filter = stack_.convolution.is_on();
  const NormParameters& filter_norm = halted_rows_.pre_norm(layer_.feed_forward.norm);
  const float* normed = has_filter ? halted_rows_.apply_norm(filter_norm) : nullptr;
  const std::int64_t end = halting_.step() + num_later_entries();
  for (std::int64_t step = halting_.step(); step < end; ++step) {
    write_keys_and_values(entries, step, projected);
    if (has_filter) write_filter_input(entries, step, normed);
  }
}

template <typename T, typename E>
void UniversalLayer<T, E>::finish(const NormParameters& final_norm) {
  std::ranges::copy(halting_.weighted_states(), rows_.begin(std::ssize(entries_)));
  rows_.prepare_input(final_norm);
}

template class UniversalLayer<float, float>;
template class UniversalLayer<BFloat16, float>;
template class UniversalLayer<BFloat16, BFloat16>;
template class UniversalLayer<std::int8_t, float>;
template class UniversalLayer<std::int8_t, BFloat16>;

}  // namespace edgewise

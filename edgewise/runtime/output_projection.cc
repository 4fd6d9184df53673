// SPDX-License-Identifier: Apache-2.0
#include "edgewise/runtime/output_projection.h"

#include <algorithm>

#include "edgewise/base/profile.h"
#include "edgewise/base/threads.h"

namespace edgewise {
namespace {

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

template <typename T>
void OutputProjection::write(const Weights<T>& weights, const Activations<T>& states, const StepRequest& request,
                             StepResult& result) {
  const ScopedTimer timer("output");
  vocabulary_size_ = weights.options.output_vocabulary;
  tile_size_ = weights.tile_size;
  candidates_.begin(request, vocabulary_size_, result);
  allocate_wanted(request);
  reduce_tiles(weights, states, request, result);
  candidates_.write(request, result);
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

// Without request.all, only rows that have wanted tokens in this tile write their logits: writing costs time.
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
                                      StepResult&);
template void OutputProjection::write(const Weights<BFloat16>&, const Activations<BFloat16>&, const StepRequest&,
                                      StepResult&);
template void OutputProjection::write(const Weights<std::int8_t>&, const Activations<std::int8_t>&, const StepRequest&,
                                      StepResult&);

}  // namespace edgewise

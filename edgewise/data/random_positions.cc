// SPDX-License-Identifier: Apache-2.0
#include "edgewise/data/random_positions.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace edgewise {
namespace {

std::int64_t draw_below(std::int64_t bound, RandomStream& random) {
  return static_cast<std::int64_t>(random.next_below(static_cast<std::uint64_t>(bound)));
}

/// Draws uniformly the first of `count` consecutive numbers below `bound`.
std::int64_t draw_begin(std::int64_t count, std::int64_t bound, RandomStream& random) {
  return draw_below(bound - count + 1, random);
}

std::vector<std::int64_t> draw_shifted(std::int64_t count, std::int64_t bound, RandomStream& random) {
  std::vector<std::int64_t> drawn(static_cast<std::size_t>(count));
  std::iota(drawn.begin(), drawn.end(), draw_begin(count, bound, random));
  return drawn;
}

/// Draws a range of random size and position below `bound`, and from that range a set of `count` numbers, each set with
/// equal probability (Knuth, volume 2, algorithm 3.4.2 S).
std::vector<std::int64_t> draw_spread(std::int64_t count, std::int64_t bound, RandomStream& random) {
  const std::int64_t range = count + draw_below(bound - count + 1, random);
  const std::int64_t begin = draw_begin(range, bound, random);
  std::vector<std::int64_t> drawn;
  for (std::int64_t i = 0; std::ssize(drawn) < count; ++i) {
    if (draw_below(range - i, random) < count - std::ssize(drawn)) drawn.push_back(begin + i);
  }
  return drawn;
}

}  // namespace

void draw_positions(Batch& batch, const BatchOptions& options, RandomStream& random) {
  if (options.positions == TrainingPositions::kCounted) return;
  const auto draw = options.positions == TrainingPositions::kShifted ? draw_shifted : draw_spread;
  auto input = batch.input_positions.begin();
  auto output = batch.output_positions.begin();
  for (std::size_t i = 0; i < batch.input_lengths.size(); ++i) {
    const std::int64_t inputs = batch.input_lengths[i];
    const std::int64_t outputs = batch.output_lengths[i];
    if (const std::int64_t longer = std::max(inputs, outputs); longer <= options.positions_below) {
      const std::vector<std::int64_t> drawn = draw(longer, options.positions_below, random);
      std::copy_n(drawn.begin(), inputs, input);
      std::copy_n(drawn.begin(), outputs, output);
    }
    input += inputs;
    output += outputs;
  }
}

}  // namespace edgewise

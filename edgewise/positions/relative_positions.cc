// SPDX-License-Identifier: Apache-2.0
#include "edgewise/positions/relative_positions.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace edgewise {

std::vector<double> alibi_slopes(std::int64_t num_heads) {
  const auto power = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(num_heads)));
  const auto slope = [](std::int64_t i, std::int64_t heads) {
    return std::exp2(-8.0 * static_cast<double>(i) / static_cast<double>(heads));
  };
  std::vector<double> slopes;
  for (std::int64_t i = 1; i <= power; ++i) slopes.push_back(slope(i, power));
  for (std::int64_t i = 1; std::ssize(slopes) < num_heads; i += 2) slopes.push_back(slope(i, 2 * power));
  return slopes;
}

std::int64_t DistanceBuckets::bucket(std::int64_t distance) const {
  const std::int64_t in_direction = is_causal ? count : count / 2;
  const std::int64_t first = !is_causal && distance < 0 ? in_direction : 0;
  const std::int64_t magnitude = is_causal ? std::max<std::int64_t>(distance, 0) : std::abs(distance);
  const std::int64_t exact = in_direction / 2;
  if (magnitude < exact) return first + magnitude;
  const double share = std::log(static_cast<double>(magnitude) / static_cast<double>(exact)) /
                       std::log(static_cast<double>(max_distance) / static_cast<double>(exact));
  const auto beyond = static_cast<std::int64_t>(share * static_cast<double>(in_direction - exact));
  return first + std::min(exact + beyond, in_direction - 1);
}

std::vector<std::int64_t> DistanceBuckets::table() const {
  std::vector<std::int64_t> buckets;
  for (std::int64_t distance = -max_distance; distance <= max_distance; ++distance) buckets.push_back(bucket(distance));
  return buckets;
}

}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "edgewise/base/random.h"
#include "edgewise/kernels/dropout/dropout.h"
#include "edgewise/kernels/gpu/device.h"
#include "edgewise/kernels/gpu/floats4.h"

namespace edgewise::kernels::gpu {

/// Computes the factors of the values of a flat array on the device: value i has word i % 4 of Philox block i / 4.
class DeviceDropoutFactors {
 public:
  explicit DeviceDropoutFactors(const Dropout& dropout)
      : rule_(dropout), seed_(dropout.seed), stream_(dropout.stream) {}

  EDGEWISE_DEVICE bool is_identity() const { return rule_.is_identity(); }
  EDGEWISE_DEVICE float scale() const { return rule_.scale(); }

  /// Returns the factors of values [first, first + 4), where `first` is a multiple of 4.
  EDGEWISE_DEVICE Floats4 aligned_chunk(std::int64_t first) const {
    if (rule_.is_identity()) return {1, 1, 1, 1};
    const auto words = philox(seed_, stream_, static_cast<std::uint64_t>(first / kChunk));
    return {rule_.factor(words[0]), rule_.factor(words[1]), rule_.factor(words[2]), rule_.factor(words[3])};
  }

  /// Returns the factors of values [first, first + 4); a multiple of 4 needs a single Philox block.
  EDGEWISE_DEVICE Floats4 chunk(std::int64_t first) const {
    if (rule_.is_identity()) return {1, 1, 1, 1};
    std::uint32_t words[2 * kChunk] = {};
    const auto block = philox(seed_, stream_, static_cast<std::uint64_t>(first / kChunk));
    EDGEWISE_UNROLL
    for (int i = 0; i < kChunk; ++i) words[i] = block[i];
    if (first % kChunk != 0) {
      const auto next = philox(seed_, stream_, static_cast<std::uint64_t>(first / kChunk + 1));
      EDGEWISE_UNROLL
      for (int i = 0; i < kChunk; ++i) words[kChunk + i] = next[i];
      EDGEWISE_UNROLL
      for (int i = 0; i + 1 < 2 * kChunk; ++i) words[i] = (first & 1) != 0 ? words[i + 1] : words[i];
      EDGEWISE_UNROLL
      for (int i = 0; i + 2 < 2 * kChunk; ++i) words[i] = (first & 2) != 0 ? words[i + 2] : words[i];
    }
    return {rule_.factor(words[0]), rule_.factor(words[1]), rule_.factor(words[2]), rule_.factor(words[3])};
  }

  /// Returns the factor of one value.
  EDGEWISE_DEVICE float one(std::int64_t index) const {
    if (rule_.is_identity()) return 1;
    const auto block = philox(seed_, stream_, static_cast<std::uint64_t>(index / kChunk));
    std::uint32_t word = block[0];
    EDGEWISE_UNROLL
    for (int i = 1; i < kChunk; ++i) word = index % kChunk == i ? block[i] : word;
    return rule_.factor(word);
  }

 private:
  DropoutRule<float> rule_;
  std::uint64_t seed_;
  std::uint64_t stream_;
};

}  // namespace edgewise::kernels::gpu

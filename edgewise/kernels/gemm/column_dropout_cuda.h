// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "edgewise/base/random.h"
#include "edgewise/kernels/device/columns.h"
#include "edgewise/kernels/device/device.h"
#include "edgewise/kernels/dropout/dropout.h"

namespace edgewise::kernels::device {

/// The factors of a dropout of a flat array, whose value i has word i % 4 of Philox block i / 4.
class ColumnDropout {
 public:
  explicit ColumnDropout(const Dropout& dropout) : rule_(dropout), seed_(dropout.seed), stream_(dropout.stream) {}

  EDGEWISE_DEVICE bool is_identity() const { return rule_.is_identity(); }
  EDGEWISE_DEVICE float scale() const { return rule_.scale(); }

  /// Multiplies the values of `columns` of a row, whose first one is value `begin` of the array, by their factors.
  template <class Columns>
  EDGEWISE_DEVICE void multiply(std::int64_t begin, const Columns& columns, float (&value)[Columns::kSize]) const {
    if constexpr (Columns::kSize == 1) {
      const std::int64_t at = begin + columns.first;
      const auto words = draw(at / 4);
      const int number = static_cast<int>(at % 4);
      std::uint32_t word = words[0];
      EDGEWISE_UNROLL
      for (int i = 1; i < 4; ++i) word = number == i ? words[i] : word;
      value[0] *= rule_.factor(word);
    } else {
      EDGEWISE_UNROLL
      for (int i = 0; i < Columns::kSize; i += 4) {
        const auto words = draw((begin + columns.at(i)) / 4);
        EDGEWISE_UNROLL
        for (int j = 0; j < 4; ++j) value[i + j] *= rule_.factor(words[j]);
      }
    }
  }

 private:
  EDGEWISE_DEVICE std::array<std::uint32_t, 4> draw(std::int64_t block) const {
    return philox(seed_, stream_, static_cast<std::uint64_t>(block));
  }

  DropoutRule<float> rule_;
  std::uint64_t seed_;
  std::uint64_t stream_;
};

}  // namespace edgewise::kernels::device

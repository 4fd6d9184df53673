// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace edgewise {

/// Whose attention to the input a scorer shows.
struct CrossHeads {
  std::int64_t layer = -1;  // of the decoder, from 0; -1: the last
  std::int64_t head = -1;   // from 0; -1: the mean of all
};

}  // namespace edgewise

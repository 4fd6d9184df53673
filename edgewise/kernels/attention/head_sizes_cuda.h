// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

namespace edgewise::kernels::gpu {

/// Returns whether there are kernels of attention over tiles for heads of this size.
constexpr bool has_tiled_kernels(std::int64_t head_size) {
  return head_size == 32 || head_size == 64 || head_size == 96 || head_size == 128;
}

/// Calls call<head_size>(), and returns its result.
template <class Call>
auto with_head_size(std::int64_t head_size, Call call) {
  switch (head_size) {
    case 32:
      return call.template operator()<32>();
    case 64:
      return call.template operator()<64>();
    case 96:
      return call.template operator()<96>();
    case 128:
      return call.template operator()<128>();
    default:
      throw std::invalid_argument("with_head_size: head_size is " + std::to_string(head_size) +
                                  ", needs 32, 64, 96 or 128");
  }
}

}  // namespace edgewise::kernels::gpu

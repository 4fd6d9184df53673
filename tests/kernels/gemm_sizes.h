// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace edgewise::kernels {

/// The sizes of a matrix product.
struct GemmSizes {
  std::int64_t rows, columns, depth;
};

inline std::string name_of(const GemmSizes& sizes) {
  return std::to_string(sizes.rows) + " x " + std::to_string(sizes.columns) + " x " + std::to_string(sizes.depth);
}

/// Returns sizes around vectors of 16, around the blocks of run_in_blocks(), and with tiles of many rows and columns.
inline std::vector<GemmSizes> all_gemm_sizes() {
  std::vector<GemmSizes> sizes = {{64, 64, 64},   {530, 70, 50},  {70, 50, 530},
                                  {400, 40, 140}, {20, 600, 140}, {2, 3, 2000}};
  for (const std::int64_t size : {1, 3, 15, 16, 17, 63, 65, 127, 255, 256, 257}) {
    sizes.push_back({size, 17, 33});
    sizes.push_back({33, size, 17});
    sizes.push_back({17, 33, size});
  }
  return sizes;
}

}  // namespace edgewise::kernels

// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/position_table.h"

#include <cstring>
#include <vector>

#include "edgewise/positions/position_formula.h"

namespace edgewise {

bool is_position_table(const TensorInfo& table, std::int64_t size, PositionKind kind) {
  if (table.dtype != DType::kF32 || table.shape.size() != 2 || table.shape[1] != size) return false;
  const PositionFormula formula(size, kind);
  std::vector<float> row(static_cast<std::size_t>(size));
  const std::size_t row_bytes = row.size() * sizeof(float);
  for (std::int64_t position = 0; position < table.shape[0]; ++position) {
    formula.write(position, row.data());
    const auto stored = table.bytes.subspan(static_cast<std::size_t>(position) * row_bytes, row_bytes);
    if (std::memcmp(row.data(), stored.data(), row_bytes) != 0) return false;
  }
  return true;
}

}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/position_tables.h"

#include <cstring>

#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"
#include "edgewise/positions/position_formula.h"

namespace edgewise {

std::vector<float> position_table(std::int64_t size, PositionKind kind, std::int64_t count, std::int64_t first) {
  const PositionFormula formula(size, kind);
  std::vector<float> table(static_cast<std::size_t>(count * size));
  for (std::int64_t row = 0; row < count; ++row) formula.write(first + row, table.data() + row * size);
  return table;
}

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

std::int64_t choose_ctranslate2_positions(StoredTensors& stored, TransformerOptions& options,
                                          const std::string& where) {
  constexpr std::int64_t kComputedPositions = 1024;
  std::int64_t count = kComputedPositions;
  for (const char* name : {kInputEncodings, kOutputEncodings}) {
    const TensorInfo* table = stored.find(name);
    if (table == nullptr) continue;
    check(table->shape.size() == 2 && table->shape[1] == options.size,
          "{}: {} has shape [{}], needs rows of {} elements", where, quote(name), fmt::join(table->shape, ", "),
          options.size);
    count = table->shape[0];
  }
  for (const char* name : {kInputEncodings, kOutputEncodings}) {
    if (stored.find(name) != nullptr) continue;
    const bool has_formula = options.size % 2 == 0 && options.size >= smallest_position_size(PositionKind::kFairseq);
    check(has_formula, "{} has no tensor {}, needs one, because CTranslate2 computes no positions of size {}", where,
          quote(name), options.size);
    // Position p of CTranslate2 is position p - 1 of fairseq.
    stored.add(name, {count, options.size}, position_table(options.size, PositionKind::kFairseq, count, -1));
  }
  const TensorInfo& input = *stored.find(kInputEncodings);
  const TensorInfo& output = *stored.find(kOutputEncodings);
  check(input.shape == output.shape, "{}: {} has {} rows, needs the {} of {}", where, quote(kInputEncodings),
        input.shape[0], output.shape[0], quote(kOutputEncodings));
  for (const PositionKind kind :
       {PositionKind::kSinusoidal, PositionKind::kHalves, PositionKind::kMarian, PositionKind::kFairseq}) {
    if (options.size < smallest_position_size(kind) || !is_position_table(input, options.size, kind) ||
        !is_position_table(output, options.size, kind)) {
      continue;
    }
    options.positions = kind;
    std::erase_if(stored.tensors, [](const TensorInfo& tensor) {
      return tensor.name == kInputEncodings || tensor.name == kOutputEncodings;
    });
    return count;
  }
  options.positions = PositionKind::kLearned;
  options.max_positions = count;
  return count;
}

}  // namespace edgewise

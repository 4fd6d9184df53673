// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/ctranslate2_positions.h"

#include <algorithm>
#include <array>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"
#include "edgewise/convert/position_table.h"
#include "edgewise/positions/position_formula.h"

namespace edgewise {
namespace {

constexpr std::int64_t kComputedPositions = 1024;

const TensorInfo* find_table(const StoredTensors& stored, std::string_view name) {
  const auto found = std::ranges::find(stored.tensors, name, &TensorInfo::name);
  return found == stored.tensors.end() ? nullptr : &*found;
}

void check_table(const TensorInfo& table, std::int64_t size, const std::string& where) {
  check(table.shape.size() == 2 && table.shape[1] == size, "{}: {} has shape [{}], needs rows of {} elements", where,
        quote(table.name), fmt::join(table.shape, ", "), size);
}

/// Adds the table that CTranslate2 computes. Its position p is position p - 1 of fairseq.
void add_computed_table(std::string name, std::int64_t count, const TransformerOptions& options,
                        StoredTensors& stored) {
  const PositionFormula formula(options.size, PositionKind::kFairseq);
  const auto size = static_cast<std::size_t>(options.size);
  std::vector<float> table(static_cast<std::size_t>(count) * size);
  for (std::int64_t p = 0; p < count; ++p) formula.write(p - 1, table.data() + static_cast<std::size_t>(p) * size);
  const std::string_view bytes =
      stored.keep(std::string(reinterpret_cast<const char*>(table.data()), table.size() * sizeof(float)));
  stored.tensors.push_back({std::move(name), DType::kF32, {count, options.size}, std::as_bytes(std::span(bytes))});
}

}  // namespace

std::int64_t choose_ctranslate2_positions(StoredTensors& stored, TransformerOptions& options,
                                          const std::string& where) {
  std::int64_t count = kComputedPositions;
  for (const char* name : {kInputEncodings, kOutputEncodings}) {
    const TensorInfo* table = find_table(stored, name);
    if (table == nullptr) continue;
    check_table(*table, options.size, where);
    count = table->shape[0];
  }
  for (const char* name : {kInputEncodings, kOutputEncodings}) {
    if (find_table(stored, name) != nullptr) continue;
    const bool has_formula = options.size % 2 == 0 && options.size >= smallest_position_size(PositionKind::kFairseq);
    check(has_formula, "{} has no tensor {}, needs one, because CTranslate2 computes no positions of size {}", where,
          quote(name), options.size);
    add_computed_table(name, count, options, stored);
  }
  const TensorInfo& input = *find_table(stored, kInputEncodings);
  const TensorInfo& output = *find_table(stored, kOutputEncodings);
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

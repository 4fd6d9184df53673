// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/files/stored_parameters.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "edgewise/base/bfloat16.h"
#include "edgewise/base/error.h"
#include "edgewise/base/threads.h"
#include "edgewise/base/utf8.h"

namespace edgewise {
namespace {

constexpr std::string_view kScaleSuffix = ".scale";
constexpr std::string_view kInputMultiplierSuffix = ".input_multiplier";

bool is_int8_matrix(const TensorInfo& tensor) { return tensor.dtype == DType::kI8 && tensor.shape.size() == 2; }

std::string scales_name(const std::string& name) { return name + std::string(kScaleSuffix); }

std::string describe(const TensorInfo& found, DType dtype, std::span<const std::int64_t> shape) {
  return fmt::format("has {} as {} [{}] instead of {} [{}]", quote(found.name), dtype_name(found.dtype),
                     fmt::join(found.shape, ", "), dtype_name(dtype), fmt::join(shape, ", "));
}

/// Copies elements from unaligned bytes.
template <typename T>
void copy_elements(const TensorInfo& tensor, std::int64_t first, std::int64_t count, T* to) {
  std::memcpy(to, tensor.bytes.data() + static_cast<std::size_t>(first) * sizeof(T),
              static_cast<std::size_t>(count) * sizeof(T));
}

/// Converts elements [first, first + count). T is Float16 or BFloat16.
template <typename T>
void convert_elements(const TensorInfo& tensor, std::int64_t first, std::int64_t count, float* to) {
  constexpr std::int64_t kBlock = 1024;
  std::array<T, kBlock> block;
  for (std::int64_t i = 0; i < count; i += kBlock) {
    const std::int64_t size = std::min(kBlock, count - i);
    copy_elements(tensor, first + i, size, block.data());
    for (std::int64_t k = 0; k < size; ++k) to[i + k] = block[static_cast<std::size_t>(k)];
  }
}

void convert_floats(const TensorInfo& tensor, std::int64_t first, std::int64_t count, float* to) {
  switch (tensor.dtype) {
    case DType::kF32:
      return copy_elements(tensor, first, count, to);
    case DType::kF16:
      return convert_elements<Float16>(tensor, first, count, to);
    default:
      return convert_elements<BFloat16>(tensor, first, count, to);
  }
}

void multiply_by_scales(const TensorInfo& matrix, const TensorInfo& scales, std::int64_t first_row,
                        std::int64_t end_row, float* to) {
  const std::int64_t columns = matrix.shape[1];
  const auto* values = reinterpret_cast<const std::int8_t*>(matrix.bytes.data());
  for (std::int64_t row = first_row; row < end_row; ++row) {
    float scale = 0;
    copy_elements(scales, row, 1, &scale);
    for (std::int64_t i = row * columns; i < (row + 1) * columns; ++i) to[i] = scale * static_cast<float>(values[i]);
  }
}

}  // namespace

std::string describe_difference(const SafetensorsFile& file, const std::string& name,
                                std::span<const std::int64_t> shape) {
  const TensorInfo* found = file.find(name);
  if (found == nullptr) return "lacks " + quote(name);
  const bool is_int8 = is_int8_matrix(*found);
  const bool is_float = found->dtype == DType::kF16 || found->dtype == DType::kBF16;
  const DType needed = is_int8 || is_float ? found->dtype : DType::kF32;
  if (found->dtype != needed || !std::ranges::equal(found->shape, shape)) return describe(*found, needed, shape);
  if (!is_int8) return "";
  const TensorInfo* scales = file.find(scales_name(name));
  if (scales == nullptr) return "lacks " + quote(scales_name(name));
  if (find_scales(file, *found) == nullptr) return describe(*scales, DType::kF32, shape.first(1));
  return "";
}

bool is_stored_in_8_bits(std::string_view name, std::size_t dimensions) {
  if (dimensions != 2 || !name.ends_with(".weight")) return false;
  for (const std::string_view part : {"embedding.", "generator.", "_attention.", "ssru.", "feed_forward."}) {
    if (name.find(part) != std::string_view::npos) return true;
  }
  return false;
}

const TensorInfo* find_scales(const SafetensorsFile& file, const TensorInfo& tensor) {
  if (!is_int8_matrix(tensor)) return nullptr;
  const TensorInfo* scales = file.find(scales_name(tensor.name));
  const bool do_fit = scales != nullptr && scales->dtype == DType::kF32 &&
                      std::ranges::equal(scales->shape, std::span(tensor.shape).first(1));
  return do_fit ? scales : nullptr;
}

bool are_scales(const SafetensorsFile& file, const TensorInfo& tensor) {
  const std::string_view name = tensor.name;
  return std::ranges::any_of(std::array{kScaleSuffix, kInputMultiplierSuffix}, [&](std::string_view suffix) {
    if (!name.ends_with(suffix)) return false;
    const TensorInfo* matrix = file.find(name.substr(0, name.size() - suffix.size()));
    return matrix != nullptr && is_int8_matrix(*matrix);
  });
}

float find_input_multiplier(const SafetensorsFile& file, const TensorInfo& tensor, std::string_view where) {
  if (!is_int8_matrix(tensor)) return 0;
  const TensorInfo* found = file.find(tensor.name + std::string(kInputMultiplierSuffix));
  if (found == nullptr) return 0;
  check(found->dtype == DType::kF32 && found->shape == std::vector<std::int64_t>{1}, "{} {}", where,
        describe(*found, DType::kF32, std::array{std::int64_t{1}}));
  float multiplier = 0;
  copy_elements(*found, 0, 1, &multiplier);
  check(multiplier > 0 && std::isfinite(multiplier) && std::isfinite(1 / multiplier),
        "{} has {} {}, needs a positive number with a finite inverse", where, quote(found->name), multiplier);
  return multiplier;
}

void read_values(const SafetensorsFile& file, const TensorInfo& tensor, std::span<float> to) {
  constexpr std::int64_t kGrain = 1 << 16;  // values per range, at least
  if (const TensorInfo* scales = find_scales(file, tensor); scales != nullptr) {
    parallel_for(tensor.shape[0], 1 + kGrain / (tensor.shape[1] + 1), [&](std::int64_t begin, std::int64_t end) {
      multiply_by_scales(tensor, *scales, begin, end, to.data());
    });
  } else {
    parallel_for(std::ssize(to), kGrain, [&](std::int64_t begin, std::int64_t end) {
      convert_floats(tensor, begin, end - begin, to.data() + begin);
    });
  }
}

}  // namespace edgewise

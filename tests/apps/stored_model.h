// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <list>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "edgewise/base/bfloat16.h"
#include "edgewise/base/files/safetensors.h"
#include "edgewise/base/files/stored_parameters.h"

namespace edgewise {

/// Returns a number's upper 16 bits, or for F16 the nearest smaller half-precision number, 0 for those below its range.
inline std::uint16_t bits_of(float value, DType dtype) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (dtype == DType::kBF16) return static_cast<std::uint16_t>(bits >> 16);
  const std::uint32_t magnitude = (bits & 0x7FFFFFFF) >> 13;
  const std::uint32_t offset = (127 - 15) << 10;
  return static_cast<std::uint16_t>((bits >> 16 & 0x8000) | (magnitude < offset + 1024 ? 0 : magnitude - offset));
}

inline float value_of(std::uint16_t bits, DType dtype) {
  return dtype == DType::kBF16 ? float{std::bit_cast<BFloat16>(bits)} : float{std::bit_cast<Float16>(bits)};
}

/// Tensors that were stored in another type, and their values.
struct StoredModel {
  std::string bytes;
  std::map<std::string, std::vector<float>> values;
};

/// Stores matrices as `dtype`; I8 with the scale 1/64.
inline StoredModel store(const SafetensorsFile& file, DType dtype) {
  StoredModel model;
  std::list<std::vector<std::byte>> memory;
  std::vector<TensorInfo> tensors;
  const auto add = [&](const std::string& name, DType type, const std::vector<std::int64_t>& shape, const auto& all) {
    const auto bytes = std::as_bytes(std::span(all));
    tensors.push_back({name, type, shape, memory.emplace_back(bytes.begin(), bytes.end())});
  };
  for (const TensorInfo& tensor : file.tensors()) {
    std::vector<float>& values = model.values[tensor.name];
    values.resize(tensor.bytes.size() / sizeof(float));
    std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
    if (tensor.shape.size() != 2) {
      add(tensor.name, DType::kF32, tensor.shape, values);
    } else if (dtype == DType::kI8) {
      std::vector<std::int8_t> integers;
      for (float& value : values) {
        integers.push_back(static_cast<std::int8_t>(std::clamp(std::lround(value * 64), -127L, 127L)));
        value = static_cast<float>(integers.back()) / 64;
      }
      add(tensor.name, dtype, tensor.shape, integers);
      add(tensor.name + ".scale", DType::kF32, {tensor.shape[0]},
          std::vector<float>(static_cast<std::size_t>(tensor.shape[0]), 1.0F / 64));
    } else {
      std::vector<std::uint16_t> bits;
      for (float& value : values) {
        bits.push_back(bits_of(value, dtype));
        value = value_of(bits.back(), dtype);
      }
      add(tensor.name, dtype, tensor.shape, bits);
    }
  }
  model.bytes = serialize_safetensors(tensors);
  return model;
}

}  // namespace edgewise

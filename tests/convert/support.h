// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/base/files/files.h"
#include "edgewise/convert/stored_tensor.h"
#include "tests/support/error_of.h"

namespace edgewise {

inline std::filesystem::path fixture(std::string_view name) {
  return std::filesystem::path(EDGEWISE_CONVERT_FIXTURES) / name;
}

inline std::string fixture_bytes(std::string_view name) { return read_file(fixture(name), "test"); }

/// Returns the number in the lowest bytes of a string, as in a file.
template <class Number>
std::string little_endian(Number number) {
  std::string bytes(sizeof(number), '\0');
  std::memcpy(bytes.data(), &number, sizeof(number));
  return bytes;
}

inline bool is_float(DType dtype) {
  return dtype == DType::kF64 || dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

/// Checks a tensor of make_fixtures: elements 0, 1, 2, …; floats are divided by 4, truth values alternate.
inline void expect_ramp(const TensorInfo& tensor, const std::vector<std::int64_t>& shape) {
  SCOPED_TRACE(tensor.name);
  EXPECT_EQ(tensor.shape, shape);
  std::vector<float> values;
  if (is_float(tensor.dtype)) {
    values = to_floats(tensor, "test");
  } else {
    const std::size_t size = dtype_size(tensor.dtype);
    for (std::size_t i = 0; i < tensor.bytes.size() / size; ++i) {
      const TensorInfo element = {"", tensor.dtype, {}, tensor.bytes.subspan(i * size, size)};
      values.push_back(static_cast<float>(to_whole_number(element, "test")));
    }
  }
  std::size_t count = 1;
  for (const std::int64_t dimension : shape) count *= static_cast<std::size_t>(dimension);
  ASSERT_EQ(values.size(), count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto number = static_cast<float>(i);
    const float whole = tensor.dtype == DType::kBool ? static_cast<float>(i % 2) : number;
    EXPECT_EQ(values[i], is_float(tensor.dtype) ? number / 4 : whole) << i;
  }
}

/// Checks that a reader throws an Error that begins with `prefix` for each file that is cut short.
template <class Read>
void expect_errors_if_cut(const std::string& file, const std::string& prefix, Read read) {
  for (std::size_t size = 0; size < file.size(); ++size) {
    const std::string error = error_of([&] { read(file.substr(0, size)); });
    ASSERT_TRUE(error.starts_with(prefix)) << size << " bytes: " << error;
  }
}

/// Checks that a reader reads a file with one other byte, or throws an Error that begins with `prefix`.
template <class Read>
void expect_errors_if_altered(const std::string& file, const std::string& prefix, Read read) {
  for (std::size_t i = 0; i < file.size(); ++i) {
    for (const char bits : {'\x01', '\x80', '\xFF'}) {
      std::string altered = file;
      altered[i] = static_cast<char>(altered[i] ^ bits);
      const std::string error = error_of([&] { read(altered); });
      ASSERT_TRUE(error == "no error" || error.starts_with(prefix)) << "byte " << i << ": " << error;
    }
  }
}

}  // namespace edgewise

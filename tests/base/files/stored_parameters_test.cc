// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/files/stored_parameters.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "edgewise/base/bfloat16.h"

namespace edgewise {
namespace {

Float16 half_of(std::uint16_t bits) { return std::bit_cast<Float16>(bits); }

/// Computes a half-precision number by the definition of IEEE 754.
double define_half(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  const double sign = bits >= 0x8000 ? -1 : 1;
  if (exponent == 31) return fraction == 0 ? sign * HUGE_VAL : std::nan("");
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

TEST(Float16, IsTheNumberOfEachOfItsBitPatterns) {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const double expected = define_half(static_cast<std::uint16_t>(bits));
    const float value = half_of(static_cast<std::uint16_t>(bits));
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(value)) << bits;
    } else {
      ASSERT_EQ(value, expected) << bits;
      ASSERT_EQ(std::signbit(value), std::signbit(expected)) << bits;
    }
  }
}

/// Tensors of a file, whose elements live as long as this object.
class File {
 public:
  template <typename T>
  void add(const std::string& name, DType dtype, std::vector<std::int64_t> shape, const std::vector<T>& elements) {
    memory_.emplace_back(elements.size() * sizeof(T));
    if (!elements.empty()) std::memcpy(memory_.back().data(), elements.data(), memory_.back().size());
    tensors_.push_back({name, dtype, std::move(shape), memory_.back()});
  }

  SafetensorsFile parse() const { return SafetensorsFile::parse(serialize_safetensors(tensors_), "file"); }

 private:
  std::vector<std::vector<std::byte>> memory_;
  std::vector<TensorInfo> tensors_;
};

std::vector<float> values_of(const SafetensorsFile& file, const std::string& name, std::size_t count) {
  std::vector<float> values(count);
  read_values(file, *file.find(name), values);
  return values;
}

TEST(StoredParameters, AreReadAsFloatsFromEachType) {
  constexpr std::int64_t kCount = 150'000;  // several ranges of threads, and several blocks
  std::vector<float> floats;
  std::vector<Float16> halves;
  std::vector<BFloat16> bfloats;
  std::vector<float> expected_halves, expected_bfloats;
  for (std::int64_t i = 0; i < kCount; ++i) {
    floats.push_back(static_cast<float>(i) / 3);
    halves.push_back(half_of(static_cast<std::uint16_t>(i % 0x7C00)));
    bfloats.emplace_back(static_cast<float>(i) / 3);
    expected_halves.push_back(halves.back());
    expected_bfloats.push_back(bfloats.back());
  }
  File file;
  file.add("floats", DType::kF32, {kCount}, floats);
  file.add("halves", DType::kF16, {3, kCount / 3}, halves);
  file.add("bfloats", DType::kBF16, {kCount}, bfloats);
  file.add<float>("nothing", DType::kF32, {0, 5}, {});
  const SafetensorsFile parsed = file.parse();

  EXPECT_EQ(values_of(parsed, "floats", kCount), floats);
  EXPECT_EQ(values_of(parsed, "halves", kCount), expected_halves);
  EXPECT_EQ(values_of(parsed, "bfloats", kCount), expected_bfloats);
  EXPECT_EQ(values_of(parsed, "nothing", 0), std::vector<float>());
}

TEST(StoredParameters, OfEightBitsAreMultipliedByTheScaleOfTheirRow) {
  File file;
  file.add<std::int8_t>("a", DType::kI8, {2, 3}, {1, -128, 3, 127, 0, -6});
  file.add<float>("a.scale", DType::kF32, {2}, {0.5f, 0.1f});

  EXPECT_EQ(values_of(file.parse(), "a", 6), (std::vector<float>{0.5f, -64.0f, 1.5f, 127 * 0.1f, 0.0f, -6 * 0.1f}));
}

std::string difference(const File& file, const std::string& name, const std::vector<std::int64_t>& shape) {
  return describe_difference(file.parse(), name, shape);
}

TEST(StoredParameters, DifferByNameTypeShapeOrScales) {
  File file;
  file.add<float>("a", DType::kF32, {2}, {1, 2});
  file.add<BFloat16>("b", DType::kBF16, {2}, std::vector<BFloat16>(2));
  file.add<double>("c", DType::kF64, {2}, {1, 2});
  file.add<std::int8_t>("vector", DType::kI8, {2}, {1, 2});
  file.add<float>("vector.scale", DType::kF32, {2}, {1, 2});
  file.add<std::int8_t>("d", DType::kI8, {2, 1}, {1, 2});
  file.add<std::int8_t>("e", DType::kI8, {2, 1}, {1, 2});
  file.add<float>("e.scale", DType::kF32, {1}, {1});
  file.add<std::int8_t>("f", DType::kI8, {2, 1}, {1, 2});
  file.add<float>("f.scale", DType::kF32, {2}, {1, 2});

  EXPECT_EQ(difference(file, "a", {2}), "");
  EXPECT_EQ(difference(file, "b", {2}), "");
  EXPECT_EQ(difference(file, "f", {2, 1}), "");
  EXPECT_EQ(difference(file, "a", {1, 2}), "has \"a\" as F32 [2] instead of F32 [1, 2]");
  EXPECT_EQ(difference(file, "b", {3}), "has \"b\" as BF16 [2] instead of BF16 [3]");
  EXPECT_EQ(difference(file, "c", {2}), "has \"c\" as F64 [2] instead of F32 [2]");
  EXPECT_EQ(difference(file, "vector", {2}), "has \"vector\" as I8 [2] instead of F32 [2]");
  EXPECT_EQ(difference(file, "d", {2, 1}), "lacks \"d.scale\"");
  EXPECT_EQ(difference(file, "e", {2, 1}), "has \"e.scale\" as F32 [1] instead of F32 [2]");
  EXPECT_EQ(difference(file, "f", {1, 2}), "has \"f\" as I8 [2, 1] instead of I8 [1, 2]");
  EXPECT_EQ(difference(file, "g", {1}), "lacks \"g\"");
}

TEST(StoredParameters, HaveScalesOnlyForMatricesOfEightBits) {
  File file;
  file.add<float>("a", DType::kF32, {2, 1}, {1, 2});
  file.add<float>("a.scale", DType::kF32, {2}, {1, 2});
  file.add<std::int8_t>("b", DType::kI8, {2, 1}, {1, 2});
  file.add<float>("b.scale", DType::kF32, {2}, {1, 2});
  file.add<float>(".scale", DType::kF32, {2}, {1, 2});
  const SafetensorsFile parsed = file.parse();

  EXPECT_FALSE(are_scales(parsed, *parsed.find("a.scale")));
  EXPECT_TRUE(are_scales(parsed, *parsed.find("b.scale")));
  EXPECT_FALSE(are_scales(parsed, *parsed.find("b")));
  EXPECT_FALSE(are_scales(parsed, *parsed.find(".scale")));
  EXPECT_EQ(find_scales(parsed, *parsed.find("a")), nullptr);
  EXPECT_EQ(find_scales(parsed, *parsed.find("b")), parsed.find("b.scale"));
}

}  // namespace
}  // namespace edgewise

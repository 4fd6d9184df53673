// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/stored_tensor.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tests/convert/support.h"

namespace edgewise {
namespace {

template <class Element>
TensorInfo tensor_of(std::string name, DType dtype, std::span<const Element> elements) {
  return {std::move(name), dtype, {std::ssize(elements)}, std::as_bytes(elements)};
}

template <class Element>
std::vector<float> floats_of(DType dtype, const std::vector<Element>& elements) {
  return to_floats(tensor_of<Element>("w", dtype, elements), "test: f");
}

TEST(TensorLookup, FindsTensorsByNameAndShape) {
  const std::vector<TensorInfo> tensors = {{"a", DType::kF32, {2, 3}, {}}, {"b", DType::kI8, {}, {}}};
  TensorLookup lookup(tensors, "test: f");
  const std::int64_t shape[] = {2, 3};
  EXPECT_EQ(&lookup.get("a", shape), &tensors[0]);
  EXPECT_EQ(lookup.find("b"), &tensors[1]);
  EXPECT_EQ(lookup.find("c"), nullptr);
  EXPECT_EQ(error_of([&] { lookup.get("c"); }), "test: f has no tensor \"c\", needs one");
  EXPECT_EQ(error_of([&] { lookup.get("b", shape); }), "test: f: \"b\" has shape [], needs [2, 3]");
}

TEST(TensorLookup, NamesTensorsThatWereNotUsed) {
  std::vector<TensorInfo> tensors;
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g"}) tensors.push_back({name, DType::kF32, {}, {}});
  TensorLookup lookup(tensors, "test: f");
  const std::string all = "test: f has tensors that cannot be converted, needs none: ";
  EXPECT_EQ(error_of([&] { lookup.expect_all_used(); }), all + R"("a", "b", "c", "d", "e" and 2 more)");
  for (const char* name : {"a", "c", "d", "e", "f"}) lookup.find(name);
  EXPECT_EQ(error_of([&] { lookup.expect_all_used(); }), all + R"("b", "g")");
  lookup.get("b");
  lookup.get("g");
  EXPECT_EQ(error_of([&] { lookup.expect_all_used(); }), "no error");
}

TEST(TensorLookup, RejectsTwoTensorsOfOneName) {
  const std::vector<TensorInfo> tensors = {{"a", DType::kF32, {}, {}}, {"a", DType::kI8, {}, {}}};
  EXPECT_EQ(error_of([&] { TensorLookup(tensors, "test: f"); }),
            "test: f: two tensors are named \"a\", needs a name for each");
}

TEST(ToFloats, ConvertsHalvesExactly) {
  const std::vector<std::uint16_t> halves = {0x0000, 0x8000, 0x0001, 0x8001, 0x03FF, 0x0400, 0x3C00,
                                             0x3C01, 0xC000, 0x7BFF, 0x7C00, 0xFC00, 0x7E00};
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> expected = {0, -0.F,       0x1p-24F, -0x1p-24F, 0x3FFp-24F, 0x1p-14F,
                                       1, 0x401p-10F, -2,       65504,     infinity,   -infinity};
  const std::vector<float> floats = floats_of(DType::kF16, halves);
  EXPECT_EQ((std::vector<float>(floats.begin(), floats.end() - 1)), expected);
  EXPECT_TRUE(std::signbit(floats[1]));
  EXPECT_TRUE(std::isnan(floats.back()));

  std::vector<std::uint16_t> positive(0x7C00);
  std::iota(positive.begin(), positive.end(), std::uint16_t{0});
  const std::vector<float> increasing = floats_of(DType::kF16, positive);
  EXPECT_EQ(std::ranges::adjacent_find(increasing, std::greater_equal<>()), increasing.end());
}

TEST(ToFloats, ConvertsBfloat16AndFloatsExactly) {
  EXPECT_EQ(floats_of<std::uint16_t>(DType::kBF16, {0x3F80, 0xC000, 0x0001}), (std::vector<float>{1, -2, 0x1p-133F}));
  EXPECT_EQ(floats_of<float>(DType::kF32, {1.5F, -0.1F}), (std::vector<float>{1.5F, -0.1F}));
}

TEST(ToFloats, ConvertsOnlyDoublesThatAreFloats) {
  const std::vector<float> floats = floats_of<double>(DType::kF64, {0.5, double{0.1F}, std::nan("")});
  EXPECT_EQ(floats[0], 0.5F);
  EXPECT_EQ(floats[1], 0.1F);
  EXPECT_TRUE(std::isnan(floats[2]));
  EXPECT_EQ(error_of([] {
              floats_of<double>(DType::kF64, {0.5, 0.1});
            }),
            "test: f: element 1 of \"w\" is 0.1, needs a 32-bit float; convert the file to 32 bits first");
  EXPECT_NE(error_of([] { floats_of<double>(DType::kF64, {1e300}); }), "no error");
  EXPECT_NE(error_of([] { floats_of<double>(DType::kF64, {1e-300}); }), "no error");
}

TEST(ToFloats, RejectsWholeNumbers) {
  EXPECT_EQ(error_of([] { floats_of<std::int8_t>(DType::kI8, {1}); }),
            "test: f: \"w\" has elements of type I8, needs F32, F16, BF16 or F64");
}

template <class Element>
std::int64_t number_of(DType dtype, const std::vector<Element>& elements) {
  return to_whole_number(tensor_of<Element>("n", dtype, elements), "test: f");
}

TEST(ToWholeNumber, ReadsOneElementOfEachType) {
  EXPECT_EQ(number_of<std::int64_t>(DType::kI64, {-5}), -5);
  EXPECT_EQ(number_of<std::int32_t>(DType::kI32, {-5}), -5);
  EXPECT_EQ(number_of<std::int16_t>(DType::kI16, {-5}), -5);
  EXPECT_EQ(number_of<std::int8_t>(DType::kI8, {-5}), -5);
  EXPECT_EQ(number_of<std::uint64_t>(DType::kU64, {5}), 5);
  EXPECT_EQ(number_of<std::uint32_t>(DType::kU32, {4'000'000'000}), 4'000'000'000);
  EXPECT_EQ(number_of<std::uint16_t>(DType::kU16, {65535}), 65535);
  EXPECT_EQ(number_of<std::uint8_t>(DType::kU8, {255}), 255);
  EXPECT_EQ(number_of<std::uint8_t>(DType::kBool, {1}), 1);
}

TEST(ToWholeNumber, RejectsOtherTensors) {
  EXPECT_EQ(error_of([] { number_of<std::int8_t>(DType::kI8, {1, 2}); }), "test: f: \"n\" has 2 elements, needs one");
  EXPECT_EQ(error_of([] { number_of<float>(DType::kF32, {1}); }),
            "test: f: \"n\" has an element of type F32, needs a whole number");
  EXPECT_EQ(error_of([] { number_of<std::uint64_t>(DType::kU64, {~std::uint64_t{0}}); }),
            "test: f: \"n\" is 18446744073709551615, needs a number from -9223372036854775808 to 9223372036854775807");
}

std::string text_of(std::string_view bytes) {
  return to_text(tensor_of<char>("t", DType::kI8, std::span(bytes.data(), bytes.size())), "test: f");
}

TEST(ToText, DropsTheNulAtTheEnd) {
  EXPECT_EQ(text_of(std::string_view("a: é\0", 6)), "a: é");
  EXPECT_EQ(text_of("a"), "a");
  EXPECT_EQ(text_of(""), "");
}

TEST(ToText, RejectsOtherBytes) {
  const std::string error = "test: f: \"t\" has a NUL or bytes that are not UTF-8, needs text";
  EXPECT_EQ(error_of([] { text_of(std::string_view("a\0\0", 3)); }), error);
  EXPECT_EQ(error_of([] { text_of("\xFF"); }), error);
  EXPECT_EQ(error_of([] {
              to_text({"t", DType::kF32, {0}, {}}, "test: f");
            }),
            "test: f: \"t\" is F32 of shape [0], needs text: I8 or U8 of one dimension");
}

TEST(CheckedByteSize, RejectsShapesBeyondTheLimits) {
  EXPECT_EQ(checked_byte_size(DType::kF32, std::vector<std::int64_t>{2, 3}, "w"), 24u);
  EXPECT_EQ(checked_byte_size(DType::kF32, {}, "w"), 4u);
  const std::int64_t most = std::int64_t{1} << 53;
  EXPECT_EQ(error_of([&] { checked_byte_size(DType::kF32, std::vector{most + 1}, "w"); }),
            "w: a dimension is 9007199254740993, needs 0 to 9007199254740992");
  EXPECT_EQ(error_of([&] { checked_byte_size(DType::kF32, std::vector<std::int64_t>{-1}, "w"); }),
            "w: a dimension is -1, needs 0 to 9007199254740992");
  EXPECT_EQ(error_of([&] {
              checked_byte_size(DType::kI8, std::vector{most, most}, "w");
            }),
            "w is 9007199254740992 * 9007199254740992, needs at most 18446744073709551615");
  EXPECT_EQ(error_of([&] { checked_byte_size(DType::kI8, std::vector<std::int64_t>(65, 1), "w"); }),
            "w: the shape has 65 dimensions, needs at most 64");
}

TEST(CopyStrided, PermutesAxes) {
  EXPECT_TRUE(rc::check([] {
    const auto shape = *rc::gen::container<std::vector<std::int64_t>>(3, rc::gen::inRange<std::int64_t>(1, 5));
    const std::int64_t count = shape[0] * shape[1] * shape[2];
    std::vector<std::int32_t> source(static_cast<std::size_t>(count));
    std::iota(source.begin(), source.end(), 0);
    const std::vector<std::int64_t> strides = {1, shape[0], shape[0] * shape[1]};
    const std::string_view bytes(reinterpret_cast<const char*>(source.data()), source.size() * 4);
    const std::string copy = copy_strided(bytes, 4, shape, strides);
    std::string expected;
    for (std::int64_t i = 0; i < shape[0]; ++i) {
      for (std::int64_t j = 0; j < shape[1]; ++j) {
        for (std::int64_t k = 0; k < shape[2]; ++k) {
          expected += little_endian(static_cast<std::int32_t>(i + shape[0] * (j + shape[1] * k)));
        }
      }
    }
    RC_ASSERT(copy == expected);
  }));
}

}  // namespace
}  // namespace edgewise

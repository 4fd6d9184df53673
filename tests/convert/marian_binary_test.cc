// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/marian_binary.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/convert/support.h"

namespace edgewise {
namespace {

const std::vector<float> kNumbers = {1.5F, -2, 0};
const std::string kText = std::string("a: b") + '\0';

std::vector<TensorInfo> small_tensors() {
  return {{"bias", DType::kF32, {1, 3}, std::as_bytes(std::span(kNumbers))},
          {"special:model.yml", DType::kI8, {5}, std::as_bytes(std::span(kText))}};
}

std::vector<IntgemmArray> small_arrays() {
  return {{"W", {2, 3}, {1, 2, 3, -4, -5, 127}, 8}, {"Wemb", {3, 2}, {6, 5, 4, 3, 2, 1}, 4}, {"n", {1}, {127}, 2}};
}

std::string small_file() { return serialize_marian_binary(small_tensors(), small_arrays()); }

StoredTensors parse(const std::string& file) { return parse_marian_binary(file, "test: f"); }

std::vector<int> integers(const TensorInfo& tensor) {
  std::vector<int> values;
  for (const std::byte value : tensor.bytes) values.push_back(static_cast<std::int8_t>(value));
  return values;
}

TEST(MarianBinary, HasTheArraysThatWereWritten) {
  const StoredTensors file = parse(small_file());
  TensorLookup tensors(file.tensors, "test");
  EXPECT_EQ(to_floats(tensors.get("bias", std::array<std::int64_t, 2>{1, 3}), "test"), kNumbers);
  EXPECT_EQ(to_text(tensors.get("special:model.yml"), "test"), "a: b");
  EXPECT_EQ(integers(tensors.get("W", std::array<std::int64_t, 2>{2, 3})), (std::vector<int>{1, 2, 3, -4, -5, 127}));
  EXPECT_EQ(to_floats(tensors.get("W.scale"), "test"), (std::vector<float>{0.125, 0.125, 0.125}));
  EXPECT_EQ(integers(tensors.get("Wemb")), (std::vector<int>{6, 5, 4, 3, 2, 1}));
  EXPECT_EQ(to_floats(tensors.get("Wemb.scale"), "test"), (std::vector<float>{0.25, 0.25, 0.25}));
  EXPECT_EQ(to_floats(tensors.get("n"), "test"), std::vector<float>{63.5});
  tensors.expect_all_used();
}

TEST(MarianBinary, StoresAMatrixColumnByColumnAndATableRowByRow) {
  const std::string file = small_file();
  EXPECT_NE(file.find(std::string("\x01\xFC\x02\xFB\x03\x7F", 6)), std::string::npos);
  EXPECT_NE(file.find(std::string("\x06\x05\x04\x03\x02\x01", 6)), std::string::npos);
  EXPECT_EQ(file.size() % 256, 0U);
}

TEST(MarianBinary, ThatIsCutOrAlteredIsReadOrRefusedInOneSentence) {
  const std::string file = small_file();
  expect_errors_if_cut(file, "test: f", parse);
  expect_errors_if_altered(file, "test: f", parse);
  EXPECT_EQ(error_of([&] { parse(file + "x"); }), "test: f has 1 bytes after the arrays, needs none");
}

TEST(MarianBinary, OfAnotherKindIsRefused) {
  const auto error = [](std::size_t place, std::string_view bytes) {
    std::string file = small_file();
    file.replace(place, bytes.size(), bytes);
    return error_of([&] { parse(file); });
  };
  constexpr std::size_t kFirstHeader = 16;
  EXPECT_EQ(error(0, "\x02"), "test: f has version 2, needs 1");
  EXPECT_EQ(error(8, "\xFF\xFF\xFF"), "test: f has 16777215 arrays, needs at most 100000");
  EXPECT_EQ(error(kFirstHeader + 8, std::string("\x02\x41", 2)),
            "test: f: \"bias\" has elements of type 0x4102, needs float32, float16, int8 or intgemm8; convert the "
            "original model with --gemm-type intgemm8");
  EXPECT_EQ(error(kFirstHeader + 16, "\xFF"), "test: f: \"bias\" has 255 dimensions, needs at most 64");
  EXPECT_EQ(error(kFirstHeader + 24, std::string("\x04\x00", 2)),
            "test: f: \"bias\" has 4 bytes, needs 12 for F32 of shape [1, 3]");
  const auto with_multiplier = [](float multiplier) {
    const IntgemmArray array = {"W", {1, 2}, {1, 2}, multiplier};
    return error_of([&] { parse(serialize_marian_binary({}, std::span(&array, 1))); });
  };
  EXPECT_EQ(with_multiplier(0), "test: f: \"W\" has the multiplier 0, needs a positive number with a finite inverse");
  EXPECT_EQ(with_multiplier(-1), "test: f: \"W\" has the multiplier -1, needs a positive number with a finite inverse");
  EXPECT_EQ(with_multiplier(std::numeric_limits<float>::denorm_min()),
            "test: f: \"W\" has the multiplier 1e-45, needs a positive number with a finite inverse");
  const IntgemmArray cube = {"W", {1, 2, 1}, {1, 2}, 1};
  EXPECT_EQ(error_of([&] { parse(serialize_marian_binary({}, std::span(&cube, 1))); }),
            "test: f: \"W\" has 3 dimensions, needs 2 for intgemm8");
  // 3 · 5 · 17 · 257 · 641 · 65537 · 6700417 = 2^64 - 1 bytes, and 4 of the multiplier.
  const IntgemmArray numbers = {"W", {1, 1, 1, 1, 1, 1, 7}, {1, 2, 3, 4, 5, 6, 7}, 1};
  std::string overflow = serialize_marian_binary({}, std::span(&numbers, 1));
  constexpr std::size_t kShape = kFirstHeader + 32 + 2;
  std::size_t place = kShape;
  for (const std::uint32_t dimension : {3U, 5U, 17U, 257U, 641U, 65537U, 6700417U}) {
    for (std::size_t byte = 0; byte < sizeof(dimension); ++byte) {
      overflow[place++] = static_cast<char>(dimension >> (8 * byte) & 0xFF);
    }
  }
  EXPECT_EQ(error_of([&] { parse(overflow); }),
            "test: f: the size of \"W\" is 18446744073709551615 + 4, needs at most 18446744073709551615");
  const std::vector<TensorInfo> twice = {small_tensors()[0], small_tensors()[0]};
  EXPECT_EQ(error_of([&] { parse(serialize_marian_binary(twice, {})); }),
            "test: f has two arrays \"bias\", needs a name for each");
}

}  // namespace
}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/files/safetensors.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>

#include "edgewise/base/files/files.h"
#include "tests/base/support.h"
#include "tests/support/whole_files.h"

namespace edgewise {
namespace {

std::string length_bytes(std::uint64_t length) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(length >> (8 * i) & 0xFF);
  return bytes;
}

std::string file_of(const std::string& header, const std::string& data = "") {
  return length_bytes(header.size()) + header + data;
}

SafetensorsFile parse(const std::string& file) { return SafetensorsFile::parse(file, "f"); }

// Returns the error without the prefix that all errors share.
std::string error_of_file(const std::string& file) {
  const std::string error = error_of([&] { parse(file); });
  const std::string prefix = "read_safetensors: f";
  return error.starts_with(prefix) ? error.substr(prefix.size()) : "without the name: " + error;
}

std::string entry(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
}

std::string header_with(const std::string& w) { return R"({"w":)" + w + "}"; }

TEST(SafetensorsFile, ReadsNamesTypesShapesAndBytes) {
  const std::string file = file_of("{\"__metadata__\":{\"kind\":\"test\"},\"b\":" + entry("U8", "[2,1]", "[4,6]") +
                                       ",\"a\":" + entry("F32", "[]", "[0,4]") + "}  ",
                                   "abcdef");
  const SafetensorsFile tensors = parse(file);

  ASSERT_EQ(tensors.tensors().size(), 2u);
  const TensorInfo& a = tensors.tensors()[0];
  EXPECT_EQ(a.name, "a");
  EXPECT_EQ(a.dtype, DType::kF32);
  EXPECT_EQ(a.shape, std::vector<std::int64_t>{});
  EXPECT_EQ(std::memcmp(a.bytes.data(), "abcd", 4), 0);
  const TensorInfo* b = tensors.find("b");
  ASSERT_EQ(b, &tensors.tensors()[1]);
  EXPECT_EQ(b->shape, (std::vector<std::int64_t>{2, 1}));
  EXPECT_EQ(std::memcmp(b->bytes.data(), "ef", 2), 0);
  EXPECT_EQ(tensors.find("c"), nullptr);
  EXPECT_EQ(tensors.metadata(), (SafetensorsMetadata{{"kind", "test"}}));
}

TEST(SafetensorsFile, ListsTensorsOfTheCaller) {
  const std::string bytes = "abcdef";
  const std::span<const std::byte> data = std::as_bytes(std::span(bytes));
  const SafetensorsFile tensors =
      SafetensorsFile::list({{"b", DType::kU8, {2, 1}, data.subspan(4)}, {"a", DType::kF32, {}, data.first(4)}});

  ASSERT_EQ(tensors.tensors().size(), 2u);
  ASSERT_EQ(tensors.find("b"), &tensors.tensors()[0]);
  EXPECT_EQ(tensors.find("b")->bytes.data(), data.data() + 4);
  EXPECT_EQ(tensors.find("a"), &tensors.tensors()[1]);
  EXPECT_EQ(tensors.find("c"), nullptr);
  EXPECT_EQ(tensors.bytes(), "");
  EXPECT_TRUE(tensors.metadata().empty());
}

TEST(SafetensorsFile, KeepsItsTensorsWhenMoved) {
  SafetensorsFile file = parse(file_of(header_with(entry("U8", "[1]", "[0,1]")), "x"));
  const SafetensorsFile moved = std::move(file);

  ASSERT_NE(moved.find("w"), nullptr);
  EXPECT_EQ(std::to_integer<char>(moved.find("w")->bytes[0]), 'x');
}

TEST(SafetensorsFile, ReadsEveryDType) {
  const std::pair<const char*, DType> dtypes[] = {
      {"F64", DType::kF64}, {"F32", DType::kF32}, {"F16", DType::kF16},  {"BF16", DType::kBF16}, {"I64", DType::kI64},
      {"I32", DType::kI32}, {"I16", DType::kI16}, {"I8", DType::kI8},    {"U64", DType::kU64},   {"U32", DType::kU32},
      {"U16", DType::kU16}, {"U8", DType::kU8},   {"BOOL", DType::kBool}};
  for (const auto& [name, dtype] : dtypes) {
    const std::string size = std::to_string(dtype_size(dtype));
    const SafetensorsFile file =
        parse(file_of(header_with(entry(name, "[1]", "[0," + size + "]")), std::string(dtype_size(dtype), 'x')));
    EXPECT_EQ(file.tensors()[0].dtype, dtype);
    EXPECT_EQ(dtype_name(dtype), name);
  }
}

TEST(SafetensorsFile, AcceptsUnusualButValidFiles) {
  const std::string rows[] = {
      file_of("{}"),
      file_of(" \n{ } "),
      file_of(header_with(entry("F32", "[0]", "[0,0]"))),
      file_of(header_with(entry("F32", "[9007199254740992,0]", "[0,0]"))),
      file_of(header_with(R"({"later":[1,{"a":null}],"data_offsets":[0,1],"shape":[1],"dtype":"U8"})"), "x"),
      file_of(R"({"a":)" + entry("U8", "[0]", "[0,0]") + R"(,"b":)" + entry("U8", "[1]", "[0,1]") + R"(,"c":)" +
                  entry("U8", "[0]", "[1,1]") + "}",
              "x"),
      file_of(header_with(entry("F32", "[1]", "[0,4]")), "\xFF\xFF\xFF\xFF"),  // NaN
      file_of(R"({"caf\u00e9 é":)" + entry("U8", "[1]", "[0,1]") + "}", "x"),
      file_of(header_with(entry(
                  "U8",
                  "[" +
                      [] {
                        std::string ones = "1";
                        for (int i = 1; i < 64; ++i) ones += ",1";
                        return ones;
                      }() +
                      "]",
                  "[0,1]")),
              "x"),
  };
  for (const auto& file : rows) EXPECT_EQ(error_of([&] { parse(file); }), "no error") << file.substr(8);
}

struct BadFile {
  std::string file;
  std::string error;
};

TEST(SafetensorsFile, RejectsABadHeaderLength) {
  const std::string no_file = "; it is truncated, or no safetensors file; copy it again";
  const std::string too_large = " bytes, needs at most 100000000; it is no safetensors file";
  const BadFile rows[] = {
      {"", " has 0 bytes, needs at least 8" + no_file},
      {std::string(7, '\0'), " has 7 bytes, needs at least 8" + no_file},
      {length_bytes(0), ", byte 8: the header is missing, needs an object; the text was cut, copy it again"},
      {length_bytes(3) + "{}", " has 2 bytes after the header's length, needs 3; it is truncated, copy it again"},
      {length_bytes(100'000'000),
       " has 0 bytes after the header's length, needs 100000000; it is truncated, copy it again"},
      {length_bytes(100'000'001), " has a header of 100000001" + too_large},
      {length_bytes(std::uint64_t{1} << 63), " has a header of 9223372036854775808" + too_large},
      {length_bytes(~std::uint64_t{0}), " has a header of 18446744073709551615" + too_large},
  };
  for (const auto& row : rows) EXPECT_EQ(error_of_file(row.file), row.error);
}

TEST(SafetensorsFile, RejectsAHeaderThatIsNoJsonObject) {
  const std::string no_utf8 = ": the text is not UTF-8, needs to be";
  const BadFile rows[] = {
      {file_of("{\"\xFF\":1}"), ", byte 10" + no_utf8},
      {file_of("{\"\xC0\xAF\":1}"), ", byte 10" + no_utf8},
      {file_of("{\"\xED\xA0\x80\":1}"), ", byte 10" + no_utf8},
      {file_of(R"({"\ud800":1})"), ", byte 15: a surrogate stands alone, needs its pair"},
      {file_of("{"), ", byte 9: a key is missing, needs a string; the text was cut, copy it again"},
      {file_of("[]"), ", byte 8: the header is a list, needs an object"},
      {file_of("null"), ", byte 8: the header is null, needs an object"},
      {file_of("{} x"), ", byte 11: more text follows, needs to end here"},
      {file_of("{}{}"), ", byte 10: more text follows, needs to end here"},
      {file_of(std::string("{}\0", 3)), ", byte 10: more text follows, needs to end here"},
      {file_of("{}", "x"), ": the data has 1 bytes, needs 0; the file has more than its tensors"},
      {file_of(std::string(200'000, '[')), ", byte 8: the header is a list, needs an object"},
      {file_of(R"({"w":)" + std::string(200'000, '[')), ", byte 13: \"w\" is a list, needs an object"},
      {file_of(R"({"w":{"new":)" + std::string(200'000, '[')),
       ", byte 24: values are nested too deep, needs at most 4 levels"},
      {file_of(R"({"w":{"new":)" +
               [] {
                 std::string text;
                 for (int i = 0; i < 200'000; ++i) text += "{\"a\":";
                 return text;
               }()),
       ", byte 40: values are nested too deep, needs at most 4 levels"},
  };
  for (const auto& row : rows) EXPECT_EQ(error_of_file(row.file), row.error) << row.file.substr(8, 100);
}

TEST(SafetensorsFile, RejectsABadNameOrField) {
  const std::string one = entry("U8", "[1]", "[0,1]");
  const BadFile rows[] = {
      {file_of(R"({"a\u0000b":)" + one + "}", "x"),
       ", byte 9: a tensor is named \"a\\u0000b\", needs a name without control characters"},
      {file_of(R"({"a\u001b[31m":)" + one + "}", "x"),
       ", byte 9: a tensor is named \"a\\u001b[31m\", needs a name without control characters"},
      {file_of(R"({"w":)" + one + R"(,"w":)" + one + "}", "x"),
       ", byte 61: \"w\" is there twice, needs to be there once"},
      {file_of(header_with(R"({"dtype":"U8","dtype":"U8"})")),
       ", byte 27: \"dtype\" is there twice, needs to be there once"},
      {file_of(header_with("[]")), ", byte 13: \"w\" is a list, needs an object"},
      {file_of(header_with("{}")), ": \"w\" has no dtype, needs dtype, shape and data_offsets"},
      {file_of(header_with(R"({"dtype":"U8","data_offsets":[0,1]})")),
       ": \"w\" has no shape, needs dtype, shape and data_offsets"},
      {file_of(header_with(R"({"dtype":"U8","shape":[1]})")),
       ": \"w\" has no data_offsets, needs dtype, shape and data_offsets"},
  };
  for (const auto& row : rows) EXPECT_EQ(error_of_file(row.file), row.error) << row.file.substr(8, 100);
}

TEST(SafetensorsFile, RejectsBadMetadata) {
  const std::string large(500'000, 'a');
  const BadFile rows[] = {
      {file_of(R"({"__metadata__":[]})"), ", byte 24: __metadata__ is a list, needs an object"},
      {file_of(R"({"__metadata__":{"a":1}})"), ", byte 29: \"a\" is 1, needs a string"},
      {file_of(R"({"__metadata__":{"a":{"b":"c"}}})"), ", byte 29: \"a\" is an object, needs a string"},
      {file_of(R"({"__metadata__":{"a":")" + large + R"(","b":")" + large + R"("}})"),
       ", byte 500036: __metadata__ has 1000002 bytes, needs at most 1000000"},
      {file_of(R"({"__metadata__":{},"__metadata__":{}})"),
       ", byte 27: \"__metadata__\" is there twice, needs to be there once"},
  };
  for (const auto& row : rows) EXPECT_EQ(error_of_file(row.file), row.error) << row.file.substr(8, 100);
}

TEST(SafetensorsFile, RejectsABadDType) {
  const std::string known = "needs one of F64, F32, F16, BF16, I64, I32, I16, I8, U64, U32, U16, U8, BOOL";
  const BadFile rows[] = {
      {file_of(header_with(entry("F4", "[3]", "[0,2]")), "xx"), ", byte 22: the dtype of \"w\" is \"F4\", " + known},
      {file_of(header_with(entry("F8_E4M3", "[1]", "[0,1]")), "x"),
       ", byte 22: the dtype of \"w\" is \"F8_E4M3\", " + known},
      {file_of(header_with(entry("f32", "[1]", "[0,4]")), "xxxx"),
       ", byte 22: the dtype of \"w\" is \"f32\", " + known},
      {file_of(header_with(R"({"dtype":3})")), ", byte 22: the dtype of \"w\" is 3, needs a string"},
  };
  for (const auto& row : rows) EXPECT_EQ(error_of_file(row.file), row.error) << row.file.substr(8);
}

TEST(SafetensorsFile, RejectsABadShape) {
  const std::string whole = ", needs a whole number from 0 to 18446744073709551615";
  const std::string most = ", needs at most 9007199254740992";
  const auto file_of_shape = [](const std::string& shape) {
    return file_of(header_with(entry("U8", shape, "[0,1]")), "x");
  };
  std::string ones = "[1";
  for (int i = 1; i < 65; ++i) ones += ",1";
  const BadFile rows[] = {
      {file_of_shape("[-1]"), ", byte 36: dimension 0 of \"w\" is -1" + whole},
      {file_of_shape("[1,2.0]"), ", byte 38: dimension 1 of \"w\" is 2.0" + whole},
      {file_of_shape("[1e3]"), ", byte 36: dimension 0 of \"w\" is 1e3" + whole},
      {file_of_shape("[18446744073709551617]"), ", byte 36: dimension 0 of \"w\" is 18446744073709551617" + whole},
      {file_of_shape("[\"1\"]"), ", byte 36: dimension 0 of \"w\" is a string, needs a whole number"},
      {file_of_shape("[[1]]"), ", byte 36: dimension 0 of \"w\" is a list, needs a whole number"},
      {file_of_shape("1"), ", byte 35: the shape of \"w\" is 1, needs a list"},
      {file_of_shape("[9007199254740993]"), ", byte 36: dimension 0 of \"w\" is 9007199254740993" + most},
      {file_of_shape("[9223372036854775809,2]"), ", byte 36: dimension 0 of \"w\" is 9223372036854775809" + most},
      {file_of_shape(ones + "]"), ", byte 162: \"w\" has more than 64 dimensions, needs at most 64"},
      {file_of_shape("[4294967296,4294967296]"),
       ": the size of \"w\" is 4294967296 * 4294967296, needs at most 18446744073709551615"},
      {file_of(header_with(entry("F64", "[9007199254740992,1024]", "[0,1]")), "x"),
       ": the size of \"w\" is 9223372036854775808 * 8, needs at most 18446744073709551615"},
      {file_of_shape("[2]"), ": \"w\" has 1 bytes, needs 2 for U8 of shape [2]"},
      {file_of_shape("[0]"), ": \"w\" has 1 bytes, needs 0 for U8 of shape [0]"},
  };
  for (const auto& row : rows) EXPECT_EQ(error_of_file(row.file), row.error) << row.file.substr(8);
}

TEST(SafetensorsFile, RejectsBadOffsets) {
  const auto file_of_offsets = [](const std::string& offsets) {
    return file_of(header_with(entry("U8", "[1]", offsets)), "x");
  };
  const auto two = [](const std::string& a, const std::string& b, const std::string& data) {
    return file_of(R"({"a":)" + a + R"(,"b":)" + b + "}", data);
  };
  const std::string maximum = "18446744073709551615";
  const BadFile rows[] = {
      {file_of_offsets("[]"), ", byte 54: \"w\" has fewer than two data_offsets, needs two"},
      {file_of_offsets("[0]"), ", byte 55: \"w\" has fewer than two data_offsets, needs two"},
      {file_of_offsets("[0,1,2]"), ", byte 57: \"w\" has more than two data_offsets, needs two"},
      {file_of_offsets("[1,0]"), ", byte 57: \"w\" has data_offsets 1 and 0, needs the end last"},
      {file_of_offsets("[0,1.0]"),
       ", byte 57: a data offset of \"w\" is 1.0, needs a whole number from 0 to " + maximum},
      {file_of_offsets("[-1,0]"), ", byte 55: a data offset of \"w\" is -1, needs a whole number from 0 to " + maximum},
      {file_of_offsets("[1,2]"), ": \"w\" begins at byte 1 of the data, needs 0, where the tensor before it ends"},
      {file_of(header_with(entry("U8", "[2]", "[0,2]")), "x"),
       ": the data has 1 bytes, needs 2; the file is truncated, copy it again"},
      {file_of(header_with(entry("U8", "[1]", "[0,1]")), "xx"),
       ": the data has 2 bytes, needs 1; the file has more than its tensors"},
      {two(entry("U8", "[2]", "[0,2]"), entry("U8", "[2]", "[1,3]"), "xxx"),
       ": \"b\" begins at byte 1 of the data, needs 2, where the tensor before it ends"},
      {two(entry("U8", "[2]", "[0,2]"), entry("U8", "[2]", "[0,2]"), "xx"),
       ": \"b\" begins at byte 0 of the data, needs 2, where the tensor before it ends"},
      {two(entry("U8", "[1]", "[0,1]"), entry("U8", "[1]", "[2,3]"), "xxx"),
       ": \"b\" begins at byte 2 of the data, needs 1, where the tensor before it ends"},
      {file_of_offsets("[" + maximum + "," + maximum + "]"), ": \"w\" has 0 bytes, needs 1 for U8 of shape [1]"},
  };
  for (const auto& row : rows) EXPECT_EQ(error_of_file(row.file), row.error) << row.file.substr(8);
}

TEST(SafetensorsFile, RejectsMoreTensorsThanTheLimit) {
  const auto file_with = [](int count) {
    std::string header = "{";
    for (int i = 0; i < count; ++i) {
      header += fmt::format("{}\"{}\":{}", i > 0 ? "," : "", i, entry("U8", "[0]", "[0,0]"));
    }
    return file_of(header + "}");
  };
  EXPECT_EQ(parse(file_with(100'000)).tensors().size(), 100'000u);
  EXPECT_NE(error_of_file(file_with(100'001)).find(": the file has more than 100000 tensors, needs at most 100000"),
            std::string::npos);
}

TEST(SafetensorsFile, RejectsEveryTruncationOfAFile) {
  const std::string file = file_of(header_with(entry("U8", "[4]", "[0,4]")), "abcd");
  ASSERT_EQ(error_of([&] { parse(file); }), "no error");
  for (std::size_t size = 0; size < file.size(); ++size) {
    EXPECT_NE(error_of([&] { parse(file.substr(0, size)); }), "no error") << size;
  }
}

// A flipped bit must cause an error or a file whose tensors lie inside it. Sanitizer builds detect other reads.
TEST(SafetensorsFile, ReadsNoByteOutsideTheFileForAnyHeader) {
  const std::string file = file_of(header_with(entry("U8", "[4]", "[0,4]")), "abcd");
  for (std::size_t i = 0; i < 8 * file.size(); ++i) {
    std::string flipped = file;
    flipped[i / 8] = static_cast<char>(flipped[i / 8] ^ 1 << (i % 8));
    error_of([&] {
      const SafetensorsFile tensors = parse(flipped);
      std::size_t total = 0;
      for (const auto& tensor : tensors.tensors())
        total += std::string(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size()).size();
      EXPECT_EQ(total, 4u);
    });
  }
}

TEST(SafetensorsFile, OpensRegularFilesOnly) {
  const TemporaryFolder folder;
  const std::string path = folder.path().string();
  write_file_atomically(folder / "a.safetensors", file_of(header_with(entry("U8", "[1]", "[0,1]")), "x"));
  ASSERT_EQ(::mkfifo((path + "/pipe").c_str(), 0600), 0);

  EXPECT_EQ(SafetensorsFile::open(folder / "a.safetensors").tensors().size(), 1u);
  EXPECT_EQ(error_of([&] { SafetensorsFile::open(folder / "b.safetensors"); }),
            "read_safetensors: " + path + "/b.safetensors: No such file or directory");
  EXPECT_EQ(error_of([&] { SafetensorsFile::open(folder.path()); }),
            "read_safetensors: " + path + " is a directory, needs to be a regular file");
  EXPECT_EQ(error_of([&] { SafetensorsFile::open(folder / "pipe"); }),
            "read_safetensors: " + path + "/pipe is a FIFO, needs to be a regular file");
  std::filesystem::resize_file(folder / "a.safetensors", std::uintmax_t{1} << 43);
  const std::string error = error_of([&] { SafetensorsFile::open(folder / "a.safetensors"); });
  EXPECT_EQ(error.find("read_safetensors: " + path + "/a.safetensors needs at least 8.8 TB of memory, but "), 0U)
      << error;
}

}  // namespace
}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/npz.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <sys/stat.h>

#include "edgewise/convert/yaml.h"
#include "edgewise/convert/zip_archive.h"
#include "tests/base/support.h"
#include "tests/convert/zip_bytes.h"

namespace edgewise {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

StoredTensors parse_array(const std::string& file) {
  StoredTensors tensors;
  parse_npy(file, "w", "test: f", tensors);
  return tensors;
}

std::string npy_file(const std::string& header, const std::string& elements = "") {
  const std::string text = header + "\n";
  return "\x93NUMPY\1" + std::string(1, '\0') + little_endian(static_cast<std::uint16_t>(text.size())) + text +
         elements;
}

std::string header_of(const std::string& type, const std::string& order, const std::string& shape) {
  return fmt::format("{{'descr': {}, 'fortran_order': {}, 'shape': {}, }}", type, order, shape);
}

// Compares without `==` of spans, which a span lacks.
bool is_equal(const TensorInfo& left, const TensorInfo& right) {
  return left.name == right.name && left.dtype == right.dtype && left.shape == right.shape &&
         std::ranges::equal(left.bytes, right.bytes);
}

TEST(ReadNpz, ReadsEachTypeThatNumpyWrites) {
  for (const char* name : {"numpy.npz", "numpy-deflated.npz"}) {
    const StoredTensors file = read_npz(fixture(name));
    TensorLookup tensors(file.tensors, name);
    const std::pair<const char*, DType> types[] = {
        {"float64", DType::kF64}, {"float32", DType::kF32}, {"float16", DType::kF16}, {"int64", DType::kI64},
        {"int32", DType::kI32},   {"int16", DType::kI16},   {"int8", DType::kI8},     {"uint64", DType::kU64},
        {"uint32", DType::kU32},  {"uint16", DType::kU16},  {"uint8", DType::kU8},    {"bool", DType::kBool}};
    for (const auto& [type, dtype] : types) {
      EXPECT_EQ(tensors.get(type).dtype, dtype) << type;
      expect_ramp(tensors.get(type), {2, 3});
    }
    expect_ramp(tensors.get("scalar"), {});
    expect_ramp(tensors.get("empty"), {0, 4});
    expect_ramp(tensors.get("one"), {5});
    expect_ramp(tensors.get("cube"), {2, 3, 2});
    if (tensors.find("zeros") != nullptr) {
      EXPECT_EQ(to_floats(tensors.get("zeros"), "test"), std::vector<float>(64));
    }
    EXPECT_EQ(error_of([&] { tensors.expect_all_used(); }), "no error");
  }
}

TEST(ReadNpz, CopiesFortranOrderToRowMajorOrder) {
  const StoredTensors file = read_npz(fixture("numpy-fortran.npz"));
  ASSERT_EQ(file.tensors.size(), 3u);
  expect_ramp(file.tensors[0], {2, 3});
  expect_ramp(file.tensors[1], {2, 3, 4});
  expect_ramp(file.tensors[2], {3});
}

TEST(ReadNpz, ReadsAModelOfMarian) {
  const StoredTensors file = read_npz(fixture("marian.npz"));
  TensorLookup tensors(file.tensors, "marian.npz");
  expect_ramp(tensors.get("Wemb"), {4, 2});
  expect_ramp(tensors.get("encoder_l1_ffn_b1"), {1, 3});
  const YamlValue options = parse_yaml(to_text(tensors.get("special:model.yml"), "test"), "test");
  ASSERT_NE(options.find("transformer-postprocess"), nullptr);
  EXPECT_EQ(options.find("transformer-postprocess")->text, "dan");
  EXPECT_EQ(options.find("dim-vocabs")->items.size(), 2u);
}

TEST(ParseNpy, ReadsVersions2And3) {
  for (const char* name : {"version-2.npy", "version-3.npy"}) {
    expect_ramp(parse_array(fixture_bytes(name)).tensors.front(), {2, 3});
  }
}

TEST(ParseNpy, RejectsAHeaderThatNumpyDoesNotWrite) {
  const std::string good = "'<f4'";
  const std::string no_end = ": the npy header has a string at character ";
  const std::pair<std::string, std::string> rows[] = {
      {"", ": the npy header has no \"{\" at character 0, needs one"},
      {"[]", ": the npy header has no \"{\" at character 0, needs one"},
      {"{}", ": the npy header lacks a key, needs descr, fortran_order and shape"},
      {"{'descr': '<f4', 'shape': ()}", ": the npy header lacks a key, needs descr, fortran_order and shape"},
      {"{'descr': '<f4', 'descr': '<f4'}",
       ": the npy header has the key \"descr\", needs descr, fortran_order and shape, once each"},
      {"{'descr': '<f4', 'order': 1}",
       ": the npy header has the key \"order\", needs descr, fortran_order and shape, once each"},
      {header_of(good, "False", "()") + "x", ": the npy header has text after its dict, needs spaces and a line feed"},
      {header_of(good, "0", "()"), ": the npy header has another fortran_order at character 34, needs True or False"},
      {header_of(good, "False", "(1)"), ": the npy header has the shape (1), needs a tuple: (1,)"},
      {header_of(good, "False", "(,)"), ": the npy header has a dimension at character 51, needs a whole number"},
      {header_of(good, "False", "(1,,)"), ": the npy header has a dimension at character 53, needs a whole number"},
      {header_of(good, "False", "(-1,)"), ": the npy header has a dimension at character 51, needs a whole number"},
      {header_of(good, "False", "(1L,)"), ": the npy header has the shape (1), needs a tuple: (1,)"},
      {header_of(good, "False", "(99999999999999999999,)"),
       ": the npy header has a dimension at character 51, needs a whole number"},
      {header_of(good, "False", "(9223372036854775807,)"),
       ": the array's size: a dimension is 9223372036854775807, needs 0 to 9007199254740992"},
      {header_of(good, "False", "(4294967296, 4294967296)"),
       ": the array's size is 17179869184 * 4294967296, needs at most 18446744073709551615"},
      {header_of(good, "False", "[1]"), ": the npy header has no \"(\" at character 50, needs one"},
      {header_of("'<f4", "False", "()"), ": the elements have NumPy's type \"<f4, \""},
      {"{'descr': '<f4", no_end + "11 without an end, needs one without escapes"},
      {header_of("'<f\\x34'", "False", "()"), no_end + "11 without an end, needs one without escapes"},
      {header_of("[('a', '<f4')]", "False", "()"), ": the npy header has no \"'\" at character 10, needs one"},
  };
  for (const auto& [header, error] : rows) {
    EXPECT_THAT(error_of([&] { parse_array(npy_file(header)); }), StartsWith("test: f" + error)) << header;
  }
}

TEST(ParseNpy, RejectsElementsThatAreNoLittleEndianNumbers) {
  for (const char* type : {">f4", "f4", "=f4", "|f4", "<c8", "<V2", "|O", "<U3", "<f16", "", "<", "f", "|b2"}) {
    EXPECT_EQ(
        error_of([&] { parse_array(npy_file(header_of(fmt::format("'{}'", type), "False", "()"), "abcd")); }),
        fmt::format("test: f: the elements have NumPy's type \"{}\", needs a little-endian number such as \"<f4\"",
                    type));
  }
}

TEST(ParseNpy, RejectsAFileThatDoesNotEndWithTheLastElement) {
  const std::string header = header_of("'<f4'", "False", "(2,)");
  EXPECT_EQ(error_of([&] { parse_array(npy_file(header, "1234567")); }),
            "test: f has 7 bytes of elements, needs 8 for F32 of shape [2]");
  EXPECT_EQ(error_of([&] { parse_array(npy_file(header, "123456789")); }),
            "test: f has 9 bytes of elements, needs 8 for F32 of shape [2]");
  EXPECT_EQ(error_of([] { parse_array("\x93NUMPZ"); }),
            "test: f begins with \"\\x93NUMPZ\", needs an npy file of NumPy");
  EXPECT_EQ(error_of([] { parse_array(std::string("\x93NUMPY\4\0", 8)); }),
            "test: f has the npy version 4.0, needs 1.0, 2.0 or 3.0");
  EXPECT_EQ(error_of([] { parse_array(std::string("\x93NUMPY\2\0\xFF\xFF\xFF\xFF", 12)); }),
            "test: f has an npy header of 4294967295 bytes, needs 1 to 10000");
  expect_errors_if_cut(npy_file(header, "12345678"), "test: f", parse_array);
  expect_errors_if_altered(npy_file(header, "12345678"), "test: f", parse_array);
}

TEST(SerializeNpy, WritesTheBytesThatNumpyWrites) {
  const ZipArchive archive = ZipArchive::parse(fixture_bytes("numpy.npz"), "test");
  const StoredTensors file = read_npz(fixture("numpy.npz"));
  ASSERT_EQ(file.tensors.size(), archive.entries().size());
  for (std::size_t i = 0; i < file.tensors.size(); ++i) {
    EXPECT_EQ(serialize_npy(file.tensors[i]), archive.read(archive.entries()[i])) << file.tensors[i].name;
  }
}

TEST(SerializeNpy, RejectsBfloat16AndWrongSizes) {
  EXPECT_EQ(error_of([] {
              serialize_npy({"w", DType::kBF16, {0}, {}});
            }),
            "serialize_npy: \"w\" has elements of type BF16, needs a type of NumPy; convert the tensor to F32");
  EXPECT_EQ(error_of([] {
              serialize_npy({"w", DType::kF32, {1}, {}});
            }),
            "serialize_npy: \"w\" has 0 bytes, needs 4 for F32 of shape [1]");
  EXPECT_EQ(error_of([] {
              serialize_npy({"w\n", DType::kF32, {0}, {}});
            }),
            "serialize_npy: a tensor is named \"w\\n\", needs UTF-8 without control characters");
}

TEST(SerializeNpz, WritesTensorsThatReadNpzReads) {
  EXPECT_TRUE(rc::check([] {
    const std::vector<DType> dtypes = {DType::kF32, DType::kI8, DType::kF64, DType::kBool};
    const auto shapes = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::vector<std::int64_t>>>(
        rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, 4))));
    const std::string bytes(20'000, 'x');
    std::vector<TensorInfo> tensors;
    for (const auto& shape : shapes) {
      if (shape.size() > 5) continue;
      const DType dtype = *rc::gen::elementOf(dtypes);
      const std::uint64_t size = checked_byte_size(dtype, shape, "test");
      tensors.push_back({fmt::format("é:{}", tensors.size()), dtype, shape, bytes_of(bytes).subspan(0, size)});
    }
    RC_PRE(!tensors.empty());
    const std::string written = serialize_npz(tensors);
    RC_ASSERT(serialize_npz(tensors) == written);
    const StoredTensors again = parse_npz(written, "written");
    RC_ASSERT(std::ranges::equal(again.tensors, tensors, is_equal));
  }));
}

TEST(SerializeNpz, WritesArchivesThatMarianReads) {
  // Marian reads the headers before the entries alone: no compression, and the sizes there.
  const StoredTensors file = read_npz(fixture("marian.npz"));
  const std::string written = serialize_npz(file.tensors);
  const std::string npy = serialize_npy(file.tensors[0]);
  const auto size = static_cast<std::uint32_t>(npy.size());
  EXPECT_TRUE(written.starts_with("PK\3\4"));
  EXPECT_EQ(written.substr(6, 4), std::string(4, '\0')) << "flags and method";
  EXPECT_EQ(written.substr(14, 4), little_endian(crc32_of(npy)));
  EXPECT_EQ(written.substr(18, 8), little_endian(size) + little_endian(size));
  EXPECT_EQ(written.substr(28, 2 + 8), std::string(2, '\0') + "Wemb.npy") << "no extra field";
  EXPECT_EQ(written.substr(38, npy.size()), npy);
}

TEST(ReadNpz, RejectsEntriesThatAreNoArrays) {
  EXPECT_EQ(error_of([] { parse_npz(raw_zip({{.name = "w.txt"}}), "f"); }),
            "read_npz: f has an entry \"w.txt\", needs only files that end with .npy");
  EXPECT_EQ(error_of([] { parse_npz(raw_zip({{.name = ".npy"}}), "f"); }),
            "read_npz: f has an entry \".npy\", needs only files that end with .npy");
  EXPECT_EQ(error_of([] { parse_npz(raw_zip({{.name = "w.npy", .bytes = "\x93NUM"}}), "f"); }),
            "read_npz: f: entry \"w.npy\", byte 0: the magic string of an npy file has 4 bytes, needs 6; the file is "
            "truncated, copy it again");
}

TEST(ReadNpz, RejectsDamagedFiles) {
  const std::string elements(8, 'x');
  const std::vector<TensorInfo> tensors = {{"a", DType::kF32, {2}, bytes_of(elements)},
                                           {"b", DType::kI8, {2, 4}, bytes_of(elements)}};
  const std::string file = serialize_npz(tensors);
  const auto read = [](const std::string& bytes) { parse_npz(bytes, "f"); };
  expect_errors_if_cut(file, "read_npz: f", read);
  expect_errors_if_altered(file, "read_npz: f", read);
}

TEST(ReadNpz, RejectsAFifoAndNamesAMissingFile) {
  const TemporaryFolder folder;
  const std::string path = (folder / "fifo").string();
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(error_of([&] { read_npz(path); }), "read_npz: " + path + " is a FIFO, needs to be a regular file");
  const std::string missing = (folder / "missing").string();
  EXPECT_EQ(error_of([&] { read_npz(missing); }), "read_npz: " + missing + ": No such file or directory");
}

}  // namespace
}  // namespace edgewise

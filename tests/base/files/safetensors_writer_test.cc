// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "edgewise/base/files/safetensors.h"
#include "tests/base/support.h"

namespace edgewise {
namespace {

TensorInfo tensor(std::string name, DType dtype, std::vector<std::int64_t> shape, std::string_view bytes) {
  return {std::move(name), dtype, std::move(shape), bytes_of(bytes)};
}

TEST(SerializeSafetensors, WritesLargerTypesFirstThenByName) {
  const std::string file =
      serialize_safetensors(std::vector{tensor("z", DType::kU8, {1}, "z"), tensor("b", DType::kF32, {1}, "bbbb"),
                                        tensor("a", DType::kF32, {}, "aaaa")},
                            {{"kind", "test"}});

  const std::string header = R"({"__metadata__":{"kind": "test"},)"
                             R"("a":{"dtype":"F32","shape":[],"data_offsets":[0,4]},)"
                             R"("b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]},)"
                             R"("z":{"dtype":"U8","shape":[1],"data_offsets":[8,9]}})";
  const std::string padding((8 - header.size() % 8) % 8, ' ');
  EXPECT_EQ(file.substr(8), header + padding + "aaaabbbbz");
  EXPECT_EQ(static_cast<unsigned char>(file[0]), header.size() + padding.size());
  EXPECT_EQ(file.substr(1, 7), std::string(7, '\0'));
}

TEST(SerializeSafetensors, WritesAFileWithoutTensors) {
  EXPECT_EQ(serialize_safetensors({}), std::string("\x08\0\0\0\0\0\0\0{}      ", 16));
}

TEST(SerializeSafetensors, RejectsTensorsThatTheReaderWouldReject) {
  struct Row {
    std::vector<TensorInfo> tensors;
    SafetensorsMetadata metadata;
    std::string error;
  };
  const std::vector<Row> rows = {
      {{tensor("w", DType::kF32, {2}, "1234")}, {}, "\"w\" has 4 bytes, needs 8 for F32 of shape [2]"},
      {{tensor("w", DType::kU8, {-1}, "")}, {}, "\"w\" has dimension -1, needs 0 to 9007199254740992"},
      {{tensor("w", DType::kU8, {std::int64_t{1} << 53, std::int64_t{1} << 53}, "")},
       {},
       "the size of \"w\" is 9007199254740992 * 9007199254740992, needs at most 18446744073709551615"},
      {{tensor("w", DType::kU8, std::vector<std::int64_t>(65, 1), "x")},
       {},
       "\"w\" has 65 dimensions, needs at most 64"},
      {{tensor("w", DType::kU8, {1}, "x"), tensor("w", DType::kI8, {1}, "y")},
       {},
       "two tensors are named \"w\", needs a name for each"},
      {{tensor("__metadata__", DType::kU8, {1}, "x")}, {}, "a tensor is named \"__metadata__\", needs another name"},
      {{tensor("a\nb", DType::kU8, {1}, "x")},
       {},
       "a tensor is named \"a\\nb\", needs UTF-8 without control characters"},
      {{tensor("\xFF", DType::kU8, {1}, "x")},
       {},
       "a tensor is named \"\\xff\", needs UTF-8 without control characters"},
      {{}, {{"a", "\xFF"}}, "metadata \"a\" is \"\\xff\", needs UTF-8"},
      {{}, {{"a", std::string(1'000'000, 'x')}}, "metadata has 1000001 bytes, needs at most 1000000"},
      {std::vector<TensorInfo>(100'001, tensor("w", DType::kU8, {1}, "x")),
       {},
       "tensors has 100001 entries, needs at most 100000"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(error_of([&] { serialize_safetensors(row.tensors, row.metadata); }),
              "serialize_safetensors: " + row.error);
  }
}

// Tensors with their own bytes.
struct OwnedTensors {
  std::vector<TensorInfo> tensors;
  std::vector<std::string> bytes;
};

OwnedTensors any_tensors() {
  constexpr DType kDTypes[] = {DType::kF64, DType::kF32, DType::kBF16, DType::kI64, DType::kI8, DType::kBool};
  OwnedTensors owned;
  const auto names = *rc::gen::container<std::set<std::string>>(
      rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::inRange<char>(' ', '\x7F'))));
  for (const auto& name : names) {
    TensorInfo& info = owned.tensors.emplace_back();
    info.name = name;
    info.dtype = kDTypes[*rc::gen::inRange<std::size_t>(0, std::size(kDTypes))];
    info.shape = *rc::gen::container<std::vector<std::int64_t>>(*rc::gen::inRange<std::size_t>(0, 4),
                                                                rc::gen::inRange<std::int64_t>(0, 5));
    std::size_t size = dtype_size(info.dtype);
    for (const auto dimension : info.shape) size *= static_cast<std::size_t>(dimension);
    owned.bytes.push_back(*rc::gen::container<std::string>(size, rc::gen::arbitrary<char>()));
  }
  for (std::size_t i = 0; i < owned.tensors.size(); ++i) owned.tensors[i].bytes = bytes_of(owned.bytes[i]);
  return owned;
}

bool are_equal(const TensorInfo& left, const TensorInfo& right) {
  return left.name == right.name && left.dtype == right.dtype && left.shape == right.shape &&
         std::equal(left.bytes.begin(), left.bytes.end(), right.bytes.begin(), right.bytes.end());
}

RC_GTEST_PROP(SerializeSafetensors, WritesAFileThatReadsAsEqualTensors, ()) {
  const OwnedTensors owned = any_tensors();
  const SafetensorsMetadata metadata = {{*rc::gen::container<std::string>(rc::gen::inRange<char>(1, 127)), "x\"\\\n"}};
  const std::string bytes = serialize_safetensors(owned.tensors, metadata);

  const SafetensorsFile file = SafetensorsFile::parse(bytes, "f");
  RC_ASSERT(file.tensors().size() == owned.tensors.size());
  RC_ASSERT(file.metadata() == metadata);
  for (const auto& info : owned.tensors) {
    RC_ASSERT(file.find(info.name) != nullptr);
    RC_ASSERT(are_equal(*file.find(info.name), info));
  }
}

RC_GTEST_PROP(SerializeSafetensors, WritesEqualBytesForEveryOrder, ()) {
  OwnedTensors owned = any_tensors();
  const std::string bytes = serialize_safetensors(owned.tensors);
  std::reverse(owned.tensors.begin(), owned.tensors.end());

  RC_ASSERT(serialize_safetensors(owned.tensors) == bytes);
}

}  // namespace
}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "edgewise/convert/ctranslate2_model.h"
#include "tests/base/support.h"
#include "tests/convert/support.h"

namespace edgewise {
namespace {

using testing::StartsWith;

Ctranslate2Model parse_model(const std::string& bytes) { return parse_ctranslate2(bytes, "f"); }

std::string string_of(std::string_view text) {
  return little_endian(static_cast<std::uint16_t>(text.size() + 1)) + std::string(text) + std::string(1, '\0');
}

std::string number(std::uint32_t value) { return little_endian(value); }

std::string variable(const std::string& name, const std::vector<std::uint32_t>& shape, char type,
                     const std::string& bytes) {
  std::string result = string_of(name) + static_cast<char>(shape.size());
  for (const std::uint32_t dimension : shape) result += number(dimension);
  return result + type + number(static_cast<std::uint32_t>(bytes.size())) + bytes;
}

std::string file_of(const std::vector<std::string>& variables, const std::string& aliases = number(0)) {
  std::string file = number(6) + string_of("Spec") + number(7) + number(static_cast<std::uint32_t>(variables.size()));
  for (const std::string& each : variables) file += each;
  return file + aliases;
}

std::string small_variable() { return variable("w", {2}, 1, "ab"); }

std::string alias_of(const std::string& name, const std::string& of) {
  return number(1) + string_of(name) + string_of(of);
}

TEST(ReadCtranslate2, ReadsEachTypeThatCtranslate2Writes) {
  const Ctranslate2Model model = read_ctranslate2(fixture("model.bin"));
  EXPECT_EQ(model.specification, "FixtureSpec");
  EXPECT_EQ(model.revision, 7u);
  TensorLookup tensors(model.variables.tensors, "model.bin");
  const std::pair<const char*, DType> types[] = {{"float32", DType::kF32},   {"float16", DType::kF16},
                                                 {"bfloat16", DType::kBF16}, {"int8", DType::kI8},
                                                 {"int16", DType::kI16},     {"int32", DType::kI32}};
  for (const auto& [type, dtype] : types) {
    EXPECT_EQ(tensors.get(type).dtype, dtype) << type;
    expect_ramp(tensors.get(type), {2, 3});
  }
  expect_ramp(tensors.get("scalar"), {});
  expect_ramp(tensors.get("empty"), {0, 4});
  EXPECT_EQ(error_of([&] { tensors.expect_all_used(); }), "no error");
  ASSERT_EQ(model.aliases.size(), 1u);
  EXPECT_EQ(model.aliases[0].name, "tied");
  EXPECT_EQ(model.aliases[0].variable, "float32");
}

TEST(SerializeCtranslate2, WritesTheBytesThatCtranslate2Writes) {
  const Ctranslate2Model model = read_ctranslate2(fixture("model.bin"));
  EXPECT_EQ(serialize_ctranslate2(model.specification, model.revision, model.variables.tensors, model.aliases),
            fixture_bytes("model.bin"));
}

TEST(SerializeCtranslate2, WritesModelsThatParseCtranslate2Reads) {
  EXPECT_TRUE(rc::check([] {
    const auto sizes = *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, 50));
    const std::string elements(200, 'x');
    std::vector<TensorInfo> variables;
    std::vector<Ctranslate2Alias> aliases;
    for (const std::size_t size : sizes) {
      const DType dtype = *rc::gen::elementOf(std::vector{DType::kF32, DType::kI8, DType::kI16, DType::kBF16});
      const std::string name = fmt::format("layer/{}", variables.size());
      variables.push_back(
          {name, dtype, {1, static_cast<std::int64_t>(size)}, bytes_of(elements).subspan(0, size * dtype_size(dtype))});
      if (size % 2 == 0) aliases.push_back({name + "/alias", name});
    }
    const std::string file = serialize_ctranslate2("Spec", 3, variables, aliases);
    const Ctranslate2Model model = parse_model(file);
    RC_ASSERT(model.variables.tensors.size() == variables.size() && model.aliases.size() == aliases.size());
    for (std::size_t i = 0; i < variables.size(); ++i) {
      RC_ASSERT(model.variables.tensors[i].name == variables[i].name);
      RC_ASSERT(model.variables.tensors[i].shape == variables[i].shape);
      RC_ASSERT(std::ranges::equal(model.variables.tensors[i].bytes, variables[i].bytes));
    }
    RC_ASSERT(serialize_ctranslate2(model.specification, model.revision, model.variables.tensors, model.aliases) ==
              file);
  }));
}

TEST(ParseCtranslate2, ReadsVersions4To6) {
  for (const std::uint32_t version : {4U, 5U, 6U}) {
    const Ctranslate2Model model = parse_model(number(version) + file_of({small_variable()}).substr(4));
    EXPECT_EQ(model.variables.tensors[0].name, "w");
  }
}

TEST(ParseCtranslate2, RejectsBadFiles) {
  const std::string text_needs = ", needs UTF-8 without control characters and with a NUL at its end";
  const std::pair<std::string, std::string> rows[] = {
      {number(3), " has version 3, needs 4 to 6; convert the original model with CTranslate2 4"},
      {number(7), " has version 7, needs 4 to 6; convert the original model with CTranslate2 4"},
      {number(6) + std::string(2, '\0'), ", byte 6: the specification is \"\"" + text_needs},
      {number(6) + string_of(""), ", byte 7: the specification is \"\"" + text_needs},
      {number(6) + std::string("\2\0ab", 4), ", byte 8: the specification is \"ab\"" + text_needs},
      {number(6) + string_of("a\n"), ", byte 9: the specification is \"a\\n\"" + text_needs},
      {number(6) + string_of("S") + number(1) + number(0xFFFFFFFF), " has 4294967295 variables, needs at most 100000"},
      {file_of({}, number(100'001)), " has 100001 aliases, needs at most 100000"},
      {file_of({variable("w", {2}, 6, "ab")}), ": \"w\" has elements of type 6, needs 0 to 5"},
      {file_of({variable("w", {2}, 0, "ab")}), ": \"w\" has 2 bytes, needs 8 for F32 of shape [2]"},
      {file_of({variable("w", {0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}, 0, "")}),
       ": the size of \"w\" is 17179869180 * 4294967295, needs at most 18446744073709551615"},
      {file_of({variable("w", std::vector<std::uint32_t>(65, 1), 1, "a")}),
       ": the size of \"w\": the shape has 65 dimensions, needs at most 64"},
      {file_of({small_variable(), small_variable()}), " has two variables \"w\", needs a name for each"},
      {file_of({small_variable()}, alias_of("w", "w")), " has two variables or aliases \"w\", needs a name for each"},
      {file_of({small_variable()}, alias_of("v", "u")), " has the alias \"v\" of \"u\", needs the name of a variable"},
      {file_of({small_variable()}, alias_of("v", "v")), " has the alias \"v\" of \"v\", needs the name of a variable"},
      {file_of({small_variable()}) + "x", " has 1 bytes after the aliases, needs none"},
  };
  for (const auto& [file, error] : rows) {
    EXPECT_EQ(error_of([&] { parse_model(file); }), "read_ctranslate2: f" + error);
  }
  const std::string file = file_of({small_variable()}, alias_of("v", "w"));
  expect_errors_if_cut(file, "read_ctranslate2: f", parse_model);
  expect_errors_if_altered(file, "read_ctranslate2: f", parse_model);
}

TEST(SerializeCtranslate2, RejectsModelsThatTheFormatCannotHold) {
  const std::pair<TensorInfo, std::string> rows[] = {
      {{"w", DType::kF64, {0}, {}}, "\"w\" has elements of type F64, needs F32, F16, BF16, I8, I16 or I32"},
      {{"w", DType::kF32, {1}, {}}, "\"w\" has 0 bytes, needs 4 for F32 of shape [1]"},
      {{"", DType::kF32, {0}, {}}, "a tensor is named \"\", needs UTF-8 without control characters"},
      {{"w", DType::kF32, {0, std::int64_t{1} << 32}, {}},
       "the size of \"w\" is 4294967296, needs a number from 0 to 4294967295"},
  };
  for (const auto& [tensor, error] : rows) {
    EXPECT_EQ(error_of([&] { serialize_ctranslate2("Spec", 1, std::span(&tensor, 1), {}); }),
              "serialize_ctranslate2: " + error);
  }
  const std::vector<Ctranslate2Alias> aliases = {{"a", "b"}};
  EXPECT_EQ(error_of([&] { serialize_ctranslate2("Spec", 1, {}, aliases); }),
            "serialize_ctranslate2 has the alias \"a\" of \"b\", needs the name of a variable");
  EXPECT_THAT(error_of([] { serialize_ctranslate2(std::string(70'000, 'a'), 1, {}, {}); }),
              StartsWith("serialize_ctranslate2: a name is \"aaa"));
}

}  // namespace
}  // namespace edgewise

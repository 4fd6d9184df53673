// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/pytorch_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/convert/pickle_bytes.h"
#include "tests/convert/zip_bytes.h"

namespace edgewise {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using namespace opcodes;

// Six floats: 0, 0.25, …
std::string ramp_bytes() {
  std::string bytes;
  for (int i = 0; i < 6; ++i) bytes += little_endian(static_cast<float>(i) / 4);
  return bytes;
}

const std::string& floats() {
  static const std::string value = storage("FloatStorage", "0", integer(6));
  return value;
}

StoredTensors read_pickle(const std::string& value) {
  return read_state_dict(kBegin + value + ".", "test: f", [](std::string_view key) {
    check(key == "0", "test: f has no storage {}", key);
    return ramp_bytes();
  });
}

std::string error_of_tensor(const std::string& value) {
  const std::string error = error_of([&] { read_pickle(dict({text("w"), value})); });
  const std::string prefix = "test: f: ";
  return error.starts_with(prefix) ? error.substr(prefix.size()) : "without the name: " + error;
}

std::string archive_with(const std::string& pickle, const std::vector<RawEntry>& more = {}) {
  std::vector<RawEntry> entries = {{.name = "m/data.pkl", .bytes = pickle},
                                   {.name = "m/data/0", .bytes = ramp_bytes()}};
  entries.insert(entries.end(), more.begin(), more.end());
  return raw_zip(entries);
}

std::string good_pickle() { return kBegin + dict({text("w"), tensor(floats(), 0, {2, 3}, {3, 1})}) + "."; }

TEST(ReadPytorchModel, ReadsAStateDictOfEachType) {
  const StoredTensors file = read_pytorch_model(fixture("state_dict.bin"));
  TensorLookup tensors(file.tensors, "state_dict.bin");
  const std::pair<const char*, DType> types[] = {
      {"float64", DType::kF64}, {"float32", DType::kF32}, {"float16", DType::kF16}, {"bfloat16", DType::kBF16},
      {"int64", DType::kI64},   {"int32", DType::kI32},   {"int16", DType::kI16},   {"int8", DType::kI8},
      {"uint8", DType::kU8},    {"bool", DType::kBool}};
  for (const auto& [type, dtype] : types) {
    EXPECT_EQ(tensors.get(type).dtype, dtype) << type;
    expect_ramp(tensors.get(type), {2, 3});
  }
  for (const char* name : {"parameter", "tied", "transposed", "part"}) expect_ramp(tensors.get(name), {2, 3});
  expect_ramp(tensors.get("row"), {5});
  expect_ramp(tensors.get("scalar"), {});
  expect_ramp(tensors.get("empty"), {0, 4});
  EXPECT_EQ(tensors.get("tied").bytes.data(), tensors.get("float32").bytes.data()) << "a storage is read once";
  EXPECT_EQ(error_of([&] { tensors.expect_all_used(); }), "no error");
}

TEST(ReadPytorchModel, ReadsProtocol4) {
  const StoredTensors file = read_pytorch_model(fixture("protocol-4.bin"));
  ASSERT_EQ(file.tensors.size(), 2u);
  expect_ramp(file.tensors[0], {2, 3});
  expect_ramp(file.tensors[1], {5});
}

TEST(ReadPytorchModel, RefusesOtherFilesOfPytorch) {
  const std::pair<const char*, std::string> rows[] = {
      {"before-1.6.bin",
       " has the format of PyTorch before 1.6, needs a zip archive; convert it with PyTorch: "
       "torch.save(torch.load(file, weights_only=True), file)"},
      {"script.bin",
       " is a TorchScript program, needs a state dict; save it with torch.save(model.state_dict(), file)"},
      {"nested.bin", ": data.pkl: \"model\" is a dict, needs a tensor"},
  };
  for (const auto& [name, error] : rows) {
    const std::string where = "read_pytorch_model: " + fixture(name).string();
    EXPECT_EQ(error_of([&] { read_pytorch_model(fixture(name)); }), where + error);
    EXPECT_EQ(error_of([&] { parse_pytorch_model(fixture_bytes(name), fixture(name).string()); }), where + error);
  }
  EXPECT_THAT(error_of([] { read_pytorch_model(fixture("list.bin")); }),
              HasSubstr("the opcode is EMPTY_LIST, needs one that a dict of tensors uses"));
  EXPECT_THAT(error_of([] { read_pytorch_model(fixture("module.bin")); }),
              HasSubstr("the pickle uses the global \"torch.nn.modules.linear.Identity\""));
  EXPECT_THAT(error_of([] { read_pytorch_model(fixture("uint16.bin")); }),
              HasSubstr("the pickle uses the global \"torch._utils._rebuild_tensor_v3\""));
  EXPECT_THAT(error_of([] { read_pytorch_model(fixture("expanded.bin")); }),
              HasSubstr("\"w\" reaches element 5 and has 48 bytes, needs to lie within its storage of 6 elements"));
}

TEST(ReadStateDict, ReadsTensorsOfOneStorage) {
  const StoredTensors file =
      read_pickle(dict({text("a"), tensor(floats(), 0, {2, 3}, {3, 1}), text("b"), tensor(floats(), 2, {2, 1}, {3, 7}),
                        text("c"), tensor(floats(), 6, {0}, {1})}));
  expect_ramp(file.tensors[0], {2, 3});
  EXPECT_EQ(to_floats(file.tensors[1], "test"), (std::vector<float>{0.5F, 1.25F}));
  expect_ramp(file.tensors[2], {0});
}

TEST(ReadStateDict, RejectsTensorsBeyondTheirStorage) {
  const std::string needs = ", needs to lie within its storage of 6 elements, 24 bytes";
  const std::pair<std::string, std::string> rows[] = {
      {tensor(floats(), 1, {2, 3}, {3, 1}), "\"w\" reaches element 6 and has 24 bytes" + needs},
      {tensor(floats(), 6, {}, {}), "\"w\" reaches element 6 and has 4 bytes" + needs},
      {tensor(floats(), 0, {2}, {6}), "\"w\" reaches element 6 and has 8 bytes" + needs},
      {tensor(floats(), 0, {7}, {0}), "\"w\" reaches element 0 and has 28 bytes" + needs},
      {tensor(floats(), 0, {2147483647, 2147483647, 2147483647}, {0, 0, 0}),
       "the size of \"w\" is 18446744056529682436 * 2147483647, needs at most 18446744073709551615"},
      {tensor(floats(), 0, {-1}, {1}), "the sizes of \"w\" is -1, needs a whole number"},
      {tensor(floats(), 0, {1}, {-1}), "the strides of \"w\" is -1, needs a whole number"},
      {tensor(floats(), -1, {1}, {1}), "the offset of \"w\" is -1, needs a whole number"},
      {tensor(floats(), 0, {2}, {1, 1}), "\"w\" has 2 strides, needs 1"},
  };
  for (const auto& [value, error] : rows) EXPECT_EQ(error_of_tensor(value), error);
}

TEST(ReadStateDict, RejectsCopiesThatFillTheMemory) {
  std::vector<std::string> items;
  for (int i = 0; i < 8; ++i) {
    items.push_back(text(std::to_string(i)));
    items.push_back(tensor(floats(), 0, {3, 2}, {1, 3}));
  }
  EXPECT_THAT(error_of([&] { read_pickle(dict(items)); }),
              HasSubstr("\"4\" and other tensors that are not contiguous have 120 bytes, needs at most 4 times the 24 "
                        "of the storages"));
}

TEST(ReadStateDict, RejectsValuesThatAreNoTensors) {
  const std::string rebuild = global("torch._utils", "_rebuild_tensor_v2");
  const std::string sizes = numbers({2});
  const std::pair<std::string, std::string> rows[] = {
      {"N", "\"w\" is None, needs a tensor"},
      {integer(1), "\"w\" is an integer, needs a tensor"},
      {floats(), "\"w\" is a persistent id, needs a tensor"},
      {call(rebuild, {}), "\"w\" is a call with 0 arguments, needs six, without metadata"},
      {call(rebuild, {floats(), integer(0), sizes, sizes, "\x89", kNoHooks, "}"}),
       "\"w\" is a call with 7 arguments, needs six, without metadata"},
      {call(rebuild, {floats(), integer(0), sizes, sizes, "N", kNoHooks}),
       "the requires_grad of \"w\" is None, needs a truth value"},
      {call(rebuild, {floats(), integer(0), sizes, sizes, "\x89", dict({text("a"), "N"})}),
       "the list of hooks of \"w\" is a dict, needs an empty dict"},
      {call(rebuild, {floats(), integer(0), "N", sizes, "\x89", kNoHooks}),
       "the sizes of \"w\" is None, needs a tuple"},
      {call(rebuild, {"N", integer(0), sizes, sizes, "\x89", kNoHooks}),
       "the storage of \"w\" is None, needs the id of one"},
      {call(global("torch._utils", "_rebuild_parameter"), {"N"}), "\"w\" is a parameter with 1 arguments, needs three"},
      {call(global("torch._utils", "_rebuild_parameter"), {"N", "\x88", kNoHooks}), "\"w\" is None, needs a tensor"},
      {tensor(storage("FloatStorage", "0", integer(7)), 0, {2}, {1}),
       "the storage \"0\" has 24 bytes, needs 28 for 7 elements of type F32"},
      {tensor(storage("FloatStorage", "0", integer(-1)), 0, {2}, {1}),
       "the storage's size of \"w\" is -1, needs a whole number"},
  };
  for (const auto& [value, error] : rows) EXPECT_EQ(error_of_tensor(value), error);

  EXPECT_EQ(error_of([] { read_pickle("N"); }), "test: f is None, needs a dict of tensors; save the state dict alone");
  EXPECT_EQ(error_of([] {
              read_pickle(dict({"N", "N"}));
            }),
            "test: f has the key None, needs text without control characters");
  EXPECT_EQ(error_of([] {
              read_pickle(dict({text("a\n"), "N"}));
            }),
            "test: f has the key \"a\\n\", needs text without control characters");
  const std::string good = tensor(floats(), 0, {2}, {1});
  EXPECT_EQ(error_of([&] {
              read_pickle(dict({text("w"), good, text("w"), good}));
            }),
            "test: f has two tensors \"w\", needs a name for each");
  const std::string halves = tensor(storage("HalfStorage", "0", integer(12)), 0, {2}, {1});
  EXPECT_EQ(error_of([&] {
              read_pickle(dict({text("v"), good, text("w"), halves}));
            }),
            "test: f: the storage of \"w\" has 12 elements of type F16, needs 6 of type F32, as for another tensor");
}

TEST(ReadPytorchModel, RejectsOtherEntries) {
  const std::string where = "read_pytorch_model: f";
  const std::pair<std::string, std::string> rows[] = {
      {raw_zip({{.name = "data.pkl", .bytes = good_pickle()}}),
       " has an entry \"data.pkl\", needs all in one folder, as torch.save does"},
      {archive_with(good_pickle(), {{.name = "n/x"}}),
       " has an entry \"n/x\", needs all in one folder, as torch.save does"},
      {archive_with(good_pickle(), {{.name = "m/run.py"}}),
       " has an entry \"m/run.py\", needs only those of a state dict"},
      {archive_with(good_pickle(), {{.name = "m/code/a.py"}}),
       " is a TorchScript program, needs a state dict; save it with torch.save(model.state_dict(), file)"},
      {archive_with(good_pickle(), {{.name = "m/byteorder", .bytes = "big"}}),
       " has the byte order \"big\", needs \"little\"; save it again on a little-endian machine"},
      {raw_zip({{.name = "m/version", .bytes = "3\n"}}), " has no entry \"m/data.pkl\", needs one"},
      {raw_zip({{.name = "m/data.pkl", .bytes = good_pickle()}}), " has no entry \"m/data/0\", needs one"},
  };
  for (const auto& [bytes, error] : rows) {
    EXPECT_EQ(error_of([&] { parse_pytorch_model(bytes, "f"); }), where + error);
  }
  EXPECT_EQ(error_of([] {
              parse_pytorch_model(archive_with(good_pickle(), {{.name = "m/byteorder", .bytes = "little"},
                                                               {.name = "m/.format_version", .bytes = "1"}}),
                                  "f");
            }),
            "no error");
}

TEST(ReadPytorchModel, RejectsDamagedFiles) {
  const auto read = [](const std::string& bytes) { parse_pytorch_model(bytes, "f"); };
  expect_errors_if_cut(fixture_bytes("protocol-4.bin"), "read_pytorch_model: f", read);
  expect_errors_if_altered(archive_with(good_pickle()), "read_pytorch_model: f", read);
  // An archive with the altered pickle, whose checksum is right.
  const std::string pickle = good_pickle();
  expect_errors_if_cut(pickle, "read_pytorch_model: f",
                       [](const std::string& bytes) { parse_pytorch_model(archive_with(bytes), "f"); });
  expect_errors_if_altered(pickle, "read_pytorch_model: f",
                           [](const std::string& bytes) { parse_pytorch_model(archive_with(bytes), "f"); });
}

}  // namespace
}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/pickle.h"

#include <gtest/gtest.h>

#include "tests/convert/pickle_bytes.h"

namespace edgewise {
namespace {

using Kind = PickleValue::Kind;
using namespace opcodes;

constexpr std::string_view kGlobals[] = {"torch.FloatStorage", "collections.OrderedDict"};

Pickle parse_opcodes(const std::string& bytes) { return Pickle::parse(bytes, "test: f", kGlobals); }

/// Returns the error for the opcodes of one value.
std::string pickle_error(const std::string& value) {
  return error_of([&] { parse_opcodes(kBegin + value + "."); });
}

TEST(Pickle, ReadsIntegersOfEachOpcode) {
  const std::pair<std::string, std::int64_t> rows[] = {
      {integer(-2), -2},
      {std::string("K\xFF"), 255},
      {std::string("M\xFF\xFF"), 65535},
      {std::string("\x8A\0", 2), 0},
      {std::string("\x8A\1\xFF"), -1},
      {std::string("\x8A\5\0\0\0\0\1", 7), std::int64_t{1} << 32},
      {std::string("\x8A\x08\0\0\0\0\0\0\0\x80", 10), std::numeric_limits<std::int64_t>::min()},
  };
  for (const auto& [opcode, number] : rows) {
    const Pickle pickle = parse_opcodes(kBegin + opcode + ".");
    EXPECT_EQ(pickle.root().kind, Kind::kInteger);
    EXPECT_EQ(pickle.root().integer, number);
  }
}

TEST(Pickle, ReadsTuplesDictsAndAtoms) {
  const Pickle pickle = parse_opcodes(kBegin +
                                      dict({text("a"), std::string("N\x88\x87").insert(1, text("é")), text("b"),
                                            tuple({integer(1), ")", std::string("\x89\x85")})}) +
                                      ".");
  const PickleValue& root = pickle.root();
  ASSERT_EQ(root.kind, Kind::kDict);
  ASSERT_EQ(root.items.size(), 4u);
  EXPECT_EQ(root.items[0]->text, "a");
  ASSERT_EQ(root.items[1]->items.size(), 3u);
  EXPECT_EQ(root.items[1]->items[0]->kind, Kind::kNone);
  EXPECT_EQ(root.items[1]->items[1]->text, "é");
  EXPECT_EQ(root.items[1]->items[2]->integer, 1);
  ASSERT_EQ(root.items[3]->items.size(), 3u);
  EXPECT_EQ(root.items[3]->items[1]->items.size(), 0u);
  EXPECT_EQ(root.items[3]->items[2]->items[0]->kind, Kind::kBool);
}

TEST(Pickle, KeepsCallsAndPersistentIdsAsData) {
  const std::string storage_type = global("torch", "FloatStorage");
  const Pickle pickle =
      parse_opcodes(kBegin + tuple({call(storage_type, {integer(3)}), tuple({text("id")}) + "Q"}) + ".");
  const PickleValue& root = pickle.root();
  EXPECT_EQ(root.items[0]->kind, Kind::kCall);
  EXPECT_EQ(root.items[0]->text, "torch.FloatStorage");
  EXPECT_EQ(root.items[0]->items[0]->integer, 3);
  EXPECT_EQ(root.items[1]->kind, Kind::kPersistentId);
  EXPECT_EQ(root.items[1]->items[0]->text, "id");
}

TEST(Pickle, ReadsTheMemoAndStackGlobalsOfProtocol4) {
  const std::string bytes = std::string("\x80\x04\x95") + std::string(8, '\0') + "\x8C\x05torch\x94\x8C\x0C" +
                            "FloatStorage\x94\x93\x94h" + std::string(1, '\0') + "h\2\x87.";
  const Pickle pickle = parse_opcodes(bytes);
  ASSERT_EQ(pickle.root().items.size(), 3u) << "three values on the stack";
}

TEST(Pickle, ReadsADictThatContainsItself) {
  const Pickle pickle =
      parse_opcodes(kBegin + "}q" + std::string(1, '\0') + "(" + text("a") + "h" + std::string(1, '\0') + "u.");
  EXPECT_EQ(pickle.root().items[1], &pickle.root());
}

TEST(Pickle, RefusesGlobalsThatAreNotListed) {
  const std::string advice = ", needs those of tensors only; do not load it in Python, where it can run any code";
  EXPECT_EQ(pickle_error(call(global("posix", "system"), {text("true")})),
            "test: f, byte 2: the pickle uses the global \"posix.system\"" + advice);
  EXPECT_EQ(pickle_error(text("builtins") + text("eval") + "\x93"),
            "test: f, byte 24: the pickle uses the global \"builtins.eval\"" + advice);
  EXPECT_EQ(pickle_error(global("torch", "FloatStorage2")),
            "test: f, byte 2: the pickle uses the global \"torch.FloatStorage2\"" + advice);
  EXPECT_EQ(pickle_error(global("torch\x1B[2J", "x")),
            "test: f, byte 2: the pickle uses the global \"torch\\u001b[2J.x\"" + advice);
}

TEST(Pickle, RefusesOtherOpcodesByName) {
  const std::pair<std::string, std::string> rows[] = {
      {"cos\nsystem\n", ""},  // see RefusesGlobalsThatAreNotListed
      {"(S'x'\nios\nsystem\n", "STRING"},
      {"ios\nsystem\n", "INST"},
      {"]", "EMPTY_LIST"},
      {"G12345678", "BINFLOAT"},
      {")\x81", "NEWOBJ"},
      {"\x82\1", "EXT1"},
      {"I1\n", "INT"},
      {"Pid\n", "PERSID"},
      {"N0", "POP"},
      {"N2", "DUP"},
      {"\x8F", "EMPTY_SET"},
      {"\x80\x02", "0x80"},
      {"\xFF", "0xFF"},
  };
  for (const auto& [opcodes, name] : rows) {
    if (name.empty()) continue;
    const std::string error = pickle_error(opcodes);
    EXPECT_NE(error.find("the opcode is " + name + ", needs one that a dict of tensors uses"), std::string::npos)
        << error;
  }
}

TEST(Pickle, RejectsPicklesThatAreNotWellFormed) {
  const std::string many(17, 'N');
  const std::pair<std::string, std::string> rows[] = {
      {"", ", byte 2: the stack is empty, needs a value"},
      {"NN", ", byte 4: the pickle has several values, needs one"},
      {"N(", ", byte 4: the stack is empty, needs a value"},
      {"(N", ", byte 4: the pickle has several values, needs one"},
      {"t", ", byte 2: the stack has no mark, needs one"},
      {"N\x86", ", byte 3: the stack has 1 values, needs 2"},
      {"N(\x85", ", byte 4: the stack has 0 values, needs 1"},
      {"NNNs", ", byte 5: the value on the stack is None, needs a dict"},
      {"}(Nu", ", byte 5: a dict has a key without a value, needs both"},
      {"}Nb", ", byte 4: the value on the stack is None, needs a dict"},
      {"N}b", ", byte 4: the value on the stack is None, needs a dict"},
      {"N)R", ", byte 4: the value on the stack is None, needs a global"},
      {"NNR", ", byte 4: the value on the stack is None, needs a tuple"},
      {"NQ", ", byte 3: the value on the stack is None, needs a tuple"},
      {"NN\x93", ", byte 4: the value on the stack is None, needs a text"},
      {"h\1", ", byte 2: memo 1 is not set, needs to be"},
      {"q\1", ", byte 2: the stack is empty, needs a value"},
      {"X\1" + std::string(3, '\0') + "\xFF", ", byte 2: the text \"\\xff\" is not UTF-8, needs to be"},
      {"\x8A\x09", ", byte 2: an integer has 9 bytes, needs at most 8"},
      {"(" + many + "tQ", ", byte 21: a call has 17 arguments, needs at most 16"},
      {global("collections", "OrderedDict") + tuple({"N"}) + "R",
       ", byte 30: an OrderedDict is called with items, needs none"},
      {"N.N", ", byte 3: the pickle goes on after its end, needs to end"},
      {"X\xFF\xFF\xFF\xFF", ", byte 7: a text has 1 bytes, needs 4294967295; the file is truncated, copy it again"},
      {"cos", ", byte 3: the module of a global has no end, needs one"},
  };
  for (const auto& [opcodes, error] : rows) EXPECT_EQ(pickle_error(opcodes), "test: f" + error);
  for (const std::string begin : {"\x80\x01", "\x80\x06", "N.", "(d"}) {
    EXPECT_EQ(error_of([&] { parse_opcodes(begin + "N."); }),
              "test: f, byte 0: the pickle has another protocol, needs 2 to 5");
  }
}

TEST(Pickle, RefusesMoreValuesThanTheLimit) {
  EXPECT_EQ(pickle_error("(" + std::string(999'999, 'N') + "t"), "no error");
  EXPECT_EQ(pickle_error("(" + std::string(1'000'000, 'N') + "t"),
            "test: f, byte 1000003: the pickle has more than 1000000 values, needs at most 1000000");
  EXPECT_EQ(pickle_error("(" + std::string(std::size_t{1} << 23, 'h')),
            "test: f has 8388612 bytes, needs at most 8388608");
}

}  // namespace
}  // namespace edgewise

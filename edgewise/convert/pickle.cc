// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/pickle.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "edgewise/base/files/byte_reader.h"
#include "edgewise/base/utf8.h"

namespace edgewise {
namespace {

/// The opcodes of a dict of tensors.
enum class PickleOpcode : std::uint8_t {
  kMark = '(',
  kStop = '.',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kNone = 'N',
  kBinPersistentId = 'Q',
  kReduce = 'R',
  kBinUnicode = 'X',
  kBuild = 'b',
  kGlobal = 'c',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kSetItem = 's',
  kTuple = 't',
  kSetItems = 'u',
  kEmptyDict = '}',
  kEmptyTuple = ')',
  kProtocol = 0x80,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kTrue = 0x88,
  kFalse = 0x89,
  kLong1 = 0x8A,
  kShortBinUnicode = 0x8C,
  kStackGlobal = 0x93,
  kMemoize = 0x94,
  kFrame = 0x95,
};

// Other opcodes, by the names of Python's module pickletools.
constexpr std::pair<std::uint8_t, std::string_view> kOtherOpcodes[] = {{'0', "POP"},
                                                                       {'1', "POP_MARK"},
                                                                       {'2', "DUP"},
                                                                       {'B', "BINBYTES"},
                                                                       {'C', "SHORT_BINBYTES"},
                                                                       {'F', "FLOAT"},
                                                                       {'G', "BINFLOAT"},
                                                                       {'I', "INT"},
                                                                       {'L', "LONG"},
                                                                       {'P', "PERSID"},
                                                                       {'S', "STRING"},
                                                                       {'T', "BINSTRING"},
                                                                       {'U', "SHORT_BINSTRING"},
                                                                       {'V', "UNICODE"},
                                                                       {']', "EMPTY_LIST"},
                                                                       {'a', "APPEND"},
                                                                       {'d', "DICT"},
                                                                       {'e', "APPENDS"},
                                                                       {'g', "GET"},
                                                                       {'i', "INST"},
                                                                       {'l', "LIST"},
                                                                       {'o', "OBJ"},
                                                                       {'p', "PUT"},
                                                                       {0x81, "NEWOBJ"},
                                                                       {0x82, "EXT1"},
                                                                       {0x83, "EXT2"},
                                                                       {0x84, "EXT4"},
                                                                       {0x8B, "LONG4"},
                                                                       {0x8D, "BINUNICODE8"},
                                                                       {0x8E, "BINBYTES8"},
                                                                       {0x8F, "EMPTY_SET"},
                                                                       {0x90, "ADDITEMS"},
                                                                       {0x91, "FROZENSET"},
                                                                       {0x92, "NEWOBJ_EX"},
                                                                       {0x96, "BYTEARRAY8"},
                                                                       {0x97, "NEXT_BUFFER"},
                                                                       {0x98, "READONLY_BUFFER"}};

/// Returns the name of an opcode that is no PickleOpcode, or its number if Python has no such opcode.
std::string opcode_name(PickleOpcode opcode) {
  const auto number = static_cast<std::uint8_t>(opcode);
  for (const auto& [other, name] : kOtherOpcodes) {
    if (other == number) return std::string(name);
  }
  return fmt::format("0x{:02X}", number);
}

constexpr std::size_t kMaxPickleBytes = std::size_t{1} << 23;
constexpr std::size_t kMaxPickleValues = 1'000'000;
constexpr std::size_t kMaxArguments = 16;
constexpr std::string_view kOrderedDict = "collections.OrderedDict";

}  // namespace

/// Runs the opcodes, which build values on a stack.
class PickleMachine {
 public:
  PickleMachine(std::string_view bytes, const std::string& where, std::span<const std::string_view> globals)
      : reader_(bytes, where), globals_(globals) {}

  Pickle run() {
    check_protocol();
    while (step()) {
    }
    if (reader_.num_left() > 0) fail_at_opcode("the pickle goes on after its end, needs to end");
    pickle_.root_ = pop();
    if (!stack_.empty() || !marks_.empty()) fail_at_opcode("the pickle has several values, needs one");
    return std::move(pickle_);
  }

 private:
  using Kind = PickleValue::Kind;

  void check_protocol() {
    const auto opcode = reader_.take_number<std::uint8_t>("the pickle");
    const auto protocol = reader_.take_number<std::uint8_t>("the pickle's protocol");
    if (opcode != static_cast<std::uint8_t>(PickleOpcode::kProtocol) || protocol < 2 || protocol > 5) {
      fail_at_opcode("the pickle has another protocol, needs 2 to 5");
    }
  }

  // Returns false after the last opcode.
  bool step() {
    opcode_begin_ = reader_.position();
    const auto opcode = static_cast<PickleOpcode>(reader_.take_number<std::uint8_t>("the pickle"));
    switch (opcode) {
      case PickleOpcode::kStop:
        return false;
      case PickleOpcode::kFrame:
        reader_.take_number<std::uint64_t>("the size of a frame");
        return true;
      case PickleOpcode::kMark:
        marks_.push_back(stack_.size());
        return true;
      case PickleOpcode::kReduce:
      case PickleOpcode::kBinPersistentId:
      case PickleOpcode::kGlobal:
      case PickleOpcode::kStackGlobal:
        run_global(opcode);
        return true;
      case PickleOpcode::kBinPut:
      case PickleOpcode::kLongBinPut:
      case PickleOpcode::kMemoize:
      case PickleOpcode::kBinGet:
      case PickleOpcode::kLongBinGet:
        run_memo(opcode);
        return true;
      case PickleOpcode::kEmptyDict:
      case PickleOpcode::kSetItem:
      case PickleOpcode::kSetItems:
      case PickleOpcode::kBuild:
        run_dict(opcode);
        return true;
      case PickleOpcode::kEmptyTuple:
      case PickleOpcode::kTuple1:
      case PickleOpcode::kTuple2:
      case PickleOpcode::kTuple3:
      case PickleOpcode::kTuple:
        run_tuple(opcode);
        return true;
      default:
        run_atom(opcode);
        return true;
    }
  }

  void run_atom(PickleOpcode opcode) {
    switch (opcode) {
      case PickleOpcode::kNone:
        return push({});
      case PickleOpcode::kTrue:
      case PickleOpcode::kFalse:
        return push({.kind = Kind::kBool, .integer = opcode == PickleOpcode::kTrue ? 1 : 0});
      case PickleOpcode::kBinInt:
        return push_integer(static_cast<std::int32_t>(reader_.take_number<std::uint32_t>("an integer")));
      case PickleOpcode::kBinInt1:
        return push_integer(reader_.take_number<std::uint8_t>("an integer"));
      case PickleOpcode::kBinInt2:
        return push_integer(reader_.take_number<std::uint16_t>("an integer"));
      case PickleOpcode::kLong1:
        return push_integer(take_long());
      case PickleOpcode::kShortBinUnicode:
        return push_text(reader_.take_number<std::uint8_t>("the size of a text"));
      case PickleOpcode::kBinUnicode:
        return push_text(reader_.take_number<std::uint32_t>("the size of a text"));
      default:
        fail_at_opcode("the opcode is {}, needs one that a dict of tensors uses", opcode_name(opcode));
    }
  }

  void run_global(PickleOpcode opcode) {
    switch (opcode) {
      case PickleOpcode::kGlobal: {
        const std::string module(reader_.take_until('\n', "the module of a global"));
        return push_global(module, reader_.take_until('\n', "the name of a global"));
      }
      case PickleOpcode::kStackGlobal: {
        const std::string name = pop_kind(Kind::kString)->text;
        return push_global(pop_kind(Kind::kString)->text, name);
      }
      case PickleOpcode::kReduce: {
        auto arguments = pop_arguments();
        const std::string name = pop_kind(Kind::kGlobal)->text;
        const bool is_dict = name == kOrderedDict;
        if (is_dict && !arguments.empty()) fail_at_opcode("an OrderedDict is called with items, needs none");
        return push({.kind = is_dict ? Kind::kDict : Kind::kCall, .text = name, .items = std::move(arguments)});
      }
      default:
        return push({.kind = Kind::kPersistentId, .items = pop_arguments()});
    }
  }

  void run_memo(PickleOpcode opcode) {
    switch (opcode) {
      case PickleOpcode::kBinPut:
        return put(reader_.take_number<std::uint8_t>("the number of a memo"));
      case PickleOpcode::kLongBinPut:
        return put(reader_.take_number<std::uint32_t>("the number of a memo"));
      case PickleOpcode::kMemoize:
        return put(static_cast<std::uint32_t>(memo_.size()));
      case PickleOpcode::kBinGet:
        return get(reader_.take_number<std::uint8_t>("the number of a memo"));
      default:
        return get(reader_.take_number<std::uint32_t>("the number of a memo"));
    }
  }

  void run_dict(PickleOpcode opcode) {
    if (opcode == PickleOpcode::kEmptyDict) return push({.kind = Kind::kDict});
    if (opcode == PickleOpcode::kBuild) {
      pop_kind(Kind::kDict);
      expect_kind(top(), Kind::kDict);
      return;
    }
    const std::vector<PickleValue*> items = opcode == PickleOpcode::kSetItems ? pop_to_mark() : pop_count(2);
    expect_kind(top(), Kind::kDict);
    if (items.size() % 2 != 0) fail_at_opcode("a dict has a key without a value, needs both");
    top()->items.insert(top()->items.end(), items.begin(), items.end());
  }

  void run_tuple(PickleOpcode opcode) {
    const auto items = opcode == PickleOpcode::kTuple ? pop_to_mark() : pop_count(tuple_size(opcode));
    push({.kind = Kind::kTuple, .items = {items.begin(), items.end()}});
  }

  static std::size_t tuple_size(PickleOpcode opcode) {
    if (opcode == PickleOpcode::kEmptyTuple) return 0;
    return static_cast<std::size_t>(opcode) - static_cast<std::size_t>(PickleOpcode::kTuple1) + 1;
  }

  void push(PickleValue value) {
    if (pickle_.values_.size() == kMaxPickleValues) {
      fail_at_opcode("the pickle has more than {0} values, needs at most {0}", kMaxPickleValues);
    }
    stack_.push_back(&pickle_.values_.emplace_back(std::move(value)));
  }

  void push_integer(std::int64_t integer) { push({.kind = Kind::kInteger, .integer = integer}); }

  void push_text(std::uint64_t size) {
    const std::string_view text = reader_.take(size, "a text");
    if (find_bad_utf8(text)) fail_at_opcode("the text {} is not UTF-8, needs to be", quote(text));
    push({.kind = Kind::kString, .text = std::string(text)});
  }

  void push_global(std::string_view module, std::string_view name) {
    std::string global = fmt::format("{}.{}", module, name);
    if (std::ranges::find(globals_, global) == globals_.end()) {
      fail_at_opcode(
          "the pickle uses the global {}, needs those of tensors only; do not load it in Python, where "
          "it can run any code",
          quote(global));
    }
    push({.kind = Kind::kGlobal, .text = std::move(global)});
  }

  // Takes a two's complement number of any size.
  std::int64_t take_long() {
    const auto size = reader_.take_number<std::uint8_t>("the size of an integer");
    if (size > 8) fail_at_opcode("an integer has {} bytes, needs at most 8", size);
    const std::string_view bytes = reader_.take(size, "an integer");
    if (bytes.empty()) return 0;
    std::uint64_t number = static_cast<unsigned char>(bytes.back()) >= 0x80 ? ~std::uint64_t{0} : 0;
    for (std::size_t i = size; i-- > 0;) number = number << 8 | static_cast<unsigned char>(bytes[i]);
    return static_cast<std::int64_t>(number);
  }

  void put(std::uint32_t number) { memo_[number] = top(); }

  void get(std::uint32_t number) {
    const auto found = memo_.find(number);
    if (found == memo_.end()) fail_at_opcode("memo {} is not set, needs to be", number);
    stack_.push_back(found->second);
  }

  // The values above the last mark, which are the ones that an opcode may use.
  std::size_t num_free() const { return stack_.size() - (marks_.empty() ? 0 : marks_.back()); }

  PickleValue* top() const {
    if (num_free() == 0) fail_at_opcode("the stack is empty, needs a value");
    return stack_.back();
  }

  PickleValue* pop() {
    PickleValue* value = top();
    stack_.pop_back();
    return value;
  }

  std::vector<PickleValue*> pop_count(std::size_t count) {
    if (num_free() < count) fail_at_opcode("the stack has {} values, needs {}", num_free(), count);
    std::vector<PickleValue*> values(stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    return values;
  }

  std::vector<PickleValue*> pop_to_mark() {
    if (marks_.empty()) fail_at_opcode("the stack has no mark, needs one");
    auto values = pop_count(num_free());
    marks_.pop_back();
    return values;
  }

  // A limit, because a tuple can be the arguments of many calls, and each call has a copy.
  std::vector<const PickleValue*> pop_arguments() {
    const PickleValue* tuple = pop_kind(Kind::kTuple);
    if (tuple->items.size() > kMaxArguments) {
      fail_at_opcode("a call has {} arguments, needs at most {}", tuple->items.size(), kMaxArguments);
    }
    return tuple->items;
  }

  PickleValue* pop_kind(Kind kind) {
    PickleValue* value = pop();
    expect_kind(value, kind);
    return value;
  }

  void expect_kind(const PickleValue* value, Kind kind) const {
    if (value->kind != kind) {
      fail_at_opcode("the value on the stack is {}, needs {}", describe_kind(value->kind), describe_kind(kind));
    }
  }

  template <typename... Args>
  [[noreturn]] void fail_at_opcode(fmt::format_string<Args...> message, Args&&... args) const {
    reader_.fail_at(opcode_begin_, message, std::forward<Args>(args)...);
  }

  ByteReader reader_;
  std::size_t opcode_begin_ = 0;
  std::span<const std::string_view> globals_;
  Pickle pickle_;
  std::vector<PickleValue*> stack_;
  std::vector<std::size_t> marks_;  // sizes of the stack
  std::unordered_map<std::uint32_t, PickleValue*> memo_;
};

Pickle Pickle::parse(std::string_view bytes, const std::string& where, std::span<const std::string_view> globals) {
  check(bytes.size() <= kMaxPickleBytes, "{} has {} bytes, needs at most {}", where, bytes.size(), kMaxPickleBytes);
  return PickleMachine(bytes, where, globals).run();
}

std::string_view describe_kind(PickleValue::Kind kind) {
  constexpr std::array<std::string_view, 9> kDescriptions = {
      "None", "a truth value", "an integer", "a text", "a tuple", "a dict", "a global", "a call", "a persistent id"};
  return kDescriptions[static_cast<std::size_t>(kind)];
}

}  // namespace edgewise

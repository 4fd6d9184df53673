// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace edgewise {

/// A value of a pickle. Nothing is called: a call is a value that lists its arguments.
struct PickleValue {
  enum class Kind { kNone, kBool, kInteger, kString, kTuple, kDict, kGlobal, kCall, kPersistentId };

  Kind kind = Kind::kNone;
  std::int64_t integer = 0;                    // kInteger; 0 or 1 for kBool
  std::string text = {};                       // kString; the name of kGlobal and of kCall: "collections.OrderedDict"
  std::vector<const PickleValue*> items = {};  // elements of kTuple; arguments of kCall; the elements of
                                               // kPersistentId; keys and values of kDict, in turn
};

/// A pickle of Python, protocol 2 to 5, read as data. Supports the opcodes that PyTorch writes for a dict of tensors:
/// None, bools, integers, strings, tuples, dicts, calls of globals and persistent ids. Throws Error, which names
/// the opcode or global, for anything else: a pickle is a program, and other opcodes and globals can run any code.
/// Calls of collections.OrderedDict are dicts; attributes that are set on a dict are ignored. Limits: 8 MiB, 1 000 000
/// values.
class Pickle {
 public:
  /// `globals` lists the global names that the pickle may use, for example "torch.FloatStorage". Errors begin with
  /// `where`.
  static Pickle parse(std::string_view bytes, const std::string& where, std::span<const std::string_view> globals);

  Pickle(Pickle&&) = default;
  Pickle& operator=(Pickle&&) = default;

  /// Returns the value, which may contain itself in a malicious file. This object owns all values.
  const PickleValue& root() const { return *root_; }

 private:
  friend class PickleMachine;
  Pickle() = default;

  std::deque<PickleValue> values_;
  const PickleValue* root_ = nullptr;
};

/// Returns the kind with its article, for error messages: "a tuple".
std::string_view describe_kind(PickleValue::Kind kind);

}  // namespace edgewise

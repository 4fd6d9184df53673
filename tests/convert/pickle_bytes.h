// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/convert/support.h"

// Opcodes of pickles, to write pickles by hand.

namespace edgewise::opcodes {

inline const std::string kBegin = "\x80\x02";
inline const std::string kNoHooks = "ccollections\nOrderedDict\n)R";

inline std::string text(std::string_view value) {
  return "X" + little_endian(static_cast<std::uint32_t>(value.size())) + std::string(value);
}

inline std::string integer(std::int32_t value) { return "J" + little_endian(value); }

inline std::string joined(const std::vector<std::string>& values) {
  std::string all;
  for (const std::string& value : values) all += value;
  return all;
}

inline std::string tuple(const std::vector<std::string>& values) { return "(" + joined(values) + "t"; }

/// Returns a dict of keys and values, in turn.
inline std::string dict(const std::vector<std::string>& items) { return "}(" + joined(items) + "u"; }

inline std::string global(const std::string& module, const std::string& name) {
  return "c" + module + "\n" + name + "\n";
}

inline std::string call(const std::string& function, const std::vector<std::string>& arguments) {
  return function + tuple(arguments) + "R";
}

inline std::string storage(const std::string& type, const std::string& key, const std::string& num_elements) {
  return tuple({text("storage"), global("torch", type), text(key), text("cpu"), num_elements}) + "Q";
}

inline std::string numbers(const std::vector<std::int32_t>& values) {
  std::vector<std::string> items;
  for (const std::int32_t value : values) items.push_back(integer(value));
  return tuple(items);
}

inline std::string tensor(const std::string& storage, std::int32_t offset, const std::vector<std::int32_t>& sizes,
                          const std::vector<std::int32_t>& strides) {
  return call(global("torch._utils", "_rebuild_tensor_v2"),
              {storage, integer(offset), numbers(sizes), numbers(strides), "\x89", kNoHooks});
}

}  // namespace edgewise::opcodes

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace edgewise {

/// What every layer throws when an argument, a file or a setting does not fit:
///
///     <function>: <argument> <has>, <needs>[; <what to do>]
///
/// The program answers it with exit code 2; any other exception is our own mistake, exit code 1.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message) : std::runtime_error(message) {}
};

template <typename... Args>
[[noreturn]] void fail(fmt::format_string<Args...> message, Args&&... args) {
  throw Error(fmt::format(message, std::forward<Args>(args)...));
}

/// Formats nothing as long as the condition holds.
template <typename... Args>
void check(bool condition, fmt::format_string<Args...> message, Args&&... args) {
  if (!condition) [[unlikely]] {
    fail(message, std::forward<Args>(args)...);
  }
}

}  // namespace edgewise

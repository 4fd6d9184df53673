// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace edgewise {

inline constexpr int kUserErrorExitCode = 2;

/// The exception that every layer throws for an unusable argument, file or setting. Its message has the form
///
///     <function>: <argument> <has>, <needs>[; <what to do>]
///
/// A program exits with kUserErrorExitCode after an Error, and with 1 after any other exception, which is a bug.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message) : std::runtime_error(message) {}
};

template <typename... Args>
[[noreturn]] void fail(fmt::format_string<Args...> message, Args&&... args) {
  throw Error(fmt::format(message, std::forward<Args>(args)...));
}

/// Throws Error unless `condition` holds. Formats the message only in that case.
template <typename... Args>
void check(bool condition, fmt::format_string<Args...> message, Args&&... args) {
  if (!condition) [[unlikely]] {
    fail(message, std::forward<Args>(args)...);
  }
}

}  // namespace edgewise

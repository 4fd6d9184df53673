// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <string>
#include <string_view>

namespace edgewise {

/// Returns the first line of an error of libtorch, without the place in its source code: "[pair.cc:534] Connection
/// closed" is "Connection closed".
inline std::string first_line(std::string_view text) {
  text = text.substr(0, text.find('\n'));
  const std::size_t end = text.starts_with('[') ? text.find("] ") : std::string_view::npos;
  return std::string(end == std::string_view::npos ? text : text.substr(end + 2));
}

/// Returns a time in seconds: "0.25 s".
inline std::string seconds_text(std::chrono::milliseconds time) {
  return fmt::format("{:g} s", std::chrono::duration<double>(time).count());
}

}  // namespace edgewise

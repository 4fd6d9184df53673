// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace edgewise::kernels::gpu {

/// A line of a kernel. As a default argument, CallSite::current() is the line of the call. Unlike std::source_location,
/// clang 14 compiles it.
struct CallSite {
  const char* file = "";
  int line = 0;

  static constexpr CallSite current(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

}  // namespace edgewise::kernels::gpu

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace edgewise {

/// From now on the first SIGINT, SIGTERM or SIGHUP sets a flag that a loop looks at, so that it can save and end; a
/// second one ends the program at once.
class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  const std::atomic<bool>& stop() const;

  /// What a program that a signal ended returns: 128 + its number; 0 when none came.
  int exit_code() const;
};

}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "edgewise/base/descriptor.h"

namespace edgewise {

/// As long as it lives, no other process trains in this run directory. The file RUN/lock, which it makes and leaves, is
/// locked and not merely there: a process that dies holds nothing. Where the file system has no locks it does nothing.
class RunLock {
 public:
  /// Makes the directory too, if it is missing. Throws Error at once when a process holds the lock, be it this one.
  explicit RunLock(const std::filesystem::path& run);

 private:
  Descriptor file_;
};

/// Throws Error when a process trains in this run directory; says nothing of a missing one.
void require_nobody_trains(const std::filesystem::path& run);

}  // namespace edgewise

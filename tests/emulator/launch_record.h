// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace edgewise::kernels::gpu::emulator {

/// Records the kernels that any thread launches while the object exists.
class LaunchRecord {
 public:
  LaunchRecord();
  LaunchRecord(const LaunchRecord&) = delete;
  LaunchRecord& operator=(const LaunchRecord&) = delete;
  ~LaunchRecord();

  /// Returns the names of the kernels so far, in the order of their launches. A kernel without blocks is none.
  std::vector<std::string> kernels() const;

  /// Adds a kernel to all records.
  static void add(const char* kernel);

 private:
  std::vector<std::string> kernels_;
};

}  // namespace edgewise::kernels::gpu::emulator

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "edgewise/base/threads.h"

namespace edgewise {

/// A place of a test's own for a run directory, which is not there yet; in memory where the system has such a place,
/// for tests that write a thousand checkpoints.
class RunFolder : public testing::Test {
 protected:
  RunFolder() : folder_(place() / ("edgewise_run_" + std::to_string(::getpid()))) {
    std::filesystem::remove_all(folder_);
    set_num_threads(1);  // for tensors this small, threads that wait for each other take most of the time
  }
  ~RunFolder() override { std::filesystem::remove_all(folder_); }

  const std::filesystem::path& folder() const { return folder_; }

 private:
  static std::filesystem::path place() {
    constexpr const char* kMemory = "/dev/shm";
    return ::access(kMemory, W_OK) == 0 ? kMemory : testing::TempDir();
  }

  std::filesystem::path folder_;
};

}  // namespace edgewise

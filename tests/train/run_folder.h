// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "edgewise/base/threads.h"
#include "tests/support/memory_folder.h"

namespace edgewise {

/// Gives a test its own path for a run directory, which does not exist yet. The path is in memory if possible, because
/// some tests write a thousand checkpoints.
class RunFolder : public testing::Test {
 protected:
  RunFolder() : folder_(memory_folder() / ("edgewise_run_" + std::to_string(::getpid()))) {
    std::filesystem::remove_all(folder_);
    set_num_threads(1);  // with tensors this small, synchronising threads would take most of the time
  }
  ~RunFolder() override { std::filesystem::remove_all(folder_); }

  const std::filesystem::path& folder() const { return folder_; }

 private:
  std::filesystem::path folder_;
};

}  // namespace edgewise

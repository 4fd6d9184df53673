// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/train/run_folder.h"
#include "tests/train/same_run.h"
#include "tests/train/test_run.h"

namespace edgewise {

/// Gives a test the folders of two runs to compare, such as an uninterrupted run and a resumed run.
class TwoRuns : public RunFolder {
 protected:
  std::filesystem::path first_folder() const { return folder() / "first"; }
  std::filesystem::path second_folder() const { return folder() / "second"; }

  /// Expects equal parameters in memory and equal files.
  static void expect_same(const TestRun& left, const TestRun& right) {
    EXPECT_TRUE(left.task.table().equal(right.task.table()));
    EXPECT_TRUE(left.task.bias().equal(right.task.bias()));
    expect_same_run(left.folder, right.folder);
  }
};

}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <filesystem>

#include "tests/train/run_folder.h"
#include "tests/train/run_of.h"
#include "tests/train/same_run.h"

namespace edgewise {

/// Places for two runs that are compared: one that goes through at once, and one in parts.
class TwoRuns : public RunFolder {
 protected:
  std::filesystem::path whole() const { return folder() / "whole"; }
  std::filesystem::path parted() const { return folder() / "parted"; }

  /// The same in memory and on disk.
  static void expect_same(const RunOf& left, const RunOf& right) {
    EXPECT_TRUE(left.task.table().equal(right.task.table()));
    EXPECT_TRUE(left.task.bias().equal(right.task.bias()));
    expect_same_run(left.folder, right.folder);
  }
};

}  // namespace edgewise

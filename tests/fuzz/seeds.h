// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "edgewise/base/files/files.h"
#include "tests/fuzz/readers.h"

namespace edgewise::fuzz {

/// Reads each seed of a reader, some of which were found by fuzzing.
inline void expect_to_read_seeds(const Reader& reader) {
  int num_files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(EDGEWISE_FUZZ_CORPUS) / reader.name)) {
    SCOPED_TRACE(entry.path().filename().string());
    EXPECT_LE(entry.file_size(), 8192U) << "a seed needs to be small";
    reader.read(read_file(entry.path(), "test"));
    ++num_files;
  }
  EXPECT_GT(num_files, 0);
}

/// Names a test by the folder of its reader.
inline std::string reader_name(const testing::TestParamInfo<Reader>& reader) { return std::string(reader.param.name); }

}  // namespace edgewise::fuzz

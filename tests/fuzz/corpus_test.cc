// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

#include "edgewise/base/files.h"
#include "edgewise/train/training_state.h"
#include "tests/fuzz/readers.h"

namespace edgewise::fuzz {
namespace {

namespace fs = std::filesystem;

class FuzzCorpus : public testing::TestWithParam<Reader> {};

// Some of the files were found by fuzzing.
TEST_P(FuzzCorpus, IsReadOrRejected) {
  int num_files = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(EDGEWISE_FUZZ_CORPUS) / GetParam().name)) {
    SCOPED_TRACE(entry.path().filename().string());
    EXPECT_LE(entry.file_size(), 8192U) << "a seed needs to be small";
    GetParam().read(read_file(entry.path(), "test"));
    ++num_files;
  }
  EXPECT_GT(num_files, 0);
}

INSTANTIATE_TEST_SUITE_P(, FuzzCorpus, testing::ValuesIn(readers().begin(), readers().end()),
                         [](const auto& reader) { return std::string(reader.param.name); });

// A seed with another format ends at the first field.
TEST(FuzzReaders, HaveATrainingStateOfThePresentFormat) {
  const fs::path file = fs::path(EDGEWISE_FUZZ_CORPUS) / "state" / "finished";
  EXPECT_EQ(parse_training_state(read_file(file, "test"), file, "transformer").step, 20);
}

TEST(FuzzReaders, HaveAFolderOfSeedsEach) {
  std::set<std::string> names;
  for (const Reader& reader : readers()) names.emplace(reader.name);
  std::set<std::string> folders;
  for (const auto& entry : fs::directory_iterator(EDGEWISE_FUZZ_CORPUS)) folders.insert(entry.path().filename());
  EXPECT_EQ(names, folders);
}

}  // namespace
}  // namespace edgewise::fuzz

// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

#include "edgewise/base/files/files.h"
#include "edgewise/train/training_state.h"
#include "tests/fuzz/readers.h"
#include "tests/fuzz/seeds.h"

namespace edgewise::fuzz {
namespace {

namespace fs = std::filesystem;

class FuzzRuns : public testing::TestWithParam<Reader> {};

TEST_P(FuzzRuns, AreReadOrRejected) { expect_to_read_seeds(GetParam()); }

INSTANTIATE_TEST_SUITE_P(, FuzzRuns, testing::ValuesIn(run_readers().begin(), run_readers().end()), reader_name);

// A seed with another format ends at the first field.
TEST(FuzzReaders, HaveATrainingStateOfThePresentFormat) {
  const fs::path file = fs::path(EDGEWISE_FUZZ_CORPUS) / "state" / "finished";
  EXPECT_EQ(parse_training_state(read_file(file, "test"), file, "transformer").step, 20);
}

TEST(FuzzReaders, HaveAFolderOfSeedsEach) {
  std::set<std::string> names;
  for (const Reader& reader : readers()) names.emplace(reader.name);
  for (const Reader& reader : run_readers()) names.emplace(reader.name);
  std::set<std::string> folders;
  for (const auto& entry : fs::directory_iterator(EDGEWISE_FUZZ_CORPUS)) folders.insert(entry.path().filename());
  EXPECT_EQ(names, folders);
}

}  // namespace
}  // namespace edgewise::fuzz

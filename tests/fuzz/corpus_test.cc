// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <string_view>

#include "edgewise/base/files.h"
#include "tests/fuzz/readers.h"

namespace edgewise::fuzz {
namespace {

// Reads each file of a corpus. Some of the files were found by fuzzing.
void read_corpus(std::string_view name, void (*read)(std::string_view)) {
  int num_files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(EDGEWISE_FUZZ_CORPUS) / name)) {
    SCOPED_TRACE(entry.path().filename().string());
    read(read_file(entry.path(), "test"));
    ++num_files;
  }
  EXPECT_GT(num_files, 0);
}

TEST(FuzzCorpus, SafetensorsAreReadOrRejected) { read_corpus("safetensors", read_safetensors); }
TEST(FuzzCorpus, ConfigsAreReadOrRejected) { read_corpus("config", read_config); }
TEST(FuzzCorpus, ManifestsAreReadOrRejected) { read_corpus("manifest", read_manifest); }
TEST(FuzzCorpus, VocabulariesAreReadOrRejected) { read_corpus("vocabulary", read_vocabulary); }
TEST(FuzzCorpus, CasesAreReadOrRejected) { read_corpus("case", read_case); }

}  // namespace
}  // namespace edgewise::fuzz

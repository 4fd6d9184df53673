// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <string_view>

#include "edgewise/base/files.h"
#include "tests/fuzz/readers.h"

namespace edgewise::fuzz {
namespace {

// Reads each file of a corpus: what fuzzing once found among them.
void read_corpus(std::string_view name, void (*read)(std::string_view)) {
  int num_files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(EDGEWISE_FUZZ_CORPUS) / name)) {
    SCOPED_TRACE(entry.path().filename().string());
    read(read_file(entry.path(), "test"));
    ++num_files;
  }
  EXPECT_GT(num_files, 0);
}

TEST(FuzzCorpus, OfSafetensorsIsReadOrRefused) { read_corpus("safetensors", read_safetensors); }
TEST(FuzzCorpus, OfConfigsIsReadOrRefused) { read_corpus("config", read_config); }
TEST(FuzzCorpus, OfManifestsIsReadOrRefused) { read_corpus("manifest", read_manifest); }
TEST(FuzzCorpus, OfVocabulariesIsReadOrRefused) { read_corpus("vocabulary", read_vocabulary); }
TEST(FuzzCorpus, OfCasesIsReadOrRefused) { read_corpus("case", read_case); }

}  // namespace
}  // namespace edgewise::fuzz

// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "edgewise/translate/model_files.h"
#include "edgewise/translate/model_paths.h"
#include "tests/base/support.h"
#include "tests/support/error_of.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

constexpr const char* kVariable = "EDGEWISE_MODELS";

/// Has the folders A, B and C of models, of which EDGEWISE_MODELS names A and B, and the program has C. The working
/// directory is empty.
class ModelNames : public testing::Test {
 protected:
  ModelNames() : before_(fs::current_path()), program_folders_(folders_of_program()) {
    for (const char* name : {"A", "B", "C", "work"}) fs::create_directory(folder_ / name);
    fs::current_path(folder_ / "work");
    ::setenv(kVariable, fmt::format("{}:{}", a().string(), b().string()).c_str(), 1);
    set_program_model_folders({c()});
  }
  ~ModelNames() override {
    ::unsetenv(kVariable);
    set_program_model_folders(program_folders_);
    fs::current_path(before_);
  }

  static std::vector<fs::path> folders_of_program() {
    std::vector<fs::path> folders = model_folders();
    folders.pop_back();  // /usr/share/edgewise/models
    return folders;
  }

  fs::path a() const { return folder_ / "A"; }
  fs::path b() const { return folder_ / "B"; }
  fs::path c() const { return folder_ / "C"; }

  /// Makes a directory that find_model accepts.
  static fs::path make_model(const fs::path& path) {
    fs::create_directories(path);
    std::ofstream(path / kManifestName) << "{}";
    return path;
  }

  /// Returns the end of an error of translate.
  std::string folders_text(const std::string& names) const {
    return fmt::format("the name of a model in {}, {}, {}, /usr/share/edgewise/models, which have {}", a().string(),
                       b().string(), c().string(), names);
  }

  TemporaryFolder folder_;
  fs::path before_;
  std::vector<fs::path> program_folders_;
};

TEST_F(ModelNames, AreLookedUpInTheVariableThenBesideTheProgramThenInTheSystem) {
  EXPECT_THAT(model_folders(), ElementsAre(a(), b(), c(), "/usr/share/edgewise/models"));
  const fs::path in_c = make_model(c() / "en-de");
  EXPECT_EQ(find_model("en-de", "test"), in_c);
  const fs::path in_b = make_model(b() / "en-de");
  EXPECT_EQ(find_model("en-de", "test"), in_b);
  const fs::path in_a = make_model(a() / "en-de");
  EXPECT_EQ(find_model("en-de", "test"), in_a);
}

TEST_F(ModelNames, ComeAfterAPathThatExists) {
  make_model(a() / "en-de");
  make_model("en-de");
  EXPECT_EQ(find_model("en-de", "test"), "en-de");
  fs::remove("en-de/manifest.json");
  EXPECT_EQ(error_of([] { find_model("en-de", "test"); }),
            "test: en-de holds no model, needs a directory with manifest.json (or with best/ or last/ that have one)");
}

TEST_F(ModelNames, MayNameRuns) {
  make_model(a() / "run/last");
  EXPECT_EQ(find_model("run", "test"), a() / "run/last");
  make_model(a() / "run/best");
  EXPECT_EQ(find_model("run", "test"), a() / "run/best");
}

TEST_F(ModelNames, PassOverAFolderWithoutAModelOfTheName) {
  fs::create_directory(a() / "en-de");
  const fs::path in_b = make_model(b() / "en-de");
  EXPECT_EQ(find_model("en-de", "test"), in_b);
}

TEST_F(ModelNames, HaveNoSlashes) {
  make_model(a() / "en-de");
  make_model(folder_ / "outside");
  EXPECT_EQ(find_named_model("./en-de", "test"), std::nullopt);
  EXPECT_EQ(find_named_model("../outside", "test"), std::nullopt);
  EXPECT_EQ(find_named_model("..", "test"), std::nullopt);
  EXPECT_EQ(error_of([] { find_model("x/en-de", "test"); }),
            "test: x/en-de does not exist, needs a run or model directory");
}

TEST_F(ModelNames, AreListedWithTheirFoldersInTheErrorForAnotherName) {
  EXPECT_EQ(error_of([] { find_model("en-fr", "test"); }),
            "test: en-fr does not exist, needs a run or model directory, or " + folders_text("none"));
  make_model(c() / "en-de");
  make_model(a() / "en-de");
  make_model(b() / "de-en/best");
  fs::create_directory(a() / "data");
  EXPECT_EQ(error_of([] { find_model("en-fr", "test"); }),
            "test: en-fr does not exist, needs a run or model directory, or " + folders_text("de-en, en-de"));
}

TEST_F(ModelNames, AreLookedUpBesideTheFolderOfTheProgramIfNothingElseIsSet) {
  const fs::path beside = fs::read_symlink("/proc/self/exe").parent_path().parent_path();
  EXPECT_THAT(program_folders_, ElementsAre(beside / "share/edgewise/models", beside / "models"));
}

TEST_F(ModelNames, IgnoreEmptyAndRepeatedFolders) {
  ::setenv(kVariable, fmt::format("::{}:{}:", a().string(), a().string()).c_str(), 1);
  EXPECT_THAT(model_folders(), ElementsAre(a(), c(), "/usr/share/edgewise/models"));
  ::setenv(kVariable, "", 1);
  EXPECT_THAT(model_folders(), ElementsAre(c(), "/usr/share/edgewise/models"));
}

}  // namespace
}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
// Models that the programs find by their names.
#include "tests/apps/program.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

class NamedModels : public ProgramTest {
 protected:
  NamedModels() {
    write("tiny.toml", kTinyConfig);
    run_well({"train", "tiny.toml", "--out", "run", "--set", "train.epochs=1"});
    expected_ = run_well({"translate", "--model", "run"}, {.input = "a b\n"});
  }

  void copy_model(const std::string& directory) const {
    fs::create_directories(path(directory).parent_path());
    fs::copy(path("run/best"), path(directory));
  }

  /// Translates with a copy of edgewise-translate in the folder `bin`.
  ProcessResult translate(const std::string& model) const {
    fs::create_directory(path("bin"));
    fs::copy_file(EDGEWISE_TRANSLATE, path("bin/edgewise-translate"), fs::copy_options::skip_existing);
    return run_process({path("bin/edgewise-translate").string(), "--model", model},
                       {.input = "a b\n", .folder = path("").string()});
  }

  std::string expected_;
};

TEST_F(NamedModels, AreFoundInTheFoldersOfTheEnvironmentByAllCommands) {
  copy_model("folder/xx-yy");
  const ProcessOptions options = {.input = "a b\n", .environment = {"EDGEWISE_MODELS=none:folder"}};
  EXPECT_EQ(run_well({"translate", "--model", "xx-yy"}, options), expected_);
  EXPECT_EQ(run_well({"inspect", "xx-yy"}, options).substr(0, 13), "folder/xx-yy:");
  run_well({"average", "--out", "mean", "xx-yy"}, options);
  run_well({"train", "tiny.toml", "--from", "xx-yy", "--out", "more", "--set", "train.epochs=1"}, options);
}

TEST_F(NamedModels, AreFoundWhereTheProgramIsInstalled) {
  copy_model("share/edgewise/models/xx-yy");
  EXPECT_EQ(translate("xx-yy").output, expected_);
}

TEST_F(NamedModels, AreFoundBesideTheFolderOfTheProgramAsInAClone) {
  copy_model("models/xx-yy");
  EXPECT_EQ(translate("xx-yy").output, expected_);
}

TEST_F(NamedModels, AreListedInTheErrorForAnotherName) {
  copy_model("models/xx-yy");
  const ProcessResult result = translate("xx-zz");
  EXPECT_EQ(result.exit_code, 2);
  const std::string folder = fs::canonical(path("")).string();
  EXPECT_EQ(result.errors.substr(0, result.errors.rfind(", /usr")),
            "translate: xx-zz does not exist, needs a run or model directory, or the name of a model in " + folder +
                "/share/edgewise/models, " + folder + "/models");
  EXPECT_NE(result.errors.find("xx-yy"), std::string::npos) << result.errors;
}

}  // namespace
}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
// The first example of README.md.
#include <regex>

#include "tests/apps/program.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

using Readme = ProgramTest;

TEST_F(Readme, BeginsWithACommandThatTranslatesAsItSays) {
  // A folder that is like a clone, wherever the build is.
  fs::create_directory(path("build"));
  fs::copy_file(EDGEWISE_TRANSLATE, path("build/edgewise-translate"));
  fs::create_directory_symlink(EDGEWISE_SOURCE "/models", path("models"));
  std::ostringstream readme;
  readme << std::ifstream(EDGEWISE_SOURCE "/README.md").rdbuf();
  const std::string text = readme.str();
  // The first code, behind `make build`: a command, and a comment with its output.
  std::smatch found;
  ASSERT_TRUE(std::regex_search(text, found, std::regex("\n    make build\n    (echo .*\\S) *# (.*)\n")));
  EXPECT_EQ(found.prefix().str().find("\n    "), std::string::npos);

  const ProcessResult result = run_process({"/bin/sh", "-c", found[1]}, {.folder = path("").string()});

  EXPECT_EQ(result.errors, "");
  EXPECT_EQ(result.output, found[2].str() + "\n");
}

}  // namespace
}  // namespace edgewise

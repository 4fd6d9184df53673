// SPDX-License-Identifier: Apache-2.0
// The first command of README.md, and its example in C++.
#include <regex>

#include "tests/apps/program.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

using Readme = ProgramTest;

std::string read_source(const std::string& name) {
  std::ostringstream text;
  text << std::ifstream(EDGEWISE_SOURCE "/" + name).rdbuf();
  return text.str();
}

TEST_F(Readme, BeginsWithACommandThatTranslatesAsItSays) {
  // A folder that is like a clone, wherever the build is.
  fs::create_directory(path("build"));
  fs::copy_file(EDGEWISE_TRANSLATE, path("build/edgewise-translate"));
  fs::create_directory_symlink(EDGEWISE_SOURCE "/models", path("models"));
  const std::string text = read_source("README.md");
  // The first code, after `make build`: a command, and a comment with its output.
  std::smatch found;
  ASSERT_TRUE(std::regex_search(text, found, std::regex("\n```sh\nmake build\n(echo .*\\S) *# (.*)\n```\n")));
  EXPECT_EQ(found.prefix().str().find("\n```"), std::string::npos);

  const ProcessResult result = run_process({"/bin/sh", "-c", found[1]}, {.folder = path("").string()});

  EXPECT_EQ(result.errors, "");
  EXPECT_EQ(result.output, found[2].str() + "\n");
}

TEST_F(Readme, HasTheCodeOfAnExampleThatIsCompiled) {
  const std::string text = read_source("README.md");
  std::smatch found;
  ASSERT_TRUE(std::regex_search(text, found, std::regex("\n```cpp\n([^`]*)```\n")));

  EXPECT_NE(read_source("examples/window.cpp").find(found[1]), std::string::npos) << found[1];
}

}  // namespace
}  // namespace edgewise

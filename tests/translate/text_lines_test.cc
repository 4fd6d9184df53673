// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/text_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/support/error_of.h"

namespace edgewise {
namespace {

using namespace std::string_literals;

class TextLinesTest : public testing::Test {
 protected:
  TextLinesTest()
      : path_(std::filesystem::temp_directory_path() / ("edgewise-text-lines-" + std::to_string(getpid()))) {
    std::ofstream(path_, std::ios::binary) << "good\nb\xFF\xC3"
                                              "d\n\nNUL \0 is text\n"s;
  }
  ~TextLinesTest() override { std::filesystem::remove(path_); }

  TextLinesOptions options() { return {.path = path_.string(), .caller = "test"}; }

  std::filesystem::path path_;
};

TEST_F(TextLinesTest, ThrowsAtALineThatIsNotUtf8) {
  TextLines lines(options());

  EXPECT_EQ(lines.next(), "good");
  EXPECT_EQ(error_of([&] { lines.next(); }),
            "test: " + path_.string() + ":2 has a byte that is not UTF-8 at 1, needs UTF-8");
}

TEST_F(TextLinesTest, ReplacesAndReportsInvalidUtf8) {
  std::vector<std::string> reports;
  TextLinesOptions replacing = options();
  replacing.bad_text = BadText::kReplace;
  replacing.report = [&](const std::string& report) { reports.push_back(report); };
  TextLines lines(replacing);

  EXPECT_EQ(lines.next(), "good");
  EXPECT_EQ(lines.next(), "b\uFFFD\uFFFDd");
  EXPECT_EQ(lines.next(), "");
  EXPECT_EQ(lines.next(), "NUL \0 is text"s);
  EXPECT_EQ(lines.next(), std::nullopt);
  EXPECT_THAT(reports, testing::ElementsAre("test: " + path_.string() +
                                            ":2 has a byte that is not UTF-8 at 1, replaced by U+FFFD"));
}

TEST_F(TextLinesTest, NamesALineThatIsTooLong) {
  TextLinesOptions narrow = options();
  narrow.max_line_bytes = 4;
  narrow.bad_text = BadText::kReplace;
  TextLines lines(narrow);

  EXPECT_EQ(error_of([&] {
              while (lines.next()) {
              }
            }),
            "test: " + path_.string() + ":4 has more than 4 bytes in a line, needs at most 4");
}

}  // namespace
}  // namespace edgewise

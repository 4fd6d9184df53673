// SPDX-License-Identifier: Apache-2.0
#include "edgewise/generate/stop_strings.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "tests/support/error_of.h"

namespace edgewise {
namespace {

struct Filtered {
  std::string text;
  bool is_stopped;

  friend bool operator==(const Filtered&, const Filtered&) = default;
};

/// Tries each beginning of the text, and each stop string at its end.
Filtered definition(const std::vector<std::string>& stop, const std::string& text) {
  for (std::size_t size = 1; size <= text.size(); ++size) {
    const std::string beginning = text.substr(0, size);
    std::size_t longest = 0;
    for (const std::string& string : stop) {
      if (beginning.ends_with(string)) longest = std::max(longest, string.size());
    }
    if (longest > 0) return {beginning.substr(0, size - longest), true};
  }
  return {text, false};
}

Filtered filter(const std::vector<std::string>& stop, const std::vector<std::string>& pieces) {
  const StopStrings strings(stop);
  StopFilter filter(strings);
  std::string text;
  for (const std::string& piece : pieces) text += filter.push(piece);
  text += filter.finish();
  return {text, filter.is_stopped()};
}

TEST(StopFilter, EndsATextBeforeAStopStringInPiecesOfAnySize) {
  EXPECT_EQ(filter({"\n\n"}, {"a\n", "b", "\n", "\nc"}), (Filtered{"a\nb", true}));
  EXPECT_EQ(filter({"END", "NIL"}, {"xEN", "NI", "L"}), (Filtered{"xEN", true}));
  EXPECT_EQ(filter({"abcd", "c"}, {"xabc"}), (Filtered{"xab", true}));
  EXPECT_EQ(filter({"abcd", "bc"}, {"xab", "d"}), (Filtered{"xabd", false}));
  EXPECT_EQ(filter({"bc", "abc"}, {"xabc"}), (Filtered{"x", true}));
  EXPECT_EQ(filter({"é"}, {"caf\xC3", "\xA9"}), (Filtered{"caf", true}));
  EXPECT_EQ(filter({}, {"a", "b"}), (Filtered{"ab", false}));
}

RC_GTEST_PROP(StopFilter, EqualsTheDefinitionForRandomStringsAndPieces, ()) {
  const auto text = [](std::size_t most) {
    std::string made(*rc::gen::inRange<std::size_t>(1, most), ' ');
    for (char& character : made) character = *rc::gen::element('a', 'b', 'c');
    return made;
  };
  std::vector<std::string> stop(*rc::gen::inRange<std::size_t>(0, 5));
  for (std::string& string : stop) string = text(6);
  std::vector<std::string> pieces(*rc::gen::inRange<std::size_t>(0, 8));
  std::string whole;
  for (std::string& piece : pieces) whole += piece = text(5);
  RC_ASSERT(filter(stop, pieces) == definition(stop, whole));
}

TEST(StopStrings, AreAThousandAtMostAsManyBytesAsTheLimit) {
  std::vector<std::string> strings;
  for (int i = 0; i < 1000; ++i) strings.push_back("stop " + std::to_string(i) + "!");
  EXPECT_EQ(filter(strings, {"do not stop 99", "9, stop 998!"}), (Filtered{"do not stop 999, ", true}));
  EXPECT_EQ(error_of([] {
              StopStrings({std::string(kMaxStopBytes, 'a'), "b"});
            }),
            "generate: the stop strings have 65537 bytes, needs at most 65536");
  EXPECT_EQ(error_of([] { StopStrings({std::string(kMaxStopBytes, 'a')}); }), "no error");
}

TEST(StopStrings, AreNeitherEmptyNorOtherThanUtf8) {
  EXPECT_EQ(error_of([] { StopStrings({"a", ""}); }), "generate: a stop string is empty, needs at least one character");
  EXPECT_EQ(error_of([] { StopStrings({"a\xFF"}); }), "generate: the stop string \"a\\xff\" is not UTF-8, needs UTF-8");
}

}  // namespace
}  // namespace edgewise

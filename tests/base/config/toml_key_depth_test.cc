// SPDX-License-Identifier: Apache-2.0
#include "edgewise/base/config/toml_key_depth.h"

#include <gtest/gtest.h>

#include <string>

namespace edgewise::detail {
namespace {

std::size_t parts(std::string_view toml) { return find_deepest_key(toml).parts; }

TEST(FindDeepestKey, CountsTheParts) {
  EXPECT_EQ(parts(""), 0U);
  EXPECT_EQ(parts("a = 1\nb.c = 2\n"), 2U);
  EXPECT_EQ(parts("[a.b.\"c d\".'e']\n"), 4U);
  EXPECT_EQ(parts("a . b .\tc = 1"), 3U);
  EXPECT_EQ(parts("a = {b.c.d = 1}"), 3U);
  EXPECT_EQ(parts("a = [1.5, 2.5]"), 2U);
}

TEST(FindDeepestKey, CountsNothingInsideStringsAndComments) {
  EXPECT_EQ(parts("# a.b.c.d.e\na = 1 # a.b.c\n"), 1U);
  EXPECT_EQ(parts("a = \"a.b.c \\\" d.e\""), 1U);
  EXPECT_EQ(parts("a = 'a.b.c\\'"), 1U);
  EXPECT_EQ(parts("a = \"\"\"\na.b.c \" d.e\n\"\"\"\nb.c = '''\na.b.c'''"), 2U);
  EXPECT_EQ(parts("a = \"not closed\nb.c.d = 1"), 3U);
}

TEST(FindDeepestKey, CountsPartsBehindALongStringThatEndsWithQuotes) {
  for (const std::string quote : {"\"", "'"}) {
    const std::string mark = quote + quote + quote;
    for (const std::string& quotes : {std::string(), quote, quote + quote}) {
      EXPECT_EQ(parts("x = {a = " + mark + "y" + quotes + mark + ", b.b.b.b = 1}"), 4U) << quotes;
      EXPECT_EQ(parts("x = " + mark + "y" + quotes + mark + "\nb.b = 1 # " + quote + "\n"), 2U) << quotes;
    }
  }
}

TEST(FindDeepestKey, NamesTheLineOfTheKey) {
  EXPECT_EQ(find_deepest_key("a = \"\"\"\n\n\"\"\"\nb.c = 1\nd = 1\n").line, 4U);
}

}  // namespace
}  // namespace edgewise::detail

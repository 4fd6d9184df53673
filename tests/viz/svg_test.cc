// SPDX-License-Identifier: Apache-2.0
#include "edgewise/viz/svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "edgewise/base/utf8.h"
#include "edgewise/viz/page.h"

namespace edgewise {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(PrintableToken, KeepsDisplayableText) {
  EXPECT_EQ(printable_token("voiture"), "voiture");
  EXPECT_EQ(printable_token("車"), "車");
  EXPECT_EQ(printable_token("שלום"), "שלום");
  EXPECT_EQ(printable_token("<end>"), "<end>");
  EXPECT_EQ(printable_token(""), "");
}

TEST(PrintableToken, IsCutBetweenCharacters) {
  EXPECT_EQ(printable_token("abcdef", 3), "abc…");
  EXPECT_EQ(printable_token("äöü", 3), "äöü");
  EXPECT_EQ(printable_token("e\u0301e\u0301e\u0301", 2), "e\u0301e\u0301…");  // a mark goes with its letter
  EXPECT_EQ(count_code_points(printable_token(std::string(200, 'x'))), 17U);
}

TEST(PrintableToken, ReplacesInvisibleCharacters) {
  EXPECT_EQ(printable_token("a\nb"), "a␊b");
  EXPECT_EQ(printable_token(std::string("\0\x7F", 2)), "␀␡");
  EXPECT_EQ(printable_token("\u0301"), "◌\u0301");
  EXPECT_EQ(printable_token("▁the"), "_the");
  EXPECT_EQ(printable_token("\u202Eabc"), "\uFFFDabc");  // would reverse the text after it
  EXPECT_EQ(printable_token("a\u200Bb\u2060\uFEFF\u00AD\u061C"), "a\uFFFDb\uFFFD\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(printable_token("\U000E0041\U000E007F"), "\uFFFD\uFFFD");
  EXPECT_EQ(printable_token("\xFF"), "\uFFFD");
  EXPECT_EQ(printable_token("\uFFFE"), "\uFFFD");  // not allowed in XML
}

TEST(PrintableToken, KeepsJoinersWhereTheyShapeTheirNeighboursOnly) {
  for (const std::string shaped : {"می\u200Cخواهم", "क्\u200Dष", "👩\u200D🚀", "❤\uFE0F\u200D🔥", "👩🏽\u200D🚀"}) {
    EXPECT_EQ(printable_token(shaped), shaped);
  }
  EXPECT_EQ(printable_token("a\u200Db"), "a\uFFFDb");
  EXPECT_EQ(printable_token("می\u200C"), "می\uFFFD");
  EXPECT_EQ(printable_token("\u200D🚀"), "\uFFFD🚀");
  EXPECT_EQ(printable_token("👩\u200D\u200D🚀"), "👩\uFFFD\uFFFD🚀");
  EXPECT_EQ(printable_token("👩\u200D\xFF"), "👩\uFFFD\uFFFD");
}

TEST(PrintableToken, CutsALongSequenceOfMarks) {
  std::string marks = "e";
  for (int i = 0; i < 100'000; ++i) marks += "\u0301";
  EXPECT_LT(printable_token(marks).size(), 300U);
}

TEST(Svg, EscapesHostileText) {
  const std::string text = svg_text(1, 2, "</text><script>alert(1)</script>&\"");
  EXPECT_EQ(text, "<text x=\"1\" y=\"2\">&lt;/text&gt;&lt;script&gt;alert(1)&lt;/script&gt;&amp;&quot;</text>");

  const SvgPicture picture = {.width = 10, .height = 20, .title = "\"><script>", .body = text};
  for (const std::string& svg : {svg_file(picture), svg_for_page(picture)}) {
    EXPECT_THAT(svg, HasSubstr("viewBox=\"0 0 10 20\""));
    EXPECT_THAT(svg, Not(HasSubstr("<script")));
  }
}

TEST(Svg, WritesNoBytesThatXmlForbids) {
  EXPECT_EQ(svg_text(1, 2, std::string("a\x01\xff\n\0b", 6)), "<text x=\"1\" y=\"2\">a␁\uFFFD␊␀b</text>");
}

TEST(Svg, FileFetchesNothingAndHasADarkTheme) {
  const std::string svg = svg_file({.width = 10, .height = 10, .title = "t", .body = ""});
  EXPECT_THAT(svg, HasSubstr("prefers-color-scheme: dark"));
  for (const char* fetching : {"href", "url(", "@import", "<image"}) EXPECT_THAT(svg, Not(HasSubstr(fetching)));
}

TEST(HtmlPage, EscapesScriptEndsInItsData) {
  const std::string page = html_page({.title = "t", .body = "", .script = "f(data);", .data = R"(["</script><!--"])"});
  EXPECT_THAT(page, HasSubstr(R"(["\u003c/script>\u003c!--"])"));
  EXPECT_THAT(page, HasSubstr("f(data);"));
}

}  // namespace
}  // namespace edgewise

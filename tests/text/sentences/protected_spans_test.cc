// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/sentences/protected_spans.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

namespace edgewise {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> spans_of(const std::string& text) {
  std::vector<std::string> spans;
  for (const ProtectedSpan& span : find_protected_spans(text)) {
    spans.push_back(text.substr(span.bytes.begin, span.bytes.size()));
  }
  return spans;
}

TEST(ProtectedSpans, WordsAreNone) {
  for (const std::string text : {"dog",
                                 "No",
                                 "I",
                                 "A",
                                 "It is here.",
                                 "He said: \"No!\" (twice)",
                                 "and/or",
                                 "he/she",
                                 "e.g. this",
                                 "U.S. law",
                                 "3rd",
                                 "in 1999",
                                 "the 1990s",
                                 "5 km",
                                 "100 km/h",
                                 "It's 10:30.",
                                 "I came.It was late",
                                 "well-known",
                                 "Tom & Jerry",
                                 "a = b",
                                 "2 * 3 * 4",
                                 "50% of it",
                                 "100 % sure",
                                 "Price*",
                                 "iPhone",
                                 "H. G. Wells",
                                 "\u4f60\u597d",
                                 "3.5 metres",
                                 "AT&T",
                                 "T-shirt",
                                 "COVID-19",
                                 "20 \u00B0C",
                                 "x < y and y > z",
                                 "- one",
                                 "",
                                 "Call me (at home).",
                                 "He won; I lost, too!"}) {
    EXPECT_THAT(spans_of(text), IsEmpty()) << text;
  }
}

TEST(ProtectedSpans, AddressesEndBeforeTheMarksOfTheSentence) {
  EXPECT_THAT(spans_of("See https://a.org/b?c=d&e=f#g, or (http://x.y/z_(q))."),
              ElementsAre("https://a.org/b?c=d&e=f#g", "http://x.y/z_(q)"));
  EXPECT_THAT(spans_of("Write to first.last+tag@mail.example.com!"), ElementsAre("first.last+tag@mail.example.com"));
  EXPECT_THAT(spans_of("example.org, www.example.it and bbc.co.uk/news."),
              ElementsAre("example.org", "www.example.it", "bbc.co.uk/news"));
  EXPECT_THAT(spans_of("\u8acb\u770bhttps://a.org/b\u3002"), ElementsAre("https://a.org/b"));
}

TEST(ProtectedSpans, NamesOfFilesAndPrograms) {
  EXPECT_THAT(spans_of("Open report.pdf and ./a/b.tar.gz."), ElementsAre("report.pdf", "./a/b.tar.gz"));
  EXPECT_THAT(spans_of("in /usr/bin/env, ~/notes or C:\\x\\y.txt"),
              ElementsAre("/usr/bin/env", "~/notes", "C:\\x\\y.txt"));
  EXPECT_THAT(spans_of("set max_size, --no-color and std::vector; call run()."),
              ElementsAre("max_size", "--no-color", "std::vector", "run()"));
  EXPECT_THAT(spans_of("type `ls -l` or ``a`b``"), ElementsAre("`ls -l`", "``a`b``"));
}

TEST(ProtectedSpans, PlaceholdersOfPrograms) {
  EXPECT_THAT(spans_of("Hello %1$s, %d of %.2f %@ %(name)s."), ElementsAre("%1$s", "%d", "%.2f", "%@", "%(name)s"));
  EXPECT_THAT(spans_of("{name} {0} ${order_id} {{ user.name }} %{x} $HOME {%if a%}"),
              ElementsAre("{name}", "{0}", "${order_id}", "{{ user.name }}", "%{x}", "$HOME", "{%if a%}"));
  EXPECT_THAT(spans_of("A<x id=\"1\"/>B <g id='2'>c</g>"), ElementsAre("<x id=\"1\"/>", "<g id='2'>", "</g>"));
  EXPECT_THAT(spans_of("Tom&nbsp;and&#160;I\\n"), ElementsAre("&nbsp;", "&#160;", "\\n"));
}

TEST(ProtectedSpans, APlaceholderBehindANumberIsNoSignOfACurrency) {
  EXPECT_THAT(spans_of("it has 13080 ${n} now, 5 $total"), ElementsAre("13080", "${n}", "$total"));
}

TEST(ProtectedSpans, LongNumbersVersionsCodesAndPrices) {
  EXPECT_THAT(spans_of("2023-12-24 10:30:15 1,000,000 12345 1.2.3 v2.0 127.0.0.1"),
              ElementsAre("2023-12-24", "10:30:15", "1,000,000", "12345", "1.2.3", "v2.0", "127.0.0.1"));
  EXPECT_THAT(spans_of("order AB-1234, BE0412345678, item4711, #4711"),
              ElementsAre("AB-1234", "BE0412345678", "item4711", "#4711"));
  EXPECT_THAT(spans_of("It costs $5, 417.93 \u20ac or \u00a31 000.50"),
              ElementsAre("$5", "417.93 \u20ac", "\u00a31 000.50"));
  EXPECT_THAT(spans_of("Call +49 (30) 123-4567 now; 25 000 people"), ElementsAre("+49 (30) 123-4567", "25 000"));
}

TEST(ProtectedSpans, NamesTopicsNotesAndSymbols) {
  EXPECT_THAT(spans_of("@ada and #nature [12] [^note]"), ElementsAre("@ada", "#nature", "[12]", "[^note]"));
  EXPECT_THAT(spans_of("Yes \U0001F44D\U0001F3FD\U0001F600 no \u2764\uFE0F, 1\uFE0F\u20E3 \U0001F1E9\U0001F1EA"),
              ElementsAre("\U0001F44D\U0001F3FD\U0001F600", "\u2764\uFE0F", "1\uFE0F\u20E3", "\U0001F1E9\U0001F1EA"));
  EXPECT_THAT(spans_of("family \U0001F468\u200D\U0001F469\u200D\U0001F467!"),
              ElementsAre("\U0001F468\u200D\U0001F469\u200D\U0001F467"));
}

TEST(ProtectedSpans, ObjectsAndTheFormulasAroundThem) {
  EXPECT_THAT(spans_of("one\uFFFCtwo \uFFFC\uFFFC"), ElementsAre("\uFFFC", "\uFFFC", "\uFFFC"));
  EXPECT_THAT(spans_of("H\uFFFCO and C\uFFFCH\uFFFCO\uFFFC, CO\uFFFC"),
              ElementsAre("H\uFFFCO", "C\uFFFCH\uFFFCO\uFFFC", "\uFFFC"));
}

TEST(ProtectedSpans, MarksAroundWordsArePairs) {
  const auto spans = find_protected_spans("a **b *c* d** [e](http://f) <i>g</i>");
  ASSERT_EQ(spans.size(), 8U);
  EXPECT_EQ(spans[0].partner, 3U);
  EXPECT_EQ(spans[1].partner, 2U);
  EXPECT_EQ(spans[3].partner, 0U);
  EXPECT_EQ(spans[4].partner, 5U);
  EXPECT_EQ(spans[7].partner, 6U);
  EXPECT_THAT(spans_of("![a cat](cat.png) [b][c]"), ElementsAre("![", "](cat.png)", "[", "][c]"));
}

TEST(ProtectedSpans, WhatIsTooLongForAWord) {
  const std::string run(101, 'a');
  EXPECT_THAT(spans_of("a " + run + " b"), ElementsAre(run));
  EXPECT_THAT(spans_of("&" + run), ElementsAre("&" + run));
  EXPECT_THAT(spans_of(std::string(100, 'a')), IsEmpty());
  std::string chinese;
  for (int i = 0; i < 200; ++i) chinese += "\u4f60";
  EXPECT_THAT(spans_of(chinese), IsEmpty());
}

TEST(ProtectedSpans, AscendWithoutOverlapAndPairsAreMutual) {
  EXPECT_TRUE(rc::check([] {
    const auto parts = *rc::gen::container<std::vector<std::string>>(rc::gen::element<std::string>(
        "a", "word", "**", "*", "_", "[", "](", ")", "]", "<b>", "</b>", "<", ">", "{", "}", "%d", "`", "\uFFFC", "H",
        "2", "12345", "https://a.b", "@", "#", ".", " ", "\n", "\u00e9", "\U0001F600", "\xFF", "$", "&", ";", "~~"));
    std::string text;
    for (const std::string& part : parts) text += part;
    const auto spans = find_protected_spans(text);
    std::size_t end = 0;
    for (std::size_t i = 0; i < spans.size(); ++i) {
      RC_ASSERT(spans[i].bytes.begin >= end);
      RC_ASSERT(spans[i].bytes.end > spans[i].bytes.begin);
      end = spans[i].bytes.end;
      if (spans[i].partner) RC_ASSERT(spans.at(*spans[i].partner).partner == i);
    }
    RC_ASSERT(end <= text.size());
  }));
}

TEST(NeedsTranslation, IsTrueOfWordsAlone) {
  for (const std::string text : {"dog", "No", "I", "A", "3rd", "1990s", "10 am", "\u4f60", "km", "EUR", "Mr. 5",
                                 "2 dogs", "No. 5", "MIX", "Type <b>this</b>", "\u7b2c3\u7ae0", "\xFF"}) {
    EXPECT_TRUE(needs_translation(text)) << text;
  }
  for (const std::string text : {"",
                                 " ",
                                 "1",
                                 "31.",
                                 "3.5",
                                 "417.93 \u20ac",
                                 "$5",
                                 "5 km",
                                 "5km",
                                 "100 km/h",
                                 "20 \u00B0C",
                                 "12 m\u00B2",
                                 "EUR 20",
                                 "10:30",
                                 "2023-12-24T10:30:00Z",
                                 "00:00:07,882 --> 00:00:10,510",
                                 "A4",
                                 "BE0412345678",
                                 "-",
                                 ".",
                                 "?",
                                 "(\u2026)",
                                 "\u3000",
                                 "***",
                                 "\U0001F600",
                                 "https://a.org",
                                 "a@b.org",
                                 "report.pdf",
                                 "{name}",
                                 "%s",
                                 "<x/>",
                                 "@ada",
                                 "#topic",
                                 "`ls -l`",
                                 "1920x1080",
                                 "3\u00AA",
                                 "1/2",
                                 "+49 30 1234567",
                                 "\uFFFC",
                                 "[1]"}) {
    EXPECT_FALSE(needs_translation(text)) << text;
  }
}

TEST(RemoveInvisible, JoinsTheLettersOfAWord) {
  EXPECT_EQ(remove_invisible("Ent\u00ADschei\u200Bdung \uFEFFa\u2060b\u200Ec\uFE0F"), "Entscheidung abc");
  EXPECT_EQ(remove_invisible("a\u200Cb \u0645\u06CC\u200C\u0631\u0648\u0645"),
            "ab \u0645\u06CC\u200C\u0631\u0648\u0645");
}

}  // namespace
}  // namespace edgewise

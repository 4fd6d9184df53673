// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/markup.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/error_of.h"
#include "tests/translate/fake_translations.h"

namespace edgewise {
namespace {

/// Translates by capitals.
std::string in_capitals(std::string_view html) { return translate_markup(html, each_word(capitals)); }

std::string copied(std::string_view html) { return translate_markup(html, copy_words()); }

std::string reversed(std::string_view html) { return translate_markup(html, reverse_words()); }

using Texts = std::vector<std::string>;

TEST(Markup, TextWithoutTagsIsTranslated) { EXPECT_EQ(in_capitals("hello world"), "HELLO WORLD"); }

TEST(Markup, AnEmptyDocumentHasNothingToTranslate) {
  EXPECT_EQ(texts_of(""), Texts());
  EXPECT_EQ(in_capitals(""), "");
  EXPECT_EQ(in_capitals("<p></p>"), "<p></p>");
  EXPECT_EQ(in_capitals(" \n<p>\n</p> "), " \n<p>\n</p> ");
}

TEST(Markup, TagsAndAttributesKeepTheirBytes) {
  const std::string html = "<P CLASS='a  b'  data-x=\"&quot;&copy\" hidden><B\n id=1 >word</B></P>";
  EXPECT_EQ(in_capitals(html), "<P CLASS='a  b'  data-x=\"&quot;&copy\" hidden><B\n id=1 >WORD</B></P>");
}

TEST(Markup, CharacterReferencesAreTranslatedAsCharacters) {
  EXPECT_EQ(texts_of("caf&eacute; &lt;b&gt; &amp; &#x263a; &copy 1"), Texts{"caf\u00e9 <b> & \u263a \u00a9 1"});
  EXPECT_EQ(copied("caf&eacute; &lt;b&gt; &amp; &#9786;"), "caf\u00e9 &lt;b&gt; &amp; \u263a");
}

TEST(Markup, CharactersOfMarkupInATranslationAreEscaped) {
  EXPECT_EQ(translate_markup("<p>word</p>", each_word([](const std::string&) { return std::string("<a&b>"); })),
            "<p>&lt;a&amp;b&gt;</p>");
}

TEST(Markup, BlocksAreTranslatedSeparately) {
  EXPECT_EQ(texts_of("<h1>one two</h1><ul><li>three<li>four</ul>five<hr>six"),
            (Texts{"one two", "three", "four", "five", "six"}));
}

TEST(Markup, WhiteSpaceInALineIsOneSpace) {
  EXPECT_EQ(texts_of("<p>\n  one\n\t two <b> three</b>\n</p>"), Texts{"one two three"});
  EXPECT_EQ(copied("<p>\n  one\n\t two <b> three</b>\n</p>"), "<p>\n  one two <b>three</b>\n</p>");
}

TEST(Markup, WhiteSpaceThatBrowsersLeaveOutStaysInFrontOfWhiteSpaceThatTheyShow) {
  EXPECT_EQ(copied("<p>\n\u00a0one</p>"), "<p>\n\u00a0one</p>");
  EXPECT_EQ(copied("<p>one<br>\n\u00a0two</p>"), "<p>one<br>\n\u00a0two</p>");
  EXPECT_EQ(copied("<p><!-- one -->\u00a0two</p>"), "<p><!-- one -->\u00a0two</p>");
}

TEST(Markup, CharactersThatBrowsersShowStayWithTheirWordThoughNoTokenHasThem) {
  EXPECT_EQ(reversed("one\u00a0<img> two"), "two one\u00a0<img>");
  EXPECT_EQ(reversed("one <img>\vtwo"), "<img>\vtwo one");
  EXPECT_EQ(copied("<b>one\v</b>"), "<b>one\v</b>");
  EXPECT_EQ(copied("\v<br>one<br>\v\v<br>two"), "\v<br>one<br>\v\v<br>two");
  EXPECT_EQ(copied("\vone<b>two<code>c</code></b>"), "<b></b>\vonetwo<code>c</code>");
}

TEST(Markup, InlineTagsAreNoWhiteSpace) {
  EXPECT_EQ(texts_of("un<u>der</u>line hel<wbr>lo"), Texts{"underline hello"});
  EXPECT_EQ(texts_of("one<!-- two -->three"), Texts{"onethree"});
}

TEST(Markup, AnObjectIsACharacterOfItsLineAndKeepsTheSpacesOnBothSides) {
  EXPECT_EQ(texts_of("one<img src=x>two"), Texts{"one\uFFFCtwo"});
  EXPECT_EQ(copied("one<img src=x>two"), "one<img src=x>two");
  EXPECT_EQ(copied("one <img src=x> two"), "one <img src=x> two");
  EXPECT_EQ(copied("Ask <span translate=no>Ada</span> about <code>a</code>, <code>b</code> and <svg></svg>."),
            "Ask <span translate=no>Ada</span> about <code>a</code>, <code>b</code> and <svg></svg>.");
}

TEST(Markup, AnElementWithoutLettersIsAnObject) {
  EXPECT_EQ(
      texts_of("old houses.<sup id=r><a href=#n>[1]</a></sup> H<sub>2</sub>O 5<sup>2</sup> <b>7</b> a<sup>*</sup>"),
      Texts{"old houses.\uFFFC H\uFFFCO 5\uFFFC \uFFFC a\uFFFC"});
  EXPECT_EQ(reversed("one <b>5 &lt; 6</b> two"), "two <b>5 &lt; 6</b> one");
  EXPECT_EQ(texts_of("one<b>!</b> <i>two</i> <b></b>"), Texts{"one! two"});
}

TEST(Markup, AnObjectThatATranslationLosesOrRepeatsIsWrittenOnce) {
  EXPECT_EQ(translate_markup("one <img id=1> two <img id=2> end", fixed_words({{"a", "b", "c"}, {0, 2, 4}})),
            "a <img id=1>b <img id=2>c");
  EXPECT_EQ(translate_markup("one <img id=1> two", fixed_words({{"a", "\uFFFC", "\uFFFC", "b"}, {0, 1, 1, 2}})),
            "a <img id=1>  b");
}

TEST(Markup, AnElementWithAnIdIsWrittenOnce) {
  EXPECT_EQ(translate_markup("<b id=x>not one</b> word", fixed_words({{"ne", "mot", "pas"}, {0, 2, 1}})),
            "<b id=x>ne</b> mot pas");
  EXPECT_EQ(copied("<b>one <i id=x class=y>two</b> three</i>"),
            "<b>one <i id=x class=y>two</i></b> <i class=y>three</i>");
}

TEST(Markup, TextsOfAttributesAreTranslated) {
  EXPECT_EQ(in_capitals("<p title='a &amp; \"b\"'>x <img alt=one id=q> <a aria-label=\"two  words\" title=5>y</a></p>"
                        "<input placeholder=three><div translate=no title=four></div>"),
            "<p title=\"A &amp; &quot;B&quot;\">X <img alt=\"ONE\" id=q> <a aria-label=\"TWO WORDS\" title=5>Y</a></p>"
            "<input placeholder=\"THREE\"><div translate=no title=four></div>");
}

TEST(Markup, ElementsThatHtmlDoesNotKnowMayEndThemselves) {
  EXPECT_EQ(reversed("<p>one <x id=\"1\"/> two <b/>three</b></p>"), "<p><b/>three</b> two <x id=\"1\"/> one</p>");
}

TEST(Markup, XmlHasInlineElementsBesideTextAndBlocksElsewhere) {
  const MarkupOptions xml = {.syntax = MarkupSyntax::kXml, .copied = {"keep"}};
  const std::string document =
      "<doc><title>one <g id=\"1\">two</g></title><p>br<br/>x <keep>four</keep><![CDATA[ a < b]]></p></doc>";
  EXPECT_EQ(translate_markup(document, each_word(capitals), xml),
            "<doc><title>ONE <g id=\"1\">TWO</g></title><p>BR<br/>X <keep>four</keep> A &lt; B</p></doc>");
}

TEST(Markup, ALineBreakStaysBetweenTheTranslationsOfItsLines) {
  EXPECT_EQ(texts_of("<p>say <b>one<br>two</b> more"), (Texts{"say one", "two more"}));
  EXPECT_EQ(reversed("<p>say <b>one<br>two</b> more</p>"), "<p><b>one</b> say<br>more <b>two</b></p>");
  EXPECT_EQ(copied("<p>say <b>one<br>two</b> more</p>"), "<p>say <b>one<br>two</b> more</p>");
  EXPECT_EQ(copied("one<br>\n<br/>\n two<br>"), "one<br>\n<br/>\n two<br>");
}

TEST(Markup, ALineBreakStaysInItsElementWithoutWords) {
  EXPECT_EQ(translate_markup("a <b>b<i><br></i></b>c", fixed_words({{"x"}, {0}})), "x<b><i><br></i></b>x");
}

TEST(Markup, AWordKeepsTheElementsOfItsInputWord) {
  EXPECT_EQ(reversed("<p>hello <b>big <i>world</i></b> !</p>"), "<p>! <b><i>world</i> big</b> hello</p>");
}

TEST(Markup, AnElementIsWrittenTwiceAroundWordsThatAreApart) {
  EXPECT_EQ(translate_markup("<b x>not one</b> word", fixed_words({{"ne", "mot", "pas"}, {0, 2, 1}})),
            "<b x>ne</b> mot <b x>pas</b>");
}

TEST(Markup, SubwordsOfAWordShareTheElementsOfTheFirstOne) {
  const AlignedTranslation translation = {.text = "unbroken end",
                                          .input_tokens = {{0, 3}, {4, 7}},
                                          .output_tokens = {{0, 2}, {2, 8}, {9, 12}},
                                          .alignment = {{0, 0}, {1, 1}, {1, 2}}};
  EXPECT_EQ(translate_markup("<b>one</b> two", fixed_translation(translation)), "<b>unbroken</b> end");
}

TEST(Markup, LettersOfAScriptWithoutSpacesHaveElementsOfTheirOwn) {
  const AlignedTranslation translation = {.text = "\u4f60\u597d",
                                          .input_tokens = {{0, 3}, {4, 7}},
                                          .output_tokens = {{0, 3}, {3, 6}},
                                          .alignment = {{0, 0}, {1, 1}}};
  EXPECT_EQ(translate_markup("<b>one</b> two", fixed_translation(translation)), "<b>\u4f60</b>\u597d");
}

TEST(Markup, AWordWithoutAlignmentHasTheElementsOfBothItsNeighbours) {
  EXPECT_EQ(translate_markup("<b>one two</b> end", fixed_words({{"a", "b", "c", "d", "e"}, {0, -1, 1, -1, 2}})),
            "<b>a b c</b> d e");
  EXPECT_EQ(translate_markup("<b>one</b>", fixed_words({{"a", "b", "c"}, {-1, 0, -1}})), "<b>a b c</b>");
}

TEST(Markup, AnElementWithoutAWordIsWrittenEmpty) {
  EXPECT_EQ(translate_markup("one <a href=x><i>two</i></a> end", fixed_words({{"end", "one"}, {2, 0}})),
            "<a href=x><i></i></a>end one");
  EXPECT_EQ(copied("<i class=icon></i> one <a name=x></a>"), "<i class=icon></i> one <a name=x></a>");
}

TEST(Markup, WhiteSpaceAtTheEndOfALineStaysThereWhenTheTagsAroundItGoElsewhere) {
  const AlignedTranslation translation = {.text = "x-onetwo",
                                          .input_tokens = {{0, 1}, {1, 2}, {2, 8}},
                                          .output_tokens = {{0, 1}, {1, 2}, {2, 8}},
                                          .alignment = {{0, 0}, {1, 1}, {2, 2}}};
  EXPECT_EQ(translate_markup("x-one<b>two </b>", fixed_translation(translation)), "x-<b></b>onetwo ");
  EXPECT_EQ(reversed("&#11;one<b>two </b>"), "<b></b>\vonetwo ");
}

TEST(Markup, VoidElementsAndCommentsStandAtTheWordsOfTheirNeighbours) {
  EXPECT_EQ(reversed("one <img src=x>two end"), "end <img src=x>two one");
  EXPECT_EQ(reversed("one<!--c--> two end"), "end two one<!--c-->");
  EXPECT_EQ(reversed("<img src=x> one two <!--c-->"), "two one <img src=x> <!--c-->");
}

TEST(Markup, EmptyElementsStayInTheirOrder) {
  const std::string html =
      "<p id=1>hello <img id=1.1> <span id=1.2><u id=1.2.1></u><b id=1.2.2></b><img id=1.2.3> world</span></p>";
  EXPECT_EQ(copied(html), html);
}

TEST(Markup, ScriptsStylesAndCodeAreCopied) {
  for (const std::string markup : {"<script>if (a < b) c = \"</p>\";</script>", "<style>p > b { }</style>"}) {
    EXPECT_EQ(in_capitals("<p>one " + markup + " two</p>"), "<p>ONE " + markup + "TWO</p>");
  }
  for (const std::string markup :
       {"<code>x <b>&lt;</b></code>", "<kbd>q</kbd>", "<svg><path d=1 /><title>a</title><![CDATA[ </svg> ]]></svg>",
        "<textarea> a <b> </textarea>", "<span translate=No>name</span>", "<i class='x NoTranslate'>n<i>o</i></i>",
        "<math><mi>x</mi></math>", "<var><var>y</var></var>"}) {
    EXPECT_EQ(in_capitals("<p>one " + markup + " two</p>"), "<p>ONE " + markup + " TWO</p>");
  }
}

TEST(Markup, NothingGoesBehindPlaintext) {
  EXPECT_EQ(reversed("one<i>two <b translate=no>x<plaintext>y"), "one<i>two <b translate=no>x<plaintext>y");
  EXPECT_EQ(reversed("one two<code><plaintext>x"), "two one<code><plaintext>x");
}

TEST(Markup, ABlockThatMustNotBeTranslatedIsCopied) {
  const std::string html = "<pre>\n a  b\n</pre> <div translate=no> one <p>two</p> <!-- x --> &eacute; </div>";
  EXPECT_EQ(in_capitals(html + "three"), html + "THREE");
}

TEST(Markup, AHeadKeepsItsBytesButForItsTitle) {
  EXPECT_EQ(in_capitals("<!DOCTYPE html>\n<html>\n<head>\n<meta charset=utf-8>\n<title>a &amp; b</title>\n"
                        "<script>x</script>\n</head>\n<body>\nc\n</body>\n</html>\n"),
            "<!DOCTYPE html>\n<html>\n<head>\n<meta charset=utf-8>\n<title>A &amp; B</title>\n"
            "<script>x</script>\n</head>\n<body>\nC\n</body>\n</html>\n");
}

TEST(Markup, AnInlineElementAroundBlocksStaysAroundThem) {
  EXPECT_EQ(in_capitals("<a href=x><div>one</div><div>two</div></a>"), "<a href=x><div>ONE</div><div>TWO</div></a>");
  EXPECT_EQ(in_capitals("a <b>b<p>c</p>d</b> e"), "A <b>B<p>C</p>D</b> E");
}

TEST(Markup, MissingEndTagsAreWritten) {
  EXPECT_EQ(copied("<p>one<p>two"), "<p>one</p><p>two</p>");
  EXPECT_EQ(copied("<ul><li>one<li><b>two</ul>"), "<ul><li>one</li><li><b>two</b></li></ul>");
  EXPECT_EQ(copied("<table><tr><td>one<td>two<tr><td>three</table>"),
            "<table><tr><td>one</td><td>two</td></tr><tr><td>three</td></tr></table>");
  EXPECT_EQ(copied("<p>one <b>two"), "<p>one <b>two</b></p>");
  EXPECT_EQ(copied("<code>one"), "<code>one</code>");
}

TEST(Markup, EndTagsWithoutAnElementAreLeftOut) {
  EXPECT_EQ(copied("one</b> two</p></x></>"), "one two");
  EXPECT_EQ(copied("<table><tr><td>one</table></td></div>two"), "<table><tr><td>one</td></tr></table>two");
  EXPECT_EQ(copied("<div><table><td>one</div>two</td></table></div>"), "<div><table><td>onetwo</td></table></div>");
}

TEST(Markup, MisplacedEndTagsEndAndRepeatElements) {
  EXPECT_EQ(copied("<b>one <i>two</b> three</i>"), "<b>one <i>two</i></b> <i>three</i>");
}

TEST(Markup, ARepeatedElementWithoutAWordIsNotWritten) {
  EXPECT_EQ(copied("<b>one <i>two</b><u></u></i>"), "<b>one <i>two</i></b><u></u>");
}

TEST(Markup, LeftOutEndTagsJoinNoTextToMarkup) {
  EXPECT_EQ(copied("<code><</x>b>&am</x>p;</code>"), "<code>&lt;b&gt;&amp;amp;</code>");
  EXPECT_EQ(copied("<</x>b>&am</x>p;"), "&lt;b&gt;&amp;amp;");
}

TEST(Markup, MarkupThatTheDocumentCutsOffIsEnded) {
  EXPECT_EQ(copied("<p>one<!-- two"), "<p>one<!-- two--></p>");
  EXPECT_EQ(copied("<p>one<?php two"), "<p>one<?php two></p>");
  EXPECT_EQ(copied("<p>one<script><!--<script>"), "<p>one<script><!--<script></script></script></p>");
  EXPECT_EQ(copied("<p>one<a href=\"x"), "<p>one</p>");
  EXPECT_EQ(copied("<p>one<plaintext></p>"), "<p>one</p><plaintext></p>");
}

TEST(Markup, BytesThatAreNoUtf8AndNulBecomeReplacementCharacters) {
  EXPECT_EQ(copied(std::string("<b \xFF>a\xFF\0</b>", 11)), "<b \uFFFD>a\uFFFD\uFFFD</b>");
  EXPECT_EQ(copied(std::string("<b\0>a</b\0>", 10)), "<b\uFFFD>a</b\uFFFD>");
  EXPECT_EQ(copied("<p>a<script>'\xFF'</script></p>"), "<p>a<script>'\uFFFD'</script></p>");
}

TEST(Markup, ManyNestedElementsNeedNoStackAndLinearTime) {
  constexpr std::size_t kElements = 300000;
  for (const std::string name : {"b", "div", "code", "table", "svg"}) {
    std::string html;
    for (std::size_t i = 0; i < kElements; ++i) html += "<" + name + ">";
    const std::string opened = html;
    html += "one";
    for (std::size_t i = 0; i < kElements; ++i) html += "</x></i></" + name + ">";
    const std::string result = copied(html);
    EXPECT_EQ(result.size(), opened.size() + 3 + kElements * (name.size() + 3)) << name;
    EXPECT_TRUE(result.starts_with("<" + name + ">")) << name;
  }
}

TEST(Markup, ATranslationIsNeededForEachLine) {
  EXPECT_EQ(error_of([] {
              translate_markup("one<br>two",
                               [](std::span<const std::string>) { return std::vector<AlignedTranslation>(1); });
            }),
            "translate_markup: translate returns 1 translations, needs 2");
}

}  // namespace
}  // namespace edgewise

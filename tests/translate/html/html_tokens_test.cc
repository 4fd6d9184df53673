// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/html/html_tokens.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include "edgewise/translate/html/html_references.h"
#include "tests/translate/html/html_token_text.h"

namespace edgewise {
namespace {

using Texts = std::vector<std::string>;

TEST(HtmlTokens, TagsHaveNamesInLowerCaseAndTheBytesOfTheirAttributes) {
  EXPECT_EQ(describe_tokens("<P CLASS=a id = 'b\"&amp;' Hidden/>x</P\n>"),
            (Texts{"StartTag p CLASS=a id=b\"&amp; Hidden= /", "Text x", "EndTag p"}));
}

TEST(HtmlTokens, AttributesNeedNeitherSpacesNorQuotes) {
  EXPECT_EQ(describe_tokens("<a b='c'd=e/f =g=>"), (Texts{"StartTag a b=c d=e/f =g="}));
  EXPECT_EQ(describe_tokens("<a/b/c=>"), (Texts{"StartTag a b= c="}));
  EXPECT_EQ(describe_tokens("<a b=c/>"), (Texts{"StartTag a b=c/"}));
  EXPECT_EQ(describe_tokens("<a\tb\n\r\fc<d=>"), (Texts{"StartTag a b= c<d="}));
}

TEST(HtmlTokens, ALessThanSignWithoutALetterBehindItIsText) {
  EXPECT_EQ(describe_tokens("a < b <1 << </ "), (Texts{"Text a < b <1 << ", "Comment, not ended </ "}));
  EXPECT_EQ(describe_tokens("a<"), (Texts{"Text a<"}));
  EXPECT_EQ(describe_tokens("a</"), (Texts{"Text a</"}));
}

TEST(HtmlTokens, CommentsEndWhereTheStandardSays) {
  for (const std::string comment : {"<!-->", "<!--->", "<!---->", "<!-- a -- b -->", "<!-- a --!>", "<!-- <!-->",
                                    "<!-- - ->->-->", "<?php a?>", "<!x>", "</ x>", "<![CDATA[x]]>", "<!>"}) {
    EXPECT_EQ(describe_tokens(comment + "b"), (Texts{"Comment " + comment, "Text b"})) << comment;
  }
  EXPECT_EQ(describe_tokens("<!-- a"), (Texts{"Comment, not ended <!-- a"}));
}

TEST(HtmlTokens, ADoctypeEndsAtTheFirstGreaterThanSign) {
  EXPECT_EQ(describe_tokens("<!DocType html \"a>b"), (Texts{"Doctype <!DocType html \"a>", "Text b"}));
}

TEST(HtmlTokens, TheEndOfADocumentDropsATag) {
  for (const std::string tag : {"<a", "<a ", "<a b", "<a b=", "<a b=\"c>", "<a/", "</a"}) {
    EXPECT_EQ(describe_tokens("x" + tag), (Texts{"Text x"})) << tag;
  }
}

TEST(HtmlTokens, TheTextOfSomeElementsHasNoTags) {
  EXPECT_EQ(describe_tokens("<title>a<b>&lt;</titlex></TITLE >c"),
            (Texts{"StartTag title", "Text a<b>&lt;</titlex>", "EndTag title", "Text c"}));
  EXPECT_EQ(describe_tokens("<style>a</style/>"), (Texts{"StartTag style", "Text a", "EndTag style /"}));
  EXPECT_EQ(describe_tokens("<textarea><p></textarea>"), (Texts{"StartTag textarea", "Text <p>", "EndTag textarea"}));
  EXPECT_EQ(describe_tokens("<plaintext></plaintext>"), (Texts{"StartTag plaintext", "Text </plaintext>"}));
}

TEST(HtmlTokens, AScriptInACommentOfAScriptDoesNotEndIt) {
  EXPECT_EQ(describe_tokens("<script><!-- <script> </script> --></script>a"),
            (Texts{"StartTag script", "Text <!-- <script> </script> -->", "EndTag script", "Text a"}));
  EXPECT_EQ(describe_tokens("<script><!-- </script>a"),
            (Texts{"StartTag script", "Text <!-- ", "EndTag script", "Text a"}));
  EXPECT_EQ(describe_tokens("<script><!--> <script> </script>a"),
            (Texts{"StartTag script", "Text <!--> <script> ", "EndTag script", "Text a"}));
}

TEST(HtmlTokens, CdataIsTextInForeignContent) {
  HtmlTokenizer tokenizer("<![CDATA[a<b]]>c<title><d>");
  tokenizer.set_foreign(true);
  const auto cdata = tokenizer.next();
  EXPECT_EQ(cdata->kind, HtmlTokenKind::kText);
  EXPECT_EQ(cdata->text, "a<b");
  EXPECT_EQ(cdata->source, "<![CDATA[a<b]]>");
  EXPECT_EQ(tokenizer.next()->text, "c");
  EXPECT_EQ(tokenizer.next()->name, "title");
  EXPECT_EQ(tokenizer.next()->name, "d");
}

RC_GTEST_PROP(HtmlTokens, TheSourcesOfAllTokensAreTheDocument, ()) {
  const auto html = *rc::gen::container<std::string>(
      rc::gen::element('<', '>', '/', '!', '-', '?', 'a', 'B', ' ', '&', ';', '"', '\'', '=', '\n', '\0', '\xFF'));
  HtmlTokenizer tokenizer(html);
  std::string sources;
  while (const auto token = tokenizer.next()) sources += token->source;
  RC_ASSERT(html.starts_with(sources));
  const std::string dropped = html.substr(sources.size());
  RC_ASSERT(dropped.empty() || dropped.starts_with('<'));
}

TEST(HtmlReferences, NamesAndNumbersBecomeCharacters) {
  EXPECT_EQ(decode_html_references("&amp;&lt;&eacute;&#233;&#xE9;&#XE9;&NotEqualTilde;"),
            "&<\u00e9\u00e9\u00e9\u00e9\u2242\u0338");
  EXPECT_EQ(decode_html_references("&#128;&#x9F;&#x81;"), "\u20ac\u0178\u0081");
  EXPECT_EQ(decode_html_references("&#0;&#xD800;&#x110000;&#99999999999999999999;"), "\uFFFD\uFFFD\uFFFD\uFFFD");
}

TEST(HtmlReferences, TheLongestNameCountsAndOldNamesNeedNoSemicolon) {
  EXPECT_EQ(decode_html_references("&notit; &notin; &not"), "\u00acit; \u2209 \u00ac");
  EXPECT_EQ(decode_html_references("&copy1 &copy;1"), "\u00a91 \u00a91");
}

TEST(HtmlReferences, OtherTextIsUnchanged) {
  for (const std::string text : {"", "&", "&&", "& amp;", "&#", "&#;", "&#x;", "&#xg", "&nosuchname;", "&AM", "a&b"}) {
    EXPECT_EQ(decode_html_references(text), text);
  }
}

TEST(HtmlReferences, InAnAttributeANameWithoutSemicolonMayBeAParameter) {
  constexpr auto kAttribute = HtmlTextPlace::kAttribute;
  EXPECT_EQ(decode_html_references("?a&copy=1&copyx&copy1&copy;&copy", kAttribute),
            "?a&copy=1&copyx&copy1\u00a9\u00a9");
}

TEST(HtmlReferences, EscapedTextDecodesToTheText) {
  EXPECT_EQ(escape_html("a<b> &amp; \"c\"", HtmlTextPlace::kContent), "a&lt;b&gt; &amp;amp; \"c\"");
  EXPECT_EQ(decode_html_references(escape_html("&#1;<&lt", HtmlTextPlace::kContent)), "&#1;<&lt");
}

}  // namespace
}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include "edgewise/translate/html/html_elements.h"
#include "edgewise/translate/html/html_references.h"
#include "edgewise/translate/html/html_tokens.h"
#include "edgewise/translate/markup.h"
#include "tests/translate/fake_translations.h"
#include "tests/translate/nesting.h"

namespace edgewise {
namespace {

/// Returns a random text of words, tags of all kinds, comments, references and bytes, most of them misplaced, with a
/// separator after each.
rc::Gen<std::string> arbitrary_html(const std::string& separator = "") {
  static const std::vector<std::string> kParts = {"<b>",
                                                  "</b>",
                                                  "<i class=x>",
                                                  "</i>",
                                                  "<a href='?a&copy=1'>",
                                                  "</a>",
                                                  "<span>",
                                                  "</span>",
                                                  "<p>",
                                                  "</p>",
                                                  "<div>",
                                                  "</div>",
                                                  "<ul>",
                                                  "</ul>",
                                                  "<li>",
                                                  "</li>",
                                                  "<table>",
                                                  "</table>",
                                                  "<tr>",
                                                  "</tr>",
                                                  "<td>",
                                                  "</td>",
                                                  "<br>",
                                                  "<img>",
                                                  "<hr>",
                                                  "<wbr>",
                                                  "<code>",
                                                  "</code>",
                                                  "<pre>",
                                                  "</pre>",
                                                  "<script>",
                                                  "</script>",
                                                  "<!--",
                                                  "-->",
                                                  "<style>",
                                                  "</style>",
                                                  "<svg>",
                                                  "</svg>",
                                                  "<path/>",
                                                  "<![CDATA[",
                                                  "]]>",
                                                  "<title>",
                                                  "</title>",
                                                  "<i translate=no>",
                                                  "<p translate=no>",
                                                  "<x-y>",
                                                  "</x-y>",
                                                  "</>",
                                                  "<",
                                                  ">",
                                                  "&",
                                                  "&amp;",
                                                  "&lt;",
                                                  "&#60",
                                                  "&notin",
                                                  "&#0;",
                                                  "/",
                                                  "\"",
                                                  "'",
                                                  "=",
                                                  "a",
                                                  "b",
                                                  "word",
                                                  "other word",
                                                  " ",
                                                  "  ",
                                                  "\n",
                                                  "\u00e9",
                                                  "\u4f60\u597d",
                                                  "\xFF",
                                                  "<!doctype html>",
                                                  "<?x",
                                                  "<p/>",
                                                  "<textarea>",
                                                  "</textarea>",
                                                  "<option>",
                                                  "<dt>",
                                                  "<dd>",
                                                  "<h1>",
                                                  "</h1>",
                                                  std::string(1, '\0')};
  return rc::gen::map(rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(kParts)),
                      [separator](const std::vector<std::string>& parts) {
                        std::string html;
                        for (const std::string& part : parts) html += part + separator;
                        return html;
                      });
}

/// Returns a translation of words in another order, with some of them missing, repeated or without alignment.
TranslateTexts shuffle_words(std::uint64_t seed) {
  return translate_with([seed](const std::vector<std::string>& words) {
    WordTranslation translation;
    std::uint64_t state = seed;
    for (std::size_t i = 0; i < words.size(); ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      const std::size_t input = (state >> 33) % words.size();
      translation.words.push_back((state >> 20) % 4 == 0 ? "<&>" : words[input]);
      translation.inputs.push_back((state >> 25) % 3 == 0 ? -1 : static_cast<std::int64_t>(input));
    }
    return translation;
  });
}

TEST(MarkupProperties, TheTagsOfTheResultAreNestedWhateverTheDocumentIs) {
  EXPECT_TRUE(rc::check([] {
    const std::string html = *arbitrary_html();
    const std::string result = translate_markup(html, shuffle_words(*rc::gen::arbitrary<std::uint64_t>()));
    RC_ASSERT(find_bad_nesting(result) == "");
  }));
}

TEST(MarkupProperties, TheTextOfTheResultIsTheTranslationOfTheText) {
  EXPECT_TRUE(rc::check([] {
    const std::string html = *arbitrary_html();
    std::vector<std::string> expected = texts_of(html);
    for (std::string& line : expected) line = reversed_words(line);
    RC_ASSERT(texts_of(translate_markup(html, reverse_words())) == expected);
  }));
}

TEST(MarkupProperties, CopyingTheWordsOfARepairedDocumentChangesNothingIfNoTagSplitsAWord) {
  EXPECT_TRUE(rc::check([] {
    const std::string copied = translate_markup(*arbitrary_html(" "), copy_words());
    RC_ASSERT(translate_markup(copied, copy_words()) == copied);
  }));
}

TEST(MarkupProperties, DocumentsOfRandomBytesAreTranslated) {
  EXPECT_TRUE(rc::check([] {
    const auto html = *rc::gen::container<std::string>(
        rc::gen::element('<', '>', '/', '!', '-', 'a', 'b', ' ', '&', ';', '[', ']', '"', '=', '\n', '\xC3'));
    RC_ASSERT(find_bad_nesting(translate_markup(html, reverse_words())) == "");
  }));
}

}  // namespace
}  // namespace edgewise

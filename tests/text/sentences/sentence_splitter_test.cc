// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/sentences/sentence_splitter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "edgewise/base/utf8.h"
#include "edgewise/text/sentences/abbreviation_rules.h"
#include "edgewise/text/unicode.h"
#include "tests/support/error_of.h"

namespace edgewise {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Sentences = std::vector<std::string>;

Sentences split(std::string_view text, std::string_view language = "en", LineBreaks line_breaks = LineBreaks::kEnd) {
  Sentences sentences;
  for (const ByteRange& span : SentenceSplitter(language, line_breaks).split(text)) {
    sentences.emplace_back(text.substr(span.begin, span.end - span.begin));
  }
  return sentences;
}

/// A line of a file in sentence_splitter_cases/; en.txt there explains the format.
struct SplitterCase {
  std::string text;
  Sentences sentences;
  bool is_known_error = false;
};

std::string replace_all(std::string text, const std::string& old_part, const std::string& new_part) {
  for (std::size_t i = text.find(old_part); i != std::string::npos; i = text.find(old_part, i + new_part.size())) {
    text.replace(i, old_part.size(), new_part);
  }
  return text;
}

SplitterCase parse_case(std::string line) {
  SplitterCase parsed;
  parsed.is_known_error = line.starts_with('~');
  if (parsed.is_known_error) line.erase(0, 1);
  line = replace_all(line, "\\n", "\n");
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t end = std::min(line.find('|', begin), line.size());
    const std::string part = line.substr(begin, end - begin);
    parsed.text += part;
    parsed.sentences.emplace_back(strip_space(part));
    begin = end + 1;
  }
  return parsed;
}

/// Returns the cases of all files, by language.
std::map<std::string, std::vector<SplitterCase>> read_cases() {
  std::map<std::string, std::vector<SplitterCase>> cases;
  for (const auto& file : std::filesystem::directory_iterator(EDGEWISE_SPLITTER_CASES)) {
    std::ifstream lines(file.path());
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with('#')) cases[file.path().stem().string()].push_back(parse_case(line));
    }
  }
  return cases;
}

TEST(SentenceSplitter, SplitsTheCasesOfEachLanguageExceptTheKnownErrors) {
  std::size_t num_cases = 0;
  std::size_t num_known_errors = 0;
  for (const auto& [language, cases] : read_cases()) {
    for (const SplitterCase& known : cases) {
      EXPECT_EQ(split(known.text, language) == known.sentences, !known.is_known_error)
          << language << ": " << known.text << "\n"
          << testing::PrintToString(split(known.text, language));
      ++num_cases;
      num_known_errors += known.is_known_error ? 1 : 0;
    }
  }
  EXPECT_GE(num_cases, 650U);
  EXPECT_LE(num_known_errors, 10U);
}

TEST(SentenceSplitter, HasListsForTenLanguages) {
  std::vector<std::string_view> files;
  for (const EmbeddedFile& file : abbreviation_files()) files.push_back(file.name);
  EXPECT_THAT(files, ElementsAre("cs.txt", "de.txt", "default.txt", "en.txt", "es.txt", "fr.txt", "it.txt", "nl.txt",
                                 "pl.txt", "pt.txt", "ru.txt"));
}

TEST(SentenceSplitter, KnowsALanguageByEachCodeThatModelsUse) {
  const std::string text = "Das ist z. B. Herr Müller.";
  for (const char* code : {"de", "deu", "ger", "DE", "de-AT", "de_CH.UTF-8", "deu_Latn", "__de__", ">>deu<<"}) {
    EXPECT_THAT(split(text, code), ElementsAre(text)) << code;
  }
  for (const char* code : {"", "xx", "__", ">>", "\xFF", "default"}) {
    EXPECT_THAT(split("Dr. No. Yes.", code), ElementsAre("Dr. No.", "Yes.")) << code;
  }
}

TEST(SentenceSplitter, EndsASentenceAtEachKindOfLineBreak) {
  for (const char* line_break : {"\n", "\r\n", "\r", "\v", "\f", "\u0085", "\u2028", "\u2029", "\n\n", " \n\t\n "}) {
    EXPECT_THAT(split(std::string("one") + line_break + "two"), ElementsAre("one", "two"));
  }
}

TEST(SentenceSplitter, TreatsLineBreaksAsSpacesInWrappedText) {
  const std::string text = "Mr.\nSmith went\r\nhome. He\nslept.\n\nA title\n\n- one\n- two\nmore\n1. three\n2) four";
  EXPECT_THAT(split(text, "en", LineBreaks::kSpace), ElementsAre("Mr.\nSmith went\r\nhome.", "He\nslept.", "A title",
                                                                 "- one", "- two\nmore", "1. three", "2) four"));
}

TEST(SentenceSplitter, ReturnsNothingForWhiteSpaceAndAByteOrderMark) {
  EXPECT_THAT(split(""), IsEmpty());
  EXPECT_THAT(split(" \t\r\n\u00A0\u3000"), IsEmpty());
  EXPECT_THAT(split("\uFEFF"), IsEmpty());
  EXPECT_THAT(split("\uFEFFYes."), ElementsAre("Yes."));
}

TEST(SentenceSplitter, KeepsMarksWithoutAWordInASentence) {
  EXPECT_THAT(split("***"), ElementsAre("***"));
  EXPECT_THAT(split("... ! ?"), ElementsAre("... ! ?"));
  EXPECT_THAT(split("… Then he went. \xFF"), ElementsAre("… Then he went.", "\xFF"));
}

TEST(AbbreviationRules, RefusesAWordOutsideASection) {
  const std::string sections =
      "needs one of [inside], [inside or end], [before numbers], [first words], [before ordinals], [after ordinals], "
      "[before letters]";
  EXPECT_EQ(error_of([] { parse_abbreviation_rules("# a\n[within]\nMr\n", "xx.txt"); }),
            "parse_abbreviation_rules: xx.txt has words in the section \"[within]\", " + sections);
  EXPECT_EQ(error_of([] { parse_abbreviation_rules("Mr", "xx.txt"); }),
            "parse_abbreviation_rules: xx.txt has words in the section \"\", " + sections);
}

bool is_white(std::string_view text) { return strip_space(text).empty(); }

bool begins_code_point(std::string_view text, std::size_t offset) {
  return offset == text.size() || (static_cast<unsigned char>(text[offset]) & 0xC0) != 0x80;
}

/// Checks that the sentences are in order, that only white space is between them, and that they begin and end with
/// whole characters that are not white space.
void check_spans(const std::string& text, const std::vector<ByteRange>& spans) {
  std::size_t end = 0;
  for (const ByteRange& span : spans) {
    RC_ASSERT(end <= span.begin);
    RC_ASSERT(span.begin < span.end);
    RC_ASSERT(span.end <= text.size());
    RC_ASSERT(is_white(text.substr(end, span.begin - end)));
    const std::string sentence = text.substr(span.begin, span.end - span.begin);
    RC_ASSERT(strip_space(sentence) == sentence);
    RC_ASSERT(begins_code_point(text, span.begin));
    RC_ASSERT(begins_code_point(text, span.end));
    end = span.end;
  }
  RC_ASSERT(is_white(text.substr(end)));
}

RC_GTEST_PROP(SentenceSplitter, CoversAllTextButWhiteSpace, ()) {
  const auto parts = *rc::gen::container<Sentences>(rc::gen::element<std::string>(
      "Mr", "a", "I", "The", "z", "B", "3", "1990", ".", "...", "…", "!", "?", "。", "！", "」", "「", "\"", "“", "»",
      "«", ")", "(", "[1]", "²", " ", "  ", "\n", "\r\n", "\u00A0", "\u3000", "好", "と", "é", "😀", "-", "'", "’s",
      "U.S", "http://a.b", "।", "؟", "\u0301"));
  std::string text;
  for (const std::string& part : parts) text += part;
  const auto language = *rc::gen::element<std::string>("", "de", "en", "fr", "ja");
  const auto line_breaks = *rc::gen::element(LineBreaks::kEnd, LineBreaks::kSpace);

  check_spans(text, SentenceSplitter(language, line_breaks).split(text));
}

RC_GTEST_PROP(SentenceSplitter, CoversAnyBytes, ()) {
  const auto bytes = *rc::gen::container<std::string>(rc::gen::arbitrary<char>());
  std::size_t end = 0;
  for (const ByteRange& span : SentenceSplitter("de").split(bytes)) {
    RC_ASSERT(end <= span.begin && span.begin < span.end && span.end <= bytes.size());
    end = span.end;
  }
}

// A cost that grows with the square of the length would take minutes here.
TEST(SentenceSplitter, SplitsAMegabyteOfHostileText) {
  for (const char* unit : {".",
                           "\"",
                           ". ",
                           "! \"",
                           "a",
                           " ",
                           "(",
                           ". (",
                           ".[1",
                           "'",
                           "a.",
                           "A. ",
                           "z. ",
                           "3. ",
                           "「。",
                           "...a",
                           "\n",
                           "-",
                           "- ",
                           ".'",
                           "\xCC\x81",
                           "\xFF",
                           ". \xF0\x9F\x98\x80"}) {
    std::string text;
    while (text.size() < 1'000'000) text += unit;
    std::size_t end = 0;
    for (const ByteRange& span : SentenceSplitter("de").split(text)) end = span.end;
    EXPECT_GE(end, unit == std::string(" ") || unit == std::string("\n") ? 0 : text.size() - 1) << unit;
  }
}

}  // namespace
}  // namespace edgewise

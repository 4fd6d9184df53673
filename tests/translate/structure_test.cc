// SPDX-License-Identifier: Apache-2.0
// Random documents keep their structure, whatever order a model gives its words, and with a trained model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "edgewise/translate/markup.h"
#include "edgewise/translate/text_translator.h"
#include "tests/translate/copying_model.h"
#include "tests/translate/nesting.h"
#include "tests/translate/structured_texts.h"

namespace edgewise {
namespace {

constexpr std::size_t kHtmlTexts = 500;
constexpr std::size_t kMarkdownTexts = 200;
constexpr const char* kTrainedModel = EDGEWISE_TRAINED_MODEL;

/// Models that write the words of an input in their order, or in the reverse order, with attention to each word.
enum class Order { kSame, kReversed };

std::string all_words() {
  std::string text;
  for (const std::string& word : StructuredTexts::words()) text += word + " ";
  return text;
}

/// Returns a vocabulary of characters, which has placeholders if the text has them.
std::shared_ptr<const Vocabulary> characters_of(const std::string& text) {
  const std::vector<std::string> sentences = {text};
  return build_vocabulary({std::span(sentences)}, {.kind = VocabularyKind::kCharacters});
}

Translator translator_of(std::shared_ptr<const Vocabulary> vocabulary, Order order) {
  const std::int64_t size = vocabulary->size();
  const auto read = [order](const Tokens& input, const Tokens& produced) {
    Tokens words = input;
    if (order == Order::kReversed) std::ranges::reverse(words);
    return std::pair(words, std::min(produced.size(), words.size()));
  };
  SearchOptions search;
  search.length_norm = LengthNorm::kNone;
  return Translator(TextCodec{.vocabularies = {vocabulary, vocabulary}},
                    [=] {
                      return std::make_unique<TableScorer>(
                          size,
                          [=](const Tokens& input, const Tokens& produced) {
                            std::vector<float> row(static_cast<std::size_t>(size), -9.0F);
                            const auto [words, next] = read(input, produced);
                            row[static_cast<std::size_t>(next < words.size() ? words[next] : kSpecial.end)] = -0.125F;
                            return row;
                          },
                          [=](const Tokens& input, const Tokens& produced) {
                            std::vector<float> weights(input.size(), 0.0F);
                            const std::size_t next = std::min(produced.size(), input.size() - 1);
                            weights[order == Order::kSame ? next : input.size() - 1 - next] = 1.0F;
                            return weights;
                          });
                    },
                    {.search = search, .alignment = true});
}

/// Returns a translator with a vocabulary of words, and one with characters and placeholders.
std::array<Translator, 2> copying_translators() {
  return {translator_of(make_word_vocabulary(all_words()), Order::kSame),
          translator_of(characters_of(all_words() + "\uE001\uE002\uE003\uE004"), Order::kSame)};
}

std::string translate_html(Translator& translator, const std::string& html) {
  return translate_markup(
      html, [&](std::span<const std::string> texts) { return translate_aligned(translator, texts, "en"); });
}

std::string translate_plain(Translator& translator, const std::string& text) {
  return translate_text(text, {.language = "en"}, [&](auto requests) { return translator.translate(requests); }).text;
}

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t i = text.find(part); i != std::string_view::npos; i = text.find(part, i + part.size())) ++found;
  return found;
}

/// Returns how often each word of small letters is in a text.
std::map<std::string, std::size_t> words_in(const std::string& text) {
  std::map<std::string, std::size_t> words;
  for (const std::string& word : StructuredTexts::words()) words[word] = count(text, word);
  return words;
}

/// Returns the start tags of blocks in their order.
std::vector<std::string> blocks_of(const std::string& html) {
  std::vector<std::string> blocks;
  HtmlTokenizer tokenizer(html);
  while (const auto token = tokenizer.next()) {
    const bool is_tag = token->kind == HtmlTokenKind::kStartTag || token->kind == HtmlTokenKind::kEndTag;
    if (is_tag && is_block_element(token->name)) blocks.emplace_back(token->source);
  }
  return blocks;
}

/// Expects each span as often as in the document.
void expect_spans(const std::string& translated, const StructuredText& document) {
  for (const std::string& span : document.spans) {
    EXPECT_EQ(count(translated, span), count(document.text, span)) << span << "\n" << translated;
  }
}

/// Expects white space, a tag or an edge on both sides of each span.
void expect_spaces_beside_spans(const std::string& translated, const StructuredText& document) {
  for (const std::string& span : document.spans) {
    if (span.back() == '\n') continue;
    for (std::size_t i = translated.find(span); i != std::string::npos; i = translated.find(span, i + 1)) {
      const std::string_view sides = " \n\t<>";
      const std::size_t end = i + span.size();
      const bool begins = i == 0 || sides.find(translated[i - 1]) != std::string_view::npos;
      const bool ends = end == translated.size() || sides.find(translated[end]) != std::string_view::npos;
      EXPECT_TRUE(begins && ends) << span << "\n" << translated;
    }
  }
}

/// Expects the blocks of the document, well nested elements, each `id` once, and the spans.
void expect_structure(const std::string& translated, const StructuredText& document) {
  EXPECT_EQ(find_bad_nesting(translated), "") << document.text << "\n" << translated;
  EXPECT_EQ(blocks_of(translated), blocks_of(document.text));
  for (std::size_t id = document.text.find(" id=\""); id != std::string::npos;
       id = document.text.find(" id=\"", id + 1)) {
    const std::string attribute = document.text.substr(id, document.text.find('"', id + 5) + 1 - id);
    EXPECT_EQ(count(translated, attribute), 1U) << attribute << "\n" << document.text << "\n" << translated;
  }
  expect_spans(translated, document);
}

/// Returns for each line the mark at its beginning, and the tabs and bars in it.
std::vector<std::string> forms_of(const std::string& text) {
  const std::vector<std::string> marks = {"# ",   "## ", "> > ", "> ",      "- [ ] ", "- ",  "* ",
                                          "  - ", "1. ", "12) ", "\u2022 ", "a) ",    "```", "run "};
  std::vector<std::string> forms;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto mark = std::ranges::find_if(marks, [&](const std::string& start) { return line.starts_with(start); });
    std::string form = mark == marks.end() ? "" : *mark;
    for (const char c : line) {
      if (c == '\t' || c == '|') form += c;
    }
    forms.push_back(form);
  }
  return forms;
}

TEST(Structure, HtmlIsTheSameIfTheModelCopiesItsWords) {
  StructuredTexts texts(1);
  std::array<Translator, 2> translators = copying_translators();
  for (std::size_t i = 0; i < kHtmlTexts; ++i) {
    const StructuredText document = texts.html();
    for (Translator& each : translators) EXPECT_EQ(translate_html(each, document.text), document.text);
  }
}

TEST(Structure, HtmlKeepsItsElementsObjectsAndSpansIfTheModelReversesItsWords) {
  StructuredTexts texts(2);
  Translator translator = translator_of(make_word_vocabulary(all_words()), Order::kReversed);
  for (std::size_t i = 0; i < kHtmlTexts; ++i) {
    const StructuredText document = texts.html();
    const std::string translated = translate_html(translator, document.text);
    expect_structure(translated, document);
    EXPECT_EQ(words_in(translated), words_in(document.text)) << document.text << "\n" << translated;
    expect_spaces_beside_spans(translated, document);
  }
}

TEST(Structure, MarkdownIsTheSameIfTheModelCopiesItsWords) {
  StructuredTexts texts(3);
  std::array<Translator, 2> translators = copying_translators();
  for (std::size_t i = 0; i < kMarkdownTexts; ++i) {
    const StructuredText document = texts.markdown();
    for (Translator& each : translators) EXPECT_EQ(translate_plain(each, document.text), document.text);
  }
}

TEST(Structure, MarkdownKeepsItsLinesMarksAndSpansIfTheModelReversesItsWords) {
  StructuredTexts texts(4);
  Translator translator = translator_of(make_word_vocabulary(all_words()), Order::kReversed);
  for (std::size_t i = 0; i < kMarkdownTexts; ++i) {
    const StructuredText document = texts.markdown();
    const std::string translated = translate_plain(translator, document.text);
    EXPECT_EQ(forms_of(translated), forms_of(document.text)) << document.text << "\n" << translated;
    EXPECT_EQ(words_in(translated), words_in(document.text));
    expect_spans(translated, document);
    expect_spaces_beside_spans(translated, document);
  }
}

TEST(Structure, HtmlKeepsItsElementsObjectsAndSpansWithATrainedModel) {
  StructuredTexts texts(5);
  TranslatorOptions options;
  options.alignment = true;
  Translator translator(kTrainedModel, options);
  for (std::size_t i = 0; i < kHtmlTexts; ++i) {
    const StructuredText document = texts.html();
    expect_structure(translate_html(translator, document.text), document);
  }
}

TEST(Structure, MarkdownKeepsItsLinesMarksAndSpansWithATrainedModel) {
  StructuredTexts texts(6);
  Translator translator(kTrainedModel);
  for (std::size_t i = 0; i < kMarkdownTexts; ++i) {
    const StructuredText document = texts.markdown();
    const std::string translated = translate_plain(translator, document.text);
    EXPECT_EQ(forms_of(translated), forms_of(document.text)) << document.text << "\n" << translated;
    expect_spans(translated, document);
  }
}

}  // namespace
}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
// Mapped vocabularies give the tokens and the text of Transformers' tokenizers. tokenizers/make_fixtures.py makes the
// files.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "edgewise/base/files/files.h"
#include "edgewise/base/files/json_scanner.h"
#include "edgewise/base/utf8.h"
#include "edgewise/text/corpus/line_reader.h"
#include "edgewise/text/vocabulary/mapped_vocabulary.h"
#include "edgewise/text/vocabulary/sentence_frame.h"

namespace edgewise {
namespace {

using Tokens = std::vector<std::int64_t>;

std::filesystem::path fixture(const std::string& name) {
  return std::filesystem::path(EDGEWISE_TEXT_FIXTURES) / "tokenizers" / name;
}

std::string read_fixture(const std::string& name) { return read_file(fixture(name), "test"); }

/// A text as an input and as an output of a tokenizer, and the texts of these tokens.
struct Case {
  std::string text;
  Tokens ids;
  std::string decoded;
  Tokens output_ids;
  std::string output_decoded;
};

std::vector<Case> read_cases(const std::string& name) {
  std::vector<Case> cases;
  for (const std::string& line : read_sentences(fixture(name).string(), "test")) {
    Case found;
    JsonScanner json(line, "test");
    std::map<std::string, std::string*> texts = {
        {"text", &found.text}, {"decoded", &found.decoded}, {"output_decoded", &found.output_decoded}};
    json.read_object("case", [&](const std::string& key) {
      if (const auto text = texts.find(key); text != texts.end()) {
        *text->second = json.read_string(key);
        return;
      }
      Tokens& tokens = key == "ids" ? found.ids : found.output_ids;
      json.read_array(key, [&] { tokens.push_back(static_cast<std::int64_t>(json.read_whole_number(key))); });
    });
    cases.push_back(std::move(found));
  }
  return cases;
}

std::shared_ptr<const TokenIndex> read_tokens(const std::string& name) {
  return std::make_shared<TokenIndex>(parse_token_list(read_fixture(name), name), name);
}

std::shared_ptr<const PieceCodec> read_pieces(const std::string& name) {
  return std::make_shared<PieceCodec>(read_fixture(name), name, SpecialPieces::kAny);
}

/// A tokenizer of Transformers as a vocabulary of each side.
struct Sides {
  std::shared_ptr<const Vocabulary> input;
  std::shared_ptr<const Vocabulary> output;
  PairLanguages languages = {};
};

Tokens join(const Tokens& before, const Tokens& tokens, const Tokens& after) {
  Tokens all = before;
  all.insert(all.end(), tokens.begin(), tokens.end());
  all.insert(all.end(), after.begin(), after.end());
  return all;
}

Tokens encode_input(const Sides& sides, const std::string& text) {
  const FramedInput input = frame_input(*sides.input, text, true, sides.languages, "test");
  return join(input.frame.before, sides.input->encode(input.text), input.frame.after);
}

/// Encodes an output as labels, which have no begin token.
Tokens encode_output(const Sides& sides, const std::string& text) {
  const Tokens beginning = output_beginning(*sides.output, sides.languages.output, "test");
  return join(beginning, sides.output->encode(text), {sides.output->special().end});
}

/// Texts to which we give other tokens than the tokenizer.
struct OtherTexts {
  std::set<std::string> inputs = {};
  std::set<std::string> outputs = {};
};

void expect_equal_tokens(const Sides& sides, const std::vector<Case>& cases, const OtherTexts& others = {}) {
  for (const Case& expected : cases) {
    SCOPED_TRACE(quote(expected.text));
    EXPECT_EQ(encode_input(sides, expected.text) != expected.ids, others.inputs.contains(expected.text));
    EXPECT_EQ(encode_output(sides, expected.text) != expected.output_ids, others.outputs.contains(expected.text));
  }
}

void expect_equal_texts(const Sides& sides, const std::vector<Case>& cases) {
  for (const Case& expected : cases) {
    SCOPED_TRACE(quote(expected.text));
    EXPECT_EQ(sides.input->decode(expected.ids), expected.decoded);
    EXPECT_EQ(sides.output->decode(expected.output_ids), expected.output_decoded);
  }
}

/// MarianTokenizer takes the code of a language out of outputs too, where we leave it in the text.
OtherTexts outputs_that_begin_with_a_code(const std::vector<Case>& cases) {
  OtherTexts others;
  for (const Case& each : cases) {
    if (each.text.starts_with(">>") && each.text.find("<<") != std::string::npos) others.outputs.insert(each.text);
  }
  return others;
}

TEST(MappedTokenizers, EqualMarianTokenizer) {
  const auto tokens = read_tokens("marian/vocabulary.json");
  const Sides sides = {make_mapped_vocabulary(tokens, read_pieces("marian/input_pieces.model")),
                       make_mapped_vocabulary(tokens, read_pieces("marian/output_pieces.model"))};
  const std::vector<Case> cases = read_cases("marian/cases.jsonl");
  expect_equal_tokens(sides, cases, outputs_that_begin_with_a_code(cases));
  expect_equal_texts(sides, cases);
}

TEST(MappedTokenizers, EqualMarianTokenizerWithSeparateVocabularies) {
  const Sides sides = {make_mapped_vocabulary(read_tokens("marian-separate/input_vocabulary.json"),
                                              read_pieces("marian/input_pieces.model")),
                       make_mapped_vocabulary(read_tokens("marian-separate/output_vocabulary.json"),
                                              read_pieces("marian/output_pieces.model"))};
  const std::vector<Case> cases = read_cases("marian-separate/cases.jsonl");
  expect_equal_tokens(sides, cases, outputs_that_begin_with_a_code(cases));
  // This tokenizer decodes the tokens of inputs with the vocabulary of outputs.
  for (const Case& expected : cases) EXPECT_EQ(sides.output->decode(expected.output_ids), expected.output_decoded);
}

TEST(MappedTokenizers, EqualM2M100Tokenizer) {
  const auto both = make_mapped_vocabulary(read_tokens("m2m100/vocabulary.json"), read_pieces("m2m100/pieces.model"));
  const Sides sides = {both, both, {"en", "ja"}};
  const std::vector<Case> cases = read_cases("m2m100/cases.jsonl");
  expect_equal_tokens(sides, cases);
  expect_equal_texts(sides, cases);
}

TEST(MappedTokenizers, EqualNllbTokenizer) {
  const auto both = make_mapped_vocabulary(read_tokens("nllb/vocabulary.json"), read_pieces("nllb/pieces.model"));
  // That tokenizer does not compose these characters, because together with their marks they have 6 bytes or more. The
  // model's own normalisation, which its training used, composes them.
  const std::set<std::string> composed = {"\u304b\u3099 \u304c \uff8a\uff9f\uff8a\uff9e", "a\u0301\u0302\u0303\u0304"};
  const Sides sides = {both, both, {"eng_Latn", "fra_Latn"}};
  const std::vector<Case> cases = read_cases("nllb/cases.jsonl");
  expect_equal_tokens(sides, cases, {.inputs = composed, .outputs = composed});
  expect_equal_texts(sides, cases);
}

TEST(MappedTokenizers, EqualNllbTokenizerOfTheFirstModels) {
  TokenList list = parse_token_list(read_fixture("nllb/vocabulary.json"), "nllb");
  list.rules.language_place = LanguagePlace::kAfterInput;
  const auto both =
      make_mapped_vocabulary(std::make_shared<TokenIndex>(std::move(list), "nllb"), read_pieces("nllb/pieces.model"));
  const Sides sides = {both, both, {"eng_Latn", "fra_Latn"}};
  for (const Case& expected : read_cases("nllb/legacy-cases.jsonl")) {
    EXPECT_EQ(encode_input(sides, expected.text), expected.ids) << expected.text;
  }
}

}  // namespace
}  // namespace edgewise

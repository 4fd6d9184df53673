// SPDX-License-Identifier: Apache-2.0
// A tokenizer.json gives the tokens and the texts of Hugging Face's tokenizers. fixtures/byte_pairs/make_fixtures.py
// makes the files.
#include "edgewise/text/tokenizer/tokenizer_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "edgewise/base/files/files.h"
#include "edgewise/base/files/json.h"
#include "edgewise/base/files/json_scanner.h"
#include "edgewise/base/utf8.h"
#include "edgewise/text/corpus/line_reader.h"
#include "edgewise/text/vocabulary/mapped_vocabulary.h"
#include "tests/text/text_testing.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using Tokens = std::vector<std::int64_t>;

/// Returns the folder of the fixtures, or that of more of them (tests/differential/encode_against_tokenizers).
fs::path folder_of_cases() {
  const char* other = std::getenv("EDGEWISE_TOKENIZER_CASES");
  return other != nullptr ? fs::path(other) : fs::path(EDGEWISE_TEXT_FIXTURES) / "byte_pairs";
}

std::string read_byte_pairs(const std::string& name) {
  return read_file(fs::path(EDGEWISE_TEXT_FIXTURES) / "byte_pairs" / name, "test");
}

struct TokenizedText {
  std::string text;
  Tokens ids;
  std::string decoded;
};

std::vector<TokenizedText> read_tokenized(const fs::path& path) {
  std::vector<TokenizedText> cases;
  for (const std::string& line : read_sentences(path.string(), "test")) {
    TokenizedText& found = cases.emplace_back();
    JsonScanner json(line, path.string());
    json.read_object("case", [&](const std::string& key) {
      if (key == "ids") {
        json.read_array(key, [&] { found.ids.push_back(static_cast<std::int64_t>(json.read_whole_number(key))); });
      } else {
        (key == "text" ? found.text : found.decoded) = json.read_string(key);
      }
    });
  }
  return cases;
}

std::string decode_without_special(const TokenizerCodec& codec, const Tokens& tokens) {
  Tokens kept;
  std::ranges::copy_if(tokens, std::back_inserter(kept),
                       [&](std::int64_t token) { return !std::ranges::binary_search(codec.special(), token); });
  return codec.decode(kept);
}

TEST(TokenizerCodec, GivesTheTokensAndTextsOfTokenizers) {
  int files = 0;
  for (const auto& entry : fs::directory_iterator(folder_of_cases())) {
    if (entry.path().extension() != ".json") continue;
    ++files;
    SCOPED_TRACE(entry.path().filename().string());
    const TokenizerCodec codec(read_file(entry.path(), "test"), entry.path().string());
    const std::vector<TokenizedText> cases = read_tokenized(fs::path(entry.path()).replace_extension(".jsonl"));
    EXPECT_GE(cases.size(), 100);
    for (const TokenizedText& expected : cases) {
      SCOPED_TRACE(quote(expected.text));
      EXPECT_EQ(codec.encode(expected.text), expected.ids);
      EXPECT_EQ(decode_without_special(codec, expected.ids), expected.decoded);
    }
  }
  EXPECT_GE(files, 6);
}

/// Returns the text of a tokenizer of the letters a, b and c, whose model has these merges and other options.
std::string small_tokenizer(const std::string& components, const std::string& merges = R"("a b","ab c")") {
  return R"({"added_tokens":[],)" + components +
         R"("model":{"type":"BPE","vocab":{"a":0,"b":1,"c":2,"ab":3,"abc":4,"aa":5},)" + R"("merges":[)" + merges +
         "]}}";
}

std::string error_of_reading(const std::string& text) {
  return error_of([&] { TokenizerCodec(text, "t.json"); });
}

TEST(TokenizerCodec, MergesTheLeftmostOfPairsWithEqualRank) {
  EXPECT_EQ(TokenizerCodec(small_tokenizer("", R"("a a")"), "t.json").encode("aaa"), (Tokens{5, 0}));
}

TEST(TokenizerCodec, PrependsNoSpaceToATextWhoseBeginningIsStripped) {
  const std::string file =
      R"({"normalizer":{"type":"Strip","strip_left":true,"strip_right":true},)"
      R"("pre_tokenizer":{"type":"Metaspace","replacement":"_","prepend_scheme":"first","split":true},)"
      R"("model":{"type":"BPE","vocab":{"a":0,"_":1},"merges":[]}})";
  const TokenizerCodec codec(file, "t.json");
  EXPECT_EQ(codec.encode("a a"), (Tokens{1, 0, 1, 0}));
  EXPECT_EQ(codec.encode(" a a"), (Tokens{0, 1, 0}));
}

TEST(TokenizerCodec, MergesPairsByRank) {
  const TokenizerCodec codec(small_tokenizer(""), "t.json");
  EXPECT_EQ(codec.encode("abcab"), (Tokens{4, 3}));
  EXPECT_EQ(codec.encode("aabb"), (Tokens{0, 3, 1}));
  EXPECT_EQ(codec.encode("axbxa"), (Tokens{3, 0}));  // characters without a token are left out
  EXPECT_EQ(codec.encode(""), Tokens{});
}

TEST(TokenizerCodec, EncodesALongWordInLittleTime) {
  // Each merge doubles the tokens: a, aa, aaaa, … A merge that scans the word would take minutes.
  std::string vocabulary = R"("a":0)", merges;
  for (int i = 1; i <= 9; ++i) {
    const std::string half(std::size_t{1} << (i - 1), 'a');
    vocabulary += fmt::format(R"(,"{}{}":{})", half, half, i);
    merges += fmt::format(R"({}["{}","{}"])", i > 1 ? "," : "", half, half);
  }
  const TokenizerCodec codec(
      fmt::format(R"({{"model":{{"type":"BPE","vocab":{{{}}},"merges":[{}]}}}})", vocabulary, merges), "t.json");
  constexpr std::size_t kMillion = 1 << 20;
  EXPECT_EQ(codec.encode(std::string(kMillion, 'a')), Tokens(kMillion / 512, 9));
}

TEST(TokenizerCodec, RefusesATextOfMoreThan16Megabytes) {
  const TokenizerCodec codec(small_tokenizer(""), "t.json");
  EXPECT_EQ(error_of([&] { codec.encode(std::string((16 << 20) + 1, 'x')); }),
            "encode: sentence has 16777217 bytes, needs at most 16777216");
}

TEST(TokenizerCodec, RefusesComponentsThatEdgewiseDoesNotHaveByName) {
  EXPECT_EQ(error_of_reading(R"({"model":{"type":"WordPiece","vocab":{}}})"),
            "t.json: model: type is \"WordPiece\", needs \"BPE\", the only model that Edgewise has");
  EXPECT_EQ(error_of_reading(R"({"model":{"vocab":[["a",-1]]}})"),
            "t.json: model: type is \"Unigram\", needs \"BPE\", the only model that Edgewise has");
  EXPECT_EQ(error_of_reading(small_tokenizer(R"("normalizer":{"type":"Precompiled"},)")),
            "t.json: normalizer: type is \"Precompiled\", needs NFC, NFD, NFKC, NFKD, Lowercase, Strip, Replace or "
            "Prepend");
  EXPECT_EQ(error_of_reading(small_tokenizer(R"("pre_tokenizer":{"type":"BertPreTokenizer"},)")),
            "t.json: pre_tokenizer: type is \"BertPreTokenizer\", needs ByteLevel, Split, Digits, Punctuation, "
            "Whitespace, WhitespaceSplit or Metaspace");
  EXPECT_EQ(error_of_reading(small_tokenizer(
                R"("pre_tokenizer":{"type":"Split","pattern":{"Regex":"a+"},"behavior":"Isolated","invert":false},)")),
            "t.json: pre_tokenizer: pattern is \"a+\", needs the regular expression of GPT-2, Llama 3 or Qwen 2");
  EXPECT_EQ(error_of_reading(small_tokenizer(R"("decoder":{"type":"CTC"},)")),
            "t.json: decoder: type is \"CTC\", needs ByteLevel, ByteFallback, Fuse, Strip, Replace, Metaspace or "
            "BPEDecoder");
  EXPECT_EQ(error_of_reading(small_tokenizer(R"("normalizer":{"type":"NFC","new":1},)")),
            "t.json: normalizer: new is 1, needs to be left out, because Edgewise does not know whether it changes "
            "translations");
  EXPECT_THAT(error_of_reading(small_tokenizer(R"("new":1,)")), HasSubstr("\"new\" is no member of a tokenizer"));
}

TEST(TokenizerCodec, RefusesModelsThatContradictThemselves) {
  EXPECT_EQ(error_of_reading(small_tokenizer("", R"("a x")")),
            "t.json: the merge of \"a\" and \"x\" has \"x\", needs a token of the vocabulary");
  EXPECT_EQ(error_of_reading(small_tokenizer("", R"("b a")")),
            "t.json: the merge of \"b\" and \"a\" has \"ba\", needs a token of the vocabulary");
  EXPECT_THAT(error_of_reading(small_tokenizer("", R"("a")")), HasSubstr("a merge has 1 parts, needs 2"));
  EXPECT_EQ(error_of_reading(R"({"model":{"type":"BPE","vocab":{"a":0,"b":0},"merges":[]}})"),
            "t.json: \"b\" has number 0, needs a number of its own from 0 to 999999");
  EXPECT_EQ(error_of_reading(R"({"model":{"type":"BPE","unk_token":"u","vocab":{"a":0},"merges":[]}})"),
            "t.json: unk_token is \"u\", needs one of the tokens");
  EXPECT_EQ(error_of_reading(R"({"added_tokens":[{"id":7,"content":"a"}],)"
                             R"("model":{"type":"BPE","vocab":{"a":0},"merges":[]}})"),
            "t.json: \"a\" has the numbers 0 and 7, needs one");
  EXPECT_EQ(error_of_reading(R"({"added_tokens":[]})"), "t.json has no model, needs one");
}

TEST(TokenizerCodec, RefusesATokenizerThatMakesTextsHuge) {
  std::string steps;
  for (int i = 0; i < 6; ++i) {
    steps += fmt::format(R"({}{{"type":"Replace","pattern":{{"String":"a"}},"content":"{}"}})", i > 0 ? "," : "",
                         std::string(900, 'a'));
  }
  const TokenizerCodec codec(
      small_tokenizer(fmt::format(R"("normalizer":{{"type":"Sequence","normalizers":[{}]}},)", steps)), "t.json");
  EXPECT_EQ(error_of([&] { codec.encode("aa"); }),
            "encode: the tokenizer makes a text of 2 bytes 1620000 bytes long, needs at most 65664");
}

/// Returns a list with the tokens of a tokenizer, two more, and special tokens that one token may be together.
TokenList list_of(const TokenizerCodec& codec) {
  TokenList list = {.text = TokenText::kTokenizer, .tokens = codec.tokens()};
  list.rules.special = {.padding = 0, .unknown = 0, .begin = 0, .end = 0};
  list.rules.omitted = codec.special();
  list.rules.forbidden = {};
  list.tokens.insert(list.tokens.end(), {"<unnamed 1>", "<unnamed 2>"});
  return list;
}

std::shared_ptr<const Vocabulary> vocabulary_of(const std::shared_ptr<const TokenizerCodec>& codec, TokenList list) {
  return make_tokenizer_vocabulary(std::make_shared<TokenIndex>(std::move(list), "list"), codec, "test");
}

TEST(TokenizerVocabulary, EncodesAndDecodesAsTheTokenizer) {
  const auto codec = std::make_shared<TokenizerCodec>(read_byte_pairs("gpt2.json"), "gpt2.json");
  const auto vocabulary = vocabulary_of(codec, list_of(*codec));
  EXPECT_EQ(vocabulary->size(), std::ssize(codec->tokens()) + 2);
  EXPECT_EQ(vocabulary->pieces_name(), "tokenizer.json");
  EXPECT_EQ(vocabulary->serialize_pieces(), codec->bytes());
  const Tokens tokens = vocabulary->encode("The river<|endoftext|> \xC3\xA9t\xC3\xA9");
  EXPECT_EQ(tokens, codec->encode("The river<|endoftext|> \xC3\xA9t\xC3\xA9"));
  EXPECT_EQ(std::ranges::count(tokens, 0), 1);  // the special token
  EXPECT_EQ(vocabulary->decode(tokens), "The river \xC3\xA9t\xC3\xA9");
  EXPECT_EQ(vocabulary->decode(Tokens{vocabulary->size() - 1}), "");  // a token of the list alone has no text
}

TEST(TokenizerVocabulary, RefusesAListWithOtherTokens) {
  const auto codec = std::make_shared<TokenizerCodec>(small_tokenizer(""), "t.json");
  TokenList list = list_of(*codec);
  list.tokens[2] = "x";
  EXPECT_EQ(error_of([&] { vocabulary_of(codec, list); }), "test: token 2 is \"c\", needs \"x\" as in the vocabulary");
  list.tokens = {"a", "b"};
  EXPECT_EQ(error_of([&] { vocabulary_of(codec, list); }), "test has 6 tokens, needs at most the 2 of the vocabulary");
}

}  // namespace
}  // namespace edgewise

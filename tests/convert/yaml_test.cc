// SPDX-License-Identifier: Apache-2.0
#include "edgewise/convert/yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "edgewise/base/utf8.h"
#include "tests/convert/support.h"

namespace edgewise {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

YamlValue parse_text(std::string_view text) { return parse_yaml(text, "test: f"); }

std::string yaml_error(std::string_view text) {
  return error_of([&] { parse_text(text); });
}

TEST(ReadYaml, ReadsAVocabularyInOrder) {
  const std::vector<std::string> tokens = {"</s>", "<unk>",      "▁the", ",", "'", "\"", "#",
                                           "- a",  "null",       "no",   "1", "~", "à",  "日本",
                                           "{",    "key: value", "\\",   "%", "@", "<<"};
  const YamlValue vocabulary = read_yaml(fixture("vocab.yml"));
  EXPECT_EQ(vocabulary.kind, YamlValue::Kind::kMap);
  EXPECT_EQ(vocabulary.keys, tokens);
  for (std::size_t i = 0; i < vocabulary.items.size(); ++i) {
    EXPECT_EQ(vocabulary.items[i].text, std::to_string(i));
  }
}

TEST(ReadYaml, ReadsTheDecoderOptionsOfMarian) {
  const YamlValue options = read_yaml(fixture("decoder.yml"));
  EXPECT_EQ(options.find("beam-size")->text, "6");
  ASSERT_EQ(options.find("vocabs")->items.size(), 2u);
  EXPECT_EQ(options.find("vocabs")->items[1].text, "vocab.yml");
  EXPECT_EQ(options.find("missing"), nullptr);
  EXPECT_EQ(options.find("vocabs")->find("x"), nullptr);
}

TEST(ParseYaml, ReadsPlainAndQuotedScalars) {
  const YamlValue map = parse_text("a: true\nb: 'true'\nc: \"true\"\nd: |\n  true\ne:\nf: [1, {g: 2}]\n");
  ASSERT_EQ(map.keys, (std::vector<std::string>{"a", "b", "c", "d", "e", "f"}));
  const char* texts[] = {"true", "true", "true", "true\n", ""};
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(map.items[i].text, texts[i]) << i;
  EXPECT_EQ(map.items[4].line, 6u);
  EXPECT_EQ(map.items[5].items[1].find("g")->text, "2");
}

TEST(ParseYaml, ReadsKeysOfQuestionMarks) {
  const YamlValue map = parse_text("? \"a\"\n: 1\n? |-\n  b\n: 2\n? c\n: 3\n");
  EXPECT_EQ(map.keys, (std::vector<std::string>{"a", "b", "c"}));
}

TEST(QuoteYaml, WritesScalarsThatParseYamlReads) {
  EXPECT_TRUE(rc::check([] {
    const auto point =
        rc::gen::oneOf(rc::gen::inRange<std::uint32_t>(0, 0x100), rc::gen::inRange<std::uint32_t>(0x2020, 0x2030),
                       rc::gen::inRange<std::uint32_t>(0xFE00, 0x10FFFF));
    std::string text;
    for (const std::uint32_t next : *rc::gen::container<std::vector<std::uint32_t>>(point)) append_utf8(text, next);
    RC_PRE(text.size() < 900);
    const YamlValue map = parse_text(quote_yaml(text) + ": " + quote_yaml(text) + "\n");
    RC_ASSERT(map.keys == std::vector<std::string>{text});
    RC_ASSERT(map.items[0].text == text);
  }));
}

TEST(QuoteYaml, EscapesLineBreaksAndControlCharacters) {
  EXPECT_EQ(quote_yaml("▁a\"\\\n\x7F\u0085\u2028\uFEFF"), R"("▁a\"\\\u000A\u007F\u0085\u2028\uFEFF")");
  EXPECT_EQ(error_of([] { quote_yaml("a\xFF"); }), R"(quote_yaml: text is "a\xff", needs UTF-8)");
}

TEST(ParseYaml, ReadsALargeVocabulary) {
  std::string text;
  for (int i = 0; i < 300'000; ++i) text += fmt::format("\"token {}\": {}\n", i, i);
  const YamlValue vocabulary = parse_text(text);
  ASSERT_EQ(vocabulary.items.size(), 300'000u);
  EXPECT_EQ(vocabulary.keys.back(), "token 299999");
}

TEST(ParseYaml, RejectsMoreThanPlainMapsAndLists) {
  const std::string needs = ", needs a single document without anchors, aliases, tags and nested keys";
  const std::pair<const char*, std::string> rows[] = {
      {"a: &x 1", ", line 1: the value has the anchor \"x\"" + needs},
      {"a: 1\nb: &x [1]", ", line 2: the value has the anchor \"x\"" + needs},
      {"&x a: 1", ", line 1: the value has the anchor \"x\"" + needs},
      {"a: *x", ", line 1: the value is the alias \"x\"" + needs},
      {"*x : 1", ", line 1: the value is the alias \"x\"" + needs},
      {"a: !!str 1", ", line 1: the value has the tag \"tag:yaml.org,2002:str\"" + needs},
      {"a: !python/object {}", ", line 1: the value has the tag \"!python/object\"" + needs},
      {"a: ! 1", ", line 1: the value has the tag \"!\"" + needs},
      {"--- a\n--- b", ", line 2: a second document begins" + needs},
      {"a: 1\n---\nb: 2", ", line 3: a second document begins" + needs},
      {"? [a]\n: 1", ", line 1: a key is a list or map" + needs},
      {"{{a: 1}: 2}", ", line 1: a key is a list or map" + needs},
      {"x:\n  a: 1\n  b: 2\n  a: 3", ", line 2: the map has the key \"a\" twice, needs it once"},
      {"a: 1\n'a': 2", ", line 1: the map has the key \"a\" twice, needs it once"},
      {"", " has 0 bytes, needs 1 to 33554432"},
      {"# only a comment", " has no value, needs a map or list"},
      {"a: \xFF", " is not UTF-8 at byte 3, needs to be"},
      {"a: 1\n\u0085: 2", ", line 2: the text has a line break U+0085 of YAML 1.1, needs an escape in double quotes"},
      {"a\u2028: 2", ", line 1: the text has a line break U+2028 of YAML 1.1, needs an escape in double quotes"},
      {"\u2029: 2", ", line 1: the text has a line break U+2029 of YAML 1.1, needs an escape in double quotes"},
  };
  for (const auto& [text, error] : rows) EXPECT_EQ(yaml_error(text), "test: f" + error) << text;
}

TEST(ParseYaml, RejectsTextThatIsNoYaml) {
  for (const std::string text :
       {"a: [1", "a: 'b", "a: b: c", "\tx: [", "{a: 1", "]", "a: \"\\q\"", "a\nb: 1", "%FOO", "x: @a", "a: \x01"}) {
    EXPECT_THAT(yaml_error(text), StartsWith("test: f, line ")) << text;
    EXPECT_THAT(yaml_error(text), HasSubstr("needs to be")) << text;
  }
}

TEST(ParseYaml, RejectsDeepAndHugeFiles) {
  EXPECT_EQ(yaml_error(std::string(16, '[') + std::string(16, ']')), "no error");
  EXPECT_EQ(yaml_error(std::string(17, '[') + std::string(17, ']')),
            "test: f, line 1: values are nested too deep, needs at most 16 levels");
  EXPECT_EQ(yaml_error(std::string(200'000, '[')),
            "test: f, line 1: values are nested too deep, needs at most 16 levels");
  std::string blocks;
  for (int i = 0; i < 17; ++i) blocks += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  EXPECT_THAT(yaml_error(blocks + std::string(17, ' ') + "b: 1"), HasSubstr("values are nested too deep"));
  EXPECT_EQ(yaml_error(std::string((std::size_t{1} << 25) + 1, ' ')),
            "test: f has 33554433 bytes, needs 1 to 33554432");
  std::string list = "[";
  for (int i = 0; i < 1'000'000; ++i) list += "a,";
  EXPECT_EQ(yaml_error(list + "]"), "test: f has more than 1000000 values, needs at most as many");
}

}  // namespace
}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/vocabulary/vocabulary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <string>
#include <vector>

#include "edgewise/base/utf8.h"
#include "edgewise/text/vocabulary/lookup_vocabulary.h"
#include "tests/text/text_testing.h"

namespace edgewise {
namespace {

using testing::ElementsAre;
using Lines = std::vector<std::string>;
using Tokens = std::vector<std::int64_t>;

const std::string kHeader = "#edgewise-vocabulary 2 kind=words size=5 separate_punctuation=false marks=close\n";
const std::string kSpecialLines = "<pad>\n<unknown>\n<begin>\n<end>\n";

Lines texts_of(const Vocabulary& vocabulary) {
  Lines texts;
  for (std::int64_t token = 0; token < vocabulary.size(); ++token) texts.emplace_back(vocabulary.token_text(token));
  return texts;
}

std::string error_of_vocabulary(const std::string& bytes) {
  return error_of([&] { parse_vocabulary(bytes, "vocabulary.txt"); });
}

TEST(Vocabulary, PutsSpecialTokensFirstThenTheMostFrequent) {
  const Lines sentences = {"b a c", "c b", "c d"};

  const auto vocabulary = build_vocabulary({sentences});

  EXPECT_THAT(texts_of(*vocabulary), ElementsAre("<pad>", "<unknown>", "<begin>", "<end>", "c", "b", "a", "d"));
  EXPECT_EQ(vocabulary->encode("a b x"), (Tokens{6, 5, kSpecial.unknown}));
  EXPECT_EQ(vocabulary->decode(Tokens{kSpecial.begin, 6, kSpecial.unknown, 5, kSpecial.end, kSpecial.padding}),
            "a <unknown> b");
}

TEST(Vocabulary, OfCharactersHasTheMostFrequentCodePointsOfAllSidesFirst) {
  const Lines inputs = {"a\u00e9 a", "e\u0301\U0001F600"};
  const Lines outputs = {"\u00e9a\U0001F600"};

  const auto vocabulary = build_vocabulary({inputs, outputs}, {.kind = VocabularyKind::kCharacters});

  EXPECT_EQ(vocabulary->kind(), VocabularyKind::kCharacters);
  EXPECT_THAT(texts_of(*vocabulary),
              ElementsAre("<pad>", "<unknown>", "<begin>", "<end>", "a", "\u00e9", "\U0001F600", " ", "e", "\u0301"));
  EXPECT_EQ(vocabulary->encode("\u00e9 e\u0301x"), (Tokens{5, 7, 8, 9, kSpecial.unknown}));
  EXPECT_EQ(vocabulary->decode(Tokens{kSpecial.begin, 4, kSpecial.unknown, 7, 6, kSpecial.end, kSpecial.padding}),
            "a<unknown> \U0001F600");
}

TEST(Vocabulary, DoesNotDependOnTheOrderOfSentencesOrSides) {
  const Lines first = {"a b", "c a"};
  const Lines second = {"d"};
  const Lines all = {"d", "c a", "a b"};

  EXPECT_EQ(build_vocabulary({first, second})->serialize(), build_vocabulary({all})->serialize());
}

TEST(Vocabulary, LimitsItsSizeAndOmitsRareTokens) {
  const Lines sentences = {"a a a b b c"};

  EXPECT_EQ(texts_of(*build_vocabulary({sentences}, {.size = 6})).back(), "b");
  EXPECT_EQ(build_vocabulary({sentences}, {.min_count = 2})->size(), 6);
}

TEST(Vocabulary, OfCharactersLimitsItsSizeAndOmitsRareOnes) {
  const Lines sentences = {"\u00e9\u00e9\u00e9bbc"};
  const VocabularyOptions limited = {.kind = VocabularyKind::kCharacters, .size = 6};
  const VocabularyOptions frequent = {.kind = VocabularyKind::kCharacters, .min_count = 3};

  EXPECT_THAT(texts_of(*build_vocabulary({sentences}, limited)),
              ElementsAre("<pad>", "<unknown>", "<begin>", "<end>", "\u00e9", "b"));
  EXPECT_EQ(build_vocabulary({sentences}, limited)->encode("bc"), (Tokens{5, kSpecial.unknown}));
  EXPECT_THAT(texts_of(*build_vocabulary({sentences}, frequent)),
              ElementsAre("<pad>", "<unknown>", "<begin>", "<end>", "\u00e9"));
}

TEST(Vocabulary, DoesNotEncodeTextAsSpecialTokens) {
  const Lines sentences = {"<end> <pad> a"};

  const auto vocabulary = build_vocabulary({sentences});

  EXPECT_EQ(vocabulary->size(), 5);
  EXPECT_EQ(vocabulary->encode("<end> a"), (Tokens{kSpecial.unknown, 4}));
  const auto characters = build_vocabulary({sentences}, {.kind = VocabularyKind::kCharacters});
  EXPECT_THAT(characters->encode("<end>"), testing::AllOf(testing::SizeIs(5), testing::Each(testing::Ge(4))));
  EXPECT_EQ(characters->decode(characters->encode("<end> a")), "<end> a");
}

TEST(Vocabulary, PreprocessesSentencesAccordingToItsOptions) {
  const Lines sentences = {"va\u202f!", "je vais bien, merci."};
  const auto vocabulary = build_vocabulary({sentences}, {.separate_punctuation = true});

  const Tokens tokens = vocabulary->encode("merci, va !");

  EXPECT_EQ(std::count(tokens.begin(), tokens.end(), kSpecial.unknown), 0);
  EXPECT_EQ(vocabulary->decode(tokens), "merci, va !");
  EXPECT_EQ(parse_vocabulary(vocabulary->serialize(), "v")->decode(tokens), "merci, va !");
}

TEST(Vocabulary, RestoresAnyTextWithCharacters) {
  EXPECT_TRUE(rc::check([](const std::vector<std::uint32_t>& values) {
    std::string sentence = "x";
    for (const std::uint32_t value : values) append_utf8(sentence, value % 0xD800);
    const Lines sentences = {sentence};
    const auto vocabulary = build_vocabulary({sentences}, {.kind = VocabularyKind::kCharacters});
    const auto read_back = parse_vocabulary(vocabulary->serialize(), "vocabulary.txt");

    RC_ASSERT(vocabulary->encode(sentence).size() == split_characters(sentence).size());
    RC_ASSERT(vocabulary->decode(vocabulary->encode(sentence)) == sentence);
    RC_ASSERT(read_back->encode(sentence) == vocabulary->encode(sentence));
    RC_ASSERT(read_back->serialize() == vocabulary->serialize());
  }));
}

TEST(Vocabulary, OfBytesRestoresAnyBytes) {
  const std::vector<std::string> none;
  const auto built = build_vocabulary({none}, {.kind = VocabularyKind::kBytes});
  const auto vocabulary = parse_vocabulary(built->serialize(), "vocabulary.txt");
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  all += "<end>é\xFF";

  const std::vector<std::int64_t> tokens = vocabulary->encode(all);

  EXPECT_EQ(vocabulary->size(), 260);
  EXPECT_EQ(vocabulary->kind(), VocabularyKind::kBytes);
  EXPECT_EQ(tokens.size(), all.size());
  EXPECT_EQ(tokens['a'], 4 + 'a');
  EXPECT_EQ(vocabulary->decode(tokens), all);
  EXPECT_EQ(vocabulary->token_text(4 + 'a'), "a");
  EXPECT_EQ(vocabulary->token_text(4 + 0xC3), "<0xC3>");
  EXPECT_EQ(vocabulary->serialize(), built->serialize());
  EXPECT_FALSE(find_bad_utf8(built->serialize()));
}

TEST(Vocabulary, RestoresAnyTextWithWords) {
  EXPECT_TRUE(rc::check([](const std::vector<std::uint32_t>& values) {
    std::string sentence = "x";
    for (const std::uint32_t value : values) append_utf8(sentence, value % 3 == 0 ? ' ' : value % 0xD800);
    const Lines sentences = {sentence};
    const auto vocabulary = build_vocabulary({sentences});

    RC_ASSERT(vocabulary->decode(vocabulary->encode(sentence)) == join_words(split_words(sentence)));
    RC_ASSERT(parse_vocabulary(vocabulary->serialize(), "v")->serialize() == vocabulary->serialize());
  }));
}

TEST(Vocabulary, IsATextFile) {
  const Lines sentences = {"a\\ b"};

  const std::string bytes = build_vocabulary({sentences}, {.kind = VocabularyKind::kCharacters})->serialize();

  EXPECT_EQ(bytes, "#edgewise-vocabulary 2 kind=characters size=8 separate_punctuation=false marks=close\n" +
                       kSpecialLines + "\\x20\n\\x5C\na\nb\n");
  EXPECT_EQ(parse_vocabulary(bytes, "v")->encode("b a"), (Tokens{7, 4, 6}));
}

TEST(Vocabulary, ErrorsNameVocabulariesThatCannotBeBuilt) {
  const Lines sentences = {"a b"};
  const Lines bad = {"a", "b\xFF"};
  const Lines blank = {"", "  "};
  auto error = [&](const Lines& lines, const VocabularyOptions& options) {
    return error_of([&] { build_vocabulary({lines}, options); });
  };

  EXPECT_EQ(error(bad, {}), "build_vocabulary: sides[0][1] has a byte at 1 that is not UTF-8, needs UTF-8");
  EXPECT_EQ(error(blank, {}),
            "build_vocabulary: the sentences have no token that occurs 1 time or more, need at least one");
  EXPECT_EQ(error(sentences, {.min_count = 2}),
            "build_vocabulary: the sentences have no token that occurs 2 times or more, need at least one");
  EXPECT_EQ(error(sentences, {.size = 4}),
            "build_vocabulary: size is 4, needs 0 for no limit or more than the 4 special tokens");
  EXPECT_EQ(error(sentences, {.min_count = 0}), "build_vocabulary: min_count is 0, needs 1 or more");
  EXPECT_EQ(error(sentences, {.kind = VocabularyKind::kCharacters, .separate_punctuation = true}),
            "build_vocabulary: separate_punctuation is true, but kind is characters; only words need it");
}

TEST(Vocabulary, ErrorsNameTokensOutsideTheVocabulary) {
  const Lines sentences = {"a b"};
  const auto vocabulary = build_vocabulary({sentences});

  EXPECT_EQ(error_of([&] { vocabulary->decode(Tokens{4, 6}); }), "decode: tokens[1] is 6, needs 0 to 5");
  EXPECT_EQ(error_of([&] { vocabulary->decode(Tokens{-1}); }), "decode: tokens[0] is -1, needs 0 to 5");
  EXPECT_EQ(error_of([&] { vocabulary->token_text(6); }), "token_text: token is 6, needs 0 to 5");
  EXPECT_EQ(error_of([&] { vocabulary->encode("a \xC3("); }),
            "encode: sentence has a byte at 2 that is not UTF-8, needs UTF-8");
}

TEST(LookupFile, ParseChecksEachLine) {
  EXPECT_EQ(error_of_vocabulary(kHeader + kSpecialLines + "a\n"), "no error");
  EXPECT_EQ(error_of_vocabulary(""), "load_vocabulary: vocabulary.txt is empty, needs a vocabulary");
  EXPECT_EQ(error_of_vocabulary("a\nb\n"), "load_vocabulary: vocabulary.txt:1 has \"a\", needs #edgewise-vocabulary");
  EXPECT_EQ(error_of_vocabulary("#edgewise-vocabulary 1\n"),
            "load_vocabulary: vocabulary.txt has format \"1\", needs 2; use the build that wrote it");
  EXPECT_EQ(error_of_vocabulary(kHeader + "<pad>\na\n"),
            "load_vocabulary: vocabulary.txt:3 has \"a\", needs <unknown>: the first four tokens are <pad>, <unknown>, "
            "<begin>, <end>");
  EXPECT_EQ(error_of_vocabulary(kHeader + kSpecialLines + "a\na\n"),
            "load_vocabulary: vocabulary.txt:7 has \"a\" again, which line 6 has, needs each token once");
  EXPECT_EQ(error_of_vocabulary(kHeader + kSpecialLines + "<end>\n"),
            "load_vocabulary: vocabulary.txt:6 has \"<end>\" again, which line 5 has, needs each token once");
  EXPECT_EQ(error_of_vocabulary(kHeader + kSpecialLines + "a\xFF\n"),
            "load_vocabulary: vocabulary.txt:6 has \"a\\xff\", needs UTF-8");
  EXPECT_EQ(error_of_vocabulary(kHeader + kSpecialLines + "\n"),
            "load_vocabulary: vocabulary.txt:6 is empty, needs a token");
  EXPECT_EQ(
      error_of_vocabulary(kHeader + kSpecialLines + "a"),
      "load_vocabulary: vocabulary.txt:6 has no line feed at its end, needs one; the file was cut, copy it again");
  EXPECT_EQ(
      error_of_vocabulary(kHeader + kSpecialLines),
      "load_vocabulary: vocabulary.txt has 4 tokens, needs the 5 that its first line says; the file was cut, copy "
      "it again");
  EXPECT_EQ(error_of_vocabulary(kHeader + kSpecialLines + "a\nb\n"),
            "load_vocabulary: vocabulary.txt has 6 tokens, needs the 5 that its first line says; the file was altered");
  EXPECT_EQ(
      error_of_vocabulary(kHeader + kSpecialLines + "a\r\n"),
      "load_vocabulary: vocabulary.txt:6 has \"a\\u000d\", needs control characters, spaces and backslashes written "
      "\\xHH");
  for (const std::string token : {"a b", "a\\", "a\\x2", "a\\x41", "a\\xZZ", "a\\n"}) {
    EXPECT_THAT(error_of_vocabulary(kHeader + kSpecialLines + token + "\n"),
                testing::HasSubstr(", needs control characters, spaces and backslashes written \\xHH"));
  }
  EXPECT_EQ(error_of_vocabulary(kHeader + kSpecialLines + "a\\x20b\n"),
            "load_vocabulary: vocabulary.txt:6 has \"a b\", needs a word without white space");
}

TEST(LookupFile, ParseChecksTheHeader) {
  auto with = [](std::string_view from, std::string_view to) {
    std::string bytes = kHeader + kSpecialLines + "ab\n";
    return error_of_vocabulary(bytes.replace(bytes.find(from), from.size(), to));
  };

  EXPECT_EQ(with("kind=words", "kind=letters"),
            "load_vocabulary: vocabulary.txt:1 has kind=\"letters\", needs words, characters or bytes");
  EXPECT_EQ(with("kind=words ", ""), "load_vocabulary: vocabulary.txt:1 has \"size=5\", needs kind=");
  EXPECT_EQ(with("size=5", "size=-5"), "load_vocabulary: vocabulary.txt:1 has size=\"-5\", needs a whole number");
  EXPECT_EQ(with("punctuation=false", "punctuation=no"),
            "load_vocabulary: vocabulary.txt:1 has separate_punctuation=\"no\", needs false or true");
  EXPECT_EQ(with("words", "characters"), "load_vocabulary: vocabulary.txt:6 has \"ab\", needs a single character");
  EXPECT_EQ(with("words", "bytes"), "load_vocabulary: vocabulary.txt:6 has \"ab\", needs a single byte");
  EXPECT_EQ(error_of_vocabulary("#edgewise-vocabulary 2 kind=bytes size=5 separate_punctuation=false marks=close\n" +
                                kSpecialLines + "a\n"),
            "load_vocabulary: vocabulary.txt has 5 tokens, needs the four special ones and the 256 bytes");
  EXPECT_EQ(with("marks=close", "marks=close and more"),
            "load_vocabulary: vocabulary.txt:1 has more than its fields, needs \"" +
                kHeader.substr(0, kHeader.size() - 1) + "\"");
  EXPECT_EQ(with("=5", "=4"),
            "load_vocabulary: vocabulary.txt has 5 tokens, needs the 4 that its first line says; the file was altered");
  EXPECT_EQ(error_of_vocabulary("#edgewise-vocabulary 2 kind=words size=4 separate_punctuation=false "
                                "marks=close\n" +
                                kSpecialLines),
            "load_vocabulary: vocabulary.txt has 4 tokens, needs more than the four special ones");
}

TEST(LookupFile, ParseRejectsOrAcceptsCorruptBytesWithoutCrashing) {
  const Lines sentences = {"Un corpus de quelques mots, écrits à la main."};
  const std::string bytes = build_vocabulary({sentences})->serialize();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (const int mask : {0x01, 0x20, 0x80}) {
      std::string altered = bytes;
      altered[i] = static_cast<char>(altered[i] ^ mask);
      try {
        const auto vocabulary = parse_vocabulary(altered, "v");
        EXPECT_EQ(vocabulary->serialize(), altered);
      } catch (const Error& error) {
        EXPECT_THAT(error.what(), testing::StartsWith("load_vocabulary: v"));
      }
    }
  }
}

TEST(VocabularyOptions, ListsItsFieldsOnce) {
  Lines names;
  VocabularyOptions options;
  VocabularyOptions::list_fields(options,
                                 [&](std::string_view name, auto&, const auto&...) { names.emplace_back(name); });

  EXPECT_THAT(names, ElementsAre("kind", "size", "min_count", "separate_punctuation", "model", "character_coverage",
                                 "byte_fallback", "placeholders", "split_digits", "line_feeds"));
  EXPECT_EQ(enum_names(VocabularyKind{})[0].name, "words");
  EXPECT_EQ(enum_names(VocabularyKind{})[1].name, "characters");
  EXPECT_EQ(enum_names(VocabularyKind{})[2].name, "bytes");
  EXPECT_EQ(enum_names(VocabularyKind{})[3].name, "sentencepiece");
  EXPECT_EQ(enum_names(VocabularyKind{})[4].name, "mapped");
  EXPECT_EQ(enum_names(SentencePieceModel{})[1].name, "bpe");
}

}  // namespace
}  // namespace edgewise

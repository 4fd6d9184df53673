// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/vocabulary/mapped_vocabulary.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "edgewise/base/utf8.h"
#include "tests/text/mapped_testing.h"
#include "tests/text/text_testing.h"

namespace edgewise {
namespace {

using namespace std::string_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using Lines = std::vector<std::string>;
using Tokens = std::vector<std::int64_t>;

/// Replaces a part of a text, which must have the part.
std::string replace(std::string text, std::string_view part, std::string_view replacement) {
  const std::size_t found = text.find(part);
  EXPECT_NE(found, std::string::npos) << part;
  return text.replace(found, part.size(), replacement);
}

/// A list of the tokens `</s>`, `<unk>`, `a`, `b`, `>>fra<<`, `<pad>`.
TokenList small_list() {
  TokenList list =
      with_languages(list_of_words({"a", "b", ">>fra<<"}), LanguagePlace::kOutputBeforeInput, {{"fra", 4}});
  list.in_text = {0, 5};
  return list;
}

std::string error_of_list(const std::function<void(TokenList&)>& change) {
  TokenList list = small_list();
  change(list);
  return error_of([&] { TokenIndex(std::move(list), "load_vocabulary: v"); });
}

std::string error_of_file(const std::string& bytes) {
  return error_of([&] { parse_token_list(bytes, "v"); });
}

std::shared_ptr<const PieceCodec> train_pieces(SentencePieceModel model = SentencePieceModel::kUnigram) {
  const Lines sentences = {"the river is deep",       "the river is clear",     "a deep clear river",
                           "is the water cold",       "the cold water is deep", "the rivers are wider here",
                           "water dries in the heat", "a cold winter is near"};
  const auto trained =
      build_vocabulary({sentences}, {.kind = VocabularyKind::kSentencePiece, .size = 28, .model = model});
  return std::make_shared<PieceCodec>(trained->serialize(), "pieces", SpecialPieces::kAny);
}

Tokens join(Tokens tokens, std::int64_t token, const Tokens& others = {}) {
  tokens.push_back(token);
  tokens.insert(tokens.end(), others.begin(), others.end());
  return tokens;
}

/// A vocabulary of the pieces of a model in reverse order, without `leave_out`.
std::shared_ptr<const Vocabulary> vocabulary_of_pieces(const std::shared_ptr<const PieceCodec>& codec,
                                                       const std::string& leave_out = "",
                                                       TokenText text = TokenText::kPieces) {
  Lines words;
  for (const Piece& piece : codec->pieces()) {
    if (piece.type == PieceType::kNormal && piece.text != leave_out) words.insert(words.begin(), piece.text);
  }
  TokenList list = list_of_words(words);
  list.text = text;
  list.in_text = list.rules.omitted;
  return make_mapped_vocabulary(std::make_shared<TokenIndex>(std::move(list), "test"), codec);
}

TEST(TokenList, IsReadAsItWasWritten) {
  TokenList list = small_list();
  list.tokens[2] = "\u2581\"\\ \u00e9\n\U0001F600";
  for (const bool end_input : {false, true}) {
    list.rules.end_input = end_input;
    EXPECT_EQ(parse_token_list(write_token_list(list), "v"), list);
  }
  list.rules.other_ends = {2, 5};
  EXPECT_EQ(parse_token_list(write_token_list(list), "v"), list);
}

TEST(TokenList, IsAJsonObjectWithATokenOnEachLine) {
  EXPECT_EQ(write_token_list(small_list()),
            "{\n"
            "  \"format\": 1,\n"
            "  \"text\": \"tokens\",\n"
            "  \"end_input\": true,\n"
            "  \"special\": {\"padding\": 5, \"unknown\": 1, \"begin\": 5, \"end\": 0},\n"
            "  \"omitted\": [0, 1, 5],\n"
            "  \"forbidden\": [5],\n"
            "  \"in_text\": [0, 5],\n"
            "  \"language_place\": \"output_before_input\",\n"
            "  \"languages\": {\"fra\": 4},\n"
            "  \"tokens\": [\n"
            "    \"</s>\",\n    \"<unk>\",\n    \"a\",\n    \"b\",\n    \">>fra<<\",\n    \"<pad>\"\n"
            "  ]\n"
            "}\n");
}

TEST(TokenList, ErrorsNameWhatAFileLacksOrHasTooMuch) {
  const std::string file = write_token_list(small_list());

  EXPECT_EQ(error_of_file(file), "no error");
  for (const std::string member : {"format", "text", "end_input", "omitted", "forbidden", "in_text"}) {
    const std::size_t begin = file.find("  \"" + member + "\"");
    const std::size_t end = file.find('\n', begin) + 1;
    const std::string line = file.substr(begin, end - begin);
    EXPECT_EQ(error_of_file(replace(file, line, "")), "load_vocabulary: v has no " + member + ", needs one");
    EXPECT_THAT(error_of_file(replace(file, line, line + line)), HasSubstr("is there twice"));
  }
  EXPECT_EQ(error_of_file("{}"), "load_vocabulary: v has no format, needs one");
  EXPECT_THAT(error_of_file(""), StartsWith("load_vocabulary: v, byte 0: the vocabulary is missing"));
  EXPECT_THAT(error_of_file(file.substr(0, file.size() / 2)), HasSubstr("the text was cut"));
  EXPECT_THAT(error_of_file(file + "x"), HasSubstr("needs to end here"));
  EXPECT_THAT(error_of_file(replace(file, "\"in_text\"", "\"others\"")),
              HasSubstr("\"others\" is no member of a vocabulary, needs one of format, text"));
  EXPECT_THAT(error_of_file(replace(file, "\"format\": 1", "\"format\": 2")), HasSubstr("format is 2, needs 1"));
  EXPECT_THAT(error_of_file(replace(file, "\"text\": \"tokens\"", "\"text\": \"words\"")),
              HasSubstr("text is \"words\", needs one of pieces, metaspace, tokens"));
  EXPECT_THAT(error_of_file(replace(file, "true", "1")), HasSubstr("end_input is 1, needs true or false"));
  EXPECT_THAT(error_of_file(replace(file, "\"end\": 0", "\"end\": -1")), HasSubstr("needs"));
  EXPECT_THAT(error_of_file(replace(file, "\"end\": 0", "\"end\": 18446744073709551615")),
              HasSubstr("end is 18446744073709551615, needs at most 9223372036854775807"));
  EXPECT_THAT(error_of_file(replace(file, ", \"end\": 0", "")), HasSubstr("v has 3 special tokens, needs padding"));
  EXPECT_THAT(error_of_file(replace(file, "\"end\": 0", "\"mask\": 0")), HasSubstr("\"mask\" is no special token"));
  EXPECT_THAT(error_of_file(replace(file, "{\"fra\": 4}", "{\"fra\": 4, \"fra\": 4}")), HasSubstr("is there twice"));
  EXPECT_THAT(error_of_file(replace(file, "\"</s>\"", "7")), HasSubstr("a token is 7, needs a string"));
  EXPECT_THAT(error_of_file(replace(file, "\"</s>\"", "\"\\ud800\"")), StartsWith("load_vocabulary: v, byte"));
  EXPECT_THAT(error_of_file(replace(file, "[0, 5]", std::string(100, '['))), StartsWith("load_vocabulary: v, byte"));
}

TEST(TokenIndex, ErrorsNameValuesThatDoNotFit) {
  EXPECT_EQ(error_of_list([](TokenList&) {}), "no error");
  EXPECT_EQ(error_of_list([](TokenList& list) { list.tokens.clear(); }),
            "load_vocabulary: v: tokens is empty, needs at least one");
  EXPECT_EQ(error_of_list([](TokenList& list) { list.tokens[3] = ""; }),
            "load_vocabulary: v: token 3 is empty, needs a text");
  EXPECT_EQ(error_of_list([](TokenList& list) { list.tokens[3] = "\xFF"; }),
            "load_vocabulary: v: token 3 is \"\\xff\", needs UTF-8");
  EXPECT_EQ(error_of_list([](TokenList& list) { list.tokens[3] = "a"; }),
            "load_vocabulary: v: token 3 is \"a\", which token 2 is too, needs each once");
  EXPECT_EQ(error_of_list([](TokenList& list) { list.rules.special.padding = 6; }),
            "load_vocabulary: v: padding has the number 6, needs 0 to 5");
  EXPECT_EQ(error_of_list([](TokenList& list) { list.rules.special.begin = -1; }),
            "load_vocabulary: v: begin has the number -1, needs 0 to 5");
  EXPECT_EQ(error_of_list([](TokenList& list) { list.rules.special.unknown = 0; }),
            "load_vocabulary: v: unknown is 0, which is another special token too, needs a token of its own");
  EXPECT_EQ(error_of_list([](TokenList& list) {
              list.rules.omitted = {0, 6};
            }),
            "load_vocabulary: v: omitted has the number 6, needs 0 to 5");
  EXPECT_EQ(error_of_list([](TokenList& list) {
              list.in_text = {5, 0};
            }),
            "load_vocabulary: v: in_text holds numbers that do not ascend, needs ascending ones");
  EXPECT_EQ(error_of_list([](TokenList& list) {
              list.in_text = {5, 5};
            }),
            "load_vocabulary: v: in_text holds numbers that do not ascend, needs ascending ones");
  EXPECT_EQ(error_of_list([](TokenList& list) {
              list.rules.forbidden = {0, 5};
            }),
            "load_vocabulary: v: forbidden holds the end token 0, without which no output ends; take it out");
  EXPECT_EQ(error_of_list([](TokenList& list) { list.rules.languages[0].token = 6; }),
            "load_vocabulary: v: a language has the number 6, needs 0 to 5");
  EXPECT_EQ(error_of_list([](TokenList& list) { list.rules.languages[0].name = ""; }),
            "load_vocabulary: v: a language is \"\", needs a name without control characters");
  EXPECT_EQ(error_of_list([](TokenList& list) {
              list.rules.languages.push_back({"deu", 3});
            }),
            "load_vocabulary: v: languages do not ascend by name, needs ascending names");
  EXPECT_EQ(error_of_list([](TokenList& list) { list.rules.language_place = LanguagePlace::kNone; }),
            "load_vocabulary: v has 1 languages, but language_place is none; needs a place");
  EXPECT_EQ(error_of_list([](TokenList& list) {
              list.rules.language_place = LanguagePlace::kBeforeBoth;
              list.rules.languages.clear();
            }),
            "load_vocabulary: v has no languages, but language_place is before_both; needs at least one");
  EXPECT_EQ(error_of_list([](TokenList& list) { list.rules.languages.clear(); }), "no error");
}

TEST(MappedVocabulary, OfTokensSplitsTextAtSpaces) {
  const auto vocabulary = vocabulary_of(small_list());

  EXPECT_EQ(vocabulary->kind(), VocabularyKind::kMapped);
  EXPECT_EQ(vocabulary->special(), (SpecialTokens{5, 1, 5, 0}));
  EXPECT_EQ(vocabulary->encode("a  b x a "), (Tokens{2, 3, 1, 2}));
  EXPECT_EQ(vocabulary->encode("a </s> <pad> <unk> >>fra<< b"), (Tokens{2, 0, 5, 1, 1, 3}));
  EXPECT_EQ(vocabulary->encode("</s>a"), (Tokens{1}));
  EXPECT_THAT(vocabulary->encode("  "), IsEmpty());
  EXPECT_EQ(vocabulary->decode(Tokens{5, 2, 1, 4, 3, 0}), "a >>fra<< b");
  EXPECT_EQ(vocabulary->token_text(4), ">>fra<<");
  EXPECT_EQ(error_of([&] { vocabulary->sample("a", {.strength = 0.5}, 1); }),
            "sample: the vocabulary is of mapped, needs sentencepiece; only its pieces can be drawn");
  EXPECT_EQ(error_of([&] { vocabulary->decode(Tokens{6}); }), "decode: tokens[0] is 6, needs 0 to 5");
}

TEST(MappedVocabulary, GivesThePiecesOfASentencePieceModelNumbersOfTheList) {
  const auto codec = train_pieces();
  const auto vocabulary = vocabulary_of_pieces(codec);
  const std::string sentence = "the river is clear";

  Lines texts;
  for (const std::int64_t token : vocabulary->encode(sentence)) texts.emplace_back(vocabulary->token_text(token));
  EXPECT_EQ(texts, codec->split(sentence));
  EXPECT_EQ(vocabulary->decode(vocabulary->encode(sentence)), sentence);
  EXPECT_EQ(vocabulary->piece_model(), SentencePieceModel::kUnigram);
  EXPECT_EQ(vocabulary->serialize_pieces(), codec->bytes());
}

TEST(MappedVocabulary, GivesPiecesThatTheListLacksTheUnknownToken) {
  const auto codec = train_pieces();
  const std::string left_out = codec->split("the").front();
  const auto vocabulary = vocabulary_of_pieces(codec, left_out);

  EXPECT_EQ(vocabulary->encode("the").front(), vocabulary->special().unknown);
}

TEST(MappedVocabulary, FindsARunOfCharactersThatOnlyTheListHas) {
  const auto codec = train_pieces();
  TokenList list = list_of_words({"\u732b\u732b", "\u2581"});
  list.text = TokenText::kPieces;
  const auto vocabulary = make_mapped_vocabulary(std::make_shared<TokenIndex>(std::move(list), "test"), codec);

  EXPECT_EQ(vocabulary->encode("\u732b\u732b"), (Tokens{3, 2}));
  EXPECT_EQ(vocabulary->encode("\u732b"), (Tokens{3, 1}));
  EXPECT_EQ(vocabulary->decode(Tokens{3, 2}), "\u732b\u732b");
}

TEST(MappedVocabulary, ReadsTheNamesOfSpecialTokensThatTheListAllowsInText) {
  const auto vocabulary = vocabulary_of_pieces(train_pieces());
  const auto& [padding, unknown, begin, end] = vocabulary->special();

  EXPECT_EQ(vocabulary->encode("the</s>river"), join(vocabulary->encode("the"), end, vocabulary->encode("river")));
  EXPECT_EQ(vocabulary->encode("<pad><unk>"), (Tokens{padding, unknown}));
  EXPECT_EQ(vocabulary->encode("is <pad> is"), join(vocabulary->encode("is"), padding, vocabulary->encode("is")));
}

TEST(MappedVocabulary, TreatsTheNamesOfOtherSpecialTokensAsText) {
  const auto codec = train_pieces();
  TokenList list = list_of_words({"\u2581", "<", "/", "s", ">"});
  list.text = TokenText::kPieces;
  const auto vocabulary = make_mapped_vocabulary(std::make_shared<TokenIndex>(std::move(list), "test"), codec);

  EXPECT_THAT(vocabulary->encode("</s>"), testing::Not(testing::Contains(vocabulary->special().end)));
  EXPECT_THAT(vocabulary->encode("<pad>"), testing::Not(testing::Contains(vocabulary->special().padding)));
}

TEST(MappedVocabulary, OfMetaspaceKeepsWhiteSpaceAtTheEndOfAText) {
  const auto vocabulary = vocabulary_of_pieces(train_pieces(), "", TokenText::kMetaspace);
  const std::int64_t end = vocabulary->special().end;
  const std::int64_t space = vocabulary->encode(" ").at(0);
  const Tokens is = vocabulary->encode("is");
  const Tokens the = vocabulary->encode("the");

  EXPECT_EQ(vocabulary->token_text(space), "\u2581");
  for (const std::string blank : {" ", "  ", "\t", "\u00a0", "\u3000", " \u2581", "\u200b", " \u0001"}) {
    EXPECT_EQ(vocabulary->encode(blank), (Tokens{space})) << quote(blank);
    EXPECT_EQ(vocabulary->encode("the" + blank), join(the, space)) << quote(blank);
    EXPECT_EQ(vocabulary->encode("is" + blank + "</s>the"), join(join(is, space), end, the)) << quote(blank);
  }
  EXPECT_EQ(vocabulary->encode("  the\u0001"), the);
  EXPECT_THAT(vocabulary->encode("\u0001"), IsEmpty());
  EXPECT_EQ(vocabulary->decode(join(the, space)), "the ");
  EXPECT_EQ(vocabulary->decode(join({space}, space, the)), "  the");
}

TEST(MappedVocabulary, DrawsSegmentationsByTheSeed) {
  for (const auto model : {SentencePieceModel::kUnigram, SentencePieceModel::kBpe}) {
    const auto vocabulary = vocabulary_of_pieces(train_pieces(model));
    const std::string sentence = "the river is deep";
    std::size_t others = 0;
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const Tokens drawn = vocabulary->sample(sentence, {.strength = 0.3}, seed);
      EXPECT_EQ(drawn, vocabulary->sample(sentence, {.strength = 0.3}, seed));
      EXPECT_EQ(vocabulary->decode(drawn), sentence);
      others += drawn != vocabulary->encode(sentence) ? 1 : 0;
    }
    EXPECT_GT(others, 0U);
  }
}

TEST(MappedVocabulary, IsAListOfTokensAndItsPieces) {
  const auto vocabulary = vocabulary_of_pieces(train_pieces());

  const auto parsed = make_mapped_vocabulary(
      std::make_shared<TokenIndex>(parse_token_list(vocabulary->serialize(), "v"), "load_vocabulary: v"),
      std::make_shared<PieceCodec>(vocabulary->serialize_pieces(), "pieces", SpecialPieces::kAny));

  EXPECT_EQ(parsed->serialize(), vocabulary->serialize());
  EXPECT_EQ(parsed->serialize_pieces(), vocabulary->serialize_pieces());
  EXPECT_EQ(parsed->encode("the river"), vocabulary->encode("the river"));
}

TEST(MappedVocabulary, IsNotLearnedAndNotReadFromOneFile) {
  const Lines sentences = {"a"};
  EXPECT_EQ(error_of([&] { build_vocabulary({sentences}, {.kind = VocabularyKind::kMapped}); }),
            "build_vocabulary: kind is mapped, needs words, characters, bytes or sentencepiece; a mapped vocabulary "
            "comes with "
            "a model of another system");
  EXPECT_EQ(error_of([] { parse_vocabulary(write_token_list(small_list()), "v.json"); }),
            "load_vocabulary: v.json is a mapped vocabulary, needs to be read with its directory, which may have a "
            "pieces.model");
}

TEST(MappedVocabulary, NeedsAModelExactlyForPieces) {
  TokenList list = small_list();
  list.text = TokenText::kPieces;
  EXPECT_EQ(error_of([&] { make_mapped_vocabulary(std::make_shared<TokenIndex>(list, "test"), nullptr); }),
            "make_mapped_vocabulary: the text of the vocabulary is pieces, but pieces is null; pieces need a model, "
            "tokens none");
  list.text = TokenText::kTokens;
  EXPECT_THAT(error_of([&] { make_mapped_vocabulary(std::make_shared<TokenIndex>(list, "test"), train_pieces()); }),
              HasSubstr("is tokens, but pieces is a model"));
}

TEST(MappedVocabulary, MayHave256000Tokens) {
  Lines words;
  for (int i = 0; i < 256'000; ++i) words.push_back(fmt::format("word{}", i));
  const std::string file = write_token_list(list_of_words(words));
  EXPECT_LT(file.size(), kMaxVocabularyBytes);

  const auto vocabulary = vocabulary_of(parse_token_list(file, "v"));

  EXPECT_EQ(vocabulary->size(), 256'003);
  EXPECT_EQ(vocabulary->decode(vocabulary->encode("word0 word255999")), "word0 word255999");
}

}  // namespace
}  // namespace edgewise

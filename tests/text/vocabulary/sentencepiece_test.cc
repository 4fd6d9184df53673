// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <future>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "edgewise/text/vocabulary/lookup_vocabulary.h"
#include "edgewise/text/vocabulary/sentencepiece_check.h"
#include "edgewise/text/vocabulary/vocabulary.h"
#include "tests/text/text_testing.h"

namespace edgewise {
namespace {

using namespace std::string_literals;
using testing::HasSubstr;
using testing::StartsWith;
using Lines = std::vector<std::string>;
using Tokens = std::vector<std::int64_t>;

constexpr std::int64_t kSize = 45;

const Lines& sentences() {
  static const Lines kLines = [] {
    const Lines subjects = {"Je", "Tu", "Il", "Elle", "Nous", "Le chat", "La souris", "Mon ami"};
    const Lines verbs = {"mange", "regarde", "cherche", "trouve", "aime", "écoute", "préfère"};
    const Lines objects = {"une pomme.", "le chat !", "la maison ?", "un livre, puis dort.", "l'été.", "ça."};
    Lines lines;
    for (const std::string& subject : subjects) {
      for (const std::string& verb : verbs) {
        for (const std::string& object : objects) lines.push_back(subject + " " + verb + " " + object);
      }
    }
    return lines;
  }();
  return kLines;
}

VocabularyOptions options_of(SentencePieceModel model, std::int64_t size = kSize) {
  return {.kind = VocabularyKind::kSentencePiece, .size = size, .model = model};
}

const std::string& model_bytes() {
  static const std::string kBytes =
      build_vocabulary({sentences()}, options_of(SentencePieceModel::kUnigram))->serialize();
  return kBytes;
}

std::string error_of_parsing(const std::string& bytes) {
  return error_of([&] { parse_vocabulary(bytes, "m"); });
}

// Writers for the parts of protobuf's wire format that SentencePiece models use.
std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(0x80 | (value & 0x7F));
  return bytes + static_cast<char>(value);
}

std::string field(int number, std::string_view bytes) {
  return varint(number << 3 | 2) + varint(bytes.size()) + std::string(bytes);
}

std::string field(int number, int value) { return varint(number << 3) + varint(value); }

std::string piece(std::string_view text, PieceType type = PieceType::kNormal, float score = -1.0F) {
  std::string bits(sizeof(score), '\0');
  std::memcpy(bits.data(), &score, sizeof(score));
  return field(1, field(1, text) + varint(2 << 3 | 5) + bits + field(3, static_cast<int>(type)));
}

std::string special_pieces() {
  return piece("<pad>", PieceType::kControl) + piece("<unk>", PieceType::kUnknown) + piece("<s>", PieceType::kControl) +
         piece("</s>", PieceType::kControl);
}

/// Returns the fields of a model other than its pieces.
std::string specs() { return field(2, "") + field(3, ""); }

std::string error_of_pieces(const std::string& pieces) { return error_of_parsing(pieces + specs()); }

class SentencePieceTest : public testing::TestWithParam<SentencePieceModel> {};

TEST_P(SentencePieceTest, RestoresSentences) {
  const auto vocabulary = build_vocabulary({sentences()}, options_of(GetParam()));

  for (const std::string& sentence : sentences()) {
    ASSERT_EQ(vocabulary->decode(vocabulary->encode(sentence)), sentence);
  }
  EXPECT_EQ(vocabulary->size(), kSize);
  EXPECT_EQ(vocabulary->token_text(kSpecial.padding), "<pad>");
  EXPECT_EQ(vocabulary->token_text(kSpecial.unknown), "<unknown>");
  EXPECT_EQ(vocabulary->token_text(kSpecial.begin), "<begin>");
  EXPECT_EQ(vocabulary->token_text(kSpecial.end), "<end>");
  EXPECT_EQ(vocabulary->encode(""), Tokens());
}

TEST_P(SentencePieceTest, TrainingIsReproducible) {
  const std::span<const std::string> all = sentences();

  EXPECT_EQ(build_vocabulary({all}, options_of(GetParam()))->serialize(),
            build_vocabulary({all.first(100), {}, all.subspan(100)}, options_of(GetParam()))->serialize());
}

TEST_P(SentencePieceTest, EncodesUnseenCharactersAsUnknown) {
  const auto vocabulary = build_vocabulary({sentences()}, options_of(GetParam()));

  const Tokens tokens = vocabulary->encode("<end> 猫");

  EXPECT_THAT(tokens, testing::Contains(kSpecial.unknown));
  EXPECT_THAT(tokens, testing::Not(testing::Contains(kSpecial.end)));
  EXPECT_EQ(vocabulary->decode(Tokens{kSpecial.begin, kSpecial.unknown, kSpecial.end, kSpecial.padding}), "<unknown>");
}

TEST_P(SentencePieceTest, IsReadFromTheBytesOfItsFile) {
  const auto vocabulary = build_vocabulary({sentences()}, options_of(GetParam()));

  const auto parsed = parse_vocabulary(vocabulary->serialize(), "v");

  EXPECT_EQ(parsed->kind(), VocabularyKind::kSentencePiece);
  EXPECT_EQ(parsed->serialize(), vocabulary->serialize());
  for (const std::string& sentence : sentences()) ASSERT_EQ(parsed->encode(sentence), vocabulary->encode(sentence));
}

TEST_P(SentencePieceTest, ErrorsNameTheSizesThatTheSentencesAllow) {
  auto error = [](std::int64_t size) {
    return error_of([&] { build_vocabulary({sentences()}, options_of(GetParam(), size)); });
  };
  const int most = GetParam() == SentencePieceModel::kUnigram ? 55 : 231;

  EXPECT_EQ(error(20),
            "build_vocabulary: size is 20, but these sentences have characters for 38 tokens; set size to 38 or more");
  EXPECT_EQ(error(20000),
            fmt::format("build_vocabulary: size is 20000, but these sentences give SentencePiece at most {} "
                        "tokens; set size to {} or less",
                        most, most));
  EXPECT_EQ(error(38), "no error");
  EXPECT_EQ(error(most), "no error");
}

TEST_P(SentencePieceTest, DifferentSeedsSampleDifferentSegmentations) {
  const auto vocabulary = build_vocabulary({sentences()}, options_of(GetParam()));
  const Sampling sampling = {.strength = 0.3};
  const std::string& sentence = sentences().front();

  std::set<Tokens> splits;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Tokens sample = vocabulary->sample(sentence, sampling, seed);
    EXPECT_EQ(vocabulary->decode(sample), sentence);
    splits.insert(sample);
  }

  EXPECT_GT(splits.size(), 1U);
}

TEST_P(SentencePieceTest, EqualSeedsSampleEqualSegmentationsOnAnyThread) {
  const auto vocabulary = build_vocabulary({sentences()}, options_of(GetParam()));
  const auto draw_all = [&vocabulary] {
    std::vector<Tokens> drawn;
    for (std::size_t i = 0; i < 50; ++i) drawn.push_back(vocabulary->sample(sentences()[i], {.strength = 0.2}, i));
    return drawn;
  };

  auto first = std::async(std::launch::async, draw_all);
  auto second = std::async(std::launch::async, draw_all);

  const auto here = draw_all();
  EXPECT_EQ(first.get(), here);
  EXPECT_EQ(second.get(), here);
}

TEST_P(SentencePieceTest, UsesTheMostLikelySegmentationWithoutSampling) {
  const auto vocabulary = build_vocabulary({sentences()}, options_of(GetParam()));

  EXPECT_EQ(vocabulary->sample(sentences()[3], {}, 1), vocabulary->encode(sentences()[3]));
}

TEST(SentencePieceSampling, UsesTheBestSegmentationIfBestIsOne) {
  const auto vocabulary = parse_vocabulary(model_bytes(), "m");

  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_EQ(vocabulary->sample(sentences()[3], {.strength = 0.1, .best = 1}, seed),
              vocabulary->encode(sentences()[3]));
  }
}

TEST(SentencePieceSampling, SkipsAllMergesOfBpeAtStrengthOne) {
  const auto vocabulary = build_vocabulary({sentences()}, options_of(SentencePieceModel::kBpe));

  for (const std::int64_t token : vocabulary->sample("Tu aimes le chat", {.strength = 1.0}, 1)) {
    EXPECT_EQ(split_characters(vocabulary->token_text(token)).size(), 1U);
  }
}

TEST(SentencePieceSampling, NeedsASentencePieceVocabulary) {
  const Lines words = {"a b"};
  const auto vocabulary = build_vocabulary({words});

  EXPECT_EQ(error_of([&] { vocabulary->sample("a b", {.strength = 0.1}, 1); }),
            "sample: the vocabulary is of words, needs sentencepiece; only its pieces can be drawn");
}

INSTANTIATE_TEST_SUITE_P(, SentencePieceTest, testing::Values(SentencePieceModel::kUnigram, SentencePieceModel::kBpe),
                         [](const auto& test) {
                           return test.param == SentencePieceModel::kUnigram ? "Unigram" : "Bpe";
                         });

TEST(SentencePieceTraining, SplitsEachLineByItselfIfTheLineFeedIsAToken) {
  std::vector<std::string> lines;
  for (int i = 0; i < 40; ++i) {
    lines.push_back("the cat sees the mouse and a bird\n");
    lines.push_back("a dog runs over the green field\n");
    lines.push_back("who knows where birds fly\n");
  }
  VocabularyOptions options = {.kind = VocabularyKind::kSentencePiece, .size = 34};
  options.line_feeds = true;
  const auto vocabulary = parse_vocabulary(build_vocabulary({lines}, options)->serialize(), "vocabulary.model");
  options.line_feeds = false;
  const auto plain = build_vocabulary({lines}, options);
  const std::string text = "the cat\n\nsees the mouse\nthe";

  const std::vector<std::int64_t> tokens = vocabulary->encode(text);

  EXPECT_EQ(vocabulary->decode(tokens), text);
  EXPECT_EQ(plain->decode(plain->encode(text)), "the cat sees the mouse the");
  const std::vector<std::int64_t> first = vocabulary->encode("the cat");
  const std::vector<std::int64_t> alone = vocabulary->encode("the");
  EXPECT_TRUE(std::equal(first.begin(), first.end(), tokens.begin()));
  EXPECT_TRUE(std::equal(alone.rbegin(), alone.rend(), tokens.rbegin()));
  EXPECT_EQ(vocabulary->token_text(tokens[first.size()]), "\n");
  EXPECT_EQ(vocabulary->decode(vocabulary->sample(text, {.strength = 0.5}, 3)), text);
}

TEST(SentencePieceTraining, PrintsNothing) {
  testing::internal::CaptureStderr();
  testing::internal::CaptureStdout();
  build_vocabulary({sentences()}, options_of(SentencePieceModel::kUnigram));
  error_of([] { build_vocabulary({sentences()}, options_of(SentencePieceModel::kBpe, 20000)); });

  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(SentencePieceTraining, ErrorsNameOptionsThatDoNotFit) {
  auto error = [](VocabularyOptions options, const Lines& lines = sentences()) {
    options.kind = VocabularyKind::kSentencePiece;
    return error_of([&] { build_vocabulary({lines}, options); });
  };

  EXPECT_EQ(
      error({}),
      "build_vocabulary: size is 0, but kind is sentencepiece, needs the number of tokens to learn, at most 1000000");
  EXPECT_EQ(error({.size = 90, .min_count = 2}),
            "build_vocabulary: min_count is 2, but kind is sentencepiece; size limits its tokens");
  EXPECT_EQ(error({.size = 90, .separate_punctuation = true}),
            "build_vocabulary: separate_punctuation is true, but kind is sentencepiece; only words need it");
  EXPECT_EQ(error({.size = 90, .character_coverage = 0.5}),
            "build_vocabulary: character_coverage is 0.5, needs 0.98 to 1");
  for (const Lines& lines : {Lines{}, Lines{"", "..."}, Lines{std::string(5000, 'a')}, Lines{"a \u2585"}}) {
    EXPECT_EQ(
        error({.size = 90}, lines),
        "build_vocabulary: the sentences have none of at most 4192 bytes with a letter or a digit, needs at least "
        "one");
  }
}

TEST(SentencePieceCheck, AcceptsTrainedModels) {
  const std::vector<Piece> pieces = check_sentencepiece_model(model_bytes(), "m");

  ASSERT_EQ(pieces.size(), static_cast<std::size_t>(kSize));
  EXPECT_EQ(pieces[1].text, "<unknown>");
  EXPECT_EQ(pieces[1].type, PieceType::kUnknown);
  EXPECT_EQ(pieces[3].type, PieceType::kControl);
  EXPECT_EQ(pieces[4].type, PieceType::kNormal);
}

TEST(SentencePieceCheck, AcceptsTheSmallestModel) {
  const auto vocabulary = parse_vocabulary(special_pieces() + piece("\u2581a") + specs(), "m");

  EXPECT_EQ(vocabulary->encode("a"), (Tokens{4}));
}

TEST(SentencePieceCheck, ErrorsNameInvalidPieces) {
  const std::string specials = special_pieces();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();

  EXPECT_EQ(error_of_pieces(specials + piece("")), "load_vocabulary: m: piece 4 has 0 bytes, needs 1 to 2048");
  EXPECT_EQ(error_of_pieces(specials + piece(std::string(3000, 'a'))),
            "load_vocabulary: m: piece 4 has 3000 bytes, needs 1 to 2048");
  EXPECT_EQ(error_of_pieces(specials + piece("a\xFF")),
            "load_vocabulary: m: piece 4 is \"a\\xff\", needs UTF-8 without NUL");
  EXPECT_EQ(error_of_pieces(specials + piece("a\0b"s)),
            "load_vocabulary: m: piece 4 is \"a\\u0000b\", needs UTF-8 without NUL");
  EXPECT_EQ(error_of_pieces(specials + piece("a") + piece("a")),
            "load_vocabulary: m: piece 5 is \"a\", which piece 4 is too, needs each once");
  EXPECT_EQ(error_of_pieces(specials + piece("a", PieceType::kNormal, kInfinity)),
            "load_vocabulary: m: piece 4 has a score that is no finite number, needs one");
  EXPECT_EQ(error_of_pieces(specials + piece("a", static_cast<PieceType>(7))),
            "load_vocabulary: m: piece 4 has type 7, needs 1 to 6");
  EXPECT_EQ(error_of_pieces(specials + piece("a", PieceType::kUnknown)),
            "load_vocabulary: m: piece 4 is a second piece for unknown text, needs one");
  EXPECT_EQ(error_of_pieces(specials + piece(std::string(65, 'a'), PieceType::kUserDefined)),
            "load_vocabulary: m: piece 4 is user-defined with 65 characters, needs at most 64");
  EXPECT_EQ(error_of_pieces(specials), "load_vocabulary: m has 4 pieces, needs more than the four special ones");
  EXPECT_EQ(
      error_of_pieces(piece("<unk>", PieceType::kUnknown) + piece("a") + piece("b") + piece("c") + piece("d")),
      "load_vocabulary: m: piece 0 is \"<unk>\", needs a control piece for padding; train the model with --pad_id=0 "
      "--unk_id=1 --bos_id=2 --eos_id=3");
  EXPECT_EQ(error_of_pieces(specials + piece("a") + piece("<0x00>", PieceType::kByte)),
            "load_vocabulary: m has 1 byte pieces, needs 0");
  EXPECT_EQ(error_of_pieces(specials + piece("<0x01>", PieceType::kByte)),
            "load_vocabulary: m: piece 4 is \"<0x01>\", needs byte 0 of 256");
}

TEST(SentencePieceCheck, AcceptsSpecialPiecesOfOtherSystemsAtAnyNumber) {
  const auto check_any = [](const std::string& pieces) {
    return error_of([&] { check_sentencepiece_model(pieces + specs(), "m", SpecialPieces::kAny); });
  };
  const std::string unknown = piece("<unk>", PieceType::kUnknown);

  EXPECT_EQ(check_any(unknown + piece("<s>", PieceType::kControl) + piece("a")), "no error");
  EXPECT_EQ(check_any(piece("a") + unknown), "no error");
  EXPECT_EQ(check_any(piece("a")), "load_vocabulary: m has no piece for unknown text, needs one");
  EXPECT_EQ(check_any(unknown + piece("a") + piece("b", PieceType::kUnknown)),
            "load_vocabulary: m: piece 2 is a second piece for unknown text, needs one");
}

TEST(SentencePieceCheck, ErrorsNameOtherInvalidFields) {
  const std::string pieces = special_pieces() + piece("a");
  const auto trainer = [&](const std::string& fields) {
    return error_of_parsing(pieces + field(2, fields) + field(3, ""));
  };

  EXPECT_EQ(trainer(field(3, 2)), "no error");
  EXPECT_EQ(trainer(field(3, 3)), "load_vocabulary: m has model type 3, needs 1 (unigram) or 2 (BPE)");
  EXPECT_EQ(trainer(field(35, 1)), "load_vocabulary: m has 0 byte pieces, needs 256");
  EXPECT_EQ(trainer(field(35, "")), "load_vocabulary: m has a byte_fallback of wire type 2, needs 0");
  EXPECT_EQ(trainer(field(44, "\xFF")), "load_vocabulary: m has the unk_surface \"\\xff\", needs UTF-8");
  EXPECT_EQ(error_of_parsing(pieces + field(2, "") + field(2, "")),
            "load_vocabulary: m has field 2 twice, needs it once");
  EXPECT_EQ(error_of_parsing(pieces + field(2, 1)), "load_vocabulary: m has a trainer_spec of wire type 0, needs 2");
  EXPECT_EQ(error_of_parsing(pieces),
            "load_vocabulary: m has no trainer_spec, needs one; the file was cut, copy it again");
  EXPECT_EQ(error_of_parsing(pieces + field(2, "")),
            "load_vocabulary: m has no normalizer_spec, needs one; the file was cut, copy it again");
  EXPECT_EQ(error_of_parsing(pieces + field(4, "")),
            "load_vocabulary: m has self-test data, which this program does not run; needs none");
  EXPECT_EQ(error_of_parsing(pieces + field(3, field(2, "abc"))),
            "load_vocabulary: m: normalizer_spec: the character map has 3 bytes, needs 5 to 4194304");
  EXPECT_EQ(error_of_parsing(pieces + field(5, field(2, "abc"))),
            "load_vocabulary: m: denormalizer_spec: the character map has 3 bytes, needs 5 to 4194304");
}

TEST(SentencePieceCheck, ErrorsNameSizesAboveTheLimits) {
  const auto vocabulary = parse_vocabulary(special_pieces() + piece("a") + specs(), "m");

  EXPECT_EQ(error_of_parsing("\n" + std::string(std::size_t{32} << 20, 'x')),
            "load_vocabulary: m has 33554433 bytes, needs at most 33554432");
  EXPECT_EQ(error_of([&] { vocabulary->encode(std::string((std::size_t{16} << 20) + 1, 'a')); }),
            "encode: sentence has 16777217 bytes, needs at most 16777216");
}

TEST(SentencePieceCheck, ReportsErrorsOfTheLibrary) {
  EXPECT_EQ(error_of_pieces(special_pieces() + piece("<x>", PieceType::kControl)),
            "load_vocabulary: m has a model that SentencePiece does not read: no pieces are loaded.");
}

TEST(SentencePieceCheck, ErrorsNameTheByteWhereTheWireFormatIsInvalid) {
  EXPECT_EQ(error_of_parsing(special_pieces() + field(1, 5)), "load_vocabulary: m has a piece of wire type 0, needs 2");
  EXPECT_EQ(error_of_parsing("\n"),
            "load_vocabulary: m has a field of 1 bytes at byte 1, needs at most the 0 that are left; the file was cut, "
            "copy it again");
  EXPECT_EQ(error_of_parsing("\n\x05"
                             "ab"),
            "load_vocabulary: m has a field of 5 bytes at byte 2, needs at most the 2 that are left; the file was cut, "
            "copy it again");
  EXPECT_EQ(error_of_parsing(special_pieces() + "\x0B"),
            "load_vocabulary: m has wire type 3 at byte 61, needs 0, 1, 2 or 5");
  EXPECT_EQ(error_of_parsing(special_pieces() + "\0"s),
            "load_vocabulary: m has field number 0 at byte 61, needs 1 to 536870911");
  EXPECT_EQ(error_of_parsing("\n" + std::string(10, '\xFF')),
            "load_vocabulary: m has a number of more than 10 bytes at byte 1, needs at most 10");
}

TEST(SentencePieceCheck, RejectsTruncatedModels) {
  for (std::size_t size = 0; size + 1 < model_bytes().size(); size += 1 + size / 8) {
    EXPECT_THAT(error_of_parsing(model_bytes().substr(0, size)), StartsWith("load_vocabulary: m")) << size;
  }
}

/// A corrupt model must be rejected or encode text, without crashing the process.
TEST(SentencePieceCheck, CorruptModelsDoNotCrash) {
  const Lines texts = {sentences()[0], "ÉTÉ ﬁn ½ ㍿ ﷺ e\u0301 \u00a0\u3000\u200b", "猫\0\x7F 😀"s,
                       std::string(300, 'x')};
  std::mt19937 random(7);
  const std::size_t map_begin = model_bytes().find("nmt_nfkc");
  int accepted = 0;
  for (int round = 0; round < 400; ++round) {
    std::string altered = model_bytes();
    // Half of the rounds alter the character map, which the library reads without checks.
    const std::size_t begin = round % 2 == 0 ? 0 : map_begin;
    const int count = 1 << (round % 7);
    for (int i = 0; i < count; ++i) {
      const std::size_t at = begin + random() % (altered.size() - begin);
      altered[at] = static_cast<char>(altered[at] ^ (1 << random() % 8));
    }
    try {
      const auto vocabulary = parse_vocabulary(altered, "m");
      for (const std::string& text : texts) vocabulary->decode(vocabulary->encode(text));
      ++accepted;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::AnyOf(StartsWith("load_vocabulary: m"), StartsWith("encode: ")));
    }
  }
  EXPECT_GT(accepted, 0);
}

}  // namespace
}  // namespace edgewise

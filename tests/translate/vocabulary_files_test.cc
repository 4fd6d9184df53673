// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/vocabulary_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "edgewise/base/files/directory.h"
#include "tests/base/support.h"
#include "tests/support/error_of.h"
#include "tests/text/mapped_testing.h"
#include "tests/translate/words.h"

namespace edgewise {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Files = std::map<std::string, std::string>;

std::vector<std::string> names_of(const Files& files) {
  std::vector<std::string> names;
  for (const auto& [name, bytes] : files) names.push_back(name);
  return names;
}

std::shared_ptr<const PieceCodec> train_pieces(const std::vector<std::string>& sentences) {
  const auto trained = build_vocabulary({sentences}, {.kind = VocabularyKind::kSentencePiece, .size = 20});
  return std::make_shared<PieceCodec>(trained->serialize(), "pieces", SpecialPieces::kAny);
}

const std::shared_ptr<const PieceCodec>& input_pieces() {
  static const auto pieces = train_pieces({"the river is deep", "is the river clear", "a clear river is here"});
  return pieces;
}

const std::shared_ptr<const PieceCodec>& output_pieces() {
  static const auto pieces = train_pieces({"der Fluss ist tief", "ist der Fluss klar", "ein klarer Fluss ist hier"});
  return pieces;
}

std::shared_ptr<const TokenIndex> index_of_pieces() {
  TokenList list = list_of_words({});
  std::vector<std::string> words;
  for (const auto& codec : {input_pieces(), output_pieces()}) {
    for (const Piece& piece : codec->pieces()) {
      if (piece.type == PieceType::kNormal && std::ranges::find(words, piece.text) == words.end()) {
        words.push_back(piece.text);
      }
    }
  }
  list = list_of_words(words);
  list.text = TokenText::kPieces;
  return std::make_shared<TokenIndex>(std::move(list), "test");
}

class VocabularyFiles : public testing::Test {
 protected:
  /// Writes a directory with the files and returns what read_vocabularies reads from it.
  Vocabularies write_and_read(const Files& files, bool is_shared) const {
    const std::filesystem::path directory = folder_ / "vocabularies";
    std::filesystem::remove_all(directory);
    DirectoryWriter writer(directory, "test");
    for (const auto& [name, bytes] : files) writer.write(name, bytes);
    writer.commit();
    return read_vocabularies(ListedDirectory(directory, "test"), is_shared, "test");
  }

  std::string error_of_files(const Files& files, bool is_shared) const {
    return error_of([&] { write_and_read(files, is_shared); });
  }

  TemporaryFolder folder_;
};

TEST_F(VocabularyFiles, OfTwoModelsForOneListOfTokensAreReadAgain) {
  const auto tokens = index_of_pieces();
  const Vocabularies written = {make_mapped_vocabulary(tokens, input_pieces()),
                                make_mapped_vocabulary(tokens, output_pieces())};
  const Files files = serialize_vocabularies(written, true);
  EXPECT_THAT(names_of(files), ElementsAre("input_pieces.model", "output_pieces.model", "vocabulary.json"));

  const Vocabularies found = write_and_read(files, true);

  EXPECT_TRUE(have_same_files(*found.input, *written.input));
  EXPECT_TRUE(have_same_files(*found.output, *written.output));
  EXPECT_FALSE(have_same_files(*found.input, *found.output));
  EXPECT_EQ(found.input->encode("the river"), written.input->encode("the river"));
  EXPECT_EQ(found.output->encode("der Fluss"), written.output->encode("der Fluss"));
}

TEST_F(VocabularyFiles, OfOneModelForBothSidesAreWrittenAndReadOnce) {
  const auto both = make_mapped_vocabulary(index_of_pieces(), input_pieces());
  const Files files = serialize_vocabularies({both, both}, true);
  EXPECT_THAT(names_of(files), ElementsAre("pieces.model", "vocabulary.json"));

  const Vocabularies found = write_and_read(files, true);

  EXPECT_EQ(found.input, found.output);
  EXPECT_TRUE(have_same_files(*found.input, *both));
}

/// Returns a vocabulary whose text is split by a tokenizer.json with the letters.
std::shared_ptr<const Vocabulary> vocabulary_of_tokenizer(const std::string& letters) {
  std::string tokens;
  TokenList list = {.text = TokenText::kTokenizer};
  for (const char letter : letters) {
    tokens += fmt::format(R"({}"{}":{})", tokens.empty() ? "" : ",", letter, list.tokens.size());
    list.tokens.emplace_back(1, letter);
  }
  list.rules = {.special = {.padding = 0, .unknown = 0, .begin = 0, .end = 0}, .omitted = {}, .forbidden = {}};
  const std::string file = fmt::format(R"({{"model":{{"type":"BPE","vocab":{{{}}},"merges":[]}}}})", tokens);
  return make_tokenizer_vocabulary(std::make_shared<TokenIndex>(std::move(list), "test"),
                                   std::make_shared<TokenizerCodec>(file, "test"), "test");
}

TEST_F(VocabularyFiles, OfATokenizerAreReadAgain) {
  const auto both = vocabulary_of_tokenizer("abc");
  Files files = serialize_vocabularies({both, both}, true);
  EXPECT_THAT(names_of(files), ElementsAre("tokenizer.json", "vocabulary.json"));

  const Vocabularies found = write_and_read(files, true);

  EXPECT_EQ(found.input, found.output);
  EXPECT_TRUE(have_same_files(*found.input, *both));
  EXPECT_EQ(found.input->encode("cab"), both->encode("cab"));

  files.erase("tokenizer.json");
  EXPECT_THAT(error_of_files(files, true),
              HasSubstr("manifest.json does not list tokenizer.json, needs it, because the vocabulary's text is "
                        "tokenizer"));
}

TEST_F(VocabularyFiles, OfTwoTokenizersAreReadAgain) {
  const Vocabularies written = {vocabulary_of_tokenizer("abc"), vocabulary_of_tokenizer("cba")};
  const Files files = serialize_vocabularies(written, false);
  EXPECT_THAT(names_of(files), ElementsAre("input_tokenizer.json", "input_vocabulary.json", "output_tokenizer.json",
                                           "output_vocabulary.json"));
  const Vocabularies found = write_and_read(files, false);
  EXPECT_TRUE(have_same_files(*found.input, *written.input));
  EXPECT_TRUE(have_same_files(*found.output, *written.output));
}

TEST_F(VocabularyFiles, OfSeparateListsAreReadAgain) {
  const Vocabularies written = {make_mapped_vocabulary(index_of_pieces(), input_pieces()),
                                vocabulary_of(list_of_words({"a", "b"}))};
  const Files files = serialize_vocabularies(written, false);
  EXPECT_THAT(names_of(files), ElementsAre("input_pieces.model", "input_vocabulary.json", "output_vocabulary.json"));

  const Vocabularies found = write_and_read(files, false);

  EXPECT_TRUE(have_same_files(*found.input, *written.input));
  EXPECT_TRUE(have_same_files(*found.output, *written.output));
}

TEST_F(VocabularyFiles, OfTokensNeedNoModel) {
  const auto both = vocabulary_of(list_of_words({"a", "b"}));
  Files files = serialize_vocabularies({both, both}, true);
  EXPECT_THAT(names_of(files), ElementsAre("vocabulary.json"));
  EXPECT_EQ(write_and_read(files, true).output->encode("b a"), both->encode("b a"));

  files["pieces.model"] = input_pieces()->bytes();
  EXPECT_THAT(error_of_files(files, true),
              HasSubstr("manifest.json lists pieces.model, needs none, because the vocabulary's text is tokens"));
}

TEST_F(VocabularyFiles, AreRefusedIfAModelIsMissingTwiceThereOrDamaged) {
  const auto both = make_mapped_vocabulary(index_of_pieces(), input_pieces());
  const Files files = serialize_vocabularies({both, both}, true);

  Files missing = files;
  missing.erase("pieces.model");
  EXPECT_THAT(error_of_files(missing, true),
              HasSubstr("manifest.json lists none of input_pieces.model and pieces.model, needs one of them"));
  Files twice = files;
  twice["output_pieces.model"] = output_pieces()->bytes();
  EXPECT_THAT(error_of_files(twice, true),
              HasSubstr("manifest.json lists both of output_pieces.model and pieces.model, needs one of them"));
  Files damaged = files;
  damaged["pieces.model"].resize(100);
  EXPECT_THAT(error_of_files(damaged, true), HasSubstr("pieces.model"));
  Files two = files;
  two["vocabulary.txt"] = make_word_vocabulary("a b")->serialize();
  EXPECT_THAT(error_of_files(two, true),
              HasSubstr("manifest.json lists vocabulary.txt and vocabulary.json, needs one of them"));
  EXPECT_THAT(error_of_files(files, false),
              HasSubstr("lists none of input_vocabulary.txt, input_vocabulary.model and input_vocabulary.json"));
}

}  // namespace
}  // namespace edgewise

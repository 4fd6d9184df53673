// SPDX-License-Identifier: Apache-2.0
#include "edgewise/data/encoded_documents.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>

#include "edgewise/data/batch_shares.h"
#include "edgewise/data/text_corpus.h"
#include "tests/text/text_testing.h"

namespace edgewise {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Tokens = std::vector<std::int64_t>;

const SpecialTokens kRoles;

class EncodedDocumentsTest : public testing::Test {
 protected:
  std::shared_ptr<const DocumentText> text(std::string_view bytes, const DocumentOptions& options = {}) {
    const auto file = std::make_shared<SeekableFile>(directory.write("text", bytes), "read_texts");
    return std::make_shared<DocumentText>(std::vector<FileRange>{whole_file(file)}, options);
  }

  static std::shared_ptr<const Vocabulary> bytes() {
    const std::vector<std::string> none;
    return build_vocabulary({none}, {.kind = VocabularyKind::kBytes});
  }

  TemporaryDirectory directory;
};

/// Returns the predicted tokens of chunks, in order.
Tokens labels_of(const std::vector<TokenPair>& chunks) {
  Tokens labels;
  for (const TokenPair& chunk : chunks) labels.insert(labels.end(), chunk.output.begin() + 1, chunk.output.end());
  return labels;
}

std::string numbered_lines(int count) {
  std::string lines;
  for (int i = 0; i < count; ++i) lines += "line " + std::to_string(i) + "\n";
  return lines;
}

TEST_F(EncodedDocumentsTest, PredictsEachTokenOnceInEachEpochFromTheTokenBefore) {
  const auto vocabulary = bytes();
  const std::string all = numbered_lines(200);
  const EncodedDocuments source(text(all), vocabulary, 32);
  Tokens expected = vocabulary->encode(all);
  expected.push_back(kRoles.end);

  std::map<std::size_t, int> first_lengths;
  for (std::int64_t epoch = 0; epoch < 5; ++epoch) {
    const std::vector<TokenPair> chunks = source.read({.block = 0}, 7, epoch);
    EXPECT_EQ(labels_of(chunks), expected);
    EXPECT_EQ(chunks.front().output.front(), kRoles.begin);
    for (std::size_t i = 1; i < chunks.size(); ++i) {
      EXPECT_TRUE(chunks[i].input.empty());
      EXPECT_EQ(chunks[i].output.front(), chunks[i - 1].output.back());
      if (i + 1 < chunks.size()) {
        EXPECT_EQ(chunks[i].output.size(), 33U);
      }
    }
    ++first_lengths[chunks.front().output.size()];
  }
  EXPECT_GT(first_lengths.size(), 1U);
  EXPECT_EQ(source.count_tokens(), std::ssize(expected));
  EXPECT_EQ(labels_of(source.read({.block = 0}, 7, 3)), labels_of(source.read({.block = 0}, 7, 3)));
}

TEST_F(EncodedDocumentsTest, KeepsShortDocumentsWhole) {
  const EncodedDocuments source(text("ab\n--\nc\n--\ndefghijklmnop\n", {.separator = "--"}), bytes(), 8);

  const std::vector<TokenPair> chunks = source.read({.block = 0}, 1, 0);

  const auto vocabulary = bytes();
  const auto document = [&](std::string_view body) {
    Tokens tokens = vocabulary->encode(body);
    tokens.insert(tokens.begin(), kRoles.begin);
    tokens.push_back(kRoles.end);
    return tokens;
  };
  ASSERT_GE(chunks.size(), 4U);
  EXPECT_EQ(chunks[0].output, document("ab\n"));
  EXPECT_EQ(chunks[1].output, document("c\n"));
  EXPECT_EQ(chunks[2].output.front(), kRoles.begin);
  EXPECT_EQ(chunks.back().output.back(), kRoles.end);
}

TEST_F(EncodedDocumentsTest, LosesOnlyTheFirstTokenOfABlockThatContinuesADocument) {
  const auto document = text(numbered_lines(500), {.block_bytes = 256});
  const EncodedDocuments source(document, bytes(), 16);

  EXPECT_EQ(source.count_tokens(), document->report().bytes + 1 - (document->num_blocks() - 1));
}

TEST_F(EncodedDocumentsTest, SharesTheChunksOfAnEpochAmongVirtualRanks) {
  const auto vocabulary = bytes();
  const auto source = std::make_shared<EncodedDocuments>(text(numbered_lines(300)), vocabulary, 16);
  std::multiset<std::int64_t> all;
  std::int64_t batches = 0;
  for (std::int64_t rank = 0; rank < 4; ++rank) {
    BatchShares shares(source, {.tokens = 64}, 3, {.total = 4, .first = rank, .count = 1});
    BatchStream& stream = shares.streams().front();
    while (stream.position().epoch == 0) {
      const Batch batch = stream.next();
      EXPECT_LE(batch.output_tokens.size(), 64U);
      EXPECT_TRUE(batch.input_tokens.empty());
      all.insert(batch.labels.begin(), batch.labels.end());
      ++batches;
    }
  }
  Tokens expected = vocabulary->encode(numbered_lines(300));
  expected.push_back(kRoles.end);
  EXPECT_EQ(all, std::multiset<std::int64_t>(expected.begin(), expected.end()));
  EXPECT_GT(batches, 40);
}

TEST_F(EncodedDocumentsTest, GivesTheSameBatchesAfterSeekingToAPosition) {
  const auto source = std::make_shared<EncodedDocuments>(text(numbered_lines(300), {.block_bytes = 512}), bytes(), 16);
  const BatchOptions options = {.tokens = 64, .window = 40};
  BatchStream stream(source, options, 5);
  std::vector<Tokens> batches;
  std::vector<BatchPosition> positions;
  while (stream.position().epoch < 2) {
    positions.push_back(stream.position());
    batches.push_back(stream.next().output_tokens);
  }
  EXPECT_GT(positions.back().window, 1);
  for (std::size_t i = 0; i < positions.size(); i += 7) {
    BatchStream other(source, options, 5);
    other.seek(positions[i]);
    EXPECT_EQ(other.next().output_tokens, batches[i]);
  }
}

TEST_F(EncodedDocumentsTest, HasAnotherFingerprintForOtherChunks) {
  const auto document = text("some text\n");
  EXPECT_EQ(EncodedDocuments(document, bytes(), 8).fingerprint(), EncodedDocuments(document, bytes(), 8).fingerprint());
  EXPECT_NE(EncodedDocuments(document, bytes(), 8).fingerprint(), EncodedDocuments(document, bytes(), 9).fingerprint());
}

TEST_F(EncodedDocumentsTest, RefusesALengthOfZeroAndSamplingOfBytes) {
  const auto document = text("some text\n");
  EXPECT_EQ(error_of([&] { EncodedDocuments(document, bytes(), 0); }),
            "EncodedDocuments: length is 0, needs at least 1");
  EXPECT_EQ(error_of([&] { EncodedDocuments(document, bytes(), 8, {.strength = 0.5}); }),
            "EncodedDocuments: vocabulary.output_sampling is 0.5, but the vocabulary is of bytes, needs sentencepiece");
}

TEST_F(EncodedDocumentsTest, ACoverCountsEachTokenOnceWithTheContextThatItsStepLeaves) {
  EXPECT_TRUE(rc::check([this] {
    const int lines = *rc::gen::inRange(1, 60);
    std::string all;
    Tokens expected;
    const auto vocabulary = bytes();
    for (int i = 0; i < lines; ++i) {
      const std::string line(*rc::gen::inRange<std::size_t>(1, 50), static_cast<char>('a' + i % 26));
      all += line + "\n==\n";
      for (const std::int64_t token : vocabulary->encode(line + "\n")) expected.push_back(token);
      expected.push_back(kRoles.end);
    }
    const CoverOptions options = {.length = *rc::gen::inRange<std::int64_t>(1, 30), .step = 0};
    CoverOptions with_step = options;
    with_step.step = *rc::gen::inRange<std::int64_t>(1, options.length + 1);
    const auto documents = text(all, {.separator = "==", .block_bytes = *rc::gen::inRange<std::int64_t>(8, 300)});

    Tokens counted;
    cover_documents(*documents, *vocabulary, with_step, [&](const CoverChunk& chunk) {
      RC_ASSERT(std::ssize(chunk.tokens) <= with_step.length + 1);
      RC_ASSERT(chunk.first == 0 || chunk.first == with_step.length - with_step.step);
      RC_ASSERT(chunk.first > 0 || with_step.step == with_step.length || chunk.tokens.front() == kRoles.begin);
      counted.insert(counted.end(), chunk.tokens.begin() + 1 + chunk.first, chunk.tokens.end());
    });

    RC_ASSERT(counted == expected);
  }));
}

TEST_F(EncodedDocumentsTest, ATextCorpusValidatesWithTheEndOfItsFile) {
  directory.write("all.txt", "0123456789abcdefghij");
  DataOptions data;
  data.train = {"all.txt"};
  data.valid_share = 0.25;

  const TextCorpus corpus = load_text_corpus(data, {}, directory.path());

  EXPECT_EQ(corpus.train->read(0).front().text, "0123456789abcde");
  EXPECT_EQ(corpus.valid->read(0).front().text, "fghij");
  EXPECT_EQ(corpus.test, nullptr);
  data.train = {"all.txt", "all.txt"};
  EXPECT_EQ(error_of([&] { load_text_corpus(data, {}, directory.path()); }),
            "load_text_corpus: data.valid_share is 0.25 with 2 files in data.train, needs one file");
  data.train.clear();
  EXPECT_EQ(error_of([&] { load_text_corpus(data, {}, directory.path()); }),
            "load_text_corpus: data.train names no file, needs at least one");
}

}  // namespace
}  // namespace edgewise

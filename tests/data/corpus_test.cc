// SPDX-License-Identifier: Apache-2.0
#include "edgewise/data/corpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "edgewise/base/config/config.h"
#include "edgewise/base/error.h"

namespace edgewise {
namespace {

using testing::ElementsAre;
using testing::ThrowsMessage;

class LoadCorpus : public testing::Test {
 protected:
  LoadCorpus() : folder_(std::filesystem::path(testing::TempDir()) / "edgewise_load_corpus") {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~LoadCorpus() override { std::filesystem::remove_all(folder_); }

  std::string in_folder(const std::string& name) const { return (folder_ / name).string(); }

  void write(const std::string& name, const std::string& text) const { std::ofstream(in_folder(name)) << text; }

  std::filesystem::path folder_;
};

TEST_F(LoadCorpus, ReadsOneFileOrTwoFromTheFolder) {
  write("train.en", "Go .\nI won !\n");
  write("train.fr", "Va !\nJe l'ai emporté !\n");
  write("valid.tsv", "Hi .\tSalut !\n");
  DataOptions options;
  options.train = {"train.en", "train.fr"};
  options.valid = {in_folder("valid.tsv")};

  const Corpus corpus = load_corpus(options, folder_);

  ASSERT_EQ(corpus.train.size(), 1U);
  EXPECT_THAT(corpus.train[0].text->read(0).inputs, ElementsAre("Go .", "I won !"));
  EXPECT_THAT(corpus.train[0].text->read(0).outputs, ElementsAre("Va !", "Je l'ai emporté !"));
  EXPECT_EQ(corpus.num_training_pairs(), 2);
  EXPECT_THAT(corpus.valid.outputs, ElementsAre("Salut !"));
  EXPECT_EQ(corpus.test.size(), 0U);
}

TEST_F(LoadCorpus, UsesTheFirstPairsUpToTheLimit) {
  write("train.tsv", "a\tb\n\t\nc\td\ne\tf\n");
  DataOptions options;
  options.train = {"train.tsv"};
  options.limit = 2;

  const Corpus corpus = load_corpus(options, folder_);

  const TextBlocks& text = *corpus.train.at(0).text;
  EXPECT_THAT(text.read(0).inputs, ElementsAre("a", "c"));
  EXPECT_THAT(text.read(0).outputs, ElementsAre("b", "d"));
  EXPECT_EQ(text.report().kept, 2);
  EXPECT_EQ(text.report().empty, 1);

  options.limit = 100;
  EXPECT_EQ(load_corpus(options, folder_).num_training_pairs(), 3);
}

TEST_F(LoadCorpus, OpensOneCorpusForEachWeight) {
  write("a.tsv", "a\tb\n");
  write("b.tsv", "c\td\ne\tf\n");
  DataOptions options;
  options.train = {"a.tsv", "b.tsv"};
  options.weights = {2, 0.5};

  const Corpus corpus = load_corpus(options, folder_);

  ASSERT_EQ(corpus.train.size(), 2U);
  EXPECT_EQ(corpus.train[0].weight, 2.0);
  EXPECT_EQ(corpus.train[1].name, "b.tsv");
  EXPECT_EQ(corpus.num_training_pairs(), 3);
  EXPECT_THAT(sample_pairs(corpus.train, 0).inputs, ElementsAre("a", "c", "e"));
  EXPECT_THAT(sample_pairs(corpus.train, 2).inputs, ElementsAre("a", "c", "e"));  // each corpus's share is rounded up
  EXPECT_THAT(sample_pairs(corpus.train, 1).inputs, ElementsAre("a", "e"));

  options.weights = {1.5};
  EXPECT_THAT([&] { load_corpus(options, folder_); }, ThrowsMessage<Error>(testing::HasSubstr("a.tsv has 1 lines")));
  options.weights = {1, 2, 3};
  EXPECT_THAT([&] { load_corpus(options, folder_); },
              ThrowsMessage<Error>("load_corpus: data.train names 2 files, but data.weights has 3 numbers, needs one "
                                   "TSV file for each, or two files"));
  options.train = {"a.tsv", "b.tsv", "c.tsv"};
  options.weights = {};
  options.valid = {"missing.tsv"};  // options are checked before any file is opened
  EXPECT_THAT([&] { load_corpus(options, folder_); },
              ThrowsMessage<Error>("load_corpus: data.train names 3 files, needs one TSV file, or two files with a "
                                   "sentence a line; for several corpora give data.weights, a number each"));
}

TEST_F(LoadCorpus, MakesTheSyntheticTasks) {
  DataOptions options;
  options.task = DataTask::kSort;
  options.train_size = 5;
  EXPECT_EQ(load_corpus(options).num_training_pairs(), 5);
}

TEST_F(LoadCorpus, RejectsUnusableValidationPairs) {
  write("train.tsv", "a\tb\n");
  write("valid.tsv", "a\tb\nc\t\n");
  DataOptions options;
  options.train = {"train.tsv"};
  options.valid = {"valid.tsv"};

  EXPECT_THAT([&] { load_corpus(options, folder_); },
              ThrowsMessage<Error>("read_pairs: " + in_folder("valid.tsv") +
                                   ":2 is empty, needs a sentence; only training leaves such pairs out"));
}

TEST_F(LoadCorpus, RejectsMissingEmptyAndUnevenFiles) {
  DataOptions options;
  EXPECT_THAT([&] { load_corpus(options, folder_); },
              ThrowsMessage<Error>("load_corpus: data.train names no file, needs one TSV file, or two files with a "
                                   "sentence a line"));

  write("one.en", "a\nb\nc\n");
  write("two.fr", "a\nb\n");
  options.train = {"one.en", "two.fr"};
  EXPECT_THAT([&] { load_corpus(options, folder_); },
              ThrowsMessage<Error>("read_pairs: " + in_folder("one.en") + " has 3 lines and " + in_folder("two.fr") +
                                   " has 2; the two files of a pair need one line each per pair"));

  write("empty.tsv", "");
  options.train = {"empty.tsv"};
  EXPECT_THAT([&] { load_corpus(options, folder_); }, ThrowsMessage<Error>("read_pairs: " + in_folder("empty.tsv") +
                                                                           " has no usable pair, needs at least one"));
}

TEST(DataOptions, ReadTheSameAfterTheyAreWritten) {
  const auto options = parse_config<DataOptions>(
      "task = \"sort\"\ntrain = [\"a.en\", \"a.fr\"]\ntoo_long = \"truncate\"\nlength_mean = 7.5\n"
      "weights = [1, 0.5]",
      "data.toml");

  EXPECT_EQ(options.task, DataTask::kSort);
  EXPECT_THAT(options.train, ElementsAre("a.en", "a.fr"));
  EXPECT_EQ(options.too_long, LongSentences::kTruncate);
  EXPECT_EQ(options.length_mean, 7.5);
  EXPECT_THAT(options.weights, ElementsAre(1.0, 0.5));
  EXPECT_EQ(to_toml(parse_config<DataOptions>(to_toml(options), "again")), to_toml(options));
}

}  // namespace
}  // namespace edgewise

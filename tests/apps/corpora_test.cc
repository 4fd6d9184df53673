// SPDX-License-Identifier: Apache-2.0
// Training with several corpora, vocabulary files and case options.
#include <fmt/format.h>

#include <csignal>

#include "tests/apps/program.h"

namespace edgewise {
namespace {

const std::string kTextConfig = R"(
[data]
train = ["large.tsv", "small.tsv"]
weights = [1, 1.5]
min_length = 2
max_ratio = 3
same_sides = "skip"

[vocabulary]
kind = "sentencepiece"
model = "bpe"
size = 60
shared = true
sentences = 500
input_case = "truecase"
output_case = "truecase"
input_sampling = 0.2
output_sampling = 0.1

[batch]
tokens = 0
sentences = 50
window = 1500

[model]
encoder_layers = 1
decoder_layers = 1
size = 16
heads = 2
feed_forward = 16

[train]
epochs = 0
steps = 150
warmup = 20
)";

class CorporaProgram : public ProgramTest {
 protected:
  CorporaProgram() {
    write("large.tsv", sentences(3000) + "\tNichts\nGleich\tGleich\n");
    write("small.tsv", sentences(40));
    write("text.toml", kTextConfig);
  }

  static std::string sentences(int count) {
    const char* const subjects[] = {"Der Hund", "Die Katze", "Das Kind", "Eine Maus"};
    const char* const verbs[] = {"sieht", "sucht", "liebt"};
    std::string lines;
    for (int i = 0; i < count; ++i) {
      const std::string sentence =
          fmt::format("{} {} das Haus und die Maus {}.", subjects[i % 4], verbs[i % 3], i % 10);
      lines += fmt::format("{}\t{}!\n", sentence, sentence.substr(0, sentence.size() - 1));
    }
    return lines;
  }
};

TEST_F(CorporaProgram, AreCountedBeforeTheFirstStep) {
  const std::string output = run_well({"train", "text.toml", "--out", "run", "--set", "train.steps=1"});

  EXPECT_NE(output.find("large.tsv: 3000 pairs, weight 1\n"
                        "left out: 1 pair with an empty side, 1 with the same text on both sides\n"
                        "  large.tsv:3001 is empty\n  large.tsv:3002 has the same text on both sides\n"),
            std::string::npos)
      << output;
  EXPECT_NE(output.find("small.tsv: 40 pairs, weight 1.5\n"), std::string::npos) << output;
  EXPECT_NE(output.find("3040 pairs to learn from, 0 to validate, 0 to test; one vocabulary of 60 tokens"),
            std::string::npos)
      << output;
}

TEST_F(CorporaProgram, ResumeInTheMiddleOfAWindowWithTheSameBits) {
  run_well({"train", "text.toml", "--out", "whole"});
  const std::vector<std::string> train = {"train", "text.toml", "--out", "parts", "--set", "train.save_every=7"};

  ProcessResult killed;
  do {  // again if the run had ended before the signal
    std::filesystem::remove_all(path("parts"));
    killed = run(train, {.signal = SIGKILL, .signal_when = path("parts/metrics.jsonl").string()});
  } while (killed.exit_code == 0);
  std::vector<std::string> resume = train;
  resume.push_back("--resume");
  run_well(resume);

  EXPECT_EQ(killed.exit_code, 128 + SIGKILL);
  EXPECT_TRUE(read("whole/last/model.safetensors") == read("parts/last/model.safetensors"));
}

TEST_F(CorporaProgram, CannotBeChangedBetweenARunAndItsResumption) {
  run_well({"train", "text.toml", "--out", "run", "--set", "train.steps=3"});
  write("small.tsv", sentences(39));

  const ProcessResult resumed = run({"train", "text.toml", "--out", "run", "--resume"});

  EXPECT_EQ(resumed.exit_code, 2);
  EXPECT_NE(resumed.errors.find("the training pairs or batch options are not those of run"), std::string::npos)
      << resumed.errors;
}

TEST_F(CorporaProgram, GiveAVocabularyThatARunCanUse) {
  const std::string output = run_well({"vocab", "text.toml", "--out", "vocab"});
  run_well({"train", "text.toml", "--out", "learned", "--set", "train.steps=3"});
  run_well({"train", "text.toml", "--out", "taken", "--set", "train.steps=3", "--set", "vocabulary.file=vocab"});

  EXPECT_NE(output.find("vocab: one vocabulary of 60 tokens, from 3040 pairs\n"), std::string::npos) << output;
  for (const char* file : {"vocabulary.model", "input_case.txt", "output_case.txt"}) {
    EXPECT_EQ(read(std::string("vocab/") + file), read(std::string("learned/last/") + file));
    EXPECT_FALSE(read(std::string("vocab/") + file).empty());
  }
  EXPECT_TRUE(read("learned/last/model.safetensors") == read("taken/last/model.safetensors"));
}

TEST_F(CorporaProgram, GiveAVocabularyOfCharactersThatARunCanUse) {
  std::string pairs;
  for (int i = 0; i < 20; ++i) pairs += "aab \u00e9\tba\u00e9c\n";
  write("characters.tsv", pairs);
  write("characters.toml", "[data]\ntrain = [\"characters.tsv\"]\n" + kTinyModelConfig);
  const auto with = [](std::vector<std::string> arguments, const std::vector<std::string>& settings) {
    for (const std::string& setting : settings) arguments.insert(arguments.end(), {"--set", setting});
    return arguments;
  };
  const auto train = [&with](const std::string& directory, const std::vector<std::string>& settings) {
    return with({"train", "characters.toml", "--out", directory}, settings);
  };
  const std::string kind = "vocabulary.kind=characters";
  const std::string size = "vocabulary.size=8";

  const std::string output = run_well(with({"vocab", "characters.toml", "--out", "vocab"}, {kind, size}));
  run_well(train("learned", {kind, size}));
  run_well(train("taken", {kind, "vocabulary.file=vocab"}));

  EXPECT_NE(output.find("vocab: one vocabulary of 8 tokens, from 20 pairs\n"), std::string::npos) << output;
  EXPECT_EQ(read("vocab/vocabulary.txt"),
            "#edgewise-vocabulary 2 kind=characters size=8 separate_punctuation=false marks=close\n"
            "<pad>\n<unknown>\n<begin>\n<end>\na\nb\n\u00e9\n\\x20\n");
  EXPECT_EQ(read("learned/last/vocabulary.txt"), read("vocab/vocabulary.txt"));
  EXPECT_EQ(read("taken/last/vocabulary.txt"), read("vocab/vocabulary.txt"));
  EXPECT_TRUE(read("learned/last/model.safetensors") == read("taken/last/model.safetensors"));
  const std::string translation = run_well({"translate", "--model", "learned"}, {.input = "ab \u00e9\n"});
  EXPECT_EQ(translation.find_first_not_of("ab \u00e9\n"), std::string::npos) << translation;
  expect_refused(train("other", {"vocabulary.file=vocab", "vocabulary.size=7"}),
                 "load_vocabulary: vocab has size 8, but the config has 7; set vocabulary.size=8");
  expect_refused(train("other", {"vocabulary.file=vocab", "vocabulary.kind=sentencepiece"}),
                 "load_vocabulary: vocab has kind characters, but the config has sentencepiece; set "
                 "vocabulary.kind=characters");
}

TEST_F(CorporaProgram, AcceptASentencePieceFile) {
  run_well({"vocab", "text.toml", "--out", "vocab"});
  std::filesystem::copy_file(path("vocab/vocabulary.model"), path("outside.model"));

  run_well({"train", "text.toml", "--out", "run", "--set", "train.steps=1", "--set", "vocabulary.file=outside.model"});

  EXPECT_TRUE(read("run/last/vocabulary.model") == read("outside.model"));
  EXPECT_FALSE(read("run/last/input_case.txt").empty());
}

TEST_F(CorporaProgram, RefuseAVocabularyOfAnotherCase) {
  run_well({"vocab", "text.toml", "--out", "vocab"});

  expect_refused(
      {"train", "text.toml", "--out", "run", "--set", "vocabulary.file=vocab", "--set", "vocabulary.output_case=keep"},
      "load_vocabulary: vocab has output_case truecase, but the config has keep; set "
      "vocabulary.output_case=truecase");
  expect_refused({"vocab", "text.toml", "--out", "other", "--set", "vocabulary.file=vocab"},
                 "vocab: vocabulary.file is vocab, needs none to learn one; leave it out");
}

TEST_F(CorporaProgram, AreTruecasedAndTheirTranslationsRestored) {
  const std::vector<std::string> train = {"train", "text.toml",       "--out", "run",
                                          "--set", "train.steps=150", "--set", "train.factor=10"};
  run_well(train);

  const std::string upper = run_well({"translate", "--model", "run"}, {.input = "Die Katze sieht das Haus\n"});
  const std::string lower = run_well({"translate", "--model", "run"}, {.input = "die Katze sieht das Haus\n"});

  EXPECT_EQ(upper, lower);
  ASSERT_FALSE(upper.empty());
  EXPECT_FALSE(std::islower(static_cast<unsigned char>(upper.front()))) << upper;
}

TEST_F(CorporaProgram, AreTranslatedInLowerCaseIfTheyWereTrainedInLowerCase) {
  run_well({"train", "text.toml", "--out", "run", "--set", "train.steps=20", "--set", "vocabulary.input_case=lower",
            "--set", "vocabulary.output_case=lower"});

  EXPECT_EQ(run_well({"translate", "--model", "run"}, {.input = "DER HUND SIEHT DAS HAUS\n"}),
            run_well({"translate", "--model", "run"}, {.input = "der Hund sieht das Haus\n"}));
}

TEST_F(CorporaProgram, RefuseSubwordSamplingWithoutSentencePiece) {
  const std::vector<std::string> train = {"train", "text.toml",
                                          "--out", "run",
                                          "--set", "vocabulary.kind=words",
                                          "--set", "vocabulary.size=0",
                                          "--set", "vocabulary.model=unigram"};
  expect_refused(train, "train: vocabulary.input_sampling is 0.2, needs vocabulary.kind=sentencepiece");

  write("words.toml", "[data]\ntrain = [\"small.tsv\"]\n[vocabulary]\nshared = true\n");
  run_well({"vocab", "words.toml", "--out", "words"});
  std::vector<std::string> train_with_words = train;
  for (const char* setting : {"vocabulary.file=words", "vocabulary.input_case=keep", "vocabulary.output_case=keep"}) {
    train_with_words.insert(train_with_words.end(), {"--set", setting});
  }
  expect_refused(train_with_words,
                 "PairEncoder: vocabulary.input_sampling is 0.2, but the vocabulary is of words, needs sentencepiece");
  train_with_words.insert(train_with_words.end(),
                          {"--set", "vocabulary.kind=sentencepiece", "--set", "vocabulary.size=20"});
  expect_refused(train_with_words,
                 "load_vocabulary: words has kind words, but the config has sentencepiece; set vocabulary.kind=words");
}

}  // namespace
}  // namespace edgewise

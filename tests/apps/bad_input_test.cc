// SPDX-License-Identifier: Apache-2.0
// The error messages for wrong input, word for word.
#include <algorithm>
#include <regex>

#include "tests/apps/program.h"

namespace edgewise {
namespace {

using BadInput = ProgramTest;

TEST_F(BadInput, NamesTheNearestOption) {
  expect_refused({"train", "x.toml", "--out", "run", "--thread", "2"},
                 "edgewise train: unknown option --thread; did you mean --threads?");
}

TEST_F(BadInput, NamesTheNearestSubcommand) {
  expect_refused({"trian", "x.toml"}, "edgewise: unknown argument trian; did you mean train?");
}

TEST_F(BadInput, NamesAMissingOption) {
  write("tiny.toml", kTinyConfig);
  expect_refused({"train", "tiny.toml"}, "edgewise train: --out is required; see edgewise train --help");
}

TEST_F(BadInput, NamesAConfigThatIsMissing) {
  expect_refused({"train", "nowhere.toml", "--out", "run"}, "read_config: nowhere.toml: No such file or directory");
}

TEST_F(BadInput, NamesTheNearestKeyWithItsPlace) {
  write("bad.toml", "[train]\nepoch = 3\n");
  expect_refused({"train", "bad.toml", "--out", "run"},
                 "bad.toml:2:1: train.epoch is unknown; did you mean train.epochs?");
}

TEST_F(BadInput, NamesTheTypeThatAKeyNeeds) {
  write("bad.toml", "[model]\nheads = \"four\"\n");
  expect_refused({"train", "bad.toml", "--out", "run"},
                 "bad.toml:2:1: model.heads is \"four\", needs a whole number from 1 to 65536");
}

TEST_F(BadInput, NamesTheRangeThatAKeyNeeds) {
  write("tiny.toml", kTinyConfig);
  expect_refused({"train", "tiny.toml", "--out", "run", "--set", "train.smoothing=1.5"},
                 "--set train.smoothing=1.5: train.smoothing is 1.5, needs a number from 0 to below 1");
}

TEST_F(BadInput, RefusesHeadsThatDoNotDivideTheSize) {
  write("tiny.toml", kTinyConfig);
  expect_refused({"train", "tiny.toml", "--out", "run", "--set", "model.heads=3"},
                 "Transformer: heads is 3, needs a divisor of size 16");
  EXPECT_FALSE(std::filesystem::exists(path("run")));
}

TEST_F(BadInput, RefusesAnImpossibleScheduleOrMetricBeforeItReadsTheCorpus) {
  write("text.toml",
        "[data]\ntrain = [\"absent.tsv\"]\nvalid = [\"absent.tsv\"]\n[vocabulary]\nshared = true\n[train]\n");
  write("letters.toml", kTinyConfig);
  const auto train = [](const std::string& config, const std::vector<std::string>& settings) {
    std::vector<std::string> command = {"train", config, "--out", "run"};
    for (const std::string& setting : settings) command.insert(command.end(), {"--set", setting});
    return command;
  };
  expect_refused(train("text.toml", {"train.schedule=linear", "train.steps=5", "train.warmup=20"}),
                 "Schedule: steps is 5, the linear schedule needs more than its warmup of 20");
  expect_refused(train("text.toml", {"train.best_by=sequences"}),
                 "train: train.best_by is sequences, needs data.task=copy, reverse or sort");
  expect_refused(train("letters.toml", {"train.best_by=bleu"}), "train: train.best_by is bleu, needs data.task=text");
  EXPECT_FALSE(std::filesystem::exists(path("run")));
}

TEST_F(BadInput, NamesBothLineCountsOfTwoFilesThatDiffer) {
  write("a.en", "one\ntwo\nthree\n");
  write("b.fr", "un\ndeux\n");
  write("text.toml", "[data]\ntrain = [\"a.en\", \"b.fr\"]\n[vocabulary]\nshared = true\n");
  expect_refused({"train", "text.toml", "--out", "run"},
                 "read_pairs: a.en has 3 lines and b.fr has 2; the two files of a pair need one line each per pair");
}

TEST_F(BadInput, RefusesACorpusWithoutUsablePairs) {
  write("empty.tsv", "");
  write("text.toml", "[data]\ntrain = [\"empty.tsv\"]\n[vocabulary]\nshared = true\n");
  expect_refused({"train", "text.toml", "--out", "run"},
                 "read_pairs: empty.tsv has no usable pair, needs at least one");
}

TEST_F(BadInput, LeavesOutBadTrainingPairsAndNamesTheirLines) {
  std::string text;
  for (int i = 0; i < 40; ++i) text += "go\tva\r\n";
  text += "bad \xFF\tmal\r\n\tvide\r\n";
  write("pairs.tsv", text);
  write("text.toml", kTinyModelConfig);
  const std::string output = run_well({"train", "text.toml", "--out", "run", "--set", "data.train=[\"pairs.tsv\"]"});
  EXPECT_NE(output.find("40 pairs to learn from"), std::string::npos) << output;
  EXPECT_NE(output.find("pairs.tsv:41"), std::string::npos) << output;
  EXPECT_NE(output.find("pairs.tsv:42"), std::string::npos) << output;
}

TEST_F(BadInput, RefusesAPathThatIsNoModel) {
  expect_refused({"translate", "--model", "nowhere"},
                 "translate: nowhere does not exist, a run or model directory is needed");
  std::filesystem::create_directory(path("folder"));
  expect_refused(
      {"translate", "--model", "folder"},
      "translate: folder holds no model, a directory with manifest.json (or with best/ or last/ that have one) "
      "is needed");
}

TEST_F(BadInput, RefusesToResumeADirectoryWithoutARun) {
  write("tiny.toml", kTinyConfig);
  expect_refused({"train", "tiny.toml", "--out", "nowhere", "--resume"},
                 "train: nowhere has no last, needs a run to go on with; leave --resume out to begin one");
}

TEST_F(BadInput, TranslatesALineOfMegabytesAsOneLine) {
  write("tiny.toml", kTinyConfig);
  run_well({"train", "tiny.toml", "--out", "run"});
  write("long", std::string(2 << 20, 'a') + "\n");
  const std::string output = run_well({"translate", "--model", "run", "long"});
  EXPECT_EQ(std::count(output.begin(), output.end(), '\n'), 1);
}

TEST_F(BadInput, RefusesInputThatIsNotUtf8OrDoesNotExist) {
  write("tiny.toml", kTinyConfig);
  run_well({"train", "tiny.toml", "--out", "run"});
  write("latin", "a b\n\n\xE9t\xE9\n");
  expect_refused({"translate", "--model", "run", "latin"},
                 "translate: latin:3 has a byte that is not UTF-8 at 0, UTF-8 is needed");
  expect_refused({"translate", "--model", "run", "nowhere"}, "translate: nowhere: No such file or directory");
  expect_refused({"translate", "--model", "run", "."}, "translate: .: Is a directory");
}

TEST_F(BadInput, NamesNumbersOnTheCommandLineThatAreOutOfRangeOrNoNumbers) {
  const auto expect_number_refused = [&](const std::string& option, const std::string& value, const std::string& text,
                                         const std::string& needs) {
    expect_refused({"translate", "--model", "nowhere", option, value},
                   "edgewise translate: " + option + " is " + text + ", needs " + needs);
  };
  const std::string beam = "a whole number from 1 to 1000";
  for (const char* value : {"0", "-1", "1001", "0x10", "1e3", "2.0", "true", "9223372036854775808", "inf", "nan"}) {
    expect_number_refused("--beam", value, value, beam);
  }
  expect_number_refused("--beam", "", "\"\"", beam);
  expect_number_refused("--beam", "１２", "\"１２\"", beam);
  expect_number_refused("--beam", " 4", "\" 4\"", beam);
  expect_number_refused("--beam", "\x1B[31m", "\"\\u001b[31m\"", beam);
  expect_number_refused("--beam", std::string(100'000, '9'), "\"" + std::string(60, '9') + "…\" (100000 bytes)", beam);
  expect_number_refused("--batch-tokens", "99999999999999999999", "99999999999999999999",
                        "a whole number from 0 to 1000000000");
  expect_number_refused("--nbest", "1000000", "1000000", "a whole number from 1 to 1000");
  expect_number_refused("--length-penalty", "inf", "inf", "a number from 0 to 10");
  expect_number_refused("--threads", "9223372036854775807", "9223372036854775807", "a whole number from 0 to 1024");
}

TEST_F(BadInput, NamesNumbersOfAConfigThatAreOutOfRange) {
  write("tiny.toml", kTinyConfig);
  const std::vector<std::pair<std::string, std::string>> settings = {
      {"train.factor=1e308", "train.factor is 1e+308, needs a number above 0 and at most 1000"},
      {"train.learning_rate=inf", "train.learning_rate is inf, needs a number above 0 and at most 1000"},
      {"model.norm_epsilon=inf", "model.norm_epsilon is inf, needs a number from 1e-12 to 1"},
      {"model.universal.halting_bias=1e308", "model.universal.halting_bias is 1e+308, needs a number from -100 to 100"},
      {"model.encoder_layers=9223372036854775807",
       "model.encoder_layers is 9223372036854775807, needs a whole number from 1 to 1000"},
      {"search.length_factor=1e308", "search.length_factor is 1e+308, needs a number from 0 to 100"},
      {"search.length_offset=9223372036854775807",
       "search.length_offset is 9223372036854775807, needs a whole number from 0 to 10000"},
      {"search.n_best=1000000", "search.n_best is 1000000, needs a whole number from 1 to 1000"},
  };
  for (const auto& [setting, error] : settings) {
    expect_refused({"train", "tiny.toml", "--out", "run", "--set", setting}, "--set " + setting + ": " + error);
  }
}

TEST_F(BadInput, NamesTheMemoryThatAModelNeeds) {
  write("tiny.toml", kTinyConfig);
  const ProcessResult result = run({"train", "tiny.toml", "--out", "run", "--set", "model.size=65536", "--set",
                                    "model.feed_forward=262144", "--set", "model.encoder_layers=1000"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_TRUE(std::regex_match(
      result.errors,
      std::regex("train: training [0-9]+ parameters with a batch of [0-9]+ input and [0-9]+ output tokens needs at "
                 "least 1\\.4 PB of memory, but [0-9.]+ [MGT]B are available; choose smaller values of model\\.size, "
                 "model\\.feed_forward, the model's layers or batch\\.tokens\n")))
      << result.errors;
  EXPECT_FALSE(std::filesystem::exists(path("run")));
}

TEST_F(BadInput, EndsTrainingWhoseNumbersOverflowWithoutACrash) {
  write("tiny.toml", kTinyConfig);
  const ProcessResult result =
      run({"train", "tiny.toml", "--out", "run", "--set", "train.schedule=constant", "--set",
           "train.learning_rate=1000", "--set", "train.epochs=4", "--set", "train.weight_decay=0.99"});
  EXPECT_TRUE(result.exit_code == 0 || result.exit_code == 2) << result.exit_code << result.errors;
  EXPECT_EQ(result.errors.find("mistake of ours"), std::string::npos) << result.errors;
}

TEST_F(BadInput, NamesPathsThatTheSystemRefuses) {
  write("tiny.toml", kTinyConfig);
  const std::string long_name(300, 'x');
  std::filesystem::create_symlink("loop", path("loop"));
  for (const auto& [name, reason] : std::vector<std::pair<std::string, std::string>>{
           {long_name, "File name too long"}, {"loop", "Too many levels of symbolic links"}}) {
    expect_refused({"translate", "--model", name}, "translate: " + name + ": " + reason);
    expect_refused({"inspect", name}, "inspect: " + name + ": " + reason);
    expect_refused({"train", name, "--out", "run"}, "read_config: " + name + ": " + reason);
    for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
             {"train", "tiny.toml", "--out", name},
             {"train", "tiny.toml", "--out", name, "--resume"},
             {"vocab", "tiny.toml", "--out", name},
             {"average", name, "--out", "mean"},
             {"compare", name},
             {"score", "--reference", name, "tiny.toml"},
             {"picture", "halting", "--model", name, "--input", "a", "--out", "a.svg"},
             {"picture", "positions", "--out", name + "/a.svg"},
         }) {
      const ProcessResult result = run(command);
      EXPECT_EQ(result.exit_code, 2) << command[0] << " " << command[1] << result.errors;
      EXPECT_NE(result.errors.find(reason), std::string::npos) << command[0] << " " << command[1] << result.errors;
      EXPECT_EQ(result.errors.find("mistake of ours"), std::string::npos) << result.errors;
    }
  }
}

TEST_F(BadInput, ShowsNoControlCharactersOfNamesAndKeys) {
  const std::string escape = "\x1B]0;title\x07\x1B[31m";
  write("escape.toml", kTinyConfig + "\n[\"\\u001B[31m\"]\n");
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"train", escape, "--out", "run"},
           {"train", "escape.toml", "--out", "run"},
           {"train", "escape.toml", "--out", "run", "--set", escape + "=1"},
           {"translate", "--model", escape},
           {"translate", "--" + escape},
           {escape},
           {"train", "escape.toml", "--out", "run", "--set", "model.kind=" + escape},
       }) {
    const ProcessResult result = run(command);
    EXPECT_EQ(result.exit_code, 2) << result.errors;
    EXPECT_EQ(result.errors.find('\x1B'), std::string::npos) << result.errors;
    EXPECT_EQ(result.errors.find('\x07'), std::string::npos) << result.errors;
    EXPECT_EQ(std::count(result.errors.begin(), result.errors.end(), '\n'), 1) << result.errors;
  }
}

TEST_F(BadInput, CutsKeysAndWordsOfAMegabyte) {
  const std::string megabyte(1 << 20, 'k');
  write("key.toml", megabyte + " = 1\n");
  const std::string long_word(100'000, 'k');  // the system limits one argument to 128 KiB
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"train", "key.toml", "--out", "run"},
           {"train", "key.toml", "--out", "run", "--" + long_word},
           {long_word},
           {"score", "--reference", "key.toml", "--tokenize", long_word},
           {"train", long_word, "--out", "run"},
       }) {
    const ProcessResult result = run(command);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_LT(result.errors.size(), 5000u) << command[0].substr(0, 10);
  }
}

TEST_F(BadInput, NamesAPrefixThatIsLongerThanTheSentencesOfTraining) {
  write("tiny.toml", kTinyConfig);
  run_well({"train", "tiny.toml", "--out", "run"});
  write("in", "a b\n");
  std::string prefix;
  for (int i = 0; i < 50'000; ++i) prefix += "a ";
  write("prefix", prefix + "\n");
  const std::string quoted = "\"" + prefix.substr(0, 60) + "…\" (100000 bytes)";
  expect_refused({"translate", "--model", "run", "in", "--prefix", "prefix"},
                 "translate: the prefix " + quoted +
                     " has 50000 tokens, needs at most 256, the longest sentence of training; shorten it, or raise "
                     "--max-input");
  expect_refused({"translate", "--model", "run", "in", "--prefix", "prefix", "--max-input", "0"},
                 "search: a prefix has 50000 tokens, needs at most 10000");
}

/// Runs a shell command in the test's folder with at most `kibibytes` of address space.
class LimitedMemory : public BadInput {
 protected:
  void SetUp() override {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "the sanitizer reserves more addresses than any limit";
#endif
    write("tiny.toml", kTinyConfig);
  }

  ProcessResult run_limited(int kibibytes, const std::string& command) const {
    const std::string limited = "ulimit -v " + std::to_string(kibibytes) + "; exec " + command;
    return run_process({"/bin/sh", "-c", limited}, {.folder = path("").string()});
  }
};

TEST_F(LimitedMemory, RunsWithTheThreadsThatCanBeStartedOrSaysThatMemoryIsNotEnough) {
  run_well({"train", "tiny.toml", "--out", "run"});
  write("in", "a b\n");
  for (const std::string option : {"--workers", "--threads"}) {
    SCOPED_TRACE(option);
    const ProcessResult result =
        run_limited(2'000'000, std::string(EDGEWISE_TRANSLATE) + " --model run in " + option + " 1024");
    if (result.exit_code == 0) {
      EXPECT_EQ(result.output, run_well({"translate", "--model", "run", "in"}));
    } else {
      EXPECT_EQ(result.exit_code, 2);
      EXPECT_THAT(result.errors, testing::HasSubstr("the memory is not enough"));
    }
  }
}

TEST_F(LimitedMemory, EndsTrainingWithAnErrorThatSaysHowMuchThereIs) {
  // From too little for the model, to enough for a step but too little for validating and saving.
  for (const int kibibytes : {1'200'000, 1'700'000, 1'850'000, 2'000'000}) {
    const ProcessResult result = run_limited(kibibytes, EDGEWISE_PROGRAM
                                             " train tiny.toml --threads 1 --out run --set model.size=1024 --set "
                                             "model.feed_forward=8192 --set train.steps=2");
    std::filesystem::remove_all(path("run"));
    if (result.exit_code == 0) continue;
    EXPECT_EQ(result.exit_code, 2) << kibibytes << ": " << result.errors;
    EXPECT_TRUE(result.errors.find(" of memory, but ") != std::string::npos ||
                result.errors.find("the memory is not enough: ") != std::string::npos ||
                result.errors.find("Cannot allocate memory") != std::string::npos)
        << result.errors;
    EXPECT_EQ(std::count(result.errors.begin(), result.errors.end(), '\n'), 1) << result.errors;
  }
}

}  // namespace
}  // namespace edgewise

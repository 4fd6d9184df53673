// SPDX-License-Identifier: Apache-2.0
// The error messages for wrong input, word for word.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "tests/apps/program.h"
#include "tests/train/same_run.h"

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
                 "train: model.heads is 3, needs a divisor of model.size 16");
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
                 "train: train.steps is 5, the linear schedule needs more than its train.warmup of 20");
  expect_refused(train("text.toml", {"train.best_by=sequences"}),
                 "train: train.best_by is sequences, needs data.task=copy, reverse, sort or addition");
  expect_refused(train("letters.toml", {"train.best_by=bleu"}), "train: train.best_by is bleu, needs data.task=text");
  EXPECT_FALSE(std::filesystem::exists(path("run")));
}

TEST_F(BadInput, RefusesABadOutputOrVocabularyBeforeItReadsTheInput) {
  write("text.toml", "[data]\ntrain = [\"absent.tsv\"]\n[vocabulary]\nshared = true\n");
  write("file", "");
  std::filesystem::create_directory(path("foreign"));
  write("foreign/letter", "");
  const std::string foreign =
      ": foreign exists without a manifest.json, needs to be absent, empty or written by this program; choose another "
      "directory";
  expect_refused({"train", "text.toml", "--out", "file/run"}, "train: file/run: Not a directory");
  expect_refused({"train", "text.toml", "--out", "run", "--set", "vocabulary.file=absent"},
                 absent_model_text("load_vocabulary", "absent"));
  expect_refused({"vocab", "text.toml", "--out", "foreign"}, "vocab" + foreign);
  expect_refused({"average", "absent", "--out", "foreign"}, "average" + foreign);
  const std::string page = ": file/a.html: Not a directory; nothing was replaced";
  expect_refused({"compare", "absent", "-o", "file/a.html"}, "compare" + page);
  expect_refused({"picture", "report", "absent", "--input", "absent", "-o", "file/a.html"}, "picture report" + page);
  expect_refused({"picture", "attention", "--model", "absent", "--input", "a", "-o", "file/a.html"},
                 "picture attention" + page);
  const std::string text = ": file/out: Not a directory; nothing was replaced";
  expect_refused({"translate", "--model", "absent", "--out", "file/out", "file"}, "translate" + text);
  expect_refused({"score-pairs", "--model", "absent", "--out", "file/out", "file", "file"}, "score-pairs" + text);
  expect_refused({"translate", "--model", "absent", "--out", "foreign", "file"},
                 "translate: foreign is not a regular file, needs one to replace");
  EXPECT_EQ(names_in(path("")), (std::set<std::string>{"text.toml", "file", "foreign"}));
}

TEST_F(BadInput, LeavesNothingOfAGoodOutputWhenTheInputIsBad) {
  write("text.toml", "[data]\ntrain = [\"absent.tsv\"]\n[vocabulary]\nshared = true\n");
  const std::vector<std::vector<std::string>> commands = {
      {"train", "text.toml", "--out", "new"},
      {"train", "text.toml", "--out", "new", "--resume"},
      {"vocab", "text.toml", "--out", "new"},
      {"average", "absent", "--out", "new"},
      {"compare", "absent", "-o", "new.html"},
      {"translate", "--model", "absent", "--out", "new", "text.toml"},
      {"score-pairs", "--model", "absent", "--out", "new", "text.toml", "text.toml"},
      {"picture", "report", "absent", "--input", "absent", "-o", "new.html"},
      {"picture", "attention", "--model", "absent", "--input", "a", "-o", "new.html"}};
  for (const std::vector<std::string>& command : commands) {
    EXPECT_EQ(run(command).exit_code, 2) << command[0] << " " << command[1];
    EXPECT_EQ(names_in(path("")), std::set<std::string>{"text.toml"}) << command[0] << " " << command[1];
  }
}

TEST_F(BadInput, RefusesEmptyNamesOfFilesAndDirectories) {
  write("tiny.toml", kTinyConfig);
  const std::vector<std::pair<std::vector<std::string>, std::string>> commands = {
      {{"train", "", "--out", "run"}, "train: config"},
      {{"train", "tiny.toml", "--out", ""}, "train: --out"},
      {{"vocab", "tiny.toml", "--out", ""}, "vocab: --out"},
      {{"average", "run", "--out", ""}, "average: --out"},
      {{"average", "run", "", "--out", "mean"}, "average: models"},
      {{"compare", "run", "-o", ""}, "compare: --out"},
      {{"compare", ""}, "compare: runs"},
      {{"translate", "--model", ""}, "translate: --model"},
      {{"translate", "--model", "run", "--out", ""}, "translate: --out"},
      {{"translate", "--model", "run", "--prefix", ""}, "translate: --prefix"},
      {{"translate", "--model", "run", ""}, "translate: input"},
      {{"score-pairs", "--model", "run", "in", "out", "--out", ""}, "score-pairs: --out"},
      {{"score-pairs", "--model", "run", "in", ""}, "score-pairs: outputs"},
      {{"score", "--reference", "", "in"}, "score: --reference"},
      {{"inspect", ""}, "inspect: path"},
      {{"inspect", "run", "--ponder", ""}, "inspect: --ponder"},
      {{"picture", "report", "run", "--input", "in", "-o", ""}, "picture report: --out"},
      {{"picture", "positions", "--out", ""}, "picture positions: --out"},
      {{"picture", "halting", "--model", "run", "--corpus", "", "-o", "a.svg"}, "picture halting: --corpus"},
      {{"bench", "train", "--input", "", "--output", "in"}, "bench train: --input"}};
  for (const auto& [command, name] : commands) {
    expect_refused(command, "edgewise " + name + " is empty, needs the name of a file or directory");
  }
  EXPECT_EQ(names_in(path("")), std::set<std::string>{"tiny.toml"});
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
  expect_refused({"translate", "--model", "nowhere"}, absent_model_text("translate", "nowhere"));
  expect_refused({"translate", "--model", "no/where"},
                 "translate: no/where does not exist, needs a run or model directory");
  std::filesystem::create_directory(path("folder"));
  expect_refused(
      {"translate", "--model", "folder"},
      "translate: folder holds no model, needs a directory with manifest.json (or with best/ or last/ that have one)");
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
                 "translate: latin:3 has a byte that is not UTF-8 at 0, needs UTF-8");
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

/// Expects that a command succeeds and prints less than 10 kB without control characters.
void expect_plain_output(const ProcessResult& result) {
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_LT(result.output.size(), 10'000U);
  for (const char control : {'\x1B', '\x07', '\0'}) {
    EXPECT_EQ(result.output.find(control), std::string::npos) << result.output;
  }
}

TEST_F(BadInput, PrintsNoControlCharactersOfNamesTokensAndMetrics) {
  const std::string escape = "\x1B]0;title\x07\x1B[31m";
  const std::string long_name = std::string(150, 'k') + ".tsv";
  std::string pairs;
  for (int i = 0; i < 40; ++i) pairs += "a \x1B[31m\tb \x1B[32m\n";
  write("pairs.tsv", pairs);
  write(long_name, pairs);
  write("tiny.toml", kTinyModelConfig);
  const auto train = [&](const std::string& run, const std::string& file) {
    run_well({"train", "tiny.toml", "--out", run, "--set", "data.train=[\"" + file + "\"]", "--set",
              "model.kind=universal", "--set", "train.epochs=1"});
  };
  train("run", "pairs.tsv");
  train("other", long_name);
  std::filesystem::rename(path("run"), path(escape));
  write("in", "a \x1B[31m\n");

  const ProcessResult compared = run({"compare", escape, "other"});
  expect_plain_output(compared);
  EXPECT_EQ(compared.output.find(long_name), std::string::npos);
  EXPECT_NE(compared.output.find(std::string(40, 'k')), std::string::npos) << compared.output;
  expect_plain_output(run({"inspect", escape}));
  const ProcessResult steps = run({"inspect", escape, "--ponder", "in"});
  expect_plain_output(steps);
  EXPECT_NE(steps.output.find("␛[31m"), std::string::npos) << steps.output;
  expect_plain_output(run({"average", escape, "--out", escape + "mean"}));
  expect_plain_output(
      run({"vocab", "tiny.toml", "--out", escape + "vocabulary", "--set", "data.train=[\"pairs.tsv\"]"}));

  write(escape + "/metrics.jsonl", escape + std::string(1, '\0') + std::string(5'000'000, 'k') + "\n");
  expect_plain_output(run({"inspect", escape}));
}

TEST_F(BadInput, SaysWhatIsNeededInsteadOfALongWord) {
  const std::string long_word(100'000, 'k');
  write("tiny.toml", kTinyConfig);
  write("in", "a\n");
  run_well({"train", "tiny.toml", "--out", "run"});
  const auto attention = [&](const std::string& option) {
    return std::vector<std::string>{"picture",  "attention", "--model", "run",     "--input", "a",
                                    "--output", "b",         option,    long_word, "-o",      "page.html"};
  };
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"picture", "graph", "pairs", "--lengths", long_word, "-o", "page.html"},
           {"picture", "graph", "pairs", "--lengths", long_word + ":1", "-o", "page.html"},
           {"picture", "report", "run", "--input", "in", "-o", long_word},
           attention("--layer"),
           attention("--head"),
           {"train", "tiny.toml", "--out", "new", "--set", "data.train=[\"" + long_word + "\"]"},
           {"vocab", "tiny.toml", "--out", "new", "--set", "vocabulary.file=" + long_word},
       }) {
    const ProcessResult result = run(command);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_LT(result.errors.size(), 1000U);
    EXPECT_NE(result.errors.find("needs"), std::string::npos) << result.errors;
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
  write("in", "a b\na b\n");
  std::string prefix;
  for (int i = 0; i < 50'000; ++i) prefix += "a ";
  write("prefix", "b\n" + prefix + "\n");
  expect_refused({"translate", "--model", "run", "in", "--prefix", "prefix"},
                 "translate: prefix:2 has 50000 tokens, needs at most 256; shorten the prefix or raise --max-input");
  expect_refused({"translate", "--model", "run", "in", "--prefix", "prefix", "--max-input", "0"},
                 "translate: prefix:2 has 50000 tokens, needs at most 10000");
}

TEST_F(BadInput, NamesOptionsOfACommandThatHaveNoEffectTogether) {
  write("in", "a\n");
  const auto translate = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"translate", "--model", "nowhere"});
    return more;
  };
  expect_refused(translate({"--attention-layer", "0"}),
                 "translate: --attention-layer is 0, needs --alignments, --attention or --html");
  expect_refused(translate({"--json", "--attention-head", "1"}),
                 "translate: --attention-head is 1, needs --alignments, --attention or --html");
  expect_refused({"score-pairs", "--model", "nowhere", "in", "in", "--json", "--attention-head", "1"},
                 "score-pairs: --attention-head is 1, needs --alignments");
  for (const auto& [option, setting] :
       std::vector<std::pair<std::string, std::string>>{{"--beam", "search.beam=4"},
                                                        {"--nbest", "search.n_best=4"},
                                                        {"--length-penalty", "search.length_penalty=4"}}) {
    expect_refused(translate({option, "2", "--set", setting}),
                   "translate: " + option + " is 2 and --set has " + setting + ", needs one of them");
  }
  expect_refused({"score", "--reference", "in", "in", "--digits", "2", "--json"},
                 "edgewise score: --digits excludes --json; see edgewise score --help");
  expect_refused({"picture", "attention", "--model", "nowhere", "--input", "a", "--gold-first", "0", "-o", "page.html"},
                 "edgewise picture attention: --gold-first requires --gold; see edgewise picture attention --help");
  expect_refused(
      {"picture", "positions", "--dimensions", "1,,2", "-o", "page.html"},
      "edgewise picture positions: --dimensions is \"\", needs a list of whole numbers, each from 0 to 1023");
}

TEST_F(BadInput, ReadsStandardInputForOneTextOnly) {
  write("in", "a\n");
  const std::string rest = " are both -, needs a file for one of them, because standard input is read once";
  const ProcessOptions input = {.input = "a\n"};
  expect_refused({"translate", "--model", "nowhere", "--prefix", "-"}, "translate: the input and --prefix" + rest,
                 input);
  expect_refused({"score-pairs", "--model", "nowhere", "-", "-"}, "score-pairs: the inputs and the outputs" + rest,
                 input);
  expect_refused({"score", "--reference", "-"}, "score: the hypothesis and --reference" + rest, input);
}

TEST_F(BadInput, RefusesAVocabularyThatTheOptionsDoNotDescribe) {
  write("letters.toml", kTinyConfig);
  run_well({"vocab", "letters.toml", "--out", "vocabulary"});
  const auto train = [](const std::string& setting) {
    return std::vector<std::string>{"train", "letters.toml",   "--out", "run",  "--set", "vocabulary.file=vocabulary",
                                    "--set", "train.epochs=1", "--set", setting};
  };
  const std::string vocabulary = "load_vocabulary: " + path("vocabulary").filename().string();
  expect_refused(train("vocabulary.kind=characters"),
                 vocabulary + " has kind words, but the config has characters; set vocabulary.kind=words");
  expect_refused(train("vocabulary.size=7"), vocabulary + " has size 8, but the config has 7; set vocabulary.size=8");
  expect_refused(train("vocabulary.separate_punctuation=true"),
                 vocabulary +
                     " has separate_punctuation false, but the config has true; set "
                     "vocabulary.separate_punctuation=false");
  EXPECT_FALSE(std::filesystem::exists(path("run")));
  EXPECT_NE(run_well(train("vocabulary.min_count=2"))
                .find("note: vocabulary.min_count is 2, without effect, because vocabulary.file is read and no "
                      "vocabulary is learned\n"),
            std::string::npos);
}

TEST_F(BadInput, RefusesOptionsWithoutEffectOnALearnedVocabulary) {
  write("tiny.toml", kTinyConfig);
  const auto vocab = [](const std::string& setting) {
    return std::vector<std::string>{"vocab", "tiny.toml", "--out", "vocabulary", "--set", setting};
  };
  expect_refused(vocab("vocabulary.model=bpe"),
                 "vocab: vocabulary.model is \"bpe\", needs vocabulary.kind=sentencepiece");
  expect_refused(vocab("vocabulary.character_coverage=0.99"),
                 "vocab: vocabulary.character_coverage is 0.99, needs vocabulary.kind=sentencepiece");
  expect_refused(vocab("vocabulary.size=3"),
                 "vocab: vocabulary.size is 3, needs more than the 4 special tokens, or 0 for no limit");
  expect_refused(vocab("data.weights=[1]"), "vocab: data.weights is [1.0], needs data.task=text");
  EXPECT_FALSE(std::filesystem::exists(path("vocabulary")));
}

TEST_F(BadInput, RefusesToResumeWithAnotherVocabularyOrModel) {
  write("tiny.toml", kTinyConfig);
  run_well({"train", "tiny.toml", "--out", "run", "--set", "train.steps=2"});
  const std::set<std::string> files = names_in(path("run"));
  const std::string config = read("run/last/config.toml");
  for (const auto& [setting, error] : std::vector<std::pair<std::string, std::string>>{
           {"vocabulary.input_case=lower", "vocabulary.input_case is \"lower\", needs \"keep\""},
           {"vocabulary.size=6", "vocabulary.size is 6, needs 0"},
           {"model.norm_placement=post", "model.norm_placement is \"post\", needs \"pre\""},
           {"model.heads=4", "model.heads is 4, needs 2"}}) {
    const std::string option = setting.substr(0, setting.find('='));
    const std::string before = error.substr(error.find(", needs ") + 8);
    expect_refused({"train", "tiny.toml", "--out", "run", "--resume", "--set", "train.steps=4", "--set", setting},
                   "train: " + error +
                       " as in run/last/config.toml, because a resumed run keeps its vocabulary, its model and the "
                       "part that it trains; set " +
                       option + "=" + before + ", or begin another run");
    EXPECT_EQ(names_in(path("run")), files);
    EXPECT_EQ(read("run/last/config.toml"), config);
  }
  run_well({"train", "tiny.toml", "--out", "run", "--resume", "--set", "train.steps=4", "--set",
            "model.dropout.embedding=0.0"});
}

TEST_F(BadInput, NamesTheMemoryThatTheAttentionOfASentenceNeeds) {
  std::string letters;
  for (int i = 0; i < 400'000; ++i) letters += "a ";
  write("pairs", letters + "||| a\n");
  write("tiny.toml", kTinyConfig);
  run_well({"train", "tiny.toml", "--out", "run", "--set", "data.max_length=0"});
  write("show.toml", kTinyConfig + "\n[show]\ninput = \"" + letters + "\"\noutput = \"a\"\n");

  const auto expect_memory_named = [&](const std::vector<std::string>& command, const std::string& caller) {
    const ProcessResult result = run(command);
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_TRUE(std::regex_match(
        result.errors, std::regex(caller + ": the attention of 400000 input and 2 output tokens needs at least 2\\.6 "
                                           "TB of memory, but [0-9.]+ [MGT]B are available; choose a shorter pair\n")))
        << result.errors;
  };
  expect_memory_named({"picture", "attention", "--model", "run", "--pairs", "pairs", "-o", "page.html"},
                      "picture attention");
  expect_memory_named({"train", "show.toml", "--out", "new", "--set", "data.max_length=0"}, "train");
}

TEST_F(BadInput, CountsPonderStepsOfSentencesAsLongAsInTrainingOnly) {
  write("tiny.toml", kTinyConfig);
  run_well({"train", "tiny.toml", "--out", "run", "--set", "model.kind=universal", "--set", "data.max_length=8"});
  write("in", "a b\na b c d a b c d a\n");
  const std::string error = "count_ponder_steps: sentence 2 has 9 tokens, needs at most 8, as in training";
  expect_refused({"inspect", "run", "--ponder", "in"}, error);
  expect_refused({"picture", "halting", "--model", "run", "--corpus", "in", "-o", "page.html"}, error);
}

}  // namespace
}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
// The error messages for wrong input, word for word.
#include <algorithm>

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
                 "bad.toml:2:1: model.heads is \"four\", needs a whole number of at least 1");
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

TEST_F(BadInput, NamesBothLineCountsOfTwoFilesThatDiffer) {
  write("a.en", "one\ntwo\nthree\n");
  write("b.fr", "un\ndeux\n");
  write("text.toml", "[data]\ntrain = [\"a.en\", \"b.fr\"]\n");
  expect_refused({"train", "text.toml", "--out", "run"},
                 "read_pairs: a.en has 3 lines and b.fr has 2; the two files of a pair need one line each per pair");
}

TEST_F(BadInput, RefusesACorpusWithoutUsablePairs) {
  write("empty.tsv", "");
  write("text.toml", "[data]\ntrain = [\"empty.tsv\"]\n");
  expect_refused({"train", "text.toml", "--out", "run"},
                 "read_pairs: empty.tsv has no usable pair, needs at least one");
}

TEST_F(BadInput, LeavesOutBadTrainingPairsAndNamesTheirLines) {
  std::string text;
  for (int i = 0; i < 40; ++i) text += "go\tva\r\n";
  text += "bad \xFF\tmal\r\n\tvide\r\n";
  write("pairs.tsv", text);
  write("text.toml", kTinyConfig + "\n");
  const std::string output = run_well(
      {"train", "text.toml", "--out", "run", "--set", "data.task=text", "--set", "data.train=[\"pairs.tsv\"]"});
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

}  // namespace
}  // namespace edgewise

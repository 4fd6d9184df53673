// SPDX-License-Identifier: Apache-2.0
// Shards of translations, written by real processes.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <utility>

#include "tests/apps/program.h"

namespace edgewise {
namespace {

using testing::HasSubstr;
using Words = std::vector<std::string>;

class TranslateShards : public ProgramTest {
 protected:
  TranslateShards() {
    write("tiny.toml", kTinyConfig);
    run_well({"train", "tiny.toml", "--out", "run"});
    std::string text;
    for (int i = 0; i < 300; ++i) text += std::string(i % 5, 'a') + " b c d d"[i % 7] + (i % 11 == 0 ? "\r\n" : "\n");
    write("in", text + "a b");
  }

  static Words translate(const std::string& shard, const Words& more = {}) {
    Words command = {"translate", "--model", "run", "--shard", shard, "--out", "out", "in"};
    command.insert(command.end(), more.begin(), more.end());
    return command;
  }
};

TEST_F(TranslateShards, JoinToTheTranslationOfTheWholeText) {
  const Words more = {"--beam", "2", "--scores", "--alignments"};
  Words whole = {"translate", "--model", "run", "in"};
  whole.insert(whole.end(), more.begin(), more.end());
  for (int i = 0; i < 4; ++i) run_well(translate(std::to_string(i) + "/4", more));
  EXPECT_EQ(run_well({"translate", "--merge", "4", "--out", "out"}), "out: 4 parts, 301 lines\n");
  EXPECT_EQ(read("out"), run_well(whole));
}

TEST_F(TranslateShards, HaveThePrefixesOfTheirLines) {
  write("prefixes", std::string(301, '\n').replace(7, 1, "d\n"));
  for (const std::string shard : {"0/2", "1/2"}) run_well(translate(shard, {"--prefix", "prefixes"}));
  run_well({"translate", "--merge", "2", "--out", "out"});
  EXPECT_EQ(read("out"), run_well({"translate", "--model", "run", "in", "--prefix", "prefixes"}));
}

TEST_F(TranslateShards, RefuseInputsWithoutAPrefixAndPrefixesWithoutAnInput) {
  write("in", std::string(9, '\n'));
  const Words command = translate("1/3", {"--prefix", "prefixes"});
  write("prefixes", std::string(3, '\n'));
  expect_refused(command, "translate: prefixes has 3 lines, needs as many as in, which has more");
  write("prefixes", std::string(11, '\n'));
  expect_refused(command, "translate: in has 9 lines, needs as many as prefixes, which has more");
}

TEST_F(TranslateShards, MergeNeedsAllPartsAndAllOfTheirLines) {
  run_well(translate("0/3"));
  const Words merge = {"translate", "--merge", "3", "--out", "out"};
  expect_refused(merge, "translate: out lacks 2 of 3 parts, needs all; translate with --shard I/3 for each I of 1,2");
  for (const std::string shard : {"1/3", "2/3"}) run_well(translate(shard));
  for (const auto& [shorter, other] : {std::pair(0, 1), std::pair(1, 2), std::pair(2, 0)}) {
    const auto name = [](int shard) { return fmt::format("out.part-0000{}-of-00003", shard); };
    const std::string part = read(name(shorter));
    write(name(shorter), part.substr(0, part.rfind('\n', part.rfind('\n', part.size() - 2) - 1) + 1));
    expect_refused(merge, fmt::format("translate: {} has {} lines, needs more, as {} has; translate both shards again",
                                      name(shorter), shorter == 0 ? 99 : 98, name(other)));
    write(name(shorter), part);
  }
  EXPECT_FALSE(exists(path("out")));
}

TEST_F(TranslateShards, RefuseOptionsThatNeedTheWholeText) {
  expect_refused({"translate", "--model", "run", "--shard", "0/2", "in"},
                 "translate: --shard is set, needs --out, the text whose part is written");
  const auto expect_conflict = [&](const Words& more, const std::string& reason) {
    expect_refused(translate("0/2", more),
                   "translate: --shard and " + more[0] + " are set, needs one of them, because " + reason);
  };
  expect_conflict({"--text"}, "a text is not divided at lines");
  expect_conflict({"--html"}, "a document is not divided at lines");
  expect_conflict({"--json"}, "a shard does not know the numbers of its lines");
  expect_refused(translate("0/2", {"--beam", "2", "--nbest", "2"}),
                 "translate: --shard is set and n_best is 2, needs 1, because --merge joins single lines");
  expect_refused(translate("0/2", {"--set", "search.kind=sampling"}),
                 "translate: --shard is set and search.kind is sampling, needs beam, because random numbers depend on "
                 "the number of a line in the whole text");
  const std::string form = ", needs I/N, shard I of N such as 3/16";
  for (const std::string text : {"", "3", "/4", "3/", "1.5/4", " 1/4", "1/4/2", "any/4", "99999999999999999999/4"}) {
    expect_refused(translate(text), "translate: --shard is \"" + text + "\"" + form);
  }
  for (const std::string text : {"4/4", "-1/4"}) {
    EXPECT_THAT(run(translate(text)).errors, HasSubstr("needs a shard from 0 to 3: shards are counted from 0"));
  }
  expect_refused(translate("0/1001"), "translate: --shard is 0/1001, needs from 1 to 1000 shards");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(path("")), {}), 3);  // tiny.toml, run and in
}

TEST_F(TranslateShards, MergeRefusesOptionsOfTranslating) {
  expect_refused({"translate", "--merge", "2", "--out", "out", "--beam", "2"},
                 "translate: --merge and --beam are set, needs one of them; the parts are translated already");
  expect_refused({"translate", "--merge", "2", "in"},
                 "translate: --merge and input are set, needs one of them; the parts are translated already");
  expect_refused({"translate", "--merge", "2"}, "translate: --merge is set, needs --out, the text to write");
}

TEST_F(TranslateShards, RefuseABadLineOfTheirOwn) {
  write("in", "a\nb\n\xFF\nd\n");
  expect_refused(translate("2/4"), "translate: in:3 has a byte that is not UTF-8 at 0, needs UTF-8");
  run_well(translate("1/4"));
}

class ClusterExamples : public TranslateShards {};

TEST_F(ClusterExamples, TranslateInAnArrayOfJobs) {
  const auto run_task = [&](const std::string& task) {
    return run_process({"/bin/bash", EDGEWISE_SOURCE "/examples/cluster/translate.sbatch", "run", "in", "out", "3"},
                       {.environment = {"EDGEWISE_TRANSLATE=" EDGEWISE_TRANSLATE, "SLURM_ARRAY_TASK_ID=" + task,
                                        "SLURM_CPUS_PER_TASK=2"},
                        .folder = path("").string()});
  };
  for (const char* task : {"0", "1", "2"}) EXPECT_EQ(run_task(task).exit_code, 0);
  run_well({"translate", "--merge", "3", "--out", "out"});
  EXPECT_EQ(read("out"), run_well({"translate", "--model", "run", "in"}));
  EXPECT_EQ(run_task("3").exit_code, 2);
  EXPECT_EQ(run_task("").errors, "usage: sbatch --array=0-$((PARTS - 1)) translate.sbatch MODEL INPUT OUT PARTS\n");
}

}  // namespace
}  // namespace edgewise

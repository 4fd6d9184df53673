// SPDX-License-Identifier: Apache-2.0
// Parts of translations, written by real processes.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/file.h>

#include <algorithm>
#include <csignal>

#include "edgewise/base/file_descriptor.h"
#include "edgewise/base/random.h"
#include "edgewise/translate/part_record.h"
#include "tests/apps/program.h"
#include "tests/support/environment_number.h"

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
    write("in", text);
  }

  static Words translate(const std::string& shard, const Words& more = {}) {
    Words command = {"translate", "--model", "run", "--shard", shard, "--out", "out", "in"};
    command.insert(command.end(), more.begin(), more.end());
    return command;
  }

  /// Starts the program without libtorch, which starts at once.
  RunningProcess start(Words command) const {
    command.front() = EDGEWISE_TRANSLATE;
    return RunningProcess(command, {.folder = path("").string()});
  }

  void write_large_text(int lines) const {
    std::string text;
    for (int i = 0; i < lines; ++i) text += i % 3 == 0 ? "a b c d a b c\n" : "d d a\n";
    write("in", text);
  }

  std::string translated(const Words& more = {}) const {
    Words command = {"translate", "--model", "run", "in"};
    command.insert(command.end(), more.begin(), more.end());
    return run_well(command);
  }

  /// Returns the bytes of all parts that are written, whole or in part.
  std::uint64_t written_bytes() const {
    std::uint64_t sum = 0;
    std::error_code renamed;
    for (const auto& entry : std::filesystem::directory_iterator(path(""))) {
      const std::string name = entry.path().filename().string();
      if (!name.starts_with("out.part-") || name.ends_with(".json")) continue;
      const std::uintmax_t size = entry.file_size(renamed);
      if (!renamed) sum += size;
    }
    return sum;
  }

  void expect_merged(int shards, const std::string& expected) const {
    run_well({"translate", "--merge", std::to_string(shards), "--out", "out", "in"});
    EXPECT_EQ(read("out"), expected);
  }

  /// Locks the unfinished file of a part as another process does.
  FileDescriptor hold(const std::string& part) const {
    FileDescriptor file(::open(path(part + ".unfinished").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
    EXPECT_EQ(::flock(file.number(), LOCK_EX | LOCK_NB), 0);
    return file;
  }
};

TEST_F(TranslateShards, JoinToTheTranslationOfTheWholeText) {
  const Words more = {"--beam", "2", "--scores", "--alignments"};
  for (int i = 0; i < 4; ++i) {
    const std::string part = "out.part-0000" + std::to_string(i) + "-of-00004";
    EXPECT_THAT(run_well(translate(std::to_string(i) + "/4", more)), testing::StartsWith(part + ": complete, "));
  }
  EXPECT_EQ(run_well({"translate", "--merge", "4", "--out", "out"}), "out: 4 parts, 300 lines\n");
  EXPECT_EQ(read("out"), translated(more));
  expect_merged(4, translated(more));
}

TEST_F(TranslateShards, TakeSeveralFilesAsOneText) {
  write("second", "a b\nc");
  const std::string whole = translated() + run_well({"translate", "--model", "run", "second"});
  for (const std::string shard : {"0/2", "1/2"}) run_well(translate(shard, {"second"}));
  run_well({"translate", "--merge", "2", "--out", "out", "in", "second"});
  EXPECT_EQ(read("out"), whole);
  expect_refused({"translate", "--model", "run", "in", "second"},
                 "translate: 2 inputs are given, needs one; several are for --shard and --merge");
  EXPECT_THAT(run({"translate", "--merge", "2", "--out", "out", "in"}).errors,
              HasSubstr(" has 2 input files, needs 1"));
}

TEST_F(TranslateShards, AreTranslatedOnce) {
  run_well(translate("1/3"));
  const auto time = std::filesystem::last_write_time(path("out.part-00001-of-00003"));
  EXPECT_THAT(run_well(translate("1/3", {"--workers", "2", "--batch-sentences", "3"})),
              testing::MatchesRegex("out.part-00001-of-00003: was complete, [0-9]+ lines\n"));
  EXPECT_EQ(std::filesystem::last_write_time(path("out.part-00001-of-00003")), time);
}

TEST_F(TranslateShards, RefuseAPartOfAnotherTranslation) {
  run_well(translate("1/3"));
  const std::string advice =
      "; repeat the command that began it, or remove out.part-00001-of-00003* to translate the shard again";
  const auto expect_difference = [&](const Words& more, const std::string& difference) {
    expect_refused(translate("1/3", more), "translate: out.part-00001-of-00003.json has " + difference + advice);
  };
  expect_difference({"--beam", "2"}, "search.beam 1, needs 2");
  expect_difference({"--set", "search.length_penalty=0.5"}, "search.length_penalty 0.6, needs 0.5");
  expect_difference({"--precision", "int8"}, "precision fp32, needs int8");
  expect_difference({"--scores"}, "scores false, needs true");
  expect_difference({"--max-input", "9"}, "max_input none, needs 9");
  expect_difference({"--bad-text", "replace"}, "bad_text stop, needs replace");
  expect_difference({"--model", "run/last"}, "1 models, needs 2");
  write("in", read("in") + "a\n");
  EXPECT_THAT(run(translate("1/3")).errors, HasSubstr(".json has an input in of "));
}

TEST_F(TranslateShards, RefuseOptionsThatNeedTheWholeText) {
  expect_refused({"translate", "--model", "run", "--shard", "0/2", "in"},
                 "translate: --shard is set, needs --out, the text whose part is written");
  for (const Words& input : {Words{}, Words{"-"}}) {
    Words command = {"translate", "--model", "run", "--shard", "0/2", "--out", "out"};
    command.insert(command.end(), input.begin(), input.end());
    expect_refused(command,
                   "translate: --shard is set and the input is standard input, needs a file, because a shard begins in "
                   "the middle");
  }
  const auto expect_conflict = [&](const Words& more, const std::string& reason) {
    expect_refused(translate("0/2", more),
                   "translate: --shard and " + more[0] + " are set, needs one of them, because " + reason);
  };
  expect_conflict({"--text"}, "a text is not divided at lines");
  expect_conflict({"--html"}, "a document is not divided at lines");
  expect_conflict({"--json"}, "a shard does not know the numbers of its lines");
  expect_conflict({"--prefix", "in"}, "a shard does not know the numbers of its lines");
  expect_refused(translate("0/2", {"--beam", "2", "--nbest", "2"}),
                 "translate: --shard is set and n_best is 2, needs 1, because a shard does not know the numbers of its "
                 "lines");
  expect_refused(translate("0/2", {"--set", "search.kind=sampling"}),
                 "translate: --shard is set and search.kind is sampling, needs beam, because random numbers depend on "
                 "the number of a line in the whole text");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(path("")), {}), 3);  // tiny.toml, run and in
}

TEST_F(TranslateShards, RefuseBadShardsAndInputs) {
  const std::string form = ", needs I/N, shard I of N such as 3/16, or any/N";
  for (const std::string text : {"", "3", "a/4", "/4", "3/", "1.5/4", " 1/4", "1/4/2", "any", "ANY/4", "+1/4", "0x1/4",
                                 "99999999999999999999/4"}) {
    expect_refused(translate(text), "translate: --shard is \"" + text + "\"" + form);
  }
  for (const std::string text : {"4/4", "-1/4"}) {
    expect_refused(translate(text), "translate: --shard is " + text +
                                        ", needs a shard from 0 to 3: shards are counted from 0, as in an array of "
                                        "Slurm with --array=0-3");
  }
  for (const std::string text : {"0/0", "any/-1", "0/100000"}) {
    expect_refused(translate(text), "translate: --shard is " + text + ", needs from 1 to 99999 shards");
  }
  expect_refused({"translate", "--model", "run", "--shard", "0/2", "--out", "out", "absent"},
                 "translate: absent: No such file or directory");
  expect_refused({"translate", "--model", "run", "--shard", "0/2", "--out", "absent/out", "in"},
                 "translate: absent/out.part-00000-of-00002.unfinished: No such file or directory");
  expect_refused({"translate", "--model", "run", "--shard", "0/2", "--out", "run", "in"},
                 "translate: run is not a regular file, needs one to replace");
  EXPECT_EQ(run(translate("0/2", {"--from", "xx"})).exit_code, 2);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(path("")), {}), 3);  // no part was begun
}

TEST_F(TranslateShards, MergeRefusesOptionsOfTranslating) {
  const auto expect_conflict = [&](const Words& more) {
    Words command = {"translate", "--merge", "2", "--out", "out"};
    command.insert(command.end(), more.begin(), more.end());
    expect_refused(
        command, "translate: --merge and " + more[0] + " are set, needs one of them; the parts are translated already");
  };
  expect_conflict({"--model", "run"});
  expect_conflict({"--beam", "2"});
  expect_conflict({"--shard", "0/2"});
  expect_refused({"translate", "--merge", "2", "in"}, "translate: --merge is set, needs --out, the text to write");
  expect_refused({"translate", "--merge", "2", "--out", "out", "-"},
                 "translate: --merge is set and the input is standard input, needs files");
  run_well(translate("0/3"));
  expect_refused({"translate", "--merge", "3", "--out", "out", "in"},
                 "translate: out lacks 2 of 3 parts, needs all; translate with --shard I/3 for each I of 1-2");
  EXPECT_FALSE(exists(path("out")));
  expect_refused({"translate", "--shard", "0/3", "--out", "out", "in"},
                 "edgewise translate: --model is required; see edgewise translate --help");
}

TEST_F(TranslateShards, OfAQueueAreTranslatedOnceEach) {
  write_large_text(20'000);
  std::vector<RunningProcess> processes;
  for (int i = 0; i < 3; ++i) processes.push_back(start(translate("any/12")));
  std::string output;
  for (RunningProcess& process : processes) {
    const ProcessResult result = process.wait();
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    output += result.output;
  }
  EXPECT_EQ(std::ranges::count(output, '\n'), 12) << output;
  EXPECT_EQ(output.find("was complete"), std::string::npos) << output;
  expect_merged(12, translated());
}

TEST_F(TranslateShards, OfAKilledProcessAreTakenByAnother) {
  write_large_text(100'000);
  RunningProcess killed = start(translate("any/3"));
  wait_for(path("out.part-00000-of-00003.unfinished"));
  RunningProcess other = start(translate("any/3"));
  wait_for(path("out.part-00001-of-00003.unfinished"));
  killed.send(SIGKILL);
  killed.wait();
  const ProcessResult result = other.wait();
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(std::ranges::count(result.output, '\n'), 3) << result.output;
  expect_merged(3, translated());
}

TEST_F(TranslateShards, OfAQueueAreAwaitedWhileAnotherProcessHoldsThem) {
  FileDescriptor held = hold("out.part-00000-of-00002");
  RunningProcess waiting = start(translate("any/2"));
  wait_for(path("out.part-00001-of-00002"));
  EXPECT_FALSE(waiting.has_ended());
  held.close();
  EXPECT_EQ(waiting.wait().exit_code, 0);
  expect_merged(2, translated());
}

TEST_F(TranslateShards, HaveOneWriterAtATime) {
  const FileDescriptor held = hold("out.part-00000-of-00002");
  expect_refused(
      translate("0/2"),
      "translate: another process writes out.part-00000-of-00002, needs a shard that nobody writes; wait for "
      "that one's end, or use any/2");
}

TEST_F(TranslateShards, EqualTheWholeTranslationAfterKillsAtAnyMoment) {
  write_large_text(60'000);
  const std::string expected = translated();
  const std::uint64_t whole = expected.size();
  RandomStream random(test_seed());
  {
    const FileDescriptor held = hold("out.part-00003-of-00004");  // so that no process ends before its kill
    for (int i = 0; i < 12; ++i) {
      const std::uint64_t moment = std::min(written_bytes() + random.next_below(whole / 6), whole / 2);
      RunningProcess process = start(translate("any/4"));
      EXPECT_TRUE(wait_until([&] { return written_bytes() >= moment; }));
      process.send(SIGKILL);
      EXPECT_EQ(process.wait().exit_code, 128 + SIGKILL);
    }
  }
  run_well(translate("any/4"));
  expect_merged(4, expected);
}

TEST_F(TranslateShards, AreContinuedAfterAKill) {
  write_large_text(600'000);
  const std::string record_name = "out.part-00000-of-00001.json";
  RunningProcess process = start(translate("0/1", {"--threads", "1"}));
  wait_for(path(record_name));
  process.send(SIGKILL);
  ASSERT_EQ(process.wait().exit_code, 128 + SIGKILL);
  const PartRecord saved = parse_part_record(read(record_name), record_name);
  EXPECT_GT(saved.lines, 0);
  const std::string beginning = read("out.part-00000-of-00001.unfinished").substr(0, saved.bytes);

  EXPECT_EQ(run_well(translate("0/1")), "out.part-00000-of-00001: complete, 600000 lines\n");
  EXPECT_TRUE(read("out.part-00000-of-00001").starts_with(beginning));
}

TEST_F(TranslateShards, AreContinuedAfterAFullDisk) {
  const ProcessResult full = run_process(
      {"/bin/sh", "-c", "ulimit -f 1; exec \"$0\" --model run --shard 0/1 --out out in", EDGEWISE_TRANSLATE},
      {.folder = path("").string()});
  EXPECT_EQ(full.exit_code, 2);
  EXPECT_EQ(full.errors,
            "translate: out.part-00000-of-00001.unfinished: File too large; 0 lines are kept, and the same "
            "command continues after them\n");
  run_well(translate("0/1"));
  expect_merged(1, translated());
  EXPECT_FALSE(exists(path("out.part-00000-of-00001.unfinished")));
}

TEST_F(TranslateShards, OfAQueueAreTranslatedBesideAPartWithABadLine) {
  write("in", "a\nb\n\xFF\nd\n");
  const ProcessResult result = run(translate("any/4"));
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.errors,
            "translate: in (from byte 4):1 has a byte that is not UTF-8 at 0, UTF-8 is needed\n"
            "translate: 1 of 4 parts failed for the reasons above, needs all parts: 2\n");
  EXPECT_THAT(run({"translate", "--merge", "4", "--out", "out"}).errors, HasSubstr("for each I of 2\n"));

  const ProcessResult replaced =
      run({"translate", "--model", "run", "--shard", "any/4", "--bad-text", "replace", "--out", "replaced", "in"});
  EXPECT_EQ(replaced.exit_code, 0);
  EXPECT_EQ(replaced.errors, "translate: in (from byte 4):1 has a byte that is not UTF-8 at 0, replaced by U+FFFD\n");
  run_well({"translate", "--merge", "4", "--out", "replaced", "in"});
  EXPECT_EQ(read("replaced"), translated({"--bad-text", "replace"}));
}

TEST_F(TranslateShards, AreReportedIfTwoInstructionSetsComputedThem) {
  run_well(translate("0/2"), {.environment = {"EDGEWISE_KERNELS=generic"}});
  run_well(translate("1/2"), {.environment = {"EDGEWISE_KERNELS=reference"}});
  const ProcessResult merged = run({"translate", "--merge", "2", "--out", "out", "in"});
  EXPECT_EQ(merged.exit_code, 0);
  EXPECT_EQ(merged.errors,
            "translate: the parts were computed with generic and reference, whose results may differ in rare cases; "
            "EDGEWISE_KERNELS chooses one for all machines\n");
}

class ClusterExamples : public TranslateShards {
 protected:
  ProcessResult run_example(const std::string& name, const Words& arguments, Words environment = {}) const {
    Words command = {"/bin/bash", EDGEWISE_SOURCE "/examples/cluster/" + name};
    command.insert(command.end(), arguments.begin(), arguments.end());
    environment.emplace_back("EDGEWISE_TRANSLATE=" EDGEWISE_TRANSLATE);
    return run_process(command, {.environment = environment, .folder = path("").string()});
  }
};

TEST_F(ClusterExamples, TranslateInAnArrayOfJobs) {
  for (int task = 0; task < 3; ++task) {
    const ProcessResult result = run_example("translate.sbatch", {"run", "in", "out", "3"},
                                             {"SLURM_ARRAY_TASK_ID=" + std::to_string(task), "SLURM_CPUS_PER_TASK=2"});
    EXPECT_EQ(result.exit_code, 0) << result.errors;
  }
  expect_merged(3, translated());
  EXPECT_EQ(run_example("translate.sbatch", {"run", "in", "out", "3"}, {"SLURM_ARRAY_TASK_ID=3"}).exit_code, 2);
  const ProcessResult outside = run_example("translate.sbatch", {"run", "in", "out", "3"}, {"SLURM_ARRAY_TASK_ID="});
  EXPECT_EQ(outside.exit_code, 2);
  EXPECT_EQ(outside.errors, "usage: sbatch --array=0-$((PARTS - 1)) translate.sbatch MODEL INPUT OUT PARTS\n");
}

TEST_F(ClusterExamples, TranslateFromAQueue) {
  const ProcessResult result = run_example("translate_queue.sh", {"run", "in", "out", "5", "2"});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_EQ(std::ranges::count(result.output, '\n'), 5) << result.output;
  expect_merged(5, translated());
  EXPECT_EQ(run_example("translate_queue.sh", {"absent", "in", "other", "5", "2"}).exit_code, 2);
  EXPECT_EQ(run_example("translate_queue.sh", {"run", "in"}).errors,
            "usage: translate_queue.sh MODEL INPUT OUT PARTS [PROCESSES]\n");
}

}  // namespace
}  // namespace edgewise

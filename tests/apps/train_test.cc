// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <numbers>
#include <set>
#include <utility>

#include "edgewise/train/run_files.h"
#include "tests/apps/metric_of.h"
#include "tests/apps/program.h"
#include "tests/support/mounted_disk.h"

namespace edgewise {
namespace {

using testing::AllOf;
using testing::DoubleNear;
using testing::Each;
using testing::ElementsAre;
using testing::Gt;
using testing::HasSubstr;
using testing::Lt;
using testing::Not;
using testing::Pointwise;
using testing::SizeIs;

using TrainProgram = ProgramTest;

TEST_F(TrainProgram, WritesARunDirectoryAndPrintsProgress) {
  write("tiny.toml", kTinyConfig);

  const std::string output = run_well({"train", "tiny.toml", "--out", "run"});

  EXPECT_NE(output.find("300 pairs to learn from, 20 to validate, 20 to test; one vocabulary of 8 tokens"),
            std::string::npos)
      << output;
  EXPECT_NE(output.find("validation loss"), std::string::npos) << output;
  EXPECT_NE(output.find("test: loss"), std::string::npos) << output;
  EXPECT_TRUE(std::filesystem::exists(path("run/last/manifest.json")));
  EXPECT_TRUE(std::filesystem::exists(path("run/best/model.safetensors")));
}

TEST_F(TrainProgram, HasAnExampleThatTrainsEvaluatesAndTranslates) {
  write("tiny.toml", kTinyConfig);

  const ProcessResult example =
      run_process({EDGEWISE_EXAMPLE_TRAIN, "tiny.toml", "run", "train.epochs=1", "train.log_every=5"},
                  {.folder = path("").string()});

  EXPECT_EQ(example.exit_code, 0) << example.errors;
  EXPECT_NE(example.output.find("step 5: loss "), std::string::npos) << example.output;
  EXPECT_NE(example.output.find("\ntest after "), std::string::npos) << example.output;
  EXPECT_TRUE(std::filesystem::exists(path("run/best/model.safetensors")));
}

TEST_F(TrainProgram, EndsWithTheReasonIfADeviceCannotBeUsed) {
  write("tiny.toml", kTinyConfig + "device = \"cuda:127\"\nvirtual_ranks = 2\n");
  expect_refused(
      {"train", "tiny.toml", "--out", "run", "--device", "gpu"},
      "train: train.device is gpu, needs cpu, auto, cuda, or cuda: with the number of a GPU, such as cuda:0");
  for (const std::vector<std::string>& more : {std::vector<std::string>{}, {"--processes", "2"}}) {
    std::vector<std::string> command = {EDGEWISE_PROGRAM, "train", "tiny.toml", "--out", "run"};
    command.insert(command.end(), more.begin(), more.end());
    const ProcessResult result = run_process(command, {.folder = path("").string()});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.errors, testing::MatchesRegex("train: train.device is cuda:127, needs [^\n]*\n"));
  }
  EXPECT_FALSE(std::filesystem::exists(path("run")));
}

TEST_F(TrainProgram, ComputesOnTheDeviceOfTheCommandAndNotOfTheConfig) {
  write("tiny.toml", kTinyConfig + "device = \"cuda:127\"\n");
  run_well({"train", "tiny.toml", "--out", "run", "--device", "cpu"});
  EXPECT_THAT(read("run/last/config.toml"), HasSubstr("device = \"cpu\""));
}

TEST_F(TrainProgram, WritesMetricsAsOneJsonObjectPerLine) {
  write("tiny.toml", kTinyConfig);

  run_well({"train", "tiny.toml", "--out", "run", "--set", "train.log_every=5"});

  const std::string metrics = read("run/metrics.jsonl");  // two epochs of ten steps
  EXPECT_THAT(metric_of(metrics, "step"), ElementsAre(5, 10, 10, 15, 20, 20));
  EXPECT_THAT(metric_of(metrics, "epoch"), ElementsAre(1, 1, 1, 2, 2, 2));
  EXPECT_THAT(metric_of(metrics, "tokens_per_second"), AllOf(SizeIs(4), Each(Gt(0))));
  // The first losses are near those of a uniform distribution over eight tokens.
  const double uniform = std::log(8);
  EXPECT_THAT(metric_of(metrics, "loss"), AllOf(SizeIs(4), Each(AllOf(Gt(0.1 * uniform), Lt(2 * uniform)))));
  EXPECT_THAT(metric_of(metrics, "valid_loss"), AllOf(SizeIs(2), Each(AllOf(Gt(0.1 * uniform), Lt(2 * uniform)))));
  EXPECT_THAT(metric_of(metrics, "valid_accuracy"), AllOf(SizeIs(2), Each(AllOf(Gt(0), Lt(1)))));
  // The Noam schedule for size 16 and a warm-up of 20 steps.
  EXPECT_THAT(
      metric_of(metrics, "learning_rate"),
      Pointwise(DoubleNear(1e-9), std::vector<double>{5 * 0.25 * std::pow(20, -1.5), 10 * 0.25 * std::pow(20, -1.5),
                                                      15 * 0.25 * std::pow(20, -1.5), 0.25 / std::sqrt(20)}));
  EXPECT_EQ(metrics.find("\x1b"), std::string::npos);
}

TEST_F(TrainProgram, LearnsWithEachOptionOfARecipe) {
  write("tiny.toml", kTinyConfig);
  const auto train = [&](const std::string& out, const std::vector<std::string>& settings) {
    std::vector<std::string> arguments = {"train", "tiny.toml", "--out", out};
    for (const char* setting : {"train.steps=40", "train.epochs=0", "train.warmup=4", "train.learning_rate=0.01",
                                "train.log_every=10", "train.validate_every=10", "train.schedule=constant"}) {
      arguments.insert(arguments.end(), {"--set", setting});
    }
    for (const std::string& setting : settings) arguments.insert(arguments.end(), {"--set", setting});
    run_well(arguments);
    return read(out + "/metrics.jsonl");
  };
  train("plain", {});
  const std::string plain_weights = read("plain/last/model.safetensors");

  // The rates of the steps 10, 20, 30 and 40, of which the first 4 are the warm-up.
  const double pi = std::numbers::pi;
  const auto cosine = [pi](int step) { return 0.005 * (1 - std::cos(pi * (41 - step) / 37)); };
  const std::vector<double> constant(4, 0.01);
  const std::vector<std::pair<std::vector<std::string>, std::vector<double>>> recipes = {
      {{"train.schedule=inverse_sqrt"},
       {0.02 / std::sqrt(10), 0.02 / std::sqrt(20), 0.02 / std::sqrt(30), 0.01 / std::sqrt(10)}},
      {{"train.schedule=cosine"}, {cosine(10), cosine(20), cosine(30), cosine(40)}},
      {{"train.rdrop=2", "model.dropout.residual=0.2"}, constant},
      {{"train.simcut=2", "train.cut=0.2"}, constant},
      {{"train.quantise=int8"}, constant},
      {{"model.dropout.residual=0.2"}, constant},
      {{"model.dropout.word=0.2"}, constant},
      {{"model.dropout.attention=0.2"}, constant}};
  std::set<std::string> all_weights = {plain_weights};
  for (const auto& [settings, rates] : recipes) {
    SCOPED_TRACE(settings.front());
    std::filesystem::remove_all(path("run"));
    const std::string metrics = train("run", settings);
    const std::vector<double> losses = metric_of(metrics, "loss");
    ASSERT_EQ(losses.size(), 4U);
    EXPECT_LT(losses.back(), losses.front());
    EXPECT_THAT(metric_of(metrics, "learning_rate"), Pointwise(DoubleNear(1e-9), rates));
    EXPECT_TRUE(all_weights.insert(read("run/last/model.safetensors")).second) << "the option has no effect";
  }
}

TEST_F(TrainProgram, PrintsTheBleuThatTranslateAndScoreGive) {
  std::string pairs;
  std::string inputs;
  for (int i = 0; i < 60; ++i) {
    std::string sentence = "w" + std::to_string(i % 7);
    for (int j = 1; j < 4 + i % 3; ++j) sentence += " w" + std::to_string((i * j) % 5);
    pairs += sentence + "\t" + sentence + "\n";
    inputs += sentence + "\n";
  }
  write("pairs.tsv", pairs);
  write("inputs", inputs);
  write("tiny.toml", kTinyModelConfig + "schedule = \"constant\"\nlearning_rate = 0.01\n[search]\nbeam = 3\n");

  const std::string output =
      run_well({"train", "tiny.toml", "--out", "run", "--set", "data.train=[\"pairs.tsv\"]", "--set",
                "data.valid=[\"pairs.tsv\"]", "--set", "data.test=[\"pairs.tsv\"]", "--set", "train.epochs=20"});
  write("outputs", run_well({"translate", "--model", "run", "--set", "search.beam=3", "inputs"}));
  const std::string score = run_well({"score", "--digits", "2", "--reference", "inputs", "outputs"});

  const std::string reported = output.substr(output.rfind("BLEU ") + 5);
  EXPECT_NE(score.find(" = " + reported.substr(0, reported.find('\n')) + " "), std::string::npos) << score << output;
  EXPECT_GT(std::stod(reported), 1.0);
}

TEST_F(TrainProgram, GivesTheSameBitsForTheSameSeed) {
  write("tiny.toml", kTinyConfig);

  run_well({"train", "tiny.toml", "--out", "one"});
  run_well({"train", "tiny.toml", "--out", "two"});
  run_well({"train", "tiny.toml", "--out", "other", "--set", "train.seed=2"});

  EXPECT_TRUE(read("one/last/model.safetensors") == read("two/last/model.safetensors"));
  EXPECT_FALSE(read("one/last/model.safetensors") == read("other/last/model.safetensors"));
}

TEST_F(TrainProgram, ResumesAnInterruptedRunWithTheSameBits) {
  write("tiny.toml", kTinyConfig);
  run_well({"train", "tiny.toml", "--out", "whole", "--set", "train.steps=600", "--set", "train.epochs=0"});
  const std::vector<std::string> train = {"train", "tiny.toml",       "--out", "parts",
                                          "--set", "train.steps=600", "--set", "train.epochs=0"};

  const ProcessResult interrupted = run(train, {.signal = SIGINT, .signal_when = path("parts/last").string()});
  std::vector<std::string> resume = train;
  resume.push_back("--resume");
  run_well(resume);

  EXPECT_EQ(interrupted.exit_code, 130) << interrupted.output << interrupted.errors;
  EXPECT_NE(interrupted.output.find("all is saved. To go on, add --resume to the command."), std::string::npos);
  EXPECT_TRUE(read("whole/last/model.safetensors") == read("parts/last/model.safetensors"));
}

TEST_F(TrainProgram, LearnsTheLinksOfAnAlignmentFileAndResumesWithTheSameBits) {
  std::string pairs;
  std::string links;
  for (int i = 0; i < 60; ++i) {
    const std::string a(1, static_cast<char>('a' + i % 5));
    const std::string b(1, static_cast<char>('a' + i / 5 % 5));
    pairs += a + " " + b + " c\tc " + b + " " + a + "\n";
    links += "0-2 1-1 2-0\n";
  }
  write("pairs.tsv", pairs);
  write("links", links);
  write("short", links.substr(12));
  write("guided.toml",
        "[data]\ntrain = [\"pairs.tsv\"]\nalignments = [\"links\"]\n[vocabulary]\nshared = true\n[batch]\ntokens = 30\n"
        "[model]\nencoder_layers = 1\ndecoder_layers = 2\nsize = 16\nheads = 2\nfeed_forward = 16\n"
        "[train]\nepochs = 0\nsteps = 30\nwarmup = 5\nguided_alignment = 1.0\n");
  const auto train = [&](const std::string& out, const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"train", "guided.toml", "--out", out};
    arguments.insert(arguments.end(), more.begin(), more.end());
    run_well(arguments);
    return read(out + "/last/model.safetensors");
  };
  const std::string whole = train("whole", {});
  train("parts", {"--set", "train.steps=11"});
  EXPECT_TRUE(train("parts", {"--resume"}) == whole);
  EXPECT_FALSE(train("other", {"--set", "train.guided_alignment=2.0"}) == whole);
  expect_refused({"train", "guided.toml", "--out", "refused", "--set", R"(data.alignments=["short"])"},
                 "read_pairs: pairs.tsv has 60 lines and short has 59; a file of links needs one line for each pair");
}

const std::vector<std::string> kEndless = {"train", "tiny.toml",
                                           "--out", "run",
                                           "--set", "train.steps=1000000",
                                           "--set", "train.epochs=0",
                                           "--set", "train.save_every=1000000",
                                           "--set", "train.validate_every=1000000"};

std::vector<std::string> resume_until(std::int64_t steps) {
  std::vector<std::string> resume = kEndless;
  resume[5] = "train.steps=" + std::to_string(steps);
  resume.push_back("--resume");
  return resume;
}

TEST_F(TrainProgram, SavesAndExitsWith128PlusTheSignalThatStopsIt) {
  write("tiny.toml", kTinyConfig);
  for (const int signal : {SIGTERM, SIGHUP}) {
    const ProcessResult stopped = run(kEndless, {.signal = signal, .signal_when = path("run/metrics.jsonl").string()});
    EXPECT_EQ(stopped.exit_code, 128 + signal) << stopped.errors;
    EXPECT_NE(stopped.output.find("all is saved"), std::string::npos);
    run_well(resume_until(1));
    std::filesystem::remove_all(path("run"));
  }
}

TEST_F(TrainProgram, SavesAndContinuesAtSigusr1) {
  write("tiny.toml", kTinyConfig);
  std::vector<std::string> command = kEndless;
  command.insert(command.begin(), EDGEWISE_PROGRAM);
  {
    RunningProcess process(command, {.folder = path("").string()});
    wait_for(path("run/metrics.jsonl"));
    EXPECT_TRUE(wait_until([&] { return !read("run/metrics.jsonl").empty(); }));  // after a step, which is not saved
    process.send(SIGUSR1);
    wait_for(path("run/previous"));
    EXPECT_FALSE(process.has_ended());
  }
  const std::string output = run_well(resume_until(1));
  EXPECT_THAT(output, HasSubstr(" steps and "));
  EXPECT_THAT(output, Not(HasSubstr("ended after 1 steps"))) << "the run resumed from the state before its first step";
}

TEST_F(TrainProgram, ResumesFromTheCheckpointBeforeADamagedOne) {
  write("tiny.toml", kTinyConfig);
  run_well({"train", "tiny.toml", "--out", "run"});
  std::filesystem::resize_file(path("run/last/model.safetensors"), 100);

  const ProcessResult result = run({"train", "tiny.toml", "--out", "run", "--resume"});

  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.errors.find("run/last is damaged (run/last/model.safetensors has 100 bytes, needs "), 0)
      << result.errors;
  EXPECT_NE(result.errors.find("; run/previous has taken its place\n"), std::string::npos) << result.errors;
}

TEST_F(TrainProgram, KeepsModelsThatCanBeAveraged) {
  write("tiny.toml", kTinyConfig);
  run_well({"train", "tiny.toml", "--out", "run", "--set", "train.keep_best=2", "--set", "train.validate_every=5"});

  std::vector<std::string> average = {"average", "--out", "mean"};
  for (const auto& entry : std::filesystem::directory_iterator(path("run"))) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("step-")) average.push_back("run/" + name);
  }
  EXPECT_EQ(average.size(), 5U);
  run_well(average);
}

TEST_F(TrainProgram, ChecksTheFreeDiskSpaceBeforeTheFirstStep) {
  const MountedDisk disk(path("disk"), "100k");
  if (!disk.is_mounted()) GTEST_SKIP() << MountedDisk::kNeed;
  write("tiny.toml", kTinyConfig);

  const ProcessResult result = run({"train", "tiny.toml", "--out", "disk/run"});
  const bool has_begun = std::filesystem::exists(path("disk/run/last"));

  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.errors.find("train: the disk of disk/run has 0.1 MB left, needs "), 0) << result.errors;
  EXPECT_FALSE(has_begun);
}

TEST_F(TrainProgram, NamesADiskThatCannotBeWritten) {
  const MountedDisk disk(path("disk"), "9m", MS_RDONLY);
  if (!disk.is_mounted()) GTEST_SKIP() << MountedDisk::kNeed;
  write("tiny.toml", kTinyConfig);

  const ProcessResult result = run({"train", "tiny.toml", "--out", "disk/run"});

  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.errors, "train: disk/run: Read-only file system\n");
}

TEST_F(TrainProgram, LosesNothingWhenItIsKilled) {
  write("tiny.toml", kTinyConfig);
  const std::vector<std::string> train = {"train", "tiny.toml",          "--out", "run",
                                          "--set", "train.steps=100000", "--set", "train.epochs=0",
                                          "--set", "train.save_every=1"};

  const ProcessResult killed = run(train, {.signal = SIGKILL, .signal_when = path("run/metrics.jsonl").string()});

  EXPECT_EQ(killed.exit_code, 128 + SIGKILL);
  run_well({"inspect", "run"});  // verifies size and SHA-256 of every file
  std::vector<std::string> resume = train;
  resume[5] = "train.steps=1";  // fewer steps than the run has
  resume.push_back("--resume");
  run_well(resume);
}

TEST_F(TrainProgram, RefusesADirectoryThatHoldsARun) {
  write("tiny.toml", kTinyConfig);
  run_well({"train", "tiny.toml", "--out", "run"});
  const std::string before = read("run/last/model.safetensors");

  const ProcessResult result = run({"train", "tiny.toml", "--out", "run", "--set", "train.seed=7"});

  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.errors.find("--resume"), std::string::npos) << result.errors;
  EXPECT_TRUE(read("run/last/model.safetensors") == before);
}

TEST_F(TrainProgram, RefusesARunThatAnotherProcessTrains) {
  write("tiny.toml", kTinyConfig);
  run_well({"train", "tiny.toml", "--out", "run"});
  const std::string refusal =
      "train: another process trains in run, needs a run directory of its own; wait for that one's end, or choose "
      "another";

  {
    const RunLock lock(path("run"));
    expect_refused({"train", "tiny.toml", "--out", "run"}, refusal);
    expect_refused({"train", "tiny.toml", "--out", "run", "--resume"}, refusal);
  }

  run_well({"train", "tiny.toml", "--out", "run", "--resume"});
}

TEST_F(TrainProgram, LeavesTheLastCheckpointWholeWhenTheDiskIsFull) {
  const MountedDisk disk(path("disk"), "400k");
  if (!disk.is_mounted()) GTEST_SKIP() << MountedDisk::kNeed;
  write("tiny.toml", kTinyConfig);
  run_well({"train", "tiny.toml", "--out", "disk/run", "--set", "train.steps=5", "--set", "train.epochs=0"});
  const auto space = std::filesystem::space(path("disk"));
  write("disk/ballast", std::string(space.available, 'x'));

  const ProcessResult result = run(
      {"train", "tiny.toml", "--out", "disk/run", "--resume", "--set", "train.steps=10", "--set", "train.epochs=0"});

  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.errors.find("No space left on device"), std::string::npos) << result.errors;
  std::filesystem::remove(path("disk/ballast"));
  run_well({"inspect", "disk/run"});
}

}  // namespace
}  // namespace edgewise

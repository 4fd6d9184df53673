// SPDX-License-Identifier: Apache-2.0
#include <random>

#include "edgewise/kernels/simd/instruction_set.h"
#include "tests/apps/program.h"
#include "tests/train/same_run.h"

namespace edgewise {
namespace {

// The name puts these tests among the slow ones, which run without sanitizers: the libraries of sanitizers do not
// accept that another library is loaded first, or that no thread can be started.
class TrainThreads : public ProgramTest {
 protected:
  TrainThreads() {
    write("tiny.toml", kTinyConfig);
    write("corpus", "one two three\nfour\nfive six\n");
  }

  /// Runs the program and returns how many OpenMP regions with several threads it has run.
  int count_openmp_regions(const std::vector<std::string>& arguments) const {
    run_well(arguments, {.environment = {"LD_PRELOAD=" EDGEWISE_COUNT_OPENMP_REGIONS,
                                         "EDGEWISE_OPENMP_REGIONS=" + path("regions").string()}});
    EXPECT_TRUE(std::filesystem::exists(path("regions")));
    return std::atoi(read("regions").c_str());
  }

  ProcessResult run_without_threads(std::vector<std::string> arguments, const std::string& input = "") const {
    arguments.insert(arguments.begin(), {EDGEWISE_WITHOUT_THREADS, EDGEWISE_PROGRAM});
    return run_process(arguments, {.input = input, .folder = path("").string()});
  }
};

// OpenMP's threads wait for each other in busy loops; beside another process that can take most of the time.
TEST_F(TrainThreads, ComputeWithoutOpenMp) {
  EXPECT_EQ(count_openmp_regions({"bench", "train", "--input", "corpus", "--output", "corpus", "--steps", "2",
                                  "--warmup", "1", "--threads", "2"}),
            0);
  EXPECT_EQ(count_openmp_regions({"bench", "attention", "--case", "causal", "--repetitions", "1", "--threads", "2"}),
            0);
  EXPECT_EQ(count_openmp_regions({"bench", "decode", "--input", "corpus", "--threads", "2"}), 0);
}

// Large enough that each operation is cut into several parts.
constexpr const char* kLargerConfig = R"(
[data]
train = ["input", "output"]
valid = ["input", "output"]
max_length = 100
[vocabulary]
shared = true
[batch]
tokens = 800
[model]
encoder_layers = 1
decoder_layers = 1
size = 64
heads = 4
feed_forward = 100
[train]
steps = 3
epochs = 0
log_every = 1
)";

const std::vector<std::vector<std::string>> kSettings = {
    {"train.precision=fp32"},
    {"train.precision=bf16", "train.average=0.9"},
    {"model.score=additive", "train.accumulate=2"},
    {"model.kind=universal", "model.activation=gelu", "model.dropout.residual=0.1", "train.rdrop=1"},
};

/// Returns `count` sentences of 1 to 40 of 600 words.
std::string random_sentences(int count, std::uint32_t seed) {
  std::mt19937 generator(seed);
  std::string text;
  for (int i = 0; i < count; ++i) {
    const auto length = 1 + generator() % 40;
    for (std::uint32_t word = 0; word < length; ++word) text += fmt::format("w{} ", generator() % 600);
    text.back() = '\n';
  }
  return text;
}

TEST_F(TrainThreads, GiveTheSameBitsInAnyNumber) {
  write("config.toml", kLargerConfig);
  write("input", random_sentences(150, 1));
  write("output", random_sentences(150, 2));
  for (const kernels::InstructionSet set : kernels::runnable_instruction_sets()) {
    const std::string name(kernels::instruction_set_name(set));
    for (const std::vector<std::string>& settings : kSettings) {
      SCOPED_TRACE(fmt::format("{}, {}", name, fmt::join(settings, " ")));
      for (const std::string threads : {"1", "3"}) {
        std::vector<std::string> command = {"train", "config.toml", "--out", threads, "--threads", threads};
        for (const std::string& setting : settings) command.insert(command.end(), {"--set", setting});
        run_well(command, {.environment = {"EDGEWISE_KERNELS=" + name}});
        expect_same_run(path(threads), path("1"));
      }
      for (const char* run : {"1", "3"}) std::filesystem::remove_all(path(run));
    }
  }
}

TEST_F(TrainThreads, AreReplacedByOneThreadIfTheSystemStartsNoOther) {
  const ProcessResult alone = run_without_threads({"train", "tiny.toml", "--out", "alone", "--threads", "4"});
  if (alone.exit_code == 77) GTEST_SKIP() << "this system has no seccomp filters";
  run_well({"train", "tiny.toml", "--out", "together", "--threads", "4"});

  EXPECT_EQ(alone.exit_code, 0) << alone.errors;
  EXPECT_TRUE(read("alone/best/model.safetensors") == read("together/best/model.safetensors"));
  EXPECT_TRUE(read("alone/last/model.safetensors") == read("together/last/model.safetensors"));
}

TEST_F(TrainThreads, ThatTranslatingNeedsAreNamedIfTheSystemStartsNone) {
  run_well({"train", "tiny.toml", "--out", "run"});

  const ProcessResult result = run_without_threads({"translate", "--model", "run", "--workers", "3"}, "a b\n");

  if (result.exit_code == 77) GTEST_SKIP() << "this system has no seccomp filters";
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.errors,
            "translate: the system refuses to start a thread, needs two; raise its limit of processes (ulimit -u, or "
            "pids.max of the control group) or of address space (ulimit -v)\n");
}

}  // namespace
}  // namespace edgewise

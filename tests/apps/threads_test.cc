// SPDX-License-Identifier: Apache-2.0
#include "tests/apps/program.h"

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
            "pids.max of the control group)\n");
}

}  // namespace
}  // namespace edgewise

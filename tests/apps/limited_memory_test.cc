// SPDX-License-Identifier: Apache-2.0
// Programs with little address space, few processes or a small stack: they do their work, or end with exit code 2 and
// one line of error. scripts/soak memory tries hundreds of limits.
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/apps/program.h"

namespace edgewise {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr int kMebibyte = 1024;  // in units of ulimit

class LimitedMemory : public ProgramTest {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the sanitizer reserves more addresses than any limit";
#endif
    write("tiny.toml", kTinyConfig);
  }

  /// Runs a shell command in the test's folder. `limit` has the arguments of ulimit.
  ProcessResult run_limited(const std::string& limit, const std::string& command) const {
    return run_process({"/bin/sh", "-c", "ulimit " + limit + " && exec " + command}, {.folder = path("").string()});
  }

  /// Returns the smallest multiple of 32 MiB with which a program prints its version. What a program needs to start
  /// depends on the machine: on the libraries that it maps, and on the stacks of threads.
  int smallest_limit(const std::string& program) const {
    constexpr int kStep = 32 * kMebibyte;
    int too_small = 0;
    int enough = 256;
    while (enough - too_small > 1) {
      const int middle = (too_small + enough) / 2;
      const ProcessResult result = run_limited("-v " + std::to_string(middle * kStep), program + " --version");
      (result.exit_code == 0 ? enough : too_small) = middle;
    }
    return enough * kStep;
  }

  static void expect_one_error(const ProcessResult& result) {
    EXPECT_EQ(result.exit_code, 2) << result.errors;
    EXPECT_EQ(std::count(result.errors.begin(), result.errors.end(), '\n'), 1) << result.errors;
  }
};

TEST_F(LimitedMemory, EndsACommandWithItsResultOrOneError) {
  run_well({"train", "tiny.toml", "--out", "run"});
  write("in", "a b\n");
  const std::string trained = read("run/last/model.safetensors");
  const int start = smallest_limit(EDGEWISE_PROGRAM);
  for (const int more : {0, 24, 48, 96, 4096}) {
    SCOPED_TRACE(more);
    const ProcessResult result = run_limited("-v " + std::to_string(start + more * kMebibyte),
                                             EDGEWISE_PROGRAM " train tiny.toml --threads 2 --out limited");
    if (result.exit_code != 0) {
      expect_one_error(result);
      EXPECT_LT(more, 4096) << result.errors;
    } else {
      EXPECT_TRUE(read("limited/last/model.safetensors") == trained);
    }
    std::filesystem::remove_all(path("limited"));
  }
}

TEST_F(LimitedMemory, EndsTheTrainingOfALargeModelWithItsResultOrOneError) {
  const int start = smallest_limit(EDGEWISE_PROGRAM);
  // From too little for the model, to enough for a step but hardly enough for validating and saving.
  for (const int more : {700, 1400, 1550}) {
    SCOPED_TRACE(more);
    const ProcessResult result = run_limited("-v " + std::to_string(start + more * kMebibyte), EDGEWISE_PROGRAM
                                             " train tiny.toml --threads 1 --out run --set model.size=1024 --set "
                                             "model.feed_forward=8192 --set train.steps=2 --set train.warmup=1");
    std::filesystem::remove_all(path("run"));
    if (result.exit_code != 0) expect_one_error(result);
  }
}

TEST_F(LimitedMemory, TranslatesWithTheThreadsThatCanBeStartedOrEndsWithOneError) {
  run_well({"train", "tiny.toml", "--out", "run"});
  write("in", "a b\n");
  const std::string expected = run_well({"translate", "--model", "run", "in"});
  const int start = smallest_limit(EDGEWISE_TRANSLATE);
  for (const std::string option : {"--workers", "--threads"}) {
    for (const int more : {0, 64, 512}) {
      SCOPED_TRACE(option + " " + std::to_string(more));
      const ProcessResult result = run_limited("-v " + std::to_string(start + more * kMebibyte),
                                               EDGEWISE_TRANSLATE " --model run in " + option + " 1024");
      if (result.exit_code == 0) {
        EXPECT_EQ(result.output, expected);
      } else {
        expect_one_error(result);
      }
    }
  }
}

TEST_F(LimitedMemory, OfAServerThatCannotStartItsThreadsIsNamedInItsError) {
  run_well({"train", "tiny.toml", "--out", "run"});
  const int start = smallest_limit(EDGEWISE_SERVER);
  const ProcessResult result = run_limited("-v " + std::to_string(start + 512 * kMebibyte), EDGEWISE_SERVER
                                           " --listen 127.0.0.1:0 --model en-de=run --set http.max_requests=1024");
  expect_one_error(result);
  EXPECT_THAT(result.errors, AllOf(StartsWith("server: http.max_requests is 1024, but the system starts only "),
                                   HasSubstr("(ulimit -v), or choose a smaller http.max_requests")));
}

TEST_F(LimitedMemory, OfAStackBelowAMegabyteIsRefused) {
  for (const std::string program : {EDGEWISE_PROGRAM, EDGEWISE_TRANSLATE, EDGEWISE_SERVER, EDGEWISE_DOCTOR}) {
    const ProcessResult result = run_limited("-s 256", program + " --version");
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_EQ(result.errors, std::filesystem::path(program).filename().string() +
                                 ": the stack is limited to 262.1 kB, needs at least 1.0 MB; raise the limit (ulimit "
                                 "-s)\n");
  }
}

}  // namespace
}  // namespace edgewise

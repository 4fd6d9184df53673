// SPDX-License-Identifier: Apache-2.0
// edgewise distil. tests/experiment/distil_test.cc tests the steps.
#include <gmock/gmock.h>

#include <csignal>
#include <filesystem>
#include <string>

#include "tests/apps/program.h"

namespace edgewise {
namespace {

using testing::HasSubstr;

class DistilProgram : public ProgramTest {
 protected:
  DistilProgram() {
    write("tiny.toml", kTinyConfig);
    run_well({"train", "tiny.toml", "--out", "teacher", "--set", "search.min_length=1"});
    std::string lines;
    for (int i = 0; i < 40; ++i) {
      lines += static_cast<char>('a' + i % 4);
      lines += i % 3 == 0 ? " b c\n" : " d\n";
    }
    write("lines", lines);
    write_student(2);
    write("distil.toml", "teachers = [\"teacher\"]\ninputs = [\"lines\"]\nstudent = \"student.toml\"\n");
  }

  void write_student(int steps) const {
    write("student.toml",
          "[vocabulary]\nshared = true\n[batch]\ntokens = 60\n[model]\nencoder_layers = 1\ndecoder_layers = 1\n"
          "size = 16\nheads = 2\nfeed_forward = 16\n[train]\nepochs = 0\nwarmup = 1\nsave_every = 1\nsteps = " +
              std::to_string(steps) + "\n");
  }
};

TEST_F(DistilProgram, PrintsItsStepsAndSkipsThemTheSecondTime) {
  const std::string first = run_well({"distil", "distil.toml", "--out", "out", "--set", "tuning.steps=2"});
  for (const std::string step : {"1-translations", "2-pairs", "4-student", "5-tuned", "6-model"}) {
    EXPECT_THAT(first, HasSubstr(step + ": begins\n"));
  }
  EXPECT_THAT(first, HasSubstr(" pairs to learn from"));
  EXPECT_TRUE(first.ends_with("out/6-model/model: the student\n")) << first;
  EXPECT_EQ(run_well({"distil", "distil.toml", "--out", "out", "--set", "tuning.steps=2"}),
            "1-translations: done before\n2-pairs: done before\n4-student: done before\n5-tuned: done before\n"
            "6-model: done before\nout/6-model/model: the student\n");
  run_well({"translate", "--model", "out/6-model/model", "--precision", "int8", "lines"});
}

TEST_F(DistilProgram, SavesAndExitsWith128PlusTheSignalThatStopsIt) {
  write_student(1'000'000);
  const ProcessResult stopped =
      run({"distil", "distil.toml", "--out", "out"},
          {.signal = SIGTERM, .signal_when = path("out/4-student/run/metrics.jsonl").string()});
  EXPECT_EQ(stopped.exit_code, 128 + SIGTERM) << stopped.errors;
  EXPECT_THAT(stopped.output, HasSubstr("stopped; all is saved. To go on, give the same command.\n"));
  run_well({"inspect", "out/4-student/run"});  // verifies size and SHA-256 of every file

  write_student(3);
  expect_refused({"distil", "distil.toml", "--out", "out"},
                 "distil: out/4-student was made from other files or options, needs --overwrite to be made again; or "
                 "choose another --out");
  const std::string output = run_well({"distil", "distil.toml", "--out", "out", "--overwrite"});
  EXPECT_THAT(output, HasSubstr("2-pairs: done before\n4-student: begins\n"));
}

TEST_F(DistilProgram, NamesWhatIsMissingBeforeItWritesAnything) {
  const auto distil = [](const std::string& setting) {
    return std::vector<std::string>{"distil", "distil.toml", "--out", "out", "--set", setting};
  };
  expect_refused(distil(R"(teachers=["absent"])"), absent_model_text("distil", "absent"));
  expect_refused(distil(R"(inputs=["absent"])"), "distil: absent: No such file or directory");
  expect_refused(distil("search.n_best=3"), "distil: search.n_best is 3, needs search.best_by=chrf");
  EXPECT_FALSE(std::filesystem::exists(path("out")));
}

}  // namespace
}  // namespace edgewise

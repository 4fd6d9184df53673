// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "tests/apps/program.h"

namespace edgewise {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

using CompareProgram = ProgramTest;

TEST_F(CompareProgram, PrintsTheOptionsThatDifferBetweenRuns) {
  write("tiny.toml", kTinyConfig);
  run_well({"train", "tiny.toml", "--out", "one"});
  run_well({"train", "tiny.toml", "--out", "two", "--set", "model.dropout.word=0.1", "--set", "train.epochs=1"});

  const std::string table = run_well({"compare", "one", "two", "-o", "page.html"});

  EXPECT_THAT(table, MatchesRegex("run +steps +sequences right % +at step +best loss +at step +tokens/s +time "
                                  "+model.dropout.word +train.epochs\n"
                                  "one +[0-9]+ .* s +0.0 +2\n"
                                  "two +[0-9]+ .* s +0.1 +1\n"));
  const std::string page = read("page.html");
  for (const char* part : {"<td><span class=\"key c1\"></span>two</td>", "<title>one</title>", "Loss a token",
                           "Sequences right in validation", "Learning rate", "</html>"}) {
    EXPECT_THAT(page, HasSubstr(part));
  }
  EXPECT_THAT(page, Not(HasSubstr("http")));
  EXPECT_THAT(page, Not(HasSubstr("BLEU of validation")));
}

TEST_F(CompareProgram, CountsTheTimeOfAllProcessesOfARun) {
  write("tiny.toml", kTinyConfig);
  run_well({"train", "tiny.toml", "--out", "run"});
  write("run/metrics.jsonl",
        "{\"step\": 1, \"loss\": 3, \"seconds\": 50}\n{\"step\": 2, \"loss\": null, \"seconds\": 100.25}\n"
        "{\"step\": 3, \"valid_bleu\": 12.5}\n{\"step\": 4, \"seconds\": 20, \"unknown\": [1]}\n{\"step\": 5, \"los");

  EXPECT_EQ(run_well({"compare", "run"}),
            "run  steps  best BLEU  at step        time\n"
            "run      4      12.50        3  2 min 00 s\n");
}

TEST_F(CompareProgram, NamesADirectoryThatIsNoRun) {
  std::filesystem::create_directory(path("folder"));
  expect_refused({"compare", "folder"}, "compare: folder has no metrics.jsonl, needs a run directory");
  write("tiny.toml", kTinyConfig);
  run_well({"train", "tiny.toml", "--out", "run"});
  write("run/metrics.jsonl", "{\"loss\": 3}\n");
  expect_refused({"compare", "run"}, "compare: run/metrics.jsonl:1 has no step, needs one");
}

}  // namespace
}  // namespace edgewise

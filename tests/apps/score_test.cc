// SPDX-License-Identifier: Apache-2.0
#include "tests/apps/program.h"

namespace edgewise {
namespace {

using ScoreProgram = ProgramTest;

TEST_F(ScoreProgram, PrintsScoresWithTheirSignatures) {
  write("reference", "The cat sat on the mat.\nHello there, world!\n");

  const std::string output = run_well({"score", "--reference", "reference", "reference"});

  EXPECT_EQ(output.find("BLEU|nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:"), 0U) << output;
  EXPECT_NE(output.find(" = 100.0 100.0/100.0/100.0/100.0 (BP = 1.000 ratio = 1.000"), std::string::npos) << output;
  EXPECT_NE(output.find("\nchrF2|nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:"), std::string::npos) << output;
}

TEST_F(ScoreProgram, ReadsTranslationsFromStandardInput) {
  write("reference", "a b c d e\n");

  const std::string output = run_well({"score", "--reference", "reference", "--json"}, {.input = "a b c d e\n"});

  EXPECT_EQ(output.find("{\"bleu\": {\"score\": 100"), 0U) << output;
}

TEST_F(ScoreProgram, IgnoresCaseOnRequest) {
  write("reference", "A B C D E\n");
  write("hypothesis", "a b c d e\n");

  const std::string output = run_well({"score", "--reference", "reference", "--lowercase", "hypothesis"});

  EXPECT_NE(output.find("case:lc"), std::string::npos);
  EXPECT_NE(output.find(" = 100.0 "), std::string::npos);
}

TEST_F(ScoreProgram, NamesBothLineCountsOfFilesThatDiffer) {
  write("reference", "a\nb\n");
  write("hypothesis", "a\n");

  expect_refused({"score", "--reference", "reference", "hypothesis"},
                 "score: hypothesis has 1 lines and reference has 2, needs as many");
}

TEST_F(ScoreProgram, RefusesAMissingReference) {
  expect_refused({"score", "--reference", "nowhere", "also-nowhere"}, "score: nowhere: No such file or directory");
}

}  // namespace
}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#include "edgewise/experiment/run_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>

#include "edgewise/base/files/manifest.h"
#include "edgewise/base/sha256.h"
#include "edgewise/experiment/attention_log.h"
#include "edgewise/options/experiment.h"
#include "edgewise/pictures/run_comparison.h"
#include "tests/support/error_of.h"

namespace edgewise {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

/// Gives each test a run directory whose model has the default config.
class RunRecordTest : public testing::Test {
 protected:
  RunRecordTest() : run_(std::filesystem::temp_directory_path() / ("edgewise-record-" + std::to_string(getpid()))) {
    std::filesystem::remove_all(run_);
    std::filesystem::create_directories(run_ / "last");
    write("last/config.toml", "");
    write("last/manifest.json", manifest_text({.tool = "test", .files = {{"config.toml", 0, sha256("")}}}));
  }
  ~RunRecordTest() override { std::filesystem::remove_all(run_); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(run_ / name, std::ios::binary) << text;
  }

  RunRecord record_of(const std::string& metrics) const {
    write("metrics.jsonl", metrics);
    return read_run(run_, "compare");
  }

  std::string error_of_reading(const std::string& metrics) const {
    std::string error = error_of([&] { record_of(metrics); });
    const std::string prefix = "compare: " + (run_ / "metrics.jsonl").string();
    EXPECT_EQ(error.substr(0, prefix.size()), prefix);
    return error.substr(std::min(error.size(), prefix.size()));
  }

  std::filesystem::path run_;
};

TEST_F(RunRecordTest, HasACurvePerMetric) {
  const RunRecord record = record_of(
      "{\"step\": 5, \"epoch\": 1, \"loss\": 2.5, \"learning_rate\": 0.25, \"seconds\": 3}\n"
      "{\"step\": 5, \"epoch\": 1, \"valid_bleu\": 30, \"valid_encoder_steps\": {\"2\": 40, \"3\": 5}}\n"
      "{\"step\": 10, \"epoch\": 2, \"loss\": 1.5, \"other\": [{}]}\n");
  EXPECT_THAT(record.curve("loss"), ElementsAre(Pair(5, 2.5), Pair(10, 1.5)));
  EXPECT_THAT(record.curve("valid_bleu"), ElementsAre(Pair(5, 30)));
  EXPECT_THAT(record.curve("other"), IsEmpty());
  EXPECT_EQ(record.steps, 10);
  ASSERT_EQ(record.ponder_steps.size(), 1U);
  EXPECT_EQ(record.ponder_steps[0].encoder, (PonderHistogram{{2, 40}, {3, 5}}));
}

TEST_F(RunRecordTest, ReadsTheCompleteLinesOfARunThatWasKilled) {
  const std::string lines = "{\"step\": 1, \"loss\": 3}\n{\"step\": 2, \"loss\": 2}\n";
  for (std::size_t size = 0; size <= lines.size(); ++size) {
    const RunRecord record = record_of(lines.substr(0, size));
    EXPECT_EQ(record.curve("loss").size(), static_cast<std::size_t>(std::ranges::count(lines.substr(0, size), '\n')));
  }
}

TEST_F(RunRecordTest, KeepsTheLastOfRepeatedStepsInTheOrderOfTheSteps) {
  const RunRecord record = record_of(
      "{\"step\": 10, \"loss\": 5, \"valid_encoder_steps\": {\"1\": 1}}\n{\"step\": 20, \"loss\": 4}\n"
      "{\"step\": 30, \"loss\": 3}\n{\"step\": 20, \"loss\": 2}\n"
      "{\"step\": 10, \"valid_loss\": 1, \"valid_encoder_steps\": {\"1\": 2}}\n");
  EXPECT_THAT(record.curve("loss"), ElementsAre(Pair(10, 5), Pair(20, 2), Pair(30, 3)));
  EXPECT_EQ(record.steps, 30);
  ASSERT_EQ(record.ponder_steps.size(), 1U);
  EXPECT_EQ(record.ponder_steps[0].encoder, (PonderHistogram{{1, 2}}));
}

TEST_F(RunRecordTest, TreatsNullAsNotMeasured) {
  const RunRecord record = record_of(
      "{\"step\": 1, \"valid_loss\": null, \"tokens_per_second\": null, \"seconds\": 4}\n"
      "{\"step\": 2, \"valid_loss\": 2, \"tokens_per_second\": 10, \"seconds\": null}\n"
      "{\"step\": 3, \"valid_loss\": null, \"tokens_per_second\": 30, \"seconds\": 6}\n");
  EXPECT_EQ(record.lowest("valid_loss"), std::pair(2.0, 2.0));
  EXPECT_EQ(record.tokens_per_second(), 20);
  EXPECT_EQ(record.seconds(), 6);
  EXPECT_EQ(record_of("{\"step\": 1, \"tokens_per_second\": null}\n").tokens_per_second(), std::nullopt);
}

TEST_F(RunRecordTest, NamesTheLineThatIsNoMetrics) {
  EXPECT_EQ(error_of_reading("{\"step\": 1}\n{\"loss\": 2}\n"), ":2 has no step, needs one");
  EXPECT_EQ(error_of_reading("{\"step\": 9007199254740993}\n"),
            ":1, byte 9: step is 9007199254740993, needs at most 9007199254740992");
  EXPECT_EQ(error_of_reading("{\"step\": 1e2}\n"),
            ":1, byte 9: step is 1e2, needs a whole number from 0 to 18446744073709551615");
  EXPECT_THAT(error_of_reading("{\"step\": -1}\n"), HasSubstr(":1, byte 9: step is -1, needs"));
  EXPECT_THAT(error_of_reading("{\"step\": 1, \"step\": 2}\n"), HasSubstr("\"step\" is there twice"));
  for (const char* loss : {"NaN", "Infinity", "-Infinity", "\"NaN\"", "1e999", "[]", "", "0x10"}) {
    EXPECT_THAT(error_of_reading(std::string("{\"step\": 1, \"loss\": ") + loss + "}\n"), HasSubstr(":1, byte 2"));
  }
  EXPECT_THAT(error_of_reading("\n"), HasSubstr(":1, byte 0: the line is missing, needs an object"));
  EXPECT_THAT(error_of_reading("{\"step\": 1} x\n"), HasSubstr("more text follows"));
  EXPECT_THAT(error_of_reading(std::string("{\"step\": 1}\n\0\0\0\n", 16)), HasSubstr(":2, byte 0"));
  for (const char* key : {"two", "02", "-0", "1e3", "99999999999999999999", "", "-5", "0"}) {
    EXPECT_THAT(error_of_reading("{\"step\": 1, \"valid_encoder_steps\": {\"" + std::string(key) + "\": 1}}\n"),
                HasSubstr("valid_encoder_steps has the key \"" + std::string(key) + "\", needs a number of steps"));
  }
}

TEST_F(RunRecordTest, SaysThatALineWasCut) {
  const std::string line =
      "{\"step\": 5, \"epoch\": 1, \"loss\": -2.5e-3, \"valid_loss\": null, \"other\": [true, \"\\u00e9\"], "
      "\"valid_encoder_steps\": {\"2\": 40}}";
  EXPECT_EQ(record_of(line + "\n").steps, 5);
  for (std::size_t size = 0; size < line.size(); ++size) {
    EXPECT_THAT(error_of_reading(line.substr(0, size) + "\n"), HasSubstr("; the text was cut, copy it again"))
        << line.substr(0, size);
  }
}

TEST_F(RunRecordTest, HasShortErrorsForLongLines) {
  const std::string digits(10'000'000, '9');
  EXPECT_LT(error_of_reading("{\"step\": " + digits + "}\n").size(), 300U);
  EXPECT_LT(error_of_reading("{\"step\": 1, \"loss\": " + digits + "}\n").size(), 300U);
  EXPECT_LT(error_of_reading("{\"step\": 1, \"valid_encoder_steps\": {\"" + digits + "\": 1}}\n").size(), 300U);
  const RunRecord record = record_of("{\"step\": 1, \"loss\": 2, \"" + digits + "\": \"" + digits + "\"}\n");
  EXPECT_THAT(record.curve("loss"), ElementsAre(Pair(1, 2)));
}

TEST_F(RunRecordTest, IsReadOrRefusedForAnyText) {
  EXPECT_TRUE(rc::check([this] {
    const auto piece = rc::gen::element<std::string>(
        "{", "}", "[", "]", ":", ",", "\n", "\"step\"", "\"loss\"", "\"valid_encoder_steps\"", "\"seconds\"", "1",
        "1e300", "-0", "null", "true", "\"x\"", " ", "\\u0000", "\xff", "{\"step\": 3, \"loss\": 2}\n");
    std::string text;
    for (const std::string& part : *rc::gen::container<std::vector<std::string>>(piece)) text += part;
    try {
      comparison_page({record_of(text)});
    } catch (const Error& error) {
      RC_ASSERT(std::string(error.what()).size() < 500);
    }
  }));
}

TEST_F(RunRecordTest, RefusesAttentionThatDoesNotFitItsTokens) {
  const auto error = [this](const std::string& weights) {
    write("attention.jsonl",
          "{\"step\": 1, \"maps\": [{\"rows\": [\"a\"], \"columns\": [\"b\"], \"weights\": " + weights + "}]}\n");
    return error_of([&] { read_attention_log(run_, "picture training"); });
  };
  EXPECT_EQ(error("[[[[1]], [[0.5]]]]"), "no error");
  EXPECT_THAT(error("[]"), HasSubstr("the maps have no head, need at least one"));
  EXPECT_THAT(error("[[]]"), HasSubstr("the maps have no head, need at least one"));
  EXPECT_THAT(error("[[[[1]], [[0.5]]], [[[1]]]]"), HasSubstr("the maps have a layer of 1 heads, need 2"));
  EXPECT_THAT(error("[[[[1, 1]]]]"), HasSubstr("the maps have a head of 1 rows of 2 weights, need 1 rows of 1"));
}

TEST_F(RunRecordTest, RefusesAttentionWithRowsOfAnotherLength) {
  const auto error = [this](const std::string& step, const std::string& head) {
    write("attention.jsonl", "{" + step + R"("maps": [{"weights": [[)" + head +
                                 R"(]], "rows": ["a", "b"], "columns": ["c", "d"]}]})" + "\n");
    return error_of([&] { read_attention_log(run_, "picture training"); });
  };
  const std::string step = "\"step\": 1, ";
  EXPECT_EQ(error(step, "[[1, 2], [3, 4]]"), "no error");
  EXPECT_THAT(error(step, "[[1, 2, 3], [4]]"), HasSubstr("a head has a row of 1 weights, needs 3 as in its first row"));
  EXPECT_THAT(error(step, "[[1], [2], [3], [4]]"),
              HasSubstr("the maps have a head of 4 rows of 1 weights, need 2 rows of 2"));
  EXPECT_THAT(error(step, "[[1, 2, 3, 4]]"),
              HasSubstr("the maps have a head of 1 rows of 4 weights, need 2 rows of 2"));
  EXPECT_THAT(error(step, "[[1, 2], [3, 4], []]"), HasSubstr("a head has a row of 0 weights, needs 2"));
  EXPECT_THAT(error("", "[[1, 2], [3, 4]]"), HasSubstr("the line has no step, needs one"));
}

}  // namespace
}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#include "edgewise/pictures/run_comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "edgewise/viz/raster.h"

namespace edgewise {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

RunRecord run_with(const RunRecord::Points& points) {
  RunRecord run;
  run.name = "run";
  for (const char* metric : {"loss", "learning_rate", "tokens_per_second", "seconds", "valid_loss", "valid_bleu",
                             "valid_sequence_accuracy"}) {
    run.curves[metric] = points;
  }
  for (const auto& [step, value] : points) run.steps = static_cast<std::int64_t>(step);
  return run;
}

std::string cell(const RunRecord& run, const std::string& column) {
  for (const ComparisonColumn& candidate : compare_runs({run})) {
    if (candidate.name == column) return candidate.cells.front();
  }
  return "";
}

TEST(CompareRuns, WritesShortCellsForLargeNumbers) {
  const RunRecord run = run_with({{1, 1e300}, {2, 1e300}});
  EXPECT_EQ(cell(run, "best BLEU"), "1e+300");
  EXPECT_EQ(cell(run, "sequences right %"), "1e+302");
  EXPECT_EQ(cell(run, "tokens/s"), "1e+300");
  EXPECT_EQ(cell(run, "time"), "277777777777 h 46 min");
  EXPECT_EQ(cell(run_with({{7, 12.345678}}), "best loss"), "12.3457");
}

TEST(CompareRuns, HasADashForAShareThatIsInfiniteInPercent) {
  EXPECT_EQ(cell(run_with({{1, 1.7e308}}), "sequences right %"), "–");
}

TEST(CompareRuns, LeavesOutScoresThatAreNotNumbers) {
  const RunRecord run = run_with({{1, NAN}, {2, kInfinity}, {3, -kInfinity}});
  for (const char* column : {"best BLEU", "best loss", "at step", "tokens/s"}) EXPECT_EQ(cell(run, column), "");
  EXPECT_EQ(cell(run, "time"), "0 s");
}

TEST(ComparisonPage, IsShortAndValidForAnyCurves) {
  const double rate = 0.0005;
  const std::vector<RunRecord::Points> hostile = {
      {},
      {{1, rate}},
      {{1, rate}, {2, std::nextafter(rate, 1)}, {3, rate}},
      {{1, NAN}, {2, kInfinity}},
      {{1, 1e300}, {2, -1e300}},
      {{1, 5e-324}, {2, 1e300}, {3, 0}},
      {{1, 1.7e308}, {2, -1.7e308}},
      {{0, 0}},
      {{9007199254740992.0, 1}},
  };
  for (std::size_t i = 0; i < hostile.size(); ++i) {
    SCOPED_TRACE(i);
    const std::vector<RunRecord> runs = {run_with(hostile[i]), run_with({{1, 2}, {2, 3}})};
    const std::string page = comparison_page(runs);
    EXPECT_LT(page.size(), 40'000U);
    for (const char* bad : {"nan,", "inf,", ",nan", ",inf", "\"nan", "\"inf", "\"-inf", ">nan", ">inf", ">-inf"}) {
      EXPECT_THAT(page, Not(HasSubstr(bad)));
    }
    for (const SvgPicture& chart : charts_of(runs)) rasterise(svg_file(chart));  // throws for invalid SVG
    EXPECT_EQ(nlohmann::json::parse(json_of(runs)).size(), 2U);
  }
}

TEST(ComparisonPage, MakesRunNamesPrintable) {
  RunRecord run = run_with({{1, 2}, {2, 3}});
  run.name = "\x01\xff<b>";
  const std::string page = comparison_page({run});
  EXPECT_EQ(page.find('\x01'), std::string::npos);
  EXPECT_EQ(page.find('\xff'), std::string::npos);
  EXPECT_THAT(page, HasSubstr("␁\uFFFD&lt;b&gt;"));
}

TEST(FormatDuration, HasTwoUnits) {
  EXPECT_EQ(format_duration(12.4), "12 s");
  EXPECT_EQ(format_duration(245), "4 min 05 s");
  EXPECT_EQ(format_duration(12'000), "3 h 20 min");
  EXPECT_EQ(format_duration(-5), "0 s");
  EXPECT_EQ(format_duration(kInfinity), "277777777777 h 46 min");
}

}  // namespace
}  // namespace edgewise

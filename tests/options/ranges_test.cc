// SPDX-License-Identifier: Apache-2.0
// Every number of a config has a range, and a number outside its range is an error that names the option.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>

#include "edgewise/base/config/config.h"
#include "edgewise/options/experiment.h"
#include "tests/support/error_of.h"
#include "tests/support/number_fields.h"

namespace edgewise {
namespace {

std::string error_of_setting(const std::string& path, const std::string& value) {
  return error_of([&] { parse_experiment("", "config.toml", std::vector<std::string>{path + "=" + value}); });
}

TEST(Ranges, AreFiniteAtBothEndsExceptThoseOfSeeds) {
  const std::vector<NumberField> fields = number_fields<Experiment>();
  EXPECT_GT(fields.size(), 70u);
  for (const NumberField& field : fields) {
    if (field.is_unsigned) {  // a seed: every number of 64 bits is as good as another
      EXPECT_TRUE(field.path.ends_with("seed")) << field.path;
      continue;
    }
    ASSERT_TRUE(field.range.smallest().has_value()) << field.path;
    ASSERT_TRUE(field.range.largest().has_value()) << field.path;
    EXPECT_TRUE(std::isfinite(*field.range.smallest()) && std::isfinite(*field.range.largest())) << field.path;
    // Larger whole numbers have no exact double, so a range could not tell neighbours apart.
    EXPECT_LE(*field.range.largest(), 0x1p53) << field.path;
  }
}

TEST(Ranges, ContainTheDefaults) {
  for (const TransformerPreset preset :
       {TransformerPreset::kTutorial, TransformerPreset::kFromScratch, TransformerPreset::kChapter}) {
    Experiment experiment;
    experiment.model = TransformerOptions::from_preset(preset);
    EXPECT_EQ(error_of([&] { check_ranges(experiment, "defaults"); }), "no error");
  }
}

TEST(Ranges, RefuseNumbersOutsideAndTextThatIsNoNumber) {
  for (const NumberField& field : number_fields<Experiment>()) {
    for (const char* number : {"-1",
                               "9223372036854775807",
                               "18446744073709551616",
                               "inf",
                               "-inf",
                               "nan",
                               "1e308",
                               "-1e308",
                               "1e400",
                               "1e-400x",
                               "",
                               "\"\"",
                               "abc",
                               "１２",
                               "1 2",
                               "--1",
                               "0x",
                               "true",
                               "1979-05-27",
                               "'1.5 '"}) {
      if (field.is_list && std::string_view(number).empty()) continue;  // an empty list
      char* end = nullptr;
      const double value = std::strtod(number, &end);
      const bool is_number = end != number && *end == '\0' && std::string_view(number) != "true";
      const bool is_whole =
          is_number && value == std::floor(value) && std::string_view(number).find('e') == std::string_view::npos;
      const bool is_below_64_bits = !field.is_unsigned || value < 0x1p64;
      const bool is_permitted = is_number && field.range.contains(value) && (is_whole || !field.is_whole) &&
                                is_below_64_bits && !(field.is_unsigned && value < 0);
      const std::string error = error_of_setting(field.path, field.text_of(number));
      if (is_permitted) {
        EXPECT_EQ(error, "no error") << field.path << "=" << number;
      } else {
        EXPECT_NE(error, "no error") << field.path << "=" << number;
        EXPECT_NE(error.find(field.path), std::string::npos) << error;
        EXPECT_EQ(error.find('\n'), std::string::npos) << error;
      }
    }
  }
}

TEST(Ranges, ContainTheirEndsAndNothingBehind) {
  for (const NumberField& field : number_fields<Experiment>()) {
    if (field.is_unsigned) continue;
    const double smallest = *field.range.smallest();
    const double largest = *field.range.largest();
    const auto error_with = [&](double number) {
      const std::string text =
          field.is_whole ? fmt::format("{}", static_cast<std::int64_t>(number)) : fmt::format("{}", number);
      return error_of_setting(field.path, field.text_of(text));
    };
    EXPECT_EQ(error_with(smallest), "no error") << field.path << " " << smallest;
    EXPECT_EQ(error_with(largest), "no error") << field.path << " " << largest;
    const double below = field.is_whole ? smallest - 1 : std::nextafter(smallest, -1e308);
    const double above = field.is_whole ? largest + 1 : std::nextafter(largest, 1e308);
    EXPECT_NE(error_with(below), "no error") << field.path << " " << below;
    EXPECT_NE(error_with(above), "no error") << field.path << " " << above;
  }
}

TEST(Ranges, StandInTheHelpText) {
  EXPECT_NE(to_toml(Experiment(), TomlComments::kHelp).find("a whole number from 1 to 65536"), std::string::npos);
}

}  // namespace
}  // namespace edgewise

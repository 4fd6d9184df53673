// SPDX-License-Identifier: Apache-2.0
#include "tests/search/search_cases.h"

#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <set>
#include <string>

#include "edgewise/base/config/config.h"

namespace edgewise {
namespace {

constexpr std::int64_t kVocabulary = 40;

std::map<std::string, std::string> values_of(const SearchOptions& options) {
  std::map<std::string, std::string> values;
  for (const auto& [name, value] : settings_of(options)) values[name] = value;
  values["begin_token"] = std::to_string(options.begin_token);
  values["end_token"] = std::to_string(options.end_token);
  values["never"] = fmt::format("{}", options.never);
  values["only"] = fmt::format("{}", options.only);
  values["once"] = fmt::format("{}", options.once);
  values["attention"] = std::to_string(static_cast<int>(options.attention));
  return values;
}

// Options of BeamRules::kHuggingFace, whose definition is plain_generate().
const std::set<std::string> kHuggingFaceOptions = {"rules", "stop_when", "force_end", "renormalize"};

struct AnyValue {
  template <class Value>
  operator Value() const;  // NOLINT(google-explicit-constructor)
};

/// Returns the number of members of an aggregate.
template <class Aggregate, class... Values>
constexpr std::size_t count_members() {
  if constexpr (requires { Aggregate{Values{}..., AnyValue{}}; }) {
    return count_members<Aggregate, Values..., AnyValue>();
  } else {
    return sizeof...(Values);
  }
}

TEST(SearchCases, DrawOtherValuesThanTheDefaultOfEachOption) {
  const std::map<std::string, std::string> defaults = values_of({});
  // Two options are members of recorded_heads, which choose what a scorer records, not what the search does.
  ASSERT_EQ(defaults.size(), count_members<SearchOptions>() + 1) << "values_of() needs to list each option";

  std::set<std::string> drawn = kHuggingFaceOptions;
  drawn.insert({"attention_layer", "attention_head"});
  EXPECT_TRUE(rc::check([&] {
    for (const auto& [name, value] : values_of(arbitrary_search_options(kVocabulary, 3))) {
      if (value != defaults.at(name)) drawn.insert(name);
    }
  }));

  for (const auto& [name, value] : defaults) EXPECT_TRUE(drawn.contains(name)) << name;
}

TEST(SearchCases, HaveAtMostFortyOutputs) {
  std::size_t most = 0;
  EXPECT_TRUE(rc::check([&] {
    const std::size_t count = all_outputs(arbitrary_search_case(kVocabulary)).size();
    RC_ASSERT(count >= 1U && count <= 40U);
    most = std::max(most, count);
  }));
  EXPECT_GT(most, 10U);
}

}  // namespace
}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "edgewise/base/files/json_settings.h"
#include "edgewise/search/scorer.h"
#include "edgewise/translate/model_files.h"

namespace edgewise {

/// A pair of a file cases.json, and the log-probability that another system gives each token of the output.
struct ScoredCase {
  std::string text;
  Tokens input;
  Tokens forced;  // the output, with its end token
  std::vector<double> log_probabilities;
};

inline std::vector<double> to_numbers(const JsonValue& list) {
  std::vector<double> numbers;
  for (const JsonValue& item : list.items) numbers.push_back(item.number);
  return numbers;
}

inline std::vector<ScoredCase> read_scored_cases(const std::filesystem::path& model) {
  std::vector<ScoredCase> cases;
  const JsonSettings json = JsonSettings::read(model / "cases.json", "test");
  for (const JsonValue& item : json.find("cases")->items) {
    const std::vector<double> input = to_numbers(item.members.at("input"));
    const std::vector<double> forced = to_numbers(item.members.at("forced"));
    cases.push_back({item.members.at("text").text,
                     {input.begin(), input.end()},
                     {forced.begin(), forced.end()},
                     to_numbers(item.members.at("log_probabilities"))});
  }
  return cases;
}

/// Returns the log-probability of each token of an output.
inline std::vector<float> log_probabilities_of(Scorer& scorer, const Tokens& input, const Tokens& forced,
                                               std::int64_t begin) {
  scorer.encode(std::vector<std::int64_t>{0}, std::vector<Tokens>{input});
  std::vector<NewNode> nodes;
  std::vector<Continuation> wanted;
  for (std::size_t i = 0; i < forced.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i);
    nodes.push_back({.slot = 0, .parent = static_cast<NodeIndex>(row - 1), .token = i == 0 ? begin : forced[i - 1]});
    wanted.push_back({row, forced[i]});
  }
  StepResult result;
  scorer.step({.nodes = nodes, .wanted = wanted}, result);
  return result.wanted;
}

}  // namespace edgewise

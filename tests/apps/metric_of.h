// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace edgewise {

/// Returns the values of a metric in the lines of metrics.jsonl that have it.
inline std::vector<double> metric_of(const std::string& metrics, const std::string& name) {
  std::vector<double> values;
  std::istringstream lines(metrics);
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json json = nlohmann::json::parse(line);
    if (json.contains(name)) values.push_back(json.at(name));
  }
  return values;
}

}  // namespace edgewise

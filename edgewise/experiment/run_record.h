// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "edgewise/base/files/json_scanner.h"
#include "edgewise/ops/ponder_steps.h"

namespace edgewise {

/// Counts of nodes by their number of ponder steps, in one validation of a Universal Transformer.
struct ValidationSteps {
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  PonderHistogram encoder;
  PonderHistogram decoder;
};

/// The contents of a run directory, of a finished or running run.
struct RunRecord {
  using Points = std::vector<std::pair<double, double>>;  // (step, value), in the order of the steps; NaN for null

  std::string name;                                           // the path that was passed to read_run
  std::vector<std::pair<std::string, std::string>> settings;  // ("train.steps", "2000")
  std::map<std::string, Points, std::less<>> curves;          // by metric name, such as "valid_bleu"
  std::vector<ValidationSteps> ponder_steps;                  // empty for a model without adaptive computation
  std::int64_t steps = 0;                                     // the last step with metrics

  /// Returns an empty curve for a metric that was not measured.
  const Points& curve(std::string_view metric) const;
  std::optional<std::pair<double, double>> highest(std::string_view metric) const;
  std::optional<std::pair<double, double>> lowest(std::string_view metric) const;

  /// Returns the training time over all processes of the run, without steps that were lost and repeated.
  double seconds() const;
  std::optional<double> tokens_per_second() const;  // median over the lines of metrics
};

/// Reads RUN/metrics.jsonl and the config of the run's model. If lines give a metric twice for one step, the last line
/// counts. Skips unknown metrics, and a last line that is not complete. Errors begin with `caller`.
RunRecord read_run(const std::filesystem::path& run, std::string_view caller);

/// Calls `visit` with each line of a text, without its line feed, until it returns false. Skips a last line without a
/// line feed, which is still being written or was cut by the end of its process.
void for_each_complete_line(std::string_view text, const std::function<bool(std::string_view line)>& visit);

/// Reads a file with one JSON object per line, such as metrics.jsonl: calls `read` with each complete line, which it
/// must read whole, and with caller, file and line for the beginning of errors. Throws Error, which begins with
/// `caller`, for a file that cannot be read.
void for_each_json_line(const std::filesystem::path& file, std::string_view caller,
                        const std::function<void(JsonScanner& line, const std::string& where)>& read);

/// Reads a whole number from 0 to 2^53, which int64 and double hold exactly.
std::int64_t read_count(JsonScanner& json, std::string_view what);

}  // namespace edgewise

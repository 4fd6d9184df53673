// SPDX-License-Identifier: Apache-2.0
#include "edgewise/experiment/run_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "edgewise/base/config/config.h"
#include "edgewise/base/error.h"
#include "edgewise/base/files/files.h"
#include "edgewise/base/sorting.h"
#include "edgewise/base/utf8.h"
#include "edgewise/translate/model_files.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;
using Points = RunRecord::Points;

constexpr std::string_view kMetrics[] = {"loss",         "learning_rate", "tokens_per_second",       "seconds",
                                         "valid_loss",   "valid_bleu",    "valid_sequence_accuracy", "encoder_steps",
                                         "decoder_steps"};

/// Reads {"2": 40, "3": 5}: the number of nodes for each number of steps.
PonderHistogram read_histogram(JsonScanner& json, const std::string& name) {
  PonderHistogram histogram;
  json.read_object(name, [&](const std::string& steps) {
    std::int64_t number = 0;
    const std::int64_t nodes = read_count(json, "a number of nodes");
    json.check_value(parse_number(steps, at_least(1), number) && std::to_string(number) == steps,
                     "{} has the key {}, needs a number of steps", name, quote(steps));
    histogram[number] = nodes;
  });
  return histogram;
}

void read_line(JsonScanner& json, const std::string& where, RunRecord& record) {
  std::vector<std::pair<std::string, double>> values;
  std::optional<std::int64_t> step;
  ValidationSteps ponder_steps;
  json.read_object("the line", [&](const std::string& key) {
    if (key == "step") {
      step = read_count(json, key);
    } else if (key == "epoch") {
      ponder_steps.epoch = read_count(json, key);
    } else if (key == "valid_encoder_steps") {
      ponder_steps.encoder = read_histogram(json, key);
    } else if (key == "valid_decoder_steps") {
      ponder_steps.decoder = read_histogram(json, key);
    } else if (std::ranges::find(kMetrics, key) != std::end(kMetrics)) {
      values.emplace_back(key, json.read_number(key));
    } else {
      json.skip();
    }
  });
  check(step.has_value(), "{} has no step, needs one", where);
  for (const auto& [key, value] : values) record.curves[key].emplace_back(static_cast<double>(*step), value);
  record.steps = std::max(record.steps, *step);
  if (ponder_steps.encoder.empty() && ponder_steps.decoder.empty()) return;
  ponder_steps.step = *step;
  record.ponder_steps.push_back(std::move(ponder_steps));
}

/// Sorts the entries by their step. Of several entries with the same step, keeps the last in the file.
void sort_by_step(auto& entries, auto step_of) {
  std::ranges::reverse(entries);
  std::ranges::stable_sort(entries, {}, step_of);
  const auto have_equal_steps = [step_of](const auto& a, const auto& b) { return a.*step_of == b.*step_of; };
  entries.erase(std::unique(entries.begin(), entries.end(), have_equal_steps), entries.end());
}

void read_metrics(const fs::path& file, std::string_view caller, RunRecord& record) {
  for_each_json_line(file, caller,
                     [&record](JsonScanner& line, const std::string& where) { read_line(line, where, record); });
  for (auto& [metric, points] : record.curves) sort_by_step(points, &Points::value_type::first);
  sort_by_step(record.ponder_steps, &ValidationSteps::step);
}

std::optional<std::pair<double, double>> best_of(const Points& points, auto better) {
  std::optional<std::pair<double, double>> best;
  for (const auto& point : points) {
    if (std::isfinite(point.second) && (!best || better(point.second, best->second))) best = point;
  }
  return best;
}

}  // namespace

const Points& RunRecord::curve(std::string_view metric) const {
  static const Points empty;
  const auto found = curves.find(metric);
  return found == curves.end() ? empty : found->second;
}

std::optional<std::pair<double, double>> RunRecord::highest(std::string_view metric) const {
  return best_of(curve(metric), std::greater<>());
}

std::optional<std::pair<double, double>> RunRecord::lowest(std::string_view metric) const {
  return best_of(curve(metric), std::less<>());
}

/// The metric `seconds` starts at 0 in each process.
double RunRecord::seconds() const {
  double sum = 0;
  double last = 0;
  for (const auto& [step, seconds] : curve("seconds")) {
    if (!std::isfinite(seconds)) continue;
    if (seconds < last) sum += last;
    last = seconds;
  }
  return sum + last;
}

std::optional<double> RunRecord::tokens_per_second() const {
  std::vector<double> values;
  for (const auto& [step, value] : curve("tokens_per_second")) {
    if (std::isfinite(value)) values.push_back(value);
  }
  if (values.empty()) return std::nullopt;
  return median(values);
}

RunRecord read_run(const fs::path& run, std::string_view caller) {
  const fs::path file = run / "metrics.jsonl";
  check(path_exists(file, caller), "{}: {} has no metrics.jsonl, needs a run directory", caller, run.string());
  RunRecord record;
  record.name = run.string();
  record.settings = settings_of(read_model_config(run, caller));
  read_metrics(file, caller, record);
  return record;
}

void for_each_complete_line(std::string_view text, const std::function<bool(std::string_view line)>& visit) {
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n', begin)) {
    if (!visit(text.substr(begin, end - begin))) return;
    begin = end + 1;
  }
}

void for_each_json_line(const std::filesystem::path& file, std::string_view caller,
                        const std::function<void(JsonScanner& line, const std::string& where)>& read) {
  std::int64_t number = 0;
  for_each_complete_line(read_file(file, caller, kMaxRecordBytes), [&](std::string_view line) {
    const std::string where = fmt::format("{}: {}:{}", caller, file.string(), ++number);
    JsonScanner json(line, where);
    read(json, where);
    json.expect_end();
    return true;
  });
}

std::int64_t read_count(JsonScanner& json, std::string_view what) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 53;
  const std::uint64_t count = json.read_whole_number(what);
  json.check_value(count <= kMost, "{} is {}, needs at most {}", what, count, kMost);
  return static_cast<std::int64_t>(count);
}

}  // namespace edgewise

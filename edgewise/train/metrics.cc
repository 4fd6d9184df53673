// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/metrics.h"

#include <fcntl.h>

#include <cerrno>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/base/file_system.h"
#include "edgewise/base/files.h"
#include "edgewise/base/json.h"

namespace edgewise {
namespace {

/// Returns the size of the complete lines among the first `size` bytes.
std::uint64_t size_of_lines(const std::filesystem::path& path, std::int64_t size) {
  const std::string text = read_file(path, "train").substr(0, static_cast<std::size_t>(size));
  return text.rfind('\n') + 1;  // npos + 1 is 0
}

void add(JsonObject& json, std::string_view name, std::int64_t number) { json.add(name, number); }
void add(JsonObject& json, std::string_view name, double number) { json.add(name, number); }

/// Adds {"2": 40, "3": 5}, the format of `inspect --ponder --json`.
void add(JsonObject& json, std::string_view name, const PonderHistogram& histogram) {
  JsonObject counts;
  for (const auto& [steps, nodes] : histogram) counts.add(std::to_string(steps), nodes);
  json.add_json(name, counts.text());
}

}  // namespace

MetricsFile::Values metrics_of(const StepReport& report) {
  MetricsFile::Values values = {{"loss", report.loss},
                                {"accuracy", report.accuracy},
                                {"learning_rate", report.learning_rate},
                                {"gradient_norm", report.gradient_norm},
                                {"tokens_per_second", static_cast<std::int64_t>(report.tokens_per_second)},
                                {"skipped_steps", report.skipped_steps},
                                {"seconds", report.seconds}};
  if (report.encoder_steps) values.emplace_back("encoder_steps", *report.encoder_steps);
  if (report.decoder_steps) values.emplace_back("decoder_steps", *report.decoder_steps);
  return values;
}

MetricsFile::Values metrics_of(const Validation& validation) {
  MetricsFile::Values values = {{"valid_loss", validation.loss}, {"valid_accuracy", validation.accuracy}};
  if (validation.sequence_accuracy) values.emplace_back("valid_sequence_accuracy", *validation.sequence_accuracy);
  if (validation.bleu) values.emplace_back("valid_bleu", *validation.bleu);
  if (!validation.encoder_steps.empty()) values.emplace_back("valid_encoder_steps", validation.encoder_steps);
  if (!validation.decoder_steps.empty()) values.emplace_back("valid_decoder_steps", validation.decoder_steps);
  return values;
}

MetricsFile::MetricsFile(std::filesystem::path path, std::int64_t size)
    : path_(std::move(path)),
      file_(file_system().open(path_, O_WRONLY | O_CREAT | O_APPEND | O_NONBLOCK | O_CLOEXEC, 0666)) {
  check_error(file_.is_open() ? 0 : errno);
  synced_size_ = size_of_lines(path_, size);
  check_error(cut_partial_line());
}

void MetricsFile::append(std::int64_t step, std::int64_t epoch, const Values& values) {
  JsonObject json;
  json.add("step", step).add("epoch", epoch);
  for (const auto& [name, value] : values) {
    std::visit([&json, key = name](const auto& number) { add(json, key, number); }, value);
  }
  unsynced_ += json.text() + "\n";
  write_lines();  // sync() reports errors
}

std::int64_t MetricsFile::sync() {
  check_error(write_lines());
  if (file_system().sync(file_.number()) != 0) {
    const int error = errno;
    written_ = 0;
    must_cut_ = true;
    check_error(error);
  }
  synced_size_ += unsynced_.size();
  unsynced_.clear();
  written_ = 0;
  return static_cast<std::int64_t>(synced_size_);
}

int MetricsFile::write_lines() {
  const int cut_error = must_cut_ ? cut_partial_line() : 0;
  if (cut_error != 0) return cut_error;
  const int error = write_all(file_, std::string_view(unsynced_).substr(written_));
  if (error == 0) {
    written_ = unsynced_.size();
  } else {
    must_cut_ = true;
    cut_partial_line();
  }
  return error;
}

int MetricsFile::cut_partial_line() {
  const int error = file_system().truncate(file_.number(), synced_size_ + written_) == 0 ? 0 : errno;
  must_cut_ = error != 0;
  return error;
}

void MetricsFile::check_error(int error) const {
  check(error == 0, "train: {}: {}", path_.string(), error_text(error));
}

}  // namespace edgewise

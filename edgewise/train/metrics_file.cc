// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/metrics_file.h"

#include <algorithm>

#include "edgewise/base/files/files.h"
#include "edgewise/base/files/json.h"

namespace edgewise {
namespace {

/// Returns the size of the complete lines among the first `size` bytes of a file; 0 if there is no file. Reads from the
/// end, because a file may be larger than memory.
std::uint64_t size_of_lines(const std::filesystem::path& path, std::uint64_t size) {
  constexpr std::uint64_t kChunk = 1 << 16;
  if (!has_entry(path, "train")) return 0;
  const RegularFile file(path, "train", SymbolicLinks::kRefused);
  for (std::uint64_t end = std::min(size, file.size()); end > 0;) {
    const std::uint64_t begin = end - std::min(end, kChunk);
    const std::size_t line_feed = file.read_range(begin, end).rfind('\n');
    if (line_feed != std::string::npos) return begin + line_feed + 1;
    end = begin;
  }
  return 0;
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
  if (report.imbalance) values.emplace_back("imbalance", *report.imbalance);
  if (report.exchange_share) values.emplace_back("exchange_share", *report.exchange_share);
  return values;
}

MetricsFile::Values metrics_of(const Validation& validation) {
  MetricsFile::Values values = {{"valid_loss", validation.loss}, {"valid_accuracy", validation.accuracy}};
  if (validation.sequence_accuracy) values.emplace_back("valid_sequence_accuracy", *validation.sequence_accuracy);
  if (validation.bleu) values.emplace_back("valid_bleu", *validation.bleu);
  if (validation.bits_per_character) values.emplace_back("valid_bits_per_character", *validation.bits_per_character);
  if (validation.bits_per_byte) values.emplace_back("valid_bits_per_byte", *validation.bits_per_byte);
  if (!validation.encoder_steps.empty()) values.emplace_back("valid_encoder_steps", validation.encoder_steps);
  if (!validation.decoder_steps.empty()) values.emplace_back("valid_decoder_steps", validation.decoder_steps);
  if (!validation.exit_loss.empty()) values.emplace_back("valid_exit_loss", validation.exit_loss);
  if (!validation.exit_accuracy.empty()) values.emplace_back("valid_exit_accuracy", validation.exit_accuracy);
  return values;
}

MetricsFile::MetricsFile(const std::filesystem::path& path, std::int64_t size)
    : file_(path, size_of_lines(path, static_cast<std::uint64_t>(size))) {}

void MetricsFile::append(std::int64_t step, std::int64_t epoch, const Values& values) {
  JsonObject json;
  json.add("step", step).add("epoch", epoch);
  for (const auto& [name, value] : values) {
    std::visit([&json, key = name](const auto& number) { json.add(key, number); }, value);
  }
  file_.append(json.text() + "\n");
}

}  // namespace edgewise

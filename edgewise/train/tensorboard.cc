// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/tensorboard.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/histc.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "edgewise/ops/optimiser.h"
#include "edgewise/train/metrics_file.h"

namespace edgewise {
namespace {

constexpr std::int64_t kBuckets = 40;

/// Returns a histogram of 40 buckets of values on the CPU; nothing for no values or for values that are not finite.
std::optional<Histogram> make_histogram(const at::Tensor& values) {
  Histogram histogram;
  histogram.count = static_cast<double>(values.numel());
  const auto norm = at::linalg_vector_norm(values, 2, {}, false, at::kDouble).item<double>();
  histogram.sum_of_squares = norm * norm;
  if (values.numel() == 0 || !std::isfinite(histogram.sum_of_squares)) return std::nullopt;
  histogram.sum = values.sum(at::kDouble).item<double>();
  histogram.lowest = values.min().item<double>();
  histogram.highest = values.max().item<double>();

  const double step = (histogram.highest - histogram.lowest) / kBuckets;
  if (step == 0) {
    histogram.limits = {histogram.highest};
    histogram.counts = {histogram.count};
    return histogram;
  }
  const at::Tensor counts = at::histc(values, kBuckets, histogram.lowest, histogram.highest);
  for (std::int64_t i = 0; i < kBuckets; ++i) {
    histogram.limits.push_back(i + 1 < kBuckets ? histogram.lowest + step * static_cast<double>(i + 1)
                                                : histogram.highest);
    histogram.counts.push_back(counts[i].item<double>());
  }
  return histogram;
}

void add_values(EventSummary& summary, const std::string& kind, const std::string& layer,
                const std::vector<at::Tensor>& tensors, double factor) {
  if (tensors.empty()) return;
  const std::optional<Histogram> histogram = make_histogram(at::cat(tensors).mul_(factor).cpu());
  if (!histogram) return;
  summary.add_scalar(kind + "_norm/" + layer, std::sqrt(histogram->sum_of_squares));
  summary.add_histogram(kind + "s/" + layer, *histogram);
}

/// Adds the numbers of a line of metrics.jsonl: "loss" becomes "train/loss", "valid_bleu" becomes "valid/bleu".
void add_numbers(EventSummary& summary, const MetricsFile::Values& values) {
  constexpr std::string_view kValid = "valid_";
  for (const auto& [name, value] : values) {
    const std::string tag =
        name.starts_with(kValid) ? "valid/" + std::string(name.substr(kValid.size())) : "train/" + std::string(name);
    if (const auto* real = std::get_if<double>(&value)) summary.add_scalar(tag, *real);
    if (const auto* count = std::get_if<std::int64_t>(&value)) summary.add_scalar(tag, static_cast<double>(*count));
    if (const auto* numbers = std::get_if<std::map<std::int64_t, double>>(&value)) {
      for (const auto& [layer, number] : *numbers) summary.add_scalar(fmt::format("{}/{}", tag, layer), number);
    }
  }
}

/// Escapes a cell of a Markdown table, which must not contain bars or line ends.
std::string escape_cell(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  std::string escaped;
  for (const char c : text) {
    if (c == '|' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string make_table(const std::vector<OutputSample>& samples) {
  std::string table = "input | output | reference\n---|---|---\n";
  for (const OutputSample& sample : samples) {
    table +=
        escape_cell(sample.input) + " | " + escape_cell(sample.output) + " | " + escape_cell(sample.reference) + "\n";
  }
  return table;
}

}  // namespace

std::string layer_of(const std::string& parameter) {
  std::size_t end = parameter.rfind('.');
  for (std::size_t dot = parameter.find('.'); dot != std::string::npos; dot = parameter.find('.', dot + 1)) {
    if (dot + 1 == parameter.size() || std::isdigit(static_cast<unsigned char>(parameter[dot + 1])) == 0) continue;
    end = parameter.find('.', dot + 1);
    break;
  }
  return parameter.substr(0, end);
}

TensorBoard::TensorBoard(std::filesystem::path run, TrainingTask& task, double clip_norm)
    : run_(std::move(run)), task_(task), clip_norm_(clip_norm) {}

void TensorBoard::on_log(const StepReport& report) {
  EventSummary summary;
  add_numbers(summary, metrics_of(report));
  file_->append(report.step, summary);
}

void TensorBoard::on_validation(std::int64_t step, const Validation& validation, bool /*is_best*/) {
  EventSummary summary;
  add_numbers(summary, metrics_of(validation));
  if (!validation.samples.empty()) summary.add_text("valid/samples", make_table(validation.samples));
  add_layers(summary);
  file_->append(step, summary);
}

/// The first state is saved before on_begin().
void TensorBoard::before_save() {
  if (file_) file_->sync();
}

void TensorBoard::add_layers(EventSummary& summary) {
  const at::NoGradGuard no_gradients;
  std::vector<std::string> layers;  // in the model's order
  std::map<std::string, std::vector<at::Tensor>> weights;
  std::map<std::string, std::vector<at::Tensor>> gradients;
  for (const NamedTensor& parameter : task_.parameters()) {
    const std::string layer = layer_of(parameter.name);
    if (!weights.contains(layer)) layers.push_back(layer);
    weights[layer].push_back(parameter.tensor.detach().flatten());
    if (parameter.tensor.grad().defined()) gradients[layer].push_back(parameter.tensor.grad().flatten());
  }
  // After a step, the tensors hold the mean gradients after clipping.
  const double divisor = clip_divisor(gradient_norm_, clip_norm_);
  for (const std::string& layer : layers) {
    add_values(summary, "weight", layer, weights[layer], 1.0);
    if (std::isfinite(gradient_norm_)) add_values(summary, "gradient", layer, gradients[layer], divisor);
  }
}

}  // namespace edgewise

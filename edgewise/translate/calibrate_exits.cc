// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/calibrate_exits.h"

#include <algorithm>
#include <numeric>
#include <span>

#include "edgewise/base/config/config.h"
#include "edgewise/base/error.h"
#include "edgewise/text/corpus/line_reader.h"
#include "edgewise/text/metrics/chrf.h"
#include "edgewise/translate/risk_control.h"

namespace edgewise {
namespace {

constexpr std::string_view kCalibrate = "calibrate";
constexpr int kThresholdSteps = 20;  // 0.95, 0.9, … 0

/// Translations of sentences: chrF of each one for its reference, and the mean number of layers of a token.
struct MeasuredTranslations {
  std::vector<double> chrf;
  double layers = 0;
};

MeasuredTranslations translate_with_threshold(const std::filesystem::path& model,
                                              const std::vector<std::string>& inputs,
                                              const std::vector<std::string>& references,
                                              const TranslatorOptions& options, double threshold) {
  TranslatorOptions with_threshold = options;
  with_threshold.depth = {.exit_threshold = threshold};
  with_threshold.n_best = 1;
  Translator translator(read_models({model.string()}, kCalibrate), with_threshold);
  std::vector<TranslationRequest> requests;
  requests.reserve(inputs.size());
  for (const std::string& input : inputs) requests.push_back({.input = input});
  MeasuredTranslations measured;
  std::int64_t tokens = 0;
  std::int64_t layers = 0;
  const std::vector<Translation> translations = translator.translate(requests);
  for (std::size_t i = 0; i < translations.size(); ++i) {
    const TranslatedText& output = translations[i].outputs.front();
    measured.chrf.push_back(chrf(std::span(&output.text, 1), std::span(&references[i], 1)).score);
    for (const std::int64_t count : output.ponder_steps) {
      tokens += count > 0 ? 1 : 0;  // 0: a token that no step predicted
      layers += count;
    }
  }
  measured.layers = tokens == 0 ? 0.0 : static_cast<double>(layers) / static_cast<double>(tokens);
  return measured;
}

std::vector<std::string> read_utf8_lines(const std::string& path) {
  LineReader reader(path, {.caller = std::string(kCalibrate)});
  std::vector<std::string> lines;
  for (std::string line; reader.next(line);) {
    check_utf8(reader, line, kCalibrate);
    lines.push_back(line);
  }
  return lines;
}

/// Returns the guarantee as comments of a config.
std::string describe_guarantee(const CalibrateExitsOptions& options, std::size_t sentences, double threshold) {
  return fmt::format(
      "# `edgewise calibrate` set model.exits.threshold to {} by Learn then Test on {} sentences: with a probability\n"
      "# of at least {}, the expected loss of a sentence is at most {} points of chrF compared with all layers.\n",
      threshold, sentences, 1 - options.risk, options.loss);
}

}  // namespace

std::vector<TestedThreshold> test_exit_thresholds(const std::filesystem::path& model,
                                                  const std::vector<std::string>& inputs,
                                                  const std::vector<std::string>& references,
                                                  const CalibrateExitsOptions& options) {
  check_ranges(options, kCalibrate);
  check(!inputs.empty() && inputs.size() == references.size(),
        "{}: there are {} inputs and {} references, needs as many, and at least one", kCalibrate, inputs.size(),
        references.size());
  const auto measure = [&](double threshold) {
    return translate_with_threshold(model, inputs, references, options.translator, threshold);
  };
  const MeasuredTranslations all_layers = measure(1);
  std::vector<TestedThreshold> tested;
  for (int step = kThresholdSteps - 1; step >= 0; --step) {
    const double threshold = static_cast<double>(step) / kThresholdSteps;
    const MeasuredTranslations with_exits = measure(threshold);
    std::vector<double> losses;  // shares of the whole scale
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      losses.push_back((all_layers.chrf[i] - with_exits.chrf[i]) / 100);
    }
    const double mean = std::accumulate(losses.begin(), losses.end(), 0.0) / static_cast<double>(losses.size());
    const double p_value = betting_p_value(losses, options.loss / 100, options.risk);
    tested.push_back({.threshold = threshold, .loss = 100 * mean, .p_value = p_value, .layers = with_exits.layers});
    if (p_value > options.risk) break;
  }
  return tested;
}

std::vector<TestedThreshold> calibrate_exits(const std::filesystem::path& model, const CalibrationFiles& files,
                                             const std::filesystem::path& destination,
                                             const CalibrateExitsOptions& options, Overwrite overwrite) {
  const std::vector<std::filesystem::path> read = {model, files.inputs, files.references};
  check_output_directory(destination, read, overwrite, kCalibrate);
  ModelFiles calibrated = read_model_files(model, kCalibrate);
  check(calibrated.experiment.model.exits.are_on(), "{}: {} has no exits, needs a model with exits", kCalibrate,
        model.string());
  const std::vector<std::string> inputs = read_utf8_lines(files.inputs);
  const std::vector<std::string> references = read_utf8_lines(files.references);
  std::vector<TestedThreshold> tested = test_exit_thresholds(model, inputs, references, options);
  const auto passed = std::ranges::find_if(tested.rbegin(), tested.rend(),
                                           [&](const TestedThreshold& test) { return test.p_value <= options.risk; });
  check(passed != tested.rend(),
        "{}: with the threshold {}, the mean loss of {} sentences is {:.3g} and its p-value {:.3g}, needs a p-value of "
        "at most {}; give more sentences, or a larger loss or risk",
        kCalibrate, tested.front().threshold, inputs.size(), tested.front().loss, tested.front().p_value, options.risk);
  calibrated.experiment.model.exits.threshold = passed->threshold;
  calibrated.config = describe_guarantee(options, inputs.size(), passed->threshold) +
                      to_toml(calibrated.experiment, TomlComments::kHelp);
  write_derived_model(calibrated, calibrated.parameters.bytes(), destination, kCalibrate);
  return tested;
}

}  // namespace edgewise

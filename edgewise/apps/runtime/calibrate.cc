// SPDX-License-Identifier: Apache-2.0
// edgewise calibrate MODEL INPUT REFERENCE --out DIRECTORY
#include <filesystem>
#include <memory>

#include "edgewise/apps/runtime/commands.h"
#include "edgewise/apps/runtime/shared_options.h"
#include "edgewise/apps/runtime/standard_streams.h"
#include "edgewise/base/files/json.h"
#include "edgewise/translate/calibrate_exits.h"

namespace edgewise {
namespace {

struct CalibrateCommand {
  std::filesystem::path model;
  CalibrationFiles files;
  std::filesystem::path destination;
  CalibrateExitsOptions options;
  Overwrite overwrite = Overwrite::kNo;
  int threads = 0;
  bool is_json = false;
};

std::string threshold_json(const TestedThreshold& test) {
  return JsonObject()
      .add("threshold", test.threshold)
      .add("loss", test.loss)
      .add("p_value", test.p_value)
      .add("layers", test.layers)
      .text();
}

void run_calibrate(const CalibrateCommand& command) {
  make_output_optional();
  use_threads(command.threads);
  const std::vector<TestedThreshold> tested =
      calibrate_exits(command.model, command.files, command.destination, command.options, command.overwrite);
  if (command.is_json) return print_output("{}\n", json_array(tested, threshold_json));
  for (const TestedThreshold& test : tested) {
    print_output("threshold {:<4} loss {:<8.4f} p-value {:<10.3g} {:.2f} layers a token{}\n", test.threshold, test.loss,
                 test.p_value, test.layers, test.p_value > command.options.risk ? ", refused" : "");
  }
}

}  // namespace

void add_calibrate(CLI::App& program) {
  auto command = std::make_shared<CalibrateCommand>();
  CLI::App& calibrate = *program.add_subcommand(
      "calibrate", "Choose how early tokens halt at the exits of a model, with a bound on the loss of quality");
  CalibrateExitsOptions& options = command->options;
  add_path(calibrate, "model", command->model, "run or model directory, or the name of a model")->required();
  add_path(calibrate, "inputs", command->files.inputs, "a file of input sentences, one per line, unknown to training")
      ->required();
  add_path(calibrate, "references", command->files.references, "a file of their translations, one for each input")
      ->required();
  add_path(calibrate, "--out", command->destination, "the model directory to write")->required();
  add_overwrite_option(calibrate, command->overwrite);
  add_number(calibrate, "--loss", &options.loss,
             "the largest expected loss of a sentence, in points of chrF; default 1",
             range_of<CalibrateExitsOptions>("loss"));
  add_number(calibrate, "--risk", &options.risk,
             "the largest probability that the expected loss is above --loss; default 0.05",
             range_of<CalibrateExitsOptions>("risk"));
  add_number(calibrate, "--beam", &options.translator.beam,
             "the number of hypotheses in the beam; 1: greedy search; default: the model's config",
             range_of<SearchOptions>("beam"));
  add_choice(calibrate, "--precision", options.translator.precision,
             "the number format of matrix products: fp32 (default), bf16 or int8");
  add_number(calibrate, "--workers", &options.translator.workers,
             "the number of searches that run in parallel and share the threads; default 1",
             range_of<TranslatorOptions>("workers"));
  add_threads_option(calibrate, command->threads);
  calibrate.add_flag("--json", command->is_json, "print the tested thresholds as one line of JSON");
  calibrate.callback([command] { run_calibrate(*command); });
}

}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
// edgewise average --out DIRECTORY MODEL…
#include <filesystem>
#include <memory>

#include "edgewise/apps/runtime/commands.h"
#include "edgewise/apps/runtime/shared_options.h"
#include "edgewise/apps/runtime/standard_streams.h"
#include "edgewise/translate/model_files.h"

namespace edgewise {
namespace {

struct AverageCommand {
  std::vector<std::filesystem::path> models;
  std::filesystem::path destination;
  Overwrite overwrite = Overwrite::kNo;
};

void run_average(const AverageCommand& command) {
  make_output_optional();
  average_models(command.models, command.destination, command.overwrite);
  print_output("{}: the mean of {} models\n", printable(command.destination.string()), command.models.size());
}

}  // namespace

void add_average(CLI::App& program) {
  auto command = std::make_shared<AverageCommand>();
  CLI::App* average = program.add_subcommand("average", "Average the parameters of several models into one model");
  add_path(*average, "models", command->models, "run or model directories, at least one")->required();
  add_path(*average, "--out", command->destination, "the model directory to write")->required();
  add_overwrite_option(*average, command->overwrite);
  average->callback([command] { run_average(*command); });
}

}  // namespace edgewise

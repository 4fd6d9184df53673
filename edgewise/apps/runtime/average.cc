// SPDX-License-Identifier: Apache-2.0
// edgewise average --out DIRECTORY MODEL…
#include "edgewise/translate/average.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <vector>

#include "edgewise/apps/runtime/commands.h"

namespace edgewise {
namespace {

struct AverageCommand {
  std::vector<std::filesystem::path> models;
  std::filesystem::path destination;
};

int run_average(const AverageCommand& command) {
  average_models(command.models, command.destination);
  fmt::print("{}: the mean of {} models\n", command.destination.string(), command.models.size());
  return 0;
}

}  // namespace

void add_average(CLI::App& program, int& exit_code) {
  auto command = std::make_shared<AverageCommand>();
  CLI::App* average = program.add_subcommand("average", "Make one model whose parameters are the mean of several's");
  average->add_option("models", command->models, "run or model directories")->required();
  average->add_option("--out", command->destination, "the model directory to write")->required();
  average->callback([command, &exit_code] { exit_code = run_average(*command); });
}

}  // namespace edgewise

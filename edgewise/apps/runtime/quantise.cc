// SPDX-License-Identifier: Apache-2.0
// edgewise quantise MODEL --out DIRECTORY
#include <filesystem>
#include <memory>

#include "edgewise/apps/runtime/commands.h"
#include "edgewise/apps/runtime/shared_options.h"
#include "edgewise/apps/runtime/standard_streams.h"
#include "edgewise/translate/model_files.h"

namespace edgewise {
namespace {

struct QuantiseCommand {
  std::filesystem::path model;
  std::filesystem::path destination;
  Overwrite overwrite = Overwrite::kNo;
};

void run_quantise(const QuantiseCommand& command) {
  make_output_optional();
  quantise_model(command.model, command.destination, command.overwrite);
  print_output("{}: {} with matrices in 8 bits\n", printable(command.destination.string()),
               printable(command.model.string()));
}

}  // namespace

void add_quantise(CLI::App& program) {
  auto command = std::make_shared<QuantiseCommand>();
  CLI::App* quantise =
      program.add_subcommand("quantise", "Store the matrices of a model in 8 bits, a quarter of the size");
  add_path(*quantise, "model", command->model, "run or model directory, or the name of a model")->required();
  add_path(*quantise, "--out", command->destination, "the model directory to write")->required();
  add_overwrite_option(*quantise, command->overwrite);
  quantise->callback([command] { run_quantise(*command); });
}

}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
// edgewise export MODEL --format ctranslate2|huggingface|marian --out DIRECTORY
#include <array>
#include <filesystem>
#include <memory>

#include "edgewise/apps/runtime/commands.h"
#include "edgewise/apps/runtime/shared_options.h"
#include "edgewise/apps/runtime/standard_streams.h"
#include "edgewise/convert/exported_model.h"

namespace edgewise {
namespace {

struct ExportCommand {
  std::filesystem::path model;
  ExportFormat format = ExportFormat::kHuggingFace;
  std::filesystem::path destination;
  Overwrite overwrite = Overwrite::kNo;
};

void run_export(const ExportCommand& command) {
  constexpr std::string_view kCaller = "edgewise export";
  make_output_optional();
  check_output_directory(command.destination, std::array{command.model}, command.overwrite, kCaller);
  const ModelFiles model = read_model_files(command.model, kCaller);
  export_model(model, command.format, command.destination, kCaller);
  print_output("{}: a model for {}\n", printable(command.destination.string()), enum_name(command.format));
  const std::vector<std::string> left_out = left_out_options(model, command.format);
  if (left_out.empty()) return;
  print_error("{}: warning: the files leave out {}\n", kCaller,
              printable(fmt::format("{}", fmt::join(left_out, ", "))));
}

}  // namespace

void add_export(CLI::App& program) {
  auto command = std::make_shared<ExportCommand>();
  CLI::App* exporter = program.add_subcommand("export", "Convert a model into the files of another system");
  add_path(*exporter, "model", command->model, "run or model directory")->required();
  add_choice(*exporter, "--format", command->format,
             "the other system: ctranslate2, huggingface or marian; a language model "
             "needs huggingface, and becomes GPT-2 or Llama")
      ->option_text("NAME")
      ->required();
  add_path(*exporter, "--out", command->destination, "the directory to write")->required();
  add_overwrite_option(*exporter, command->overwrite);
  exporter->callback([command] { run_export(*command); });
}

}  // namespace edgewise

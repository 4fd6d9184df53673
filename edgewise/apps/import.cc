// SPDX-License-Identifier: Apache-2.0
// edgewise import PATH --out MODEL
#include <array>
#include <filesystem>
#include <memory>

#include "edgewise/apps/runtime/commands.h"
#include "edgewise/apps/runtime/shared_options.h"
#include "edgewise/apps/runtime/standard_streams.h"
#include "edgewise/convert/imported_model.h"

namespace edgewise {
namespace {

struct ImportCommand {
  std::filesystem::path source;
  std::filesystem::path destination;
  Overwrite overwrite = Overwrite::kNo;
};

void run_import(const ImportCommand& command) {
  constexpr std::string_view kCaller = "edgewise import";
  make_output_optional();
  check_output_directory(command.destination, std::array{command.source}, command.overwrite, kCaller);
  const ImportedModel model = import_model(command.source, kCaller);
  write_model(model, command.destination, kCaller);
  const TransformerOptions& options = model.experiment.model;
  const std::string layers = has_encoder(options.kind)
                                 ? fmt::format("{} + {}", options.encoder_layers, options.decoder_layers)
                                 : std::to_string(options.decoder_layers);
  print_output("{}: {}, {} layers of size {}, {} tokens\n", printable(command.destination.string()), model.origin,
               layers, options.size, options.output_vocabulary);
  const std::string missing = describe_missing_options(model);
  if (!missing.empty()) print_error("{}: warning: {}\n", kCaller, printable(missing));
}

}  // namespace

void add_import(CLI::App& program) {
  auto command = std::make_shared<ImportCommand>();
  CLI::App* importer = program.add_subcommand("import", "Convert a model of another system into a model directory");
  add_path(*importer, "source", command->source,
           "directory of a translation model of Hugging Face's transformers, Marian, Firefox or CTranslate2, or of a "
           "language model of transformers: GPT-2, Llama, Mistral or Qwen 2")
      ->required();
  add_path(*importer, "--out", command->destination, "the model directory to write")->required();
  add_overwrite_option(*importer, command->overwrite);
  importer->callback([command] { run_import(*command); });
}

}  // namespace edgewise

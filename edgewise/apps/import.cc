// SPDX-License-Identifier: Apache-2.0
// edgewise import PATH --out MODEL
#include <array>
#include <filesystem>
#include <memory>
#include <vector>

#include "edgewise/apps/runtime/commands.h"
#include "edgewise/apps/runtime/shared_options.h"
#include "edgewise/apps/runtime/standard_streams.h"
#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"
#include "edgewise/convert/imported_model.h"
#include "edgewise/convert/pair_folders.h"

namespace edgewise {
namespace {

struct ImportCommand {
  std::filesystem::path source;
  std::filesystem::path destination;
  Overwrite overwrite = Overwrite::kNo;
};

constexpr std::string_view kImportCaller = "edgewise import";

void import_one(const std::filesystem::path& source, const std::filesystem::path& destination) {
  const ImportedModel model = import_model(source, kImportCaller);
  write_model(model, destination, kImportCaller);
  const TransformerOptions& options = model.experiment.model;
  const std::string layers = has_encoder(options.kind)
                                 ? fmt::format("{} + {}", options.encoder_layers, options.decoder_layers)
                                 : std::to_string(options.decoder_layers);
  print_output("{}: {}, {} layers of size {}, {} tokens\n", printable(destination.string()), model.origin, layers,
               options.size, options.output_vocabulary);
  const std::string missing = describe_missing_options(model);
  if (!missing.empty()) print_error("{}: warning: {}\n", kImportCaller, printable(missing));
}

/// Imports each student of a folder. A student that is refused does not stop the others.
void import_pairs(const std::vector<PairFolder>& pairs, const ImportCommand& command) {
  std::vector<std::filesystem::path> sources;
  sources.reserve(pairs.size());
  for (const PairFolder& pair : pairs) sources.push_back(pair.path);
  for (const PairFolder& pair : pairs) {
    check_output_directory(command.destination / pair.languages, sources, command.overwrite, kImportCaller);
  }
  std::size_t num_refused = 0;
  for (const PairFolder& pair : pairs) {
    try {
      import_one(pair.path, command.destination / pair.languages);
    } catch (const Error& error) {
      ++num_refused;
      print_error("{}\n", printable(error.what()));
    }
  }
  check(num_refused == 0, "{}: {} of the {} models of {} have the errors above, needs none; the others are imported",
        kImportCaller, num_refused, pairs.size(), command.source.string());
}

void run_import(const ImportCommand& command) {
  make_output_optional();
  const std::vector<PairFolder> pairs = list_pair_folders(command.source, kImportCaller);
  if (!pairs.empty()) return import_pairs(pairs, command);
  check_output_directory(command.destination, std::array{command.source}, command.overwrite, kImportCaller);
  import_one(command.source, command.destination);
}

}  // namespace

void add_import(CLI::App& program) {
  auto command = std::make_shared<ImportCommand>();
  CLI::App* importer = program.add_subcommand("import", "Convert a model of another system into a model directory");
  add_path(*importer, "source", command->source,
           "directory of a translation model of Hugging Face's transformers, Marian, Firefox or CTranslate2, of a "
           "language model of transformers: GPT-2, Llama, Mistral, Ministral or Qwen 2, or of folders with models of "
           "Firefox")
      ->required();
  add_path(*importer, "--out", command->destination,
           "the model directory to write; of a folder of several models, the directory of theirs, such as OUT/en-de")
      ->required();
  add_overwrite_option(*importer, command->overwrite);
  importer->callback([command] { run_import(*command); });
}

}  // namespace edgewise

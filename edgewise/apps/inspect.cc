// SPDX-License-Identifier: Apache-2.0
// edgewise inspect PATH
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "edgewise/apps/runtime/commands.h"
#include "edgewise/experiment/model_directory.h"
#include "edgewise/experiment/ponder.h"
#include "edgewise/base/config.h"
#include "edgewise/base/directory.h"
#include "edgewise/base/error.h"
#include "edgewise/base/files.h"
#include "edgewise/base/safetensors.h"
#include "edgewise/nn/serialize.h"
#include "edgewise/text/line_reader.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

void print_tensors(const SafetensorsFile& file) {
  std::size_t bytes = 0;
  for (const TensorInfo& tensor : file.tensors()) {
    bytes += tensor.bytes.size();
    fmt::print("{:<60} {:>5} [{}]\n", tensor.name, dtype_name(tensor.dtype), fmt::join(tensor.shape, ", "));
  }
  fmt::print("{} tensors, {} bytes\n", file.tensors().size(), bytes);
}

std::string side_in_words(const Vocabulary& vocabulary) {
  return fmt::format("{} tokens ({})", vocabulary.size(), enum_name(vocabulary.kind()));
}

void print_model(const fs::path& path) {
  const fs::path directory = find_model(path, "inspect");
  const TranslationModel model = open_model(directory);
  const TransformerOptions& options = model.model->options();
  fmt::print("{}: whole, every file as it was written\n", directory.string());
  fmt::print("written by  {}\n", read_manifest(directory, "inspect").tool);
  fmt::print("model       {}, {} + {} layers, size {}, {} heads, feed-forward {}, preset {}\n",
             model_name(options.kind), options.encoder_layers, options.decoder_layers, options.size, options.heads,
             options.feed_forward, enum_name(options.preset));
  fmt::print("parameters  {}\n", count_parameters(model.model->parameters()));
  fmt::print("input       {}\n", side_in_words(*model.vocabularies.input));
  fmt::print("output      {}\n", side_in_words(*model.vocabularies.output));
}

void print_last_metrics(const fs::path& run) {
  const fs::path file = run / "metrics.jsonl";
  if (!fs::exists(file)) return;
  const std::string text = read_file(file, "inspect");
  const std::size_t end = text.find_last_not_of('\n');
  if (end == std::string::npos) return;
  const std::size_t begin = text.find_last_of('\n', end);
  fmt::print("metrics     {}\n", text.substr(begin == std::string::npos ? 0 : begin + 1, end - begin));
}

struct InspectCommand {
  std::string path;
  std::string ponder;
  bool is_json = false;
};

int run_ponder(const InspectCommand& command) {
  const std::vector<std::string> inputs = read_sentences(command.ponder, "inspect");
  const std::vector<PonderedSentence> sentences = ponder(open_model(command.path), inputs);
  if (command.is_json) {
    fmt::print("{}\n", ponder_json(sentences));
  } else {
    print_ponder(sentences);
  }
  return 0;
}

int run_inspect(const std::string& path) {
  check(fs::exists(path), "inspect: {} does not exist, a run, a model, a safetensors file or a config is needed", path);
  if (fs::is_directory(path)) {
    print_model(path);
    print_last_metrics(path);
  } else if (path.ends_with(".safetensors")) {
    print_tensors(SafetensorsFile::open(path));
  } else if (path.ends_with(".toml")) {
    fmt::print("{}", to_toml(read_experiment(path), TomlComments::kHelp));
  } else {
    fail("inspect: {} is of no known kind, a run, a model, a .safetensors or a .toml file is needed", path);
  }
  return 0;
}

}  // namespace

void add_inspect(CLI::App& program, int& exit_code) {
  auto command = std::make_shared<InspectCommand>();
  CLI::App* inspect = program.add_subcommand("inspect", "Say what is in a run, a model, a tensor file or a config");
  inspect->add_option("path", command->path, "a run or model directory, a .safetensors file, or a config")->required();
  auto* ponder = inspect->add_option("--ponder", command->ponder,
                                     "sentences, one a line; - for standard input: how many steps a Universal "
                                     "Transformer thinks about each token");
  inspect->add_flag("--json", command->is_json, "what --ponder finds as JSON")->needs(ponder);
  inspect->callback([command, &exit_code] {
    exit_code = command->ponder.empty() ? run_inspect(command->path) : run_ponder(*command);
  });
}

}  // namespace edgewise

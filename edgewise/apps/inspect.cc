// SPDX-License-Identifier: Apache-2.0
// edgewise inspect PATH
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>

#include "edgewise/apps/runtime/commands.h"
#include "edgewise/apps/runtime/shared_options.h"
#include "edgewise/apps/runtime/standard_streams.h"
#include "edgewise/base/config/config.h"
#include "edgewise/base/files/files.h"
#include "edgewise/base/files/manifest.h"
#include "edgewise/base/files/safetensors.h"
#include "edgewise/base/utf8.h"
#include "edgewise/models/model_costs.h"
#include "edgewise/nn/serialize.h"
#include "edgewise/pictures/sentence_steps.h"
#include "edgewise/text/corpus/line_reader.h"
#include "edgewise/translate/model_paths.h"
#include "edgewise/viz/svg.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kBarWidth = 40;  // characters of the longest bar of a histogram

void print_tensors(const SafetensorsFile& file) {
  std::size_t bytes = 0;
  for (const TensorInfo& tensor : file.tensors()) {
    bytes += tensor.bytes.size();
    print_output("{:<60} {:>5} [{}]\n", printable(tensor.name), dtype_name(tensor.dtype),
                 fmt::join(tensor.shape, ", "));
  }
  print_output("{} tensors, {} bytes\n", file.tensors().size(), bytes);
}

std::string describe_vocabulary(const Vocabulary& vocabulary) {
  const std::size_t languages = vocabulary.rules().languages.size();
  return fmt::format("{} tokens ({}){}", vocabulary.size(), enum_name(vocabulary.kind()),
                     languages > 0 ? fmt::format(", {} languages", languages) : "");
}

/// Prints which tokens the layers of a model with patterns attend to, and what this costs. Each line begins with
/// `prefix`.
void print_patterns(const TransformerOptions& options, std::string_view prefix) {
  const std::vector<std::int64_t> lengths = {64, 512, 4096};
  std::vector<std::vector<PatternCost>> costs;
  costs.reserve(lengths.size());
  for (const std::int64_t length : lengths) costs.push_back(pattern_costs(options, length));
  for (std::size_t i = 0; i < costs.front().size(); ++i) {
    std::vector<std::string> edges;
    std::vector<std::string> shares;
    for (const std::vector<PatternCost>& of_length : costs) {
      edges.push_back(fmt::format("{:.1f}", of_length[i].edges_per_token));
      shares.push_back(fmt::format("{:.2g}", of_length[i].share));
    }
    const PatternCost& cost = costs.front()[i];
    print_output("{}{} layers {}: {}; in documents of {} tokens {} edges a token, {} multiply-adds a weight\n", prefix,
                 cost.direction == Direction::kBoth ? "encoder" : "decoder", fmt::join(cost.layers, ", "), cost.terms,
                 fmt::join(lengths, ", "), fmt::join(edges, ", "), fmt::join(shares, ", "));
  }
}

void print_model(const fs::path& path) {
  const ListedDirectory files(find_model(path, "inspect"), "inspect");
  files.verify();
  const TranslationModel model = make_model(read_model_files(files, "inspect"));
  const TransformerOptions& options = model.model->options();
  print_output("{}: whole, every file as it was written\n", printable(files.path()));
  print_output("written by  {}\n", printable(files.manifest().tool));
  const bool has_sides = has_encoder(options.kind);
  print_output("model       {}, {}{} {}layers, size {}, {} heads, feed-forward {}, preset {}\n",
               model_name(options.kind), has_sides ? fmt::format("{} + ", options.encoder_layers) : "",
               options.decoder_layers, options.share_layers ? "shared " : "", options.size, options.heads,
               options.feed_forward, enum_name(options.preset));
  if (options.has_ssru()) print_output("decoder     ssru, one vector of {} numbers for each layer\n", options.size);
  if (options.exits.are_on()) {
    print_output("exits       after decoder layers {}, threshold {}\n", fmt::join(options.exits.layers, ", "),
                 options.exits.threshold);
  }
  print_patterns(options, "relation    ");
  print_output("parameters  {}\n", count_parameters(model.model->parameters()));
  if (!has_sides) return print_output("vocabulary  {}\n", describe_vocabulary(*model.vocabularies.output));
  print_output("input       {}\n", describe_vocabulary(*model.vocabularies.input));
  print_output("output      {}\n", describe_vocabulary(*model.vocabularies.output));
}

void print_last_metrics(const fs::path& run) {
  const fs::path file = run / "metrics.jsonl";
  if (!has_entry(file, "inspect")) return;
  const std::string text = read_file(file, "inspect", kMaxRecordBytes);
  const std::size_t end = text.find_last_not_of('\n');
  if (end == std::string::npos) return;
  const std::size_t begin = text.find_last_of('\n', end);
  const std::string_view lines = std::string_view(text).substr(0, end + 1);
  print_output("metrics     {}\n", printable(lines.substr(begin == std::string::npos ? 0 : begin + 1)));
}

void print_side(const char* name, const std::vector<TokenSteps>& tokens) {
  std::string texts;
  std::string steps;
  for (const TokenSteps& token : tokens) {
    const std::string number = std::to_string(token.steps);
    const std::string text = printable_token(token.text);
    const std::size_t width = std::max(count_code_points(text), number.size()) + 1;
    texts += text + std::string(width - count_code_points(text), ' ');
    steps += number + std::string(width - number.size(), ' ');
  }
  print_output("{:<7} {}\n{:<7} {}\n", name, texts, "", steps);
}

void print_histogram(const char* name, const PonderHistogram& histogram) {
  std::int64_t total = 0;
  std::int64_t steps = 0;
  std::int64_t most = 1;
  for (const auto& [step, count] : histogram) {
    total += count;
    steps += step * count;
    most = std::max(most, count);
  }
  print_output("{}: {:.2f} steps a token\n", name, static_cast<double>(steps) / static_cast<double>(total));
  for (const auto& [step, count] : histogram) {
    print_output("{:>4} {:>8} {}\n", step, count, std::string(static_cast<std::size_t>(count * kBarWidth / most), '#'));
  }
}

void print_ponder_steps(const std::vector<SentenceSteps>& sentences) {
  for (const SentenceSteps& sentence : sentences) {
    print_side("input", sentence.input);
    print_side("output", sentence.output);
    print_output("\n");
  }
  print_histogram("inputs", ponder_histogram(sentences, &SentenceSteps::input));
  print_histogram("outputs", ponder_histogram(sentences, &SentenceSteps::output));
}

struct InspectCommand {
  std::string path;
  std::string ponder_inputs;  // a file of sentences; empty: ponder steps are not counted
  bool is_json = false;
};

void inspect_ponder_steps(const InspectCommand& command) {
  const std::vector<std::string> inputs = read_sentences(command.ponder_inputs, "inspect");
  const std::vector<SentenceSteps> sentences = count_ponder_steps(load_model(command.path), inputs);
  if (command.is_json) {
    print_output("{}\n", sentence_steps_json(sentences));
  } else {
    print_ponder_steps(sentences);
  }
}

void run_inspect(const std::string& path) {
  const bool is_name = !path_exists(path, "inspect") && find_named_model(path, "inspect");
  check(is_name || path_exists(path, "inspect"),
        "inspect: {} does not exist, needs a run, a model, a safetensors file or a config", path);
  std::error_code error;
  if (is_name || fs::is_directory(path, error)) {
    print_model(path);
    print_last_metrics(path);
  } else if (path.ends_with(".safetensors")) {
    print_tensors(SafetensorsFile::open(path));
  } else if (path.ends_with(".toml")) {
    const Experiment experiment = read_experiment(path);
    print_output("{}", to_toml(experiment, TomlComments::kHelp));
    print_patterns(experiment.model, "# ");
  } else {
    fail("inspect: {} is of no known kind, needs a run, a model, a .safetensors or a .toml file", path);
  }
}

}  // namespace

void add_inspect(CLI::App& program) {
  auto command = std::make_shared<InspectCommand>();
  CLI::App* inspect =
      program.add_subcommand("inspect", "Show the contents of a run, a model, a tensor file or a config");
  add_path(*inspect, "path", command->path,
           "a run or model directory, the name of a model, a .safetensors file, or a config")
      ->required();
  auto* ponder =
      add_path(*inspect, "--ponder", command->ponder_inputs,
               "a file of sentences, one per line, or - for standard input: count the ponder "
               "steps of each token: those of a Universal Transformer, or the layers of a decoder with exits");
  inspect->add_flag("--json", command->is_json, "print the result of --ponder as JSON")->needs(ponder);
  inspect->callback(
      [command] { command->ponder_inputs.empty() ? run_inspect(command->path) : inspect_ponder_steps(*command); });
}

}  // namespace edgewise

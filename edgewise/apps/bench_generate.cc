// SPDX-License-Identifier: Apache-2.0
// edgewise bench generate [--size SIZE] [--sequences N] [--prompt N] [--tokens N]
#include <memory>

#include "edgewise/apps/bench_profile.h"
#include "edgewise/apps/runtime/commands.h"
#include "edgewise/apps/runtime/shared_options.h"
#include "edgewise/apps/runtime/standard_streams.h"
#include "edgewise/base/files/json.h"
#include "edgewise/base/threads.h"
#include "edgewise/benchmark/generation_bench.h"

namespace edgewise {
namespace {

struct BenchGenerateCommand {
  GenerationBenchOptions options;
  std::vector<std::string> relation;
  int threads = 0;
  bool is_json = false;

  /// Returns the tokens/s of all texts together, which have `tokens` tokens each.
  double tokens_per_second(std::int64_t tokens, double seconds) const {
    return static_cast<double>(options.sequences * tokens) / seconds;
  }
};

std::string relation_text(const BenchGenerateCommand& command) {
  return fmt::format("{}", fmt::join(command.options.relation.front(), ", "));
}

void print_json(const BenchGenerateCommand& command, const GenerationBench& bench) {
  const GenerationBenchOptions& options = command.options;
  JsonObject json;
  json.add("size", enum_name(options.size))
      .add("parameters", bench.parameters)
      .add("precision", enum_name(options.precision))
      .add("relation", relation_text(command))
      .add("threads", num_threads())
      .add("sequences", options.sequences)
      .add("prompt", options.prompt)
      .add("tokens", options.tokens)
      .add("repetitions", options.repetitions)
      .add("prompt_tokens_per_second", command.tokens_per_second(options.prompt, bench.prompt_seconds))
      .add("output_tokens_per_second", command.tokens_per_second(options.tokens, bench.continuation_seconds))
      .add("median_ms", 1e3 * bench.median_step)
      .add("peak_memory_bytes", bench.peak_memory);
  print_output("{}\n", json.text());
}

void print_text(const BenchGenerateCommand& command, const GenerationBench& bench) {
  const GenerationBenchOptions& options = command.options;
  print_output("{}: {:.1f} million parameters; {}, {}; {} texts at once, {} threads\n", enum_name(options.size),
               static_cast<double>(bench.parameters) / 1e6, relation_text(command), enum_name(options.precision),
               options.sequences, num_threads());
  print_output("prompt        {:.1f} tokens/s, {} tokens a text\n",
               command.tokens_per_second(options.prompt, bench.prompt_seconds), options.prompt);
  print_output("continuation  {:.1f} tokens/s, {} tokens a text, after {} tokens\n",
               command.tokens_per_second(options.tokens, bench.continuation_seconds), options.tokens, options.prompt);
  print_output("ms a step     {:.2f} median\n", 1e3 * bench.median_step);
  print_output("peak memory   {:.3f} GB\n", static_cast<double>(bench.peak_memory) / 1e9);
  if (!bench.profile.empty()) print_profile(bench.profile, bench.seconds);
}

void run_bench_generate(BenchGenerateCommand& command) {
  use_threads(command.threads);
  if (!command.relation.empty()) command.options.relation = {command.relation};
  const GenerationBench bench = measure_generation(command.options);
  command.is_json ? print_json(command, bench) : print_text(command, bench);
}

}  // namespace

void add_bench_generate(CLI::App& bench) {
  auto command = std::make_shared<BenchGenerateCommand>();
  GenerationBenchOptions& options = command->options;
  CLI::App* generate = bench.add_subcommand(
      "generate", "Time the prompt and the continuation of texts by the runtime, with a random language model");
  add_choice(*generate, "--size", options.size,
             "the size of the model: tiny, small, base, big, characters, which has 65 tokens, or llama-125m (default), "
             "which has the layers of Llama and 50000 tokens");
  add_choice(*generate, "--precision", options.precision,
             "the number format of the weights: fp32 (default), bf16 or int8");
  generate->add_option("--relation", command->relation,
                       "the terms of model.relation, each in quotes: \"window 256\" \"sinks 4\"; default causal");
  add_number(*generate, "--sequences", &options.sequences, "the number of texts that are continued at once; default 1",
             at_least(1).at_most(10'000));
  add_number(*generate, "--prompt", &options.prompt,
             "the number of tokens of each prompt; the continuation is timed from this position on; default 128",
             at_least(1).at_most(1e8));
  add_number(*generate, "--tokens", &options.tokens, "the number of timed tokens of each continuation; default 128",
             at_least(1).at_most(1e6));
  add_number(*generate, "--repetitions", &options.repetitions,
             "the number of timed repetitions, whose medians are printed; default 3", at_least(1).at_most(1e4));
  generate->add_flag("--profile", options.is_profiled, "print a profile of the timed repetitions");
  generate->add_flag("--json", command->is_json, "print the result as one line of JSON");
  add_threads_option(*generate, command->threads);
  generate->callback([command] { run_bench_generate(*command); });
}

}  // namespace edgewise

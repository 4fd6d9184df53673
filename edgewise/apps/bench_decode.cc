// SPDX-License-Identifier: Apache-2.0
// edgewise bench decode [--size SIZE | --model MODEL] --input FILE
#include <algorithm>
#include <memory>

#include "edgewise/apps/bench_profile.h"
#include "edgewise/apps/runtime/commands.h"
#include "edgewise/apps/runtime/shared_options.h"
#include "edgewise/apps/runtime/standard_streams.h"
#include "edgewise/base/files/json.h"
#include "edgewise/base/memory.h"
#include "edgewise/base/threads.h"
#include "edgewise/benchmark/decoding_bench.h"
#include "edgewise/device/choose_gpu.h"

namespace edgewise {
namespace {

struct BenchDecodeCommand {
  DecodingBenchOptions options;
  std::string device = "cpu";
  int workers = 0;
  int threads = 0;
  bool is_json = false;
};

/// Returns the requested split or, without --workers, two: one worker with all threads, and one worker per thread.
std::vector<ThreadSplit> splits_of(const BenchDecodeCommand& command) {
  const int threads = num_threads();
  if (command.workers > 0) return {{command.workers, std::max(1, threads / command.workers)}};
  if (threads == 1) return {{1, 1}};
  return {{1, threads}, {threads, 1}};
}

std::string splits_json(const std::vector<DecodingBench>& results) {
  return json_array(results, [](const DecodingBench& result) {
    return JsonObject()
        .add("workers", result.split.workers)
        .add("threads_each", result.split.threads)
        .add("output_tokens_per_second", result.tokens_per_second())
        .add("median_latency_ms", 1e3 * result.median_latency)
        .text();
  });
}

/// Returns the model directory or, without one, the size of the random model.
std::string model_name(const DecodingBenchOptions& options) {
  return options.model.empty() ? std::string(enum_name(options.size)) : options.model;
}

void print_json(const BenchDecodeCommand& command, const std::vector<DecodingBench>& results) {
  const auto fastest = std::ranges::max(results, {}, &DecodingBench::tokens_per_second);
  const auto lowest_latency = std::ranges::min(results, {}, &DecodingBench::median_latency);
  print_output("{}\n", JsonObject()
                           .add(command.options.model.empty() ? "size" : "model", model_name(command.options))
                           .add("device", command.options.gpu ? "cuda" : "cpu")
                           .add("precision", enum_name(command.options.precision))
                           .add("beam", command.options.beam)
                           .add("batch", command.options.batch)
                           .add("threads", num_threads())
                           .add("output_tokens_per_second", fastest.tokens_per_second())
                           .add("median_latency_ms", 1e3 * lowest_latency.median_latency)
                           .add("peak_memory_bytes", peak_memory())
                           .add_json("splits", splits_json(results))
                           .text());
}

void print_text(const BenchDecodeCommand& command, const std::vector<DecodingBench>& results) {
  print_output("{}, {}, beam {}, {} sentences at once, {} output tokens each\n", printable(model_name(command.options)),
               enum_name(command.options.precision), command.options.beam, command.options.batch,
               command.options.output_tokens);
  for (const DecodingBench& result : results) {
    print_output("{} workers with {} threads each: {:.0f} tokens/s, median latency {:.1f} ms\n", result.split.workers,
                 result.split.threads, result.tokens_per_second(), 1e3 * result.median_latency);
    if (!result.profile.empty()) print_profile(result.profile, result.seconds);
  }
}

void run_bench_decode(BenchDecodeCommand& command) {
  use_threads(command.threads);
  command.options.gpu = choose_gpu({"bench decode: --device", command.device});
  const std::vector<DecodingBench> results = measure_decoding(command.options, splits_of(command));
  command.is_json ? print_json(command, results) : print_text(command, results);
}

}  // namespace

void add_bench_decode(CLI::App& bench) {
  auto command = std::make_shared<BenchDecodeCommand>();
  DecodingBenchOptions& options = command->options;
  CLI::App* decode =
      bench.add_subcommand("decode", "Time decoding by the runtime, for sentences with the lengths of a corpus");
  CLI::Option* size =
      add_choice(*decode, "--size", options.size, "the size of a random model: tiny (default), small, base or big");
  CLI::Option* model =
      add_path(*decode, "--model", options.model, "a run or model directory, instead of a random model");
  model->excludes(size);
  add_number(*decode, "--decoder-layers", &options.depth.layers,
             "the number of first decoder layers of --model to decode with, at whose end it has an exit; default: all",
             range_of<TranslatorOptions>("decoder_layers"))
      ->needs(model);
  add_number(*decode, "--exit-threshold", &options.depth.exit_threshold,
             "the threshold of halting at the exits of --model; 1: no token halts; default: the model's config",
             range_of<TranslatorOptions>("exit_threshold"))
      ->needs(model);
  add_device_option(*decode, command->device);
  add_choice(*decode, "--precision", options.precision,
             "the number format of the weights: fp32 (default), bf16 or int8");
  add_number(*decode, "--beam", &options.beam, "the number of hypotheses in the beam; 1: greedy search; default 4",
             range_of<SearchOptions>("beam"));
  add_number(*decode, "--batch", &options.batch, "the number of sentences that a worker decodes at a time; default 32",
             at_least(1).at_most(1e5));
  add_path(*decode, "--input", options.input,
           "a file of sentences, one per line, which give a random model its input lengths, and --model its inputs")
      ->required();
  add_number(*decode, "--sentences", &options.sentences, "the number of sentences to decode; default 400",
             at_least(1).at_most(1e6));
  add_number(*decode, "--output-length", &options.output_tokens,
             "the number of tokens of each output, the end token among them; default 16", at_least(1).at_most(10'000));
  add_number(*decode, "--min-seconds", &options.min_seconds,
             "decode all sentences again until this time has passed; default 3", at_least(0).at_most(3600));
  add_number(*decode, "--workers", &command->workers,
             "the number of workers that share the threads; default: one, then one per thread",
             at_least(1).at_most(1024));
  decode->add_flag("--profile", options.is_profiled, "print a profile of the first worker");
  decode->add_flag("--json", command->is_json, "print the result as one line of JSON");
  add_threads_option(*decode, command->threads);
  decode->callback([command] { run_bench_decode(*command); });
}

}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
// edgewise bench train --size SIZE --input FILE --output FILE
// edgewise bench train --size SIZE --length N
#include <memory>

#include "edgewise/apps/runtime/commands.h"
#include "edgewise/apps/runtime/shared_options.h"
#include "edgewise/apps/runtime/standard_streams.h"
#include "edgewise/base/error.h"
#include "edgewise/base/files/json.h"
#include "edgewise/base/threads.h"
#include "edgewise/benchmark/device_limits.h"
#include "edgewise/benchmark/training_bench.h"
#include "edgewise/train/device.h"

namespace edgewise {
namespace {

struct BenchTrainCommand {
  TrainingBenchOptions options;
  std::vector<std::string> relation;
  std::string device = "cpu";
  int threads = 0;
  bool is_json = false;
};

std::string profile_json(const BenchTrainCommand& command, const TrainingBench& bench) {
  return json_array(bench.profile, [steps = static_cast<double>(command.options.steps)](const Profile::Line& line) {
    return JsonObject()
        .add("work", line.work)
        .add("ms_a_step", 1e3 * line.seconds / steps)
        .add("times", line.count)
        .text();
  });
}

void print_profile(const BenchTrainCommand& command, const TrainingBench& bench) {
  print_output("\nms a step  share  times a step  work\n");
  const auto steps = static_cast<double>(command.options.steps);
  double rest = bench.seconds;
  for (const Profile::Line& line : bench.profile) {
    print_output("{:9.2f}  {:4.1f} %  {:12.1f}  {}\n", 1e3 * line.seconds / steps, 100 * line.seconds / bench.seconds,
                 static_cast<double>(line.count) / steps, line.work);
    rest -= line.seconds;
  }
  print_output("{:9.2f}  {:4.1f} %                the rest\n", 1e3 * rest / steps, 100 * rest / bench.seconds);
}

void print_json(const BenchTrainCommand& command, const TrainingBench& bench, double peak) {
  const double flops_per_second = bench.flops / bench.seconds;
  JsonObject json;
  json.add("size", enum_name(command.options.size))
      .add("precision", enum_name(command.options.precision))
      .add("device", command.options.device.str())
      .add("threads", num_threads())
      .add("steps", command.options.steps)
      .add("batch_tokens", command.options.tokens)
      .add("length", command.options.length)
      .add("relation", fmt::format("{}", fmt::join(command.options.relation.front(), ", ")))
      .add("output_tokens_per_second", bench.tokens_per_second())
      .add("median_ms", 1e3 * bench.median_step)
      .add("mean_ms", 1e3 * bench.mean_step(command.options.steps))
      .add("peak_memory_bytes", bench.peak_memory)
      .add("peak_tensor_bytes", bench.peak_tensors)
      .add("model_gflops", flops_per_second / 1e9)
      .add("gemm_peak_gflops", peak / 1e9)
      .add("share_of_peak", flops_per_second / peak)
      .add("first_loss", bench.loss.first)
      .add("last_loss", bench.loss.last);
  print_output("{}\n", json.add_json("profile", profile_json(command, bench)).text());
}

void print_text(const BenchTrainCommand& command, const TrainingBench& bench, double peak) {
  const TransformerOptions model = bench_model_options(command.options.size);
  const double flops_per_second = bench.flops / bench.seconds;
  print_output("{}: size {}, feed-forward {}, {} heads, {}{} layers, {} tokens; {}, {} threads\n",
               enum_name(command.options.size), model.size, model.feed_forward, model.heads,
               command.options.length > 0 ? "" : fmt::format("{} + ", model.encoder_layers), model.decoder_layers,
               model.output_vocabulary, enum_name(command.options.precision), num_threads());
  print_output("output tokens/s  {:.0f}\n", bench.tokens_per_second());
  print_output("ms a step        {:.1f} median, {:.1f} mean of {} steps\n", 1e3 * bench.median_step,
               1e3 * bench.mean_step(command.options.steps), command.options.steps);
  print_output("model GFLOP/s    {:.0f}, {:.0f} % of {:.0f}, this machine's largest for matrix products\n",
               flops_per_second / 1e9, 100 * flops_per_second / peak, peak / 1e9);
  print_output("peak memory      {:.2f} GB; of tensors {:.2f} GB\n", static_cast<double>(bench.peak_memory) / 1e9,
               static_cast<double>(bench.peak_tensors) / 1e9);
  print_output("loss a token     {:.3f}, then {:.3f}\n", bench.loss.first, bench.loss.last);
  if (!bench.profile.empty()) print_profile(command, bench);
}

void run_bench_train(BenchTrainCommand& command) {
  check(command.options.length > 0 || !command.options.input.empty(),
        "bench train: there are no lengths, needs --input and --output, or --length");
  use_threads(command.threads);
  if (!command.relation.empty()) command.options.relation = {command.relation};
  command.options.device = choose_device({"bench train: --device", command.device});
  const TrainingBench bench = measure_training(command.options);
  const double peak = measure_gemm_peak(command.options.precision, command.options.device);
  command.is_json ? print_json(command, bench, peak) : print_text(command, bench, peak);
}

}  // namespace

void add_bench_train(CLI::App& bench) {
  auto command = std::make_shared<BenchTrainCommand>();
  CLI::App* train = bench.add_subcommand(
      "train", "Time training steps, for sentence pairs with the lengths of a corpus, or for texts");
  add_choice(*train, "--size", command->options.size,
             "the size of the model: tiny (default), small, base, big, characters, which has 65 tokens, or llama-125m");
  add_choice(*train, "--precision", command->options.precision,
             "the number format of linear layers and attention: fp32 (default) or bf16");
  CLI::Option* input = add_path(*train, "--input", command->options.input,
                                "a file of input sentences, one per line, which give the lengths");
  CLI::Option* output =
      add_path(*train, "--output", command->options.output, "a file of output sentences, one for each input");
  input->needs(output);
  output->needs(input);
  add_number(*train, "--length", &command->options.length,
             "instead of files: train a language model on texts of so many tokens", at_least(1).at_most(1e6))
      ->excludes(input);
  train->add_option("--relation", command->relation,
                    "the terms of model.relation, each in quotes: \"window 256\" \"sinks 4\"; default causal");
  add_number(*train, "--tokens", &command->options.tokens, "the number of tokens in a batch, at most; default 4096",
             at_least(1).at_most(1e6));
  add_number(*train, "--steps", &command->options.steps, "the number of timed steps; default 20",
             at_least(1).at_most(1e6));
  add_number(*train, "--warmup", &command->options.warmup, "the number of steps before the timed ones; default 3",
             at_least(1).at_most(1e6));
  train->add_flag("--profile", command->options.is_profiled, "print a profile of the timed steps");
  train->add_flag("--json", command->is_json, "print the result as one line of JSON");
  add_device_option(*train, command->device);
  add_threads_option(*train, command->threads);
  train->callback([command] { run_bench_train(*command); });
}

}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
// edgewise bench attention --case CASE
#include <memory>

#include "edgewise/apps/runtime/commands.h"
#include "edgewise/apps/runtime/shared_options.h"
#include "edgewise/apps/runtime/standard_streams.h"
#include "edgewise/base/files/json.h"
#include "edgewise/base/threads.h"
#include "edgewise/benchmark/attention_bench.h"
#include "edgewise/train/device.h"

namespace edgewise {
namespace {

struct BenchAttentionCommand {
  AttentionBenchOptions options;
  std::string device = "cpu";
  int threads = 0;
  bool is_json = false;
};

double per_second(std::int64_t count, const AttentionTime& time) { return static_cast<double>(count) / time.seconds; }

void print_json(const BenchAttentionCommand& command, const AttentionBench& bench) {
  JsonObject object;
  object.add("case", enum_name(command.options.which))
      .add("device", command.options.device.str())
      .add("precision", enum_name(command.options.precision))
      .add("threads", num_threads())
      .add("repetitions", command.options.repetitions)
      .add("kernel", bench.kernel)
      .add("nodes", bench.nodes)
      .add("edges", bench.edges);
  auto add_time = [&](const std::string& name, const AttentionTime& time) {
    object.add(name + "_ms", 1e3 * time.seconds)
        .add(name + "_mean_ms", 1e3 * time.mean_seconds)
        .add(name + "_edges_per_second", per_second(bench.edges, time))
        .add(name + "_gflops", time.flops / time.seconds / 1e9)
        .add(name + "_limit_ms", 1e3 * time.limit_seconds);
  };
  add_time("forward", bench.forward);
  add_time("total", bench.total);
  object.add("gemm_peak_gflops", bench.peak_flops / 1e9)
      .add("memory_gb_per_second", bench.peak_bandwidth / 1e9)
      .add("difference", bench.difference);
  print_output("{}\n", object.text());
}

void print_text(const BenchAttentionCommand& command, const AttentionBench& bench) {
  print_output("{}: {} nodes, {} edges; {}, {} threads, by {}\n", enum_name(command.options.which), bench.nodes,
               bench.edges, enum_name(command.options.precision), num_threads(), bench.kernel);
  print_output("{:<22} {:>10} {:>12} {:>10} {:>10} {:>10}\n", "", "ms", "edges/s", "GFLOP/s", "limit, ms", "of limit");
  auto print_time = [&](std::string_view name, const AttentionTime& time) {
    print_output("{:<22} {:>10.2f} {:>12.3g} {:>10.0f} {:>10.2f} {:>8.0f} %\n", name, 1e3 * time.seconds,
                 per_second(bench.edges, time), time.flops / time.seconds / 1e9, 1e3 * time.limit_seconds,
                 100 * time.limit_seconds / time.seconds);
  };
  print_time("forward", bench.forward);
  print_time("forward and backward", bench.total);
  print_output("limits: matrix products at {:.0f} GFLOP/s, memory at {:.1f} GB/s\n", bench.peak_flops / 1e9,
               bench.peak_bandwidth / 1e9);
  print_output("differs from fp64 by {:.1e} at most\n", bench.difference);
}

void run_bench_attention(BenchAttentionCommand& command) {
  use_threads(command.threads);
  command.options.device = choose_device({"bench attention: --device", command.device});
  const AttentionBench bench = measure_attention(command.options);
  command.is_json ? print_json(command, bench) : print_text(command, bench);
}

}  // namespace

void add_bench_attention(CLI::App& bench) {
  auto command = std::make_shared<BenchAttentionCommand>();
  CLI::App* attention = bench.add_subcommand("attention", "Time attention and its backward pass over a relation");
  add_choice(*attention, "--case", command->options.which,
             "the relation: sentences (default), causal, small, window, random, long or long-causal");
  add_device_option(*attention, command->device);
  add_choice(*attention, "--precision", command->options.precision,
             "the number format of the tensors: fp32 (default) or bf16");
  add_number(*attention, "--repetitions", &command->options.repetitions,
             "the number of timed repetitions, whose median is printed, with --json also the mean; default 20",
             at_least(1).at_most(1e6));
  attention->add_flag("--json", command->is_json, "print the result as one line of JSON");
  add_threads_option(*attention, command->threads);
  attention->callback([command] { run_bench_attention(*command); });
}

}  // namespace edgewise

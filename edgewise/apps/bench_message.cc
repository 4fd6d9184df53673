// SPDX-License-Identifier: Apache-2.0
// edgewise bench message --case CASE
#include <algorithm>
#include <memory>
#include <string>

#include "edgewise/apps/runtime/commands.h"
#include "edgewise/apps/runtime/shared_options.h"
#include "edgewise/apps/runtime/standard_streams.h"
#include "edgewise/base/files/json.h"
#include "edgewise/base/threads.h"
#include "edgewise/benchmark/copy_task_bench.h"
#include "edgewise/benchmark/message_bench.h"

namespace edgewise {
namespace {

struct BenchMessageCommand {
  MessageBenchOptions options;
  MessageWay way = MessageWay::kBuiltIn;
  CLI::Option* way_option = nullptr;
  int threads = 0;
  bool is_json = false;
};

/// Returns a name for JSON: "built_in".
std::string json_name(MessageWay way) {
  std::string name(enum_name(way));
  std::ranges::replace(name, '-', '_');
  return name;
}

JsonObject begin_json(const MessageBenchOptions& options) {
  JsonObject object;
  object.add("case", enum_name(options.which))
      .add("threads", num_threads())
      .add("repetitions", options.repetitions)
      .add("heads", options.num_heads())
      .add("head_size", options.size_of_head());
  return object;
}

void print_json(const MessageBenchOptions& options, const MessageBench& bench) {
  JsonObject object = begin_json(options);
  object.add("nodes", bench.nodes).add("edges", bench.edges).add("memory_gb_per_second", bench.peak_bandwidth / 1e9);
  const MessageWayBench* plain = bench.find(MessageWay::kAttend);
  for (const MessageWayBench& way : bench.ways) {
    const std::string name = json_name(way.way);
    const auto add_pass = [&](const std::string& pass_name, const MessagePass& pass) {
      object.add(pass_name + "_ms", 1e3 * pass.seconds)
          .add(pass_name + "_gb_per_second", pass.bytes / pass.seconds / 1e9)
          .add(pass_name + "_limit_ms", 1e3 * pass.limit_seconds);
      if (pass.row_bytes > 0) object.add(pass_name + "_row_gb_per_second", pass.row_bytes / pass.seconds / 1e9);
    };
    add_pass(name + "_forward", way.forward);
    add_pass(name + "_total", way.total);
    if (plain != nullptr) {
      object.add(name + "_over_attend_forward", way.forward.seconds / plain->forward.seconds)
          .add(name + "_over_attend_total", way.total.seconds / plain->total.seconds);
    }
    object.add(name + "_extra_memory_bytes", way.extra_memory).add(name + "_difference", way.difference);
  }
  print_output("{}\n", object.text());
}

void print_text(const MessageBenchOptions& options, const MessageBench& bench) {
  print_output("{}: {} nodes, {} edges, {} heads of {}; fp32, {} threads\n", enum_name(options.which), bench.nodes,
               bench.edges, options.num_heads(), options.size_of_head(), num_threads());
  print_output("{:<10} {:<22} {:>10} {:>9} {:>10} {:>9} {:>10} {:>10}\n", "", "", "ms", "GB/s", "of limit", "rows",
               "of attend", "memory");
  const MessageWayBench* plain = bench.find(MessageWay::kAttend);
  for (const MessageWayBench& way : bench.ways) {
    const auto print_pass = [&](std::string_view name, const MessagePass& pass, double plain_seconds,
                                std::string_view memory) {
      const std::string rows = pass.row_bytes > 0 ? fmt::format("{:.1f}", pass.row_bytes / pass.seconds / 1e9) : "";
      const std::string ratio = plain_seconds > 0 ? fmt::format("{:.2f}", pass.seconds / plain_seconds) : "";
      print_output("{:<10} {:<22} {:>10.2f} {:>9.1f} {:>8.0f} % {:>9} {:>10} {:>10}\n", enum_name(way.way), name,
                   1e3 * pass.seconds, pass.bytes / pass.seconds / 1e9, 100 * pass.limit_seconds / pass.seconds, rows,
                   ratio, memory);
    };
    print_pass("forward", way.forward, plain != nullptr ? plain->forward.seconds : 0, "");
    print_pass("forward and backward", way.total, plain != nullptr ? plain->total.seconds : 0,
               fmt::format("{:.0f} MB", static_cast<double>(way.extra_memory) / 1e6));
  }
  print_output(
      "GB/s: each operand and result once; rows: GB/s with a row for each edge; of attend: the time over that of "
      "attend;\nmemory: beyond inputs, result and gradients; this machine copies memory at {:.1f} GB/s\n",
      bench.peak_bandwidth / 1e9);
}

void print_json(const MessageBenchOptions& options, const CopyTaskBench& bench) {
  JsonObject object = begin_json(options);
  object.add("sentences", bench.sentences).add("output_tokens", bench.output_tokens);
  for (const TrainingWayBench& way : bench.ways) {
    const std::string name = json_name(way.way);
    object.add(name + "_ms", 1e3 * way.seconds)
        .add(name + "_output_tokens_per_second", bench.tokens_per_second(way))
        .add(name + "_first_loss", way.first_loss)
        .add(name + "_last_loss", way.last_loss);
  }
  print_output("{}\n", object.text());
}

void print_text(const MessageBenchOptions& options, const CopyTaskBench& bench) {
  print_output("copy-task: {} pairs, {} output tokens, {} heads of {}; fp32, {} threads\n", bench.sentences,
               bench.output_tokens, options.num_heads(), options.size_of_head(), num_threads());
  for (const TrainingWayBench& way : bench.ways) {
    print_output("{:<10} {:>8.2f} ms a step, {:>8.0f} output tokens/s, loss {:.3f} to {:.3f}\n", enum_name(way.way),
                 1e3 * way.seconds, bench.tokens_per_second(way), way.first_loss, way.last_loss);
  }
}

void run_bench_message(BenchMessageCommand& command) {
  use_threads(command.threads);
  if (command.way_option->count() > 0) command.options.way = command.way;
  const auto print = [&](const auto& bench) {
    command.is_json ? print_json(command.options, bench) : print_text(command.options, bench);
  };
  if (command.options.which == MessageCase::kCopyTask) {
    print(measure_copy_task(command.options));
  } else {
    print(measure_messages(command.options));
  }
}

}  // namespace

void add_bench_message(CLI::App& bench) {
  auto command = std::make_shared<BenchMessageCommand>();
  MessageBenchOptions& options = command->options;
  CLI::App* message =
      bench.add_subcommand("message", "Time message passing beside attention, operation by operation, and in training");
  add_choice(*message, "--case", options.which,
             "attention over sentences (default), window or random; power-law: single operations on a graph of "
             "2 million edges; copy-task: training of the graph tutorial's model");
  command->way_option = add_choice(
      *message, "--way", command->way,
      "measure only this way, a score function beside attend; default: all ways of the case, for window without "
      "functions, which needs 20 GB");
  add_number(*message, "--heads", &options.heads, "the number of heads; default 8, for power-law and copy-task 1",
             at_least(1).at_most(1024));
  add_number(*message, "--head-size", &options.head_size, "the size of a head; default 64, for copy-task 128",
             at_least(1).at_most(4096));
  add_number(*message, "--repetitions", &options.repetitions,
             "the number of timed repetitions, whose median is printed; slow ways are repeated less often; default 20",
             at_least(1).at_most(1e6));
  message->add_flag("--json", command->is_json, "print the result as one line of JSON");
  add_threads_option(*message, command->threads);
  message->callback([command] { run_bench_message(*command); });
}

}  // namespace edgewise

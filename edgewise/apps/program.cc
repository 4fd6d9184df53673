// SPDX-License-Identifier: Apache-2.0
#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <torch/version.h>

#include <string_view>

#include "edgewise/apps/runtime/commands.h"
#include "edgewise/base/version.h"
#include "edgewise/train/device.h"

namespace edgewise {
namespace {

/// Explains the error of a failed allocation of libtorch. On the CPU, its type is that of all errors of libtorch.
std::optional<std::string> explain_torch_error(const std::exception& error) {
  if (auto reason = explain_gpu_memory(error)) return reason;
  const auto* torch = dynamic_cast<const c10::Error*>(&error);
  if (torch == nullptr) return std::nullopt;
  const std::string_view message = torch->what_without_backtrace();
  const bool is_out_of_memory = message.find("DefaultCPUAllocator") != std::string_view::npos;
  return is_out_of_memory ? std::optional(out_of_memory_text()) : std::nullopt;
}

}  // namespace

int run_edgewise(int argc, char** argv) {
  CLI::App program(
      "Transformers as message passing on graphs: train them, translate with them, and draw what they compute.",
      "edgewise");
  program.set_version_flag("--version", fmt::format("edgewise {}", version()));
  program.require_subcommand(1);
  add_train(program);
  add_translate(program);
  add_generate(program);
  add_serve(program);
  add_vocab(program);
  add_distil(program);
  add_average(program);
  add_quantise(program);
  add_shortlist(program);
  add_calibrate(program);
  add_import(program);
  add_export(program);
  add_compare(program);
  add_score(program);
  add_score_pairs(program);
  add_perplexity(program);
  add_inspect(program);
  add_doctor(program, TORCH_VERSION);
  add_picture(program);
  CLI::App* bench = program.add_subcommand(
      "bench", "Measure the speed of training, attention, message passing, decoding and generating on this machine");
  bench->require_subcommand(1);
  add_bench_train(*bench);
  add_bench_attention(*bench);
  add_bench_message(*bench);
  add_bench_decode(*bench);
  add_bench_generate(*bench);
  return run_program(program, argc, argv, explain_torch_error);
}

}  // namespace edgewise

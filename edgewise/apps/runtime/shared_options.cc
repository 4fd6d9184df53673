// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/runtime/shared_options.h"

#include <cstdlib>

#include "edgewise/base/threads.h"

namespace edgewise {

void add_threads_option(CLI::App& command, int& threads) {
  command
      .add_option("--threads", threads,
                  "the number of threads; default: OMP_NUM_THREADS, or the number of available cores")
      ->check(CLI::Range(0, 4096));
}

void use_threads(int threads) {
  // Kernels and libtorch both use OpenMP, which has one number of threads.
  if (threads == 0 && std::getenv("OMP_NUM_THREADS") != nullptr) return;
  set_num_threads(threads > 0 ? threads : available_cores());
}

void add_settings_option(CLI::App& command, std::vector<std::string>& settings) {
  command.add_option("--set", settings, "section.key=value, replaces a value of the config; may be repeated")
      ->allow_extra_args(false);
}

void add_translator_options(CLI::App& command, TranslatorSettings& settings) {
  TranslatorOptions& options = settings.options;
  command
      .add_option("--model", settings.models,
                  "a run or model directory; several --model options with equal vocabularies form an ensemble")
      ->allow_extra_args(false)
      ->required();
  command
      .add_option("--precision", options.precision,
                  "the number format of matrix products: fp32 (default), bf16 or int8")
      ->transform(one_of<RuntimePrecision>());
  command
      .add_option("--batch-sentences", options.capacity.sentences,
                  "the most sentences that a worker translates at a time; default 32")
      ->check(CLI::Range(1, 1 << 20));
  command
      .add_option("--batch-tokens", options.capacity.tokens,
                  "the most input tokens that a worker translates at a time; default 0: no limit")
      ->check(CLI::NonNegativeNumber);
  command
      .add_option("--workers", options.workers,
                  "the number of searches that run in parallel and share the threads; default 1")
      ->check(CLI::Range(1, 4096));
  command.add_option(
      "--attention-layer", options.recorded_heads.layer,
      "the decoder layer whose cross-attention gives the alignments, from 0; -1 (default): the last layer");
  command.add_option("--attention-head", options.recorded_heads.head,
                     "the head of --attention-layer, from 0; -1 (default): the mean of all heads");
  add_threads_option(command, settings.threads);
}

}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
// Trains a translation model, evaluates it on its test set and translates a sentence:
//
//     build/examples/example_train [CONFIG.toml [RUN [section.key=value…]]]
#include "edgewise/experiment/train.h"

#include <fmt/format.h>

#include <algorithm>

#include "edgewise/base/error.h"

struct Printer : edgewise::RunObserver {
  void on_log(const edgewise::StepReport& report) override {
    fmt::print("step {}: loss {:.3f}, {:.0f} tokens/s\n", report.step, report.loss, report.tokens_per_second);
  }
};

int main(int argc, char** argv) try {
  const std::filesystem::path config = argc > 1 ? argv[1] : "configs/demo.toml";
  const std::filesystem::path run = argc > 2 ? argv[2] : "runs/example";
  const std::vector<std::string> overrides(argv + std::min(argc, 3), argv + argc);

  Printer printer;
  edgewise::RunRequests requests;  // another thread or a signal handler may set requests.stop
  const edgewise::TrainResult result = edgewise::train(edgewise::read_experiment(config, overrides), run,
                                                       {.data_folder = config.parent_path()}, printer, requests);

  const edgewise::TranslationModel model = edgewise::load_model(run);
  const edgewise::Validation test = edgewise::evaluate(model, result.test);
  fmt::print("test after {} steps: loss {:.3f}, BLEU {:.1f}\n", result.step, test.loss, test.bleu.value_or(0));
  fmt::print("{}\n", edgewise::translate(model, {"I like music."}).front().text);
} catch (const edgewise::Error& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 2;
}

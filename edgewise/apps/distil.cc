// SPDX-License-Identifier: Apache-2.0
// edgewise distil CONFIG.toml --out DIRECTORY
#include "edgewise/experiment/distil.h"

#include <csignal>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "edgewise/apps/progress.h"
#include "edgewise/apps/runtime/commands.h"
#include "edgewise/apps/runtime/shared_options.h"
#include "edgewise/apps/runtime/standard_streams.h"
#include "edgewise/apps/train_signals.h"
#include "edgewise/base/config/config.h"
#include "edgewise/base/utf8.h"

namespace edgewise {
namespace {

struct DistilCommand {
  std::filesystem::path config;
  std::filesystem::path destination;
  std::vector<std::string> settings;
  Overwrite overwrite = Overwrite::kNo;
  int threads = 0;
};

/// Prints the steps, and the progress of the student's training.
class DistilProgress : public DistilObserver {
 public:
  explicit DistilProgress(TrainSignals& signals) : signals_(signals) {}

  void on_step(std::string_view step, bool is_done) override {
    print_output("{}: {}\n", step, is_done ? "done before" : "begins");
  }
  void on_translation(std::int64_t lines) override {
    constexpr std::int64_t kLinesPerReport = 10'000;
    if (lines % kLinesPerReport == 0) print_output("{} lines translated\n", lines);
  }
  void on_pairs(const DistilledPairs& pairs) override {
    const std::string skipped = pairs.describe_skipped();
    print_output("{} pairs to learn from{}{}\n", pairs.kept, skipped.empty() ? "" : "; left out: ", skipped);
  }
  std::unique_ptr<RunObserver> observe_training(const Experiment& student) override {
    return std::make_unique<StudentProgress>(student, signals_);
  }

 private:
  /// Keeps the signal handlers, which forget earlier signals when they are installed again.
  class StudentProgress : public Progress {
   public:
    using Progress::Progress;
    void on_start() override {}
  };

  TrainSignals& signals_;
};

void run_distil(const DistilCommand& command) {
  TrainSignals signals;
  make_output_optional();
  use_threads(command.threads);
  const auto options = read_config<DistilOptions>(command.config, command.settings);
  DistilProgress progress(signals);
  signals.handle_end_signals();
  try {
    distil(options, command.config.parent_path(), command.destination, progress, signals.requests(), command.overwrite);
  } catch (const StopException&) {
    print_output("stopped; all is saved. To go on, give the same command.\n");
    throw SignalExit(signals.end_signal() != 0 ? signals.end_signal() : SIGTERM);
  }
  print_output("{}: the student\n", printable((command.destination / "6-model" / "model").string()));
}

}  // namespace

void add_distil(CLI::App& program) {
  auto command = std::make_shared<DistilCommand>();
  CLI::App* distil = program.add_subcommand(
      "distil", "Train a student on the translations of one model or of several, from a corpus to a small model");
  add_path(*distil, "config", command->config, "the config, a TOML file")->required();
  add_path(*distil, "--out", command->destination, "the directory to write: a folder for each step")->required();
  distil->add_flag_callback(
      "--overwrite", [command] { command->overwrite = Overwrite::kYes; },
      "make steps again whose files or options have changed since");
  add_settings_option(*distil, command->settings);
  add_threads_option(*distil, command->threads);
  distil->callback([command] { run_distil(*command); });
}

}  // namespace edgewise

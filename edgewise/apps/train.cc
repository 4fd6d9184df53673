// SPDX-License-Identifier: Apache-2.0
// edgewise train CONFIG.toml --out RUN [--from MODEL]
#include "edgewise/experiment/train.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <csignal>
#include <initializer_list>

#include "edgewise/apps/progress.h"
#include "edgewise/apps/runtime/commands.h"
#include "edgewise/apps/runtime/shared_options.h"
#include "edgewise/apps/runtime/standard_streams.h"
#include "edgewise/apps/train_signals.h"
#include "edgewise/base/config/config.h"
#include "edgewise/base/files/files.h"
#include "edgewise/base/threads.h"
#include "edgewise/base/utf8.h"
#include "edgewise/base/version.h"
#include "edgewise/distributed/agreement.h"
#include "edgewise/distributed/connect.h"
#include "edgewise/distributed/launch/launch_signals.h"
#include "edgewise/distributed/launch/local_processes.h"
#include "edgewise/distributed/launch_environment.h"
#include "edgewise/distributed/process_group.h"
#include "edgewise/experiment/language_task.h"
#include "edgewise/experiment/make_vocabularies.h"
#include "edgewise/experiment/run_config.h"
#include "edgewise/nn/serialize.h"
#include "edgewise/pictures/run_comparison.h"
#include "edgewise/train/device.h"

namespace edgewise {
namespace {

constexpr double kMaxProcess = 1 << 22;  // the most processes that Linux numbers

struct TrainCommand {
  std::string config;
  std::string run;
  std::string from;
  std::optional<std::string> device;
  std::vector<std::string> settings;
  bool is_resumed = false;
  std::int64_t parent = 0;
  int threads = 0;
  int processes = 1;
  int max_restarts = 0;
  double timeout = 1800;
};

/// Returns how to change the command, so that it resumes the run.
std::string_view resuming(const TrainCommand& command) {
  return command.from.empty() ? "add --resume to the command" : "replace --from MODEL by --resume in the command";
}

/// Returns the signal that ended the run: SIGTERM if another process received the signal.
int signal_of(const TrainSignals& signals) { return signals.end_signal() != 0 ? signals.end_signal() : SIGTERM; }

/// Measures a language model on the test text, in chunks as in training.
Validation evaluate_text(const TranslationModel& model, const DocumentText& text, const StopRequest& stop) {
  const std::int64_t length = model.experiment.batch.length;
  const CoverOptions cover = {.length = length, .step = length};
  return evaluate(model, encode_evaluation_text(model.model->options(), text, *model.vocabularies.output, cover, &stop),
                  &stop);
}

/// Scores the test set of a finished run.
void score_test(const TrainCommand& command, const TrainResult& result, TrainSignals& signals) {
  try {
    const TranslationModel model = load_model(command.run);
    move_parameters(model.model->parameters(), result.device);
    const StopRequest& stop = signals.requests().stop;
    const Validation scores =
        result.test_text ? evaluate_text(model, *result.test_text, stop) : evaluate(model, result.test, &stop);
    print_output("test: {}\n", format_validation(scores));
  } catch (const StopException&) {
    print_output("stopped before the test set was scored. To score it, {}.\n", resuming(command));
    throw SignalExit(signal_of(signals));
  }
}

Experiment read_config(const TrainCommand& command) {
  if (command.is_resumed) return read_resumed_config(command.config, command.settings, command.run);
  if (!command.from.empty()) return read_fine_tuning_config(command.config, command.settings, command.from);
  return read_experiment(command.config, command.settings);
}

/// Prints nothing: process 0 prints for all.
class SilentProgress : public RunObserver {
 public:
  explicit SilentProgress(TrainSignals& signals) : signals_(signals) {}
  void on_start() override { signals_.handle_end_signals(); }

 private:
  TrainSignals& signals_;
};

/// Reads the config in all processes, which need the same; the run directory and the model of --from only in process 0.
Experiment read_shared_config(const TrainCommand& command, ProcessGroup& processes) {
  if (processes.size() == 1) return read_config(command);
  check_same(processes, {{"version", std::string(version())},
                         {"config", read_file(command.config)},
                         {"settings (--set)", fmt::format("{}", fmt::join(command.settings, "\n"))},
                         {"use of --resume", command.is_resumed ? "yes" : "no"},
                         {"use of --from", command.from.empty() ? "no" : "yes"}});
  std::string text;
  on_first_process(processes, [&] { text = to_toml(read_config(command)); });
  return parse_experiment(broadcast_bytes(processes, text), command.config);
}

/// Returns the rank of a process on its machine.
LocalRank local_rank_of(const std::optional<LaunchEnvironment>& launched) {
  return launched ? LocalRank{launched->local_rank, launched->local_size} : LocalRank();
}

/// Returns the device on which the processes exchange tensors. After an error, the processes connect on the CPU, and
/// find the same error again together: read_shared_config() and train() report it once.
at::Device choose_exchange_device(const TrainCommand& command, const LocalRank& local_rank) {
  try {
    const Experiment experiment = read_experiment(command.config, command.settings);
    return choose_device({"train: train.device", experiment.train.device, local_rank});
  } catch (const Error&) {
    return at::kCPU;
  }
}

TrainResult train_as_process(const TrainCommand& command, const Experiment& experiment, RunObserver& observer,
                             TrainSignals& signals, ProcessGroup& processes) {
  return train(experiment, command.run,
               {.data_folder = std::filesystem::path(command.config).parent_path(),
                .is_resumed = command.is_resumed,
                .from = command.from,
                .local_rank = local_rank_of(read_launch_environment())},
               observer, signals.requests(), processes);
}

/// Trains as the first process, which prints for all.
void train_and_report(const TrainCommand& command, const Experiment& experiment, TrainSignals& signals,
                      ProcessGroup& processes) {
  const std::string unused = describe_unused_options(experiment.vocabulary);
  if (!unused.empty() && !command.is_resumed && command.from.empty()) print_output("note: {}\n", unused);
  Progress progress(experiment, signals);
  if (processes.size() > 1) print_output("{} processes\n", processes.size());
  const TrainResult result = train_as_process(command, experiment, progress, signals, processes);
  progress.finish_line();
  if (result.outcome == Outcome::kInterrupted) {
    print_output("stopped at step {}; all is saved. To go on, {}.\n", result.step, resuming(command));
    throw SignalExit(signal_of(signals));
  }
  print_output("{} after {} steps and {}\n",
               result.outcome == Outcome::kStoppedEarly ? "validation no longer improves: ended" : "ended", result.step,
               format_duration(result.seconds));
  if (result.test.size() > 0 || result.test_text) score_test(command, result, signals);
}

void train_silently(const TrainCommand& command, const Experiment& experiment, TrainSignals& signals,
                    ProcessGroup& processes) {
  SilentProgress progress(signals);
  const TrainResult result = train_as_process(command, experiment, progress, signals, processes);
  if (result.outcome == Outcome::kInterrupted) throw SignalExit(signal_of(signals));
}

/// Returns the command of a process that a launcher has started again: the training goes on if it has a checkpoint.
TrainCommand command_after_restarts(TrainCommand command, std::int64_t restarts, ProcessGroup& processes) {
  bool is_begun = false;
  on_first_process(
      processes, [&] { is_begun = restarts > 0 && path_exists(std::filesystem::path(command.run) / "last", "train"); });
  if (!is_any_set(processes, is_begun)) return command;
  command.is_resumed = true;
  command.from.clear();
  return command;
}

void train_in_process(const TrainCommand& command, ProcessGroup& processes, TrainSignals& signals) {
  const Experiment experiment = read_shared_config(command, processes);
  const bool is_first = processes.rank() == 0;
  (is_first ? train_and_report : train_silently)(command, experiment, signals, processes);
}

/// Returns the command of each process that --processes starts.
std::vector<std::string> command_of_process(const TrainCommand& command) {
  std::vector<std::string> words = {"/proc/self/exe", "train", command.config, "--out", command.run};
  const auto add = [&](std::initializer_list<std::string> more) { words.insert(words.end(), more); };
  if (command.is_resumed) add({"--resume"});
  if (!command.from.empty()) add({"--from", command.from});
  for (const std::string& setting : command.settings) add({"--set", setting});
  const int threads = command.threads > 0 ? command.threads : std::max(1, default_num_threads() / command.processes);
  add({"--threads", std::to_string(threads), "--timeout", fmt::format("{}", command.timeout)});
  return words;
}

/// Trains in several processes of this machine, and returns the exit code.
int run_local_training(const TrainCommand& command) {
  LocalProcessesOptions options{.processes = command.processes, .max_restarts = command.max_restarts};
  options.on_restart = [&](const std::string& failure, int restart) {
    print_error("train: {}; all processes start again from the last checkpoint ({} of {} restarts)\n", failure, restart,
                command.max_restarts);
  };
  const LocalProcessesResult result = run_local_processes(command_of_process(command), options);
  if (!result.failure.empty()) {
    print_error("train: {}, needs all processes; to go on from the last checkpoint, {}\n", result.failure,
                resuming(command));
  }
  return result.exit_code;
}

/// Connects to the other processes of a training, which exchange tensors on `device`, and calls `train`. The errors
/// that run_program prints then begin with the rank of the process; process 0 alone prints an error of all processes.
/// `timeout` limits the wait for an exchange. Throws EarlyExit with kLostProcessExitCode (local_processes.h), after
/// printing a message, if another process is lost.
void run_as_rank(const LaunchEnvironment& launched, std::chrono::duration<double> timeout, at::Device device,
                 const std::function<void(ProcessGroup&)>& train) {
  set_error_prefix(fmt::format("rank {}: ", launched.rank));
  ConnectOptions options;
  options.exchange_timeout = std::chrono::duration_cast<std::chrono::milliseconds>(timeout);
  options.connect_timeout = std::min(options.connect_timeout, options.exchange_timeout);
  options.device = device;
  try {
    const std::unique_ptr<ProcessGroup> processes = connect_processes(launched, options);
    train(*processes);
  } catch (const CollectiveError&) {
    if (launched.rank > 0) throw EarlyExit(kUserErrorExitCode);
    set_error_prefix("");
    throw;
  } catch (const LostProcessError& error) {
    print_error("rank {}: {}\n", launched.rank, printable(error.what()));
    throw EarlyExit(kLostProcessExitCode);
  }
}

void run_train(const TrainCommand& command) {
  const std::optional<LaunchEnvironment> launched = read_launch_environment();
  check(!launched || command.processes == 1,
        "train: --processes is {} in a process that a launcher started, needs to be "
        "left out; the launcher says how many processes there are",
        command.processes);
  check(command.parent == 0 || end_with_parent(static_cast<pid_t>(command.parent)),
        "train: --end-with-parent is {}, needs the number of the process that started this one and has not ended",
        command.parent);
  if (command.processes > 1) throw EarlyExit(run_local_training(command));
  TrainSignals signals;
  make_output_optional();
  use_threads(command.threads);
  if (!launched) return train_in_process(command, single_process(), signals);
  const at::Device device = choose_exchange_device(command, local_rank_of(launched));
  prepare_device(device);  // while no thread of c10d reads the environment
  run_as_rank(*launched, std::chrono::duration<double>(command.timeout), device, [&](ProcessGroup& processes) {
    train_in_process(command_after_restarts(command, launched->restarts, processes), processes, signals);
  });
}

}  // namespace

void add_train(CLI::App& program) {
  auto command = std::make_shared<TrainCommand>();
  CLI::App* train = program.add_subcommand("train", "Train the model that a config file describes");
  add_path(*train, "config", command->config, "the config, a TOML file")->required();
  add_path(*train, "--out", command->run, "the run directory to write: checkpoints and metrics")->required();
  add_path(*train, "--from", command->from,
           "start from this model: a run or model directory, whose vocabularies and parameters the new run has");
  add_settings_option(*train, command->settings);
  train->add_flag("--resume", command->is_resumed, "continue the run that --out holds");
  add_number(*train, "--end-with-parent", &command->parent,
             "save and end, as at SIGTERM, when the process with this number ends, which must have started this one",
             at_least(1).at_most(kMaxProcess));
  train->add_option("--device", command->device,
                    "where to compute: cpu (default); cuda, for each process the GPU with its number on the machine; "
                    "cuda:N, the GPU number N; or auto, a GPU if one can be used; replaces train.device of the config");
  add_threads_option(*train, command->threads);
  add_number(
      *train, "--processes", &command->processes,
      "train in so many processes of this machine, a power of two that is at most train.virtual_ranks; torchrun, "
      "srun and mpirun start them on several machines",
      at_least(1).at_most(kMaxProcess));
  add_number(*train, "--max-restarts", &command->max_restarts,
             "with --processes, how often to start again from the last checkpoint when a process was lost",
             at_least(0).at_most(1e6));
  add_number(*train, "--timeout", &command->timeout,
             "seconds to wait for another process of the training before it counts as lost", above(0).at_most(1e6));
  train->callback([command] {
    if (command->device) command->settings.push_back("train.device=" + *command->device);
    run_train(*command);
  });
}

}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#include "edgewise/experiment/train.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "edgewise/base/files/files.h"
#include "edgewise/base/memory.h"
#include "edgewise/base/sha256.h"
#include "edgewise/distributed/agreement.h"
#include "edgewise/experiment/attention_log.h"
#include "edgewise/experiment/make_vocabularies.h"
#include "edgewise/experiment/run_config.h"
#include "edgewise/experiment/training_data.h"
#include "edgewise/experiment/training_doubts.h"
#include "edgewise/kernels/gemm/gemm.h"
#include "edgewise/models/model_costs.h"
#include "edgewise/nn/serialize.h"
#include "edgewise/train/run_files.h"
#include "edgewise/train/tensorboard.h"

namespace edgewise {
namespace {

constexpr const char* kLockFile = "lock";  // the file that RunLock creates

/// The lock of a run directory before training. If training does not begin, removes a directory that it created.
class PreparedRun {
 public:
  explicit PreparedRun(const std::filesystem::path& run)
      : run_(run), is_new_(!path_exists(run, "train")), lock_(std::in_place, run) {}
  ~PreparedRun() {
    if (!lock_ || !is_new_) return;
    std::error_code error;
    std::filesystem::remove(run_ / kLockFile, error);
    std::filesystem::remove(run_, error);
  }

  RunLock take_lock() { return *std::exchange(lock_, std::nullopt); }

 private:
  std::filesystem::path run_;
  bool is_new_;
  std::optional<RunLock> lock_;
};

/// Reads the vocabularies of the run's last checkpoint, after checking that the config describes its model.
GivenVocabularies read_last_vocabularies(const Experiment& experiment, const std::filesystem::path& run) {
  const std::filesystem::path last = run / "last";
  const ModelFiles files = read_model_files(last, "train");
  check_resumed(experiment, files.experiment, (last / kConfigFile).string(), "train");
  return {files.codec.vocabularies};
}

/// Returns the vocabularies that exist before the training; nullopt if they are to be learned. `start` may be null.
std::optional<GivenVocabularies> read_vocabularies_before(const Experiment& experiment,
                                                          const std::filesystem::path& run,
                                                          const TrainSettings& settings, const ModelFiles* start) {
  if (settings.is_resumed) return read_last_vocabularies(experiment, run);
  if (start != nullptr) return GivenVocabularies{start->codec.vocabularies};
  return read_given_vocabularies(experiment.vocabulary, settings.data_folder);
}

void require_training_memory(const TransformerOptions& model, const TrainOptions& options, const BatchShares& batches,
                             const ProcessGroup& processes) {
  const TrainingProcess process{.processes = processes.size(), .saves = processes.rank() == 0};
  const std::int64_t parameters = count_parameters(check_options(model));
  const BatchTokens batch = batches.largest_batch(
      [&](const BatchTokens& tokens) { return training_memory(model, options, tokens, process); });
  require_memory(training_memory(model, options, batch, process),
                 fmt::format("train: training {} parameters with a batch of {} input and {} output tokens", parameters,
                             batch.input, batch.output),
                 "choose smaller values of model.size, model.feed_forward, the model's layers or batch.tokens");
}

/// The files with which a run begins, in process 0.
struct RunStart {
  std::unique_ptr<PreparedRun> prepared;
  std::unique_ptr<ModelFiles> model;  // the model of TrainSettings::from
  std::optional<GivenVocabularies> vocabularies;
};

RunStart read_start(const Experiment& experiment, const std::filesystem::path& run, const TrainSettings& settings,
                    RunObserver& observer) {
  check(!settings.is_resumed || settings.from.empty(),
        "train: --from is given to resume a run, needs to be left out, because {} has the run's parameters",
        (run / "last").string());
  RunStart start;
  if (!settings.from.empty()) start.model = std::make_unique<ModelFiles>(read_start_model(settings.from, experiment));
  check_options(experiment, "train");
  require_unlocked(run);
  if (!settings.is_resumed) require_no_run(run);
  start.prepared = std::make_unique<PreparedRun>(run);
  const std::string damage = settings.is_resumed ? restore_last(run) : "";
  if (!damage.empty()) observer.on_restore(damage);
  start.vocabularies = read_vocabularies_before(experiment, run, settings, start.model.get());
  return start;
}

/// Throws CollectiveError unless all processes train and validate with the same data.
void check_same_data(ProcessGroup& processes, const BatchShares& batches, const TrainingData& data) {
  if (processes.size() == 1) return;
  check_same(processes, {{"hash of the training pairs", fmt::format("{:016x}", batches.fingerprint())},
                         {"hash of the validation pairs", sha256(data.describe_validation())}});
}

/// Chooses and prepares the device of this process.
at::Device take_device(const Experiment& experiment, const TrainSettings& settings, ProcessGroup& processes) {
  at::Device device = at::kCPU;
  in_all_processes(processes, [&] {
    device = choose_device({"train: train.device", experiment.train.device, settings.local_rank});
    prepare_device(device);
  });
  return device;
}

}  // namespace

TrainResult train(const Experiment& experiment, const std::filesystem::path& run, const TrainSettings& settings,
                  RunObserver& observer, RunRequests& requests, ProcessGroup& processes) {
  const bool is_first = processes.rank() == 0;
  VirtualRanks ranks;
  in_all_processes(processes, [&] { ranks = virtual_ranks_of(experiment.train, processes); });
  RunStart start;
  on_first_process(processes, [&] { start = read_start(experiment, run, settings, observer); });
  const at::Device device = take_device(experiment, settings, processes);
  observer.on_device(device);
  std::unique_ptr<TrainingData> data;
  in_all_processes(processes, [&] { data = open_training_data(experiment, settings.data_folder, observer); });

  const Vocabularies vocabularies = share_vocabularies(
      processes, experiment.vocabulary.shared, [&] { return data->make_vocabularies(std::move(start.vocabularies)); });
  const TransformerOptions model_options = transformer_options(experiment, vocabularies);
  std::optional<BatchShares> batches;
  in_all_processes(processes, [&] {
    check_options(experiment.search, vocabularies.output->size());
    const auto pairs = data->encode(vocabularies, is_first && !settings.is_resumed, observer);
    batches.emplace(pairs, data->batch_options(), experiment.train.seed, ranks);
    if (device.is_cpu()) require_training_memory(model_options, experiment.train, *batches, processes);
    data->encode_validation(vocabularies, model_options, device.is_cpu());
  });
  check_same_data(processes, *batches, *data);
  kernels::prepare_gemm();
  const auto model = make_model(model_options, experiment.train.seed);
  observer.on_model(*model);
  on_first_process(processes, [&] {
    if (start.model == nullptr) return;
    load_tensors(model->parameters(), start.model->parameters, start.model->parameters_name);
    observer.on_parameters(start.model->parameters_name);
    start.model.reset();  // frees the parameters
  });
  const std::unique_ptr<TrainingTask> task = data->make_task({experiment, vocabularies, model}, processes);
  TensorBoard tensorboard(run, *task, experiment.train.clip_norm);
  AttentionLog attention(run);
  LossDoubt doubt(observer, vocabularies.output->size(), experiment.train.warmup);
  Observers observers(is_first ? std::vector<TrainObserver*>{&observer, &tensorboard, &attention, &doubt}
                               : std::vector<TrainObserver*>{&observer});
  Trainer trainer(experiment.train, *task, *batches, observers, processes, device);
  if (is_first) trainer.open(run, start.prepared->take_lock());
  if (settings.is_resumed) trainer.resume_from_last();

  observer.on_start();
  const auto begin = std::chrono::steady_clock::now();
  const Outcome outcome = trainer.run(requests);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  TrainResult result = {
      .outcome = outcome, .step = trainer.state().step, .seconds = took.count(), .test = {}, .device = device};
  data->move_test(result);
  return result;
}

}  // namespace edgewise

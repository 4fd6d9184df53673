// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "edgewise/data/corpus.h"
#include "edgewise/data/text_corpus.h"
#include "edgewise/experiment/evaluate.h"
#include "edgewise/train/device.h"
#include "edgewise/train/observer.h"
#include "edgewise/train/run_requests.h"
#include "edgewise/train/trainer.h"

namespace edgewise {

/// Receives the events of train(), in the order of these functions, and then those of training.
class RunObserver : public TrainObserver {
 public:
  /// Called when RUN/last of a resumed run was damaged; `damage` says how, and which checkpoint replaced RUN/last.
  virtual void on_restore(const std::string& /*damage*/) {}
  /// Called with the device of train.device.
  virtual void on_device(at::Device) {}
  virtual void on_corpus(const Corpus&) {}
  /// Called with the numbers of training pairs that are left out or shortened because of their tokens. Counting takes
  /// minutes for a large corpus, so a resumed run does not count again.
  virtual void on_encode(const EncodeReport&) {}
  virtual void on_data(std::int64_t /*training_pairs*/, const Corpus&, const Vocabularies&) {}
  /// Called for a language model instead of on_corpus, on_encode and on_data. The number of training tokens is that of
  /// an epoch; a resumed run does not count them again.
  virtual void on_texts(const TextCorpus&) {}
  virtual void on_text_data(std::optional<std::int64_t> /*training_tokens*/, const TextCorpus&, const Vocabularies&) {}
  virtual void on_model(const SequenceModel&) {}
  /// Called when the model has the parameters of TrainSettings::from; `file` is the path of the parameters.
  virtual void on_parameters(const std::string& /*file*/) {}
  /// Called before the first step. train() does not read its requests before this call.
  virtual void on_start() {}
};

struct TrainSettings {
  std::filesystem::path data_folder = {};  // base of the config's relative paths: the folder of the config file
  bool is_resumed = false;                 // continue the run that the directory holds
  std::filesystem::path from = {};         // model or run directory whose parameters a new run starts from
  LocalRank local_rank = {};               // chooses the GPU of this process (device/choose_gpu.h)
};

struct TrainResult {
  Outcome outcome = Outcome::kFinished;
  std::int64_t step = 0;                                    // the run's last step
  double seconds = 0.0;                                     // time in the training loop of this call
  SentencePairs test;                                       // the config's test set; empty when it has none
  std::shared_ptr<const DocumentText> test_text = nullptr;  // the test text of a language model; null when it has none
  at::Device device = at::kCPU;
};

/// Trains the model of a config and writes the run directory (train/checkpoint.h):
///
///     TrainResult result = train(read_experiment("demo.toml"), "runs/demo", {}, observer, requests);
///     Validation test = evaluate(load_model("runs/demo"), result.test);
///
/// With `from`, the run has the vocabularies of that model and starts from its parameters; all other state is that of a
/// new run. The experiment is the one of read_fine_tuning_config (run_config.h):
///
///     train(read_fine_tuning_config("domain.toml", {}, "runs/demo"), "runs/domain", {.from = "runs/demo"}, …);
///
/// Computes on the device that choose_device() returns for train.device; processes that train together on GPUs are
/// connected with this device (ConnectOptions). A run may be resumed on another device.
///
/// Ends early when `requests.stop` becomes true. Throws Error
///
/// - as check_options does, before it opens a file;
/// - as choose_device, Trainer, load_corpus, make_vocabularies and read_start_model do;
/// - if the directory holds a run and `is_resumed` is false;
/// - if another process trains in the directory.
///
/// Several processes train together when all call this function with the same experiment and settings (Trainer).
/// Process 0 alone reads and writes the run directory and the model of `from`, and learns the vocabularies; each
/// process reads the corpus. An error that process 0 or every process finds is thrown as a CollectiveError.
TrainResult train(const Experiment& experiment, const std::filesystem::path& run, const TrainSettings& settings,
                  RunObserver& observer, RunRequests& requests, ProcessGroup& processes = single_process());

}  // namespace edgewise

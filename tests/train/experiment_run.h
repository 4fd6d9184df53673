// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <fstream>

#include "edgewise/experiment/train.h"
#include "edgewise/options/experiment.h"
#include "tests/train/run_folder.h"

namespace edgewise {

inline constexpr const char* kSmallExperiment = R"(
[data]
train = ["pairs.tsv"]
valid = ["pairs.tsv"]
[vocabulary]
shared = true
[batch]
tokens = 0
sentences = 4
[model]
encoder_layers = 1
decoder_layers = 1
size = 8
heads = 1
feed_forward = 8
[train]
epochs = 0
steps = 5
log_every = 2
validate_every = 2
save_every = 2
keep_best = 1
[search]
beam = 1
max_length = 4
[show]
input = "a b"
output = "b a"
)";

/// Trains the small experiment, with vocabularies, events and attention.
class ExperimentRun : public RunFolder {
 protected:
  ExperimentRun() {
    std::filesystem::create_directories(folder());
    std::ofstream(folder() / "pairs.tsv") << "a b\tb a\nb c\tc b\nc\tc\na c\tc a\nb\tb\na\ta\n";
    experiment_ = parse_experiment(kSmallExperiment, "test", {});
  }

  /// Starts the run, or resumes it if it has a checkpoint. Returns the step after which it ends.
  std::int64_t train(const std::filesystem::path& run) const {
    RunObserver observer;
    return train(run, observer);
  }
  std::int64_t train(const std::filesystem::path& run, RunObserver& observer) const {
    RunRequests requests;
    const bool is_resumed = exists(run / "last") || exists(run / "previous");
    const TrainSettings settings = {.data_folder = folder(), .is_resumed = is_resumed};
    return edgewise::train(experiment_, run, settings, observer, requests).step;
  }

  Experiment experiment_;
};

}  // namespace edgewise

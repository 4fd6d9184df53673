// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/training_state.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "edgewise/base/config/config.h"
#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"

namespace edgewise {
namespace {

constexpr std::int64_t kWindow = 100;  // steps

/// Fields of the positions, each with a number for every virtual rank.
struct PositionLists {
  std::vector<std::int64_t> epochs, batches, windows, window_begins;
};

/// The fields of training.toml.
struct StateFile {
  std::int64_t format = 3;
  std::string kind;
  std::vector<std::string> files;
  TrainingState state;
  PositionLists positions;
  bool has_best = false;
  Validation best;

  static void list_fields(auto& self, auto&& field) {
    auto& state = self.state;
    const Range count = at_least(0).at_most(1e18);  // sums of two counts fit into 64 bits
    field("format", self.format, "version of this file format", at_least(3).at_most(3));
    field("kind", self.kind, "kind of the model");
    field("files", self.files, "names of the checkpoint's other files, which resuming needs");
    field("step", state.step, "number of finished steps", count);
    field("updates", state.updates, "steps whose gradients were finite", count);
    field("skips_in_a_row", state.skips_in_a_row, "latest steps in a row whose gradients were not finite", count);
    field("averaged", state.averaged, "updates in the averages of weights", count);
    field("epochs", self.positions.epochs, "number of finished epochs of each virtual rank", count);
    field("batches", self.positions.batches, "finished batches of the present epoch of each virtual rank", count);
    field("windows", self.positions.windows, "window of the present epoch of each virtual rank", count);
    field("window_begins", self.positions.window_begins,
          "batches of the present epoch before the window, of each virtual rank", count);
    field("epoch_step", state.epoch_step, "step after which the present epoch began", count);
    field("seed", state.seed, "seed of all random numbers");
    field("data_fingerprint", state.data_fingerprint, "hash of training pairs and batch options");
    field("gradient_norm", state.gradient_norm, "gradient norm of the latest step", any_number());
    field("log_loss", state.log.loss, "sum of the loss since the last line of metrics", any_number());
    field("log_tokens", state.log.tokens, "tokens since the last line of metrics", count);
    field("log_correct", state.log.correct, "correct tokens since the last line of metrics", count);
    field("log_encoder_nodes", state.log.encoder.nodes, "encoder nodes with counted ponder steps since the last line",
          count);
    field("log_encoder_steps", state.log.encoder.steps, "ponder steps of these encoder nodes", count);
    field("log_decoder_nodes", state.log.decoder.nodes, "decoder nodes with counted ponder steps since the last line",
          count);
    field("log_decoder_steps", state.log.decoder.steps, "ponder steps of these decoder nodes", count);
    field("losses", state.losses.steps, "steps in the statistics of the loss", count);
    field("loss_mean", state.losses.mean, "mean of the loss", any_number());
    field("loss_variance", state.losses.variance, "variance of the loss", any_number());
    field("metrics_size", state.metrics_size, "size of metrics.jsonl in bytes", count);
    field("validated_step", state.validated_step, "step of the last validation", count);
    field("validations_since_best", state.validations_since_best, "validations after the best", count);
    field("plateau_cuts", state.plateau.num_reductions, "cuts of the learning rate so far", count);
    field("plateau_waits", state.plateau.num_bad_validations, "validations without improvement since the last cut",
          count);
    field("has_best", self.has_best, "whether there was a validation");
    field("best_step", state.best_step, "step of the best validation", count);
    field("best", self.best, "the best validation");
  }
};

PositionLists lists_of(const std::vector<BatchPosition>& positions) {
  PositionLists lists;
  for (const BatchPosition& position : positions) {
    lists.epochs.push_back(position.epoch);
    lists.batches.push_back(position.index);
    lists.windows.push_back(position.window);
    lists.window_begins.push_back(position.window_begin);
  }
  return lists;
}

/// Returns the positions; `path` is the file for messages.
std::vector<BatchPosition> positions_of(const PositionLists& lists, const std::filesystem::path& path) {
  const std::size_t count = lists.epochs.size();
  check(count > 0 && lists.batches.size() == count && lists.windows.size() == count &&
            lists.window_begins.size() == count,
        "train: {} has {} epochs, {} batches, {} windows and {} window_begins, needs equal numbers of at least 1",
        path.string(), count, lists.batches.size(), lists.windows.size(), lists.window_begins.size());
  std::vector<BatchPosition> positions;
  for (std::size_t i = 0; i < count; ++i) {
    positions.push_back({lists.epochs[i], lists.batches[i], lists.windows[i], lists.window_begins[i]});
  }
  return positions;
}

}  // namespace

std::int64_t TrainingState::finished_epochs() const {
  return std::ranges::min(positions, {}, &BatchPosition::epoch).epoch;
}

void LossStatistics::add(double loss) {
  ++steps;
  const double share = 1.0 / static_cast<double>(std::min(steps, kWindow));
  const double difference = loss - mean;
  mean += share * difference;
  variance = (1.0 - share) * (variance + share * difference * difference);
}

double LossStatistics::deviation() const { return std::sqrt(variance); }

bool LossStatistics::is_spike(double loss, double deviations) const {
  return steps >= kWindow && loss > mean + deviations * deviation();
}

std::string training_state_text(const TrainingState& state, const std::string& kind, std::vector<std::string> files) {
  StateFile file{.kind = kind,
                 .files = std::move(files),
                 .state = state,
                 .positions = lists_of(state.positions),
                 .has_best = state.best.has_value(),
                 .best = {}};
  if (state.best) file.best = *state.best;
  return to_toml(file);
}

TrainingState parse_training_state(std::string_view text, const std::filesystem::path& path, const std::string& kind) {
  StateFile saved = parse_config<StateFile>(text, path.string());
  check(saved.kind == kind, "train: {} holds a model of kind {}, needs \"{}\"", path.parent_path().string(),
        quote(saved.kind), kind);
  saved.state.positions = positions_of(saved.positions, path);
  if (saved.has_best) saved.state.best = saved.best;
  return saved.state;
}

std::vector<std::string> files_of_training_state(std::string_view text) {
  try {
    return parse_config<StateFile>(text, "training.toml").files;
  } catch (const Error&) {
    return {};
  }
}

}  // namespace edgewise

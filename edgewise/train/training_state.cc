// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/training_state.h"

#include "edgewise/base/config.h"
#include "edgewise/base/error.h"

namespace edgewise {
namespace {

/// training.toml.
struct StateFile {
  std::int64_t format = 2;
  std::string kind;
  TrainingState state;
  bool has_best = false;
  Validation best;

  template <class Self, class Field>
  static void list_fields(Self& self, Field&& field) {
    auto& state = self.state;
    field("format", self.format, "of this file", at_least(2).at_most(2));
    field("kind", self.kind, "what the model is");
    field("step", state.step, "steps done", at_least(0));
    field("updates", state.updates, "those whose gradients were finite", at_least(0));
    field("skips_in_a_row", state.skips_in_a_row, "the latest ones whose gradients were not", at_least(0));
    field("averaged", state.averaged, "updates in the averages of weights", at_least(0));
    field("epoch", state.position.epoch, "epochs done", at_least(0));
    field("batch", state.position.index, "batches of the next epoch done", at_least(0));
    field("window", state.position.window, "window of that epoch it goes on in", at_least(0));
    field("window_begin", state.position.window_begin, "batches of that epoch before the window", at_least(0));
    field("seed", state.seed, "of all random numbers");
    field("data_fingerprint", state.data_fingerprint, "of training pairs and batch options");
    field("gradient_norm", state.gradient_norm, "of the latest step");
    field("log_loss", state.log.loss, "sum since the last line of metrics");
    field("log_tokens", state.log.tokens, "tokens since then", at_least(0));
    field("log_correct", state.log.correct, "correct ones among them", at_least(0));
    field("log_encoder_nodes", state.log.encoder.nodes, "encoder nodes since then whose steps are counted",
          at_least(0));
    field("log_encoder_steps", state.log.encoder.steps, "their steps", at_least(0));
    field("log_decoder_nodes", state.log.decoder.nodes, "decoder nodes since then whose steps are counted",
          at_least(0));
    field("log_decoder_steps", state.log.decoder.steps, "their steps", at_least(0));
    field("losses", state.losses.steps, "steps in the statistics of the loss", at_least(0));
    field("loss_mean", state.losses.mean, "its mean");
    field("loss_variance", state.losses.variance, "its variance");
    field("metrics_size", state.metrics_size, "bytes of metrics.jsonl", at_least(0));
    field("validated_step", state.validated_step, "step of the last validation", at_least(0));
    field("validations_since_best", state.validations_since_best, "validations after the best", at_least(0));
    field("plateau_cuts", state.plateau.cuts, "cuts of the learning rate so far", at_least(0));
    field("plateau_waits", state.plateau.waits, "validations without improvement since", at_least(0));
    field("has_best", self.has_best, "whether there was a validation");
    field("best_step", state.best_step, "step of the best validation", at_least(0));
    field("best", self.best, "the best validation");
  }
};

}  // namespace

std::string training_state_text(const TrainingState& state, const std::string& kind) {
  StateFile file{.kind = kind, .state = state, .has_best = state.best.has_value(), .best = {}};
  if (state.best) file.best = *state.best;
  return to_toml(file);
}

TrainingState read_training_state(const std::filesystem::path& file, const std::string& kind) {
  StateFile found = read_config<StateFile>(file);
  check(found.kind == kind, "train: {} holds a model of kind \"{}\", needs \"{}\"", file.parent_path().string(),
        found.kind, kind);
  if (found.has_best) found.state.best = found.best;
  return found.state;
}

}  // namespace edgewise

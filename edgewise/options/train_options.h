// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "edgewise/base/config/fields.h"
#include "edgewise/options/layer_options.h"

namespace edgewise {

/// Learning rate schedules; train/learning_rate_schedule.h has the formulas.
enum class ScheduleKind { kConstant, kNoam, kInverseSqrt, kLinear, kCosine, kPlateau };

inline constexpr auto enum_names(ScheduleKind) {
  return names_in_order<ScheduleKind>("constant", "noam", "inverse_sqrt", "linear", "cosine", "plateau");
}

/// Metric that ranks validations. kAuto stands for BLEU if BLEU is measured; otherwise for the share of correct
/// sequences if this share is measured; otherwise for the loss.
enum class BestMetric { kAuto, kBleu, kSequences, kAccuracy, kLoss };

inline constexpr auto enum_names(BestMetric) {
  return names_in_order<BestMetric>("auto", "bleu", "sequences", "accuracy", "loss");
}

/// Reaction to a spike of the loss, in addition to a line in the metrics: kLog reports a warning; kStop ends the
/// training with an Error.
enum class SpikeReaction { kLog, kStop };

inline constexpr auto enum_names(SpikeReaction) { return names_in_order<SpikeReaction>("log", "stop"); }

/// Number format of the gradients that are summed over virtual ranks, and that processes send to each other.
enum class GradientExchange { kFp32, kBf16 };

inline constexpr auto enum_names(GradientExchange) { return names_in_order<GradientExchange>("fp32", "bf16"); }

/// The parameters that training changes.
enum class TrainedPart {
  kModel,    // all
  kHalting,  // the halting units of exits (options/exit_options.h)
};

inline constexpr auto enum_names(TrainedPart) { return names_in_order<TrainedPart>("model", "halting"); }

/// Options of training. A step is one update of the parameters.
struct TrainOptions {
  std::int64_t steps = 0;
  std::int64_t epochs = 10;
  std::int64_t accumulate = 1;
  std::int64_t virtual_ranks = 1;
  GradientExchange exchange = GradientExchange::kFp32;

  ScheduleKind schedule = ScheduleKind::kNoam;
  double learning_rate = 0.001;
  double min_learning_rate = 0.0;
  double factor = 1.0;
  std::int64_t warmup = 4000;
  double plateau_factor = 0.5;
  std::int64_t plateau_patience = 3;

  double beta1 = 0.9;
  double beta2 = 0.98;
  double epsilon = 1e-9;
  double weight_decay = 0.0;
  double clip_norm = 0.0;
  double smoothing = 0.1;
  double rdrop = 0.0;
  double simcut = 0.0;
  double cut = 0.05;
  double guided_alignment = 0.0;
  std::int64_t guided_layer = -1;
  std::int64_t guided_head = 0;
  TrainedPart part = TrainedPart::kModel;
  Precision precision = Precision::kFp32;
  ProductRounding quantise = ProductRounding::kNone;
  std::string device = "cpu";  // device/choose_gpu.h

  std::int64_t log_every = 50;
  std::int64_t validate_every = 0;
  std::int64_t save_every = 0;
  BestMetric best_by = BestMetric::kAuto;
  std::int64_t patience = 0;
  std::int64_t keep_best = 0;
  double average = 0.0;
  std::int64_t most_skipped = 100;
  double spike = 6.0;
  SpikeReaction on_spike = SpikeReaction::kLog;
  std::uint64_t seed = 1;

  /// Returns whether the model computes each batch twice, so that the loss can compare both passes.
  bool has_two_passes() const { return rdrop > 0 || simcut > 0; }

  static void list_fields(auto& self, auto&& field) {
    field("steps", self.steps, "number of updates after which training ends; 0: no limit", at_least(0).at_most(1e12));
    field("epochs", self.epochs, "number of passes over the training pairs after which training ends; 0: no limit",
          at_least(0).at_most(1e6));
    field("accumulate", self.accumulate, "number of batches whose gradients are summed for one update",
          at_least(1).at_most(1e6));
    field(
        "virtual_ranks", self.virtual_ranks,
        "number of shares of the training pairs, a power of two; each step takes accumulate batches of each share, and "
        "up to this number of processes divide the shares among them, with the same result",
        at_least(1).at_most(65536));
    field("exchange", self.exchange,
          "number format of the gradients that are summed over virtual ranks: fp32, or bf16 for half the traffic");
    field("schedule", self.schedule,
          "learning rate as a function of the step; default noam, or inverse_sqrt if learning_rate is set, or constant "
          "with warmup = 0");
    field("learning_rate", self.learning_rate,
          "highest learning rate, reached at the end of the warm-up; not used by noam", above(0).at_most(1000));
    field("min_learning_rate", self.min_learning_rate, "cosine and plateau: lowest learning rate",
          at_least(0).at_most(1000));
    field("factor", self.factor, "noam: factor of the learning rate", above(0).at_most(1000));
    field(
        "warmup", self.warmup,
        "number of first steps, in which the learning rate rises; 0: no warm-up; default 4000, but at most a tenth of "
        "steps if steps is set and the schedule is not noam",
        at_least(0).at_most(1e12));
    field("plateau_factor", self.plateau_factor, "plateau: factor of the learning rate when validations stop improving",
          above(0).below(1));
    field("plateau_patience", self.plateau_patience,
          "plateau: number of validations without improvement before the learning rate falls",
          at_least(1).at_most(1e9));
    field("beta1", self.beta1, "Adam: decay of the moving average of gradients, per step",
          at_least(0).at_most(0.999999));
    field("beta2", self.beta2, "Adam: decay of the moving average of squared gradients, per step",
          at_least(0).at_most(0.999999));
    field("epsilon", self.epsilon, "Adam: constant added to the square root of the averaged squared gradients",
          at_least(1e-16).at_most(1));
    field("weight_decay", self.weight_decay,
          "decoupled weight decay: each step multiplies matrices by 1 - learning rate * weight_decay",
          at_least(0).below(1));
    field(
        "clip_norm", self.clip_norm,
        "largest norm of the gradient of all parameters, at least 1e-9; longer gradients are scaled down; 0: no limit",
        at_least(0).at_most(1e9));
    field("smoothing", self.smoothing,
          "label smoothing: share of probability given to the other tokens of the vocabulary", at_least(0).below(1));
    field(
        "rdrop", self.rdrop,
        "R-Drop: weight of the divergence between two passes over each batch with different dropout; 0: a single pass",
        at_least(0).at_most(1000));
    field(
        "simcut", self.simcut,
        "SimCut: weight of the divergence between a pass over each batch, which alone has the loss of the labels, and "
        "a pass that lacks some embeddings; 0: a single pass",
        at_least(0).at_most(1000));
    field(
        "cut", self.cut,
        "SimCut: share of tokens, on both sides, whose whole embedding the second pass sets to zero; position vectors "
        "stay",
        at_least(0).below(1));
    field("guided_alignment", self.guided_alignment,
          "guided alignment: weight of the cross-entropy between data.alignments and the weights of a cross-attention, "
          "which the loss of the metrics leaves out; 0: none",
          at_least(0).at_most(1000));
    field("guided_layer", self.guided_layer,
          "guided alignment: number of the decoder layer, from 0; -1: the last layer", at_least(-1).at_most(1e6));
    field("guided_head", self.guided_head, "guided alignment: number of the head, from 0; -1: the mean of all heads",
          at_least(-1).at_most(1e6));
    field("part", self.part,
          "parameters that training changes: model (all), or halting (the halting units of exits alone, which learn "
          "whether the likeliest token of an exit is that of the last layer)");
    field("precision", self.precision,
          "number format of linear layers and attention in training: fp32 or bf16; validation uses fp32");
    field(
        "quantise", self.quantise,
        "quantisation-aware training: int8 rounds embeddings, weights and the inputs of products to 8 bits in training "
        "and validation, as translating in int8 does, with gradients as if nothing were rounded; none: no rounding");
    field("device", self.device,
          "where training computes: cpu; cuda, the GPU with the number of the process on its machine; cuda:N, the GPU "
          "number N; or auto, a GPU if one can be used");
    field("log_every", self.log_every, "steps between two lines of metrics; 0: one line at the end of each epoch",
          at_least(0).at_most(1e12));
    field("validate_every", self.validate_every, "steps between two validations; 0: at the end of each epoch",
          at_least(0).at_most(1e12));
    field("save_every", self.save_every, "steps between two checkpoints; 0: at the end of each epoch",
          at_least(0).at_most(1e12));
    field("best_by", self.best_by,
          "metric that decides the better of two validations; the loss decides between equal ones");
    field("patience", self.patience, "number of validations without improvement after which training ends; 0: no limit",
          at_least(0).at_most(1e9));
    field("keep_best", self.keep_best, "number of best models kept as RUN/step-…, beside RUN/best",
          at_least(0).at_most(1000));
    field("average", self.average,
          "decay d of the exponential average of weights, (1 - d) / (1 - d^t) · sum of d^(t - i) · weights after "
          "update i; the average is validated and kept as best; 0: no averaging",
          at_least(0).at_most(0.9999999));
    field("most_skipped", self.most_skipped,
          "number of consecutive steps with a loss or gradient that is not finite after which training ends",
          at_least(1).at_most(1e9));
    field("spike", self.spike,
          "standard deviations above the mean of the last 100 steps from which a loss counts as a spike; 0: never",
          at_least(0).at_most(1e6));
    field("on_spike", self.on_spike, "whether training continues or stops after a spike of the loss");
    field("seed", self.seed, "seed of all random numbers of training");
  }
};

/// Throws Error for noam and inverse_sqrt with a warmup below 1, for linear and cosine with steps not above warmup, and
/// for cosine and plateau with a min_learning_rate above learning_rate. The message begins with `caller`; `prefix` is
/// the section of `options` in a config, such as "train.".
void check_schedule(const TrainOptions& options, std::string_view caller = "Schedule", std::string_view prefix = "");

}  // namespace edgewise

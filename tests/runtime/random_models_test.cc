// SPDX-License-Identifier: Apache-2.0
// Compares the runtime with the models over libtorch for random options of the model.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "edgewise/base/config/config.h"
#include "edgewise/base/threads.h"
#include "edgewise/kernels/simd/instruction_set.h"
#include "edgewise/positions/position_formula.h"
#include "tests/models/transformer_scorer.h"
#include "tests/models/universal_models.h"
#include "tests/models/universal_scorer.h"
#include "tests/nn/convert_parameters.h"
#include "tests/runtime/runtime_models.h"
#include "tests/support/failures_of.h"

namespace edgewise {
namespace {

template <class Enum>
Enum any_of() {
  return *rc::gen::elementOf(all_of<Enum>());
}

UniversalOptions arbitrary_universal_options() {
  UniversalOptions options;
  options.adaptive = any_of<AdaptiveSides>();
  options.epsilon = *rc::gen::element(0.01, 0.2, 0.7);
  options.transition = any_of<Transition>();
  options.halted_keys =
      options.transition == Transition::kSeparableConvolution ? HaltedKeys::kFrozen : any_of<HaltedKeys>();
  options.input_injection = *rc::gen::arbitrary<bool>();
  options.filter_width = *rc::gen::inRange<std::int64_t>(1, 6);
  return options;
}

bool is_relative(PositionKind positions) { return positions == PositionKind::kRotary || has_score_bias(positions); }

/// Draws positions that fit to the other options.
PositionKind arbitrary_positions(const TransformerOptions& options) {
  return *rc::gen::suchThat(rc::gen::elementOf(all_of<PositionKind>()), [&](PositionKind positions) {
    return options.size >= smallest_position_size(positions) &&
           (options.kind == ModelKind::kTransformer || has_formula(positions)) &&
           (!is_relative(positions) || options.score == ScoreKind::kDot) &&
           (positions != PositionKind::kRotary || options.size / options.heads % 2 == 0);
  });
}

/// Draws a number of tokens: more than inputs have, or more than a tile of the output projection and a few panels.
std::int64_t arbitrary_vocabulary() {
  return *rc::gen::oneOf(rc::gen::inRange<std::int64_t>(11, 60), rc::gen::inRange<std::int64_t>(11, 60),
                         rc::gen::inRange<std::int64_t>(1025, 1200));
}

/// Draws patterns that both sides can have.
StringLists arbitrary_patterns(std::int64_t layers) {
  const auto term = rc::gen::element<std::string>("causal", "document", "window 1", "window 3", "sinks 2",
                                                  "dilated 3 by 2", "global every 4", "blocks 3", "random 2 seed 5");
  const auto count = [](std::int64_t most) { return *rc::gen::inRange<std::int64_t>(1, most + 1); };
  StringLists patterns(static_cast<std::size_t>(count(layers)));
  for (auto& terms : patterns) terms = *rc::gen::container<std::vector<std::string>>(count(3), term);
  return patterns;
}

ExitOptions arbitrary_exits(std::int64_t decoder_layers) {
  ExitOptions options;
  if (*rc::gen::arbitrary<bool>()) return options;
  options.layers = {*rc::gen::inRange<std::int64_t>(1, decoder_layers)};
  options.threshold = *rc::gen::element(0.4, 0.55, 1.0);
  options.fall = *rc::gen::element(0.0, 4.0, 20.0);
  return options;
}

TransformerOptions arbitrary_model_options(ModelKind kind) {
  TransformerOptions options;
  options.kind = kind;
  options.encoder_layers = *rc::gen::inRange<std::int64_t>(1, 4);
  options.decoder_layers = *rc::gen::inRange<std::int64_t>(1, 4);
  options.share_layers = *rc::gen::arbitrary<bool>();
  options.heads = *rc::gen::inRange<std::int64_t>(1, 7);
  options.size = options.heads * *rc::gen::inRange<std::int64_t>(1, 25);
  options.feed_forward = *rc::gen::inRange<std::int64_t>(1, 150);
  options.norm_placement = any_of<NormPlacement>();
  options.norm = options.size == 1 ? NormKind::kLayerNorm : any_of<NormKind>();
  options.norm_bias = *rc::gen::arbitrary<bool>();
  options.norm_epsilon = *rc::gen::element(1e-6, 1e-5, 1e-2, 1.0);
  options.activation = any_of<Activation>();
  options.feed_forward_gate = *rc::gen::arbitrary<bool>();
  options.feed_forward_bias = *rc::gen::arbitrary<bool>();
  options.output_bias = *rc::gen::arbitrary<bool>();
  options.score = any_of<ScoreKind>();
  options.attention_bias = *rc::gen::arbitrary<bool>();
  if (options.score == ScoreKind::kDot) {
    options.key_value_heads = *rc::gen::suchThat(rc::gen::inRange<std::int64_t>(0, options.heads + 1),
                                                 [&](auto heads) { return heads == 0 || options.heads % heads == 0; });
  }
  options.log_scale = options.score == ScoreKind::kDot && *rc::gen::arbitrary<bool>();
  if (*rc::gen::arbitrary<bool>()) options.clamp = 0.7;
  options.final_norm = *rc::gen::arbitrary<bool>();
  options.positions = arbitrary_positions(options);
  const bool can_have_distances = kind == ModelKind::kTransformer && options.score == ScoreKind::kDot;
  options.cross_distance = can_have_distances && *rc::gen::inRange(0, 3) == 0;
  if (options.cross_distance) options.positions = PositionKind::kT5;
  const bool has_halves = has_formula(options.positions) && options.size % 2 == 0 &&
                          options.size >= 2 * smallest_position_size(options.positions);
  options.mirror_positions = (has_halves || options.cross_distance) && *rc::gen::arbitrary<bool>();
  options.max_positions = *rc::gen::inRange<std::int64_t>(17, 40);  // kInputs have at most 17 tokens
  options.rotary.base = *rc::gen::element(10.0, 10'000.0, 1e6);
  options.rotary.scaling = any_of<RotaryScaling>();
  options.rotary.factor = *rc::gen::element(1.0, 2.5, 8.0);
  options.rotary.low_frequency = *rc::gen::element(0.25, 1.0, 2.0);
  options.rotary.high_frequency = options.rotary.low_frequency * *rc::gen::element(1.5, 4.0);
  options.rotary.trained_length = *rc::gen::element(4, 12, 60);
  options.t5_buckets = 2 * *rc::gen::inRange<std::int64_t>(2, 20);
  options.t5_distance = options.t5_buckets / 2 + *rc::gen::inRange<std::int64_t>(1, 20);
  options.scale_embedding = *rc::gen::arbitrary<bool>();
  options.begin_embedding = any_of<BeginEmbedding>();
  options.tying = any_of<Tying>();
  options.output_vocabulary = arbitrary_vocabulary();
  options.input_vocabulary = options.tying == Tying::kAll ? options.output_vocabulary : arbitrary_vocabulary();
  options.universal = arbitrary_universal_options();
  if (kind == ModelKind::kTransformer && !is_relative(options.positions))
    options.decoder_mixer = any_of<DecoderMixer>();
  if (kind == ModelKind::kTransformer && options.decoder_mixer == DecoderMixer::kAttention) {
    options.relation = arbitrary_patterns(options.decoder_layers);
    if (options.decoder_layers > 1) options.exits = arbitrary_exits(options.decoder_layers);
  }
  if (kind == ModelKind::kTransformer) {
    options.encoder_relation = arbitrary_patterns(options.encoder_layers);
  }
  return options;
}

// Options that no result of a trained model depends on.
const std::set<std::string> kTrainingOptions = {"preset",           "embedding_init",         "dropout.embedding",
                                                "dropout.residual", "dropout.attention",      "dropout.activation",
                                                "dropout.word",     "universal.halting_bias", "universal.ponder_weight",
                                                "exits.weights"};

TEST(RandomModels, DrawOtherValuesThanTheDefaultOfEachOption) {
  const auto defaults = settings_of(TransformerOptions());
  std::set<std::string> drawn = kTrainingOptions;
  EXPECT_TRUE(rc::check([&] {
    const auto settings =
        settings_of(arbitrary_model_options(*rc::gen::element(ModelKind::kTransformer, ModelKind::kUniversal)));
    for (std::size_t i = 0; i < settings.size(); ++i) {
      if (settings[i] != defaults[i]) drawn.insert(settings[i].first);
    }
  }));
  for (const auto& [name, value] : defaults) EXPECT_TRUE(drawn.contains(name)) << name;
}

using Steps = std::vector<GrownStep>;

template <class Model>
Model converted(const Model& model, at::ScalarType type) {
  Model copy = model;
  convert_parameters(copy, type);
  return copy;
}

/// Returns a copy of a model in fp64, each of whose weights has twice the largest error of rounding it to `precision`:
/// one for itself, and one for the number that it is multiplied with. An 8-bit number has the error of the largest
/// weight of its row.
template <class Model>
Model with_rounding_errors(const Model& model, RuntimePrecision precision, std::uint64_t seed) {
  Model rough = converted(model, at::kDouble);
  for (const NamedTensor& named : parameters(rough)) {
    if (named.tensor.dim() != 2) continue;
    const at::Tensor weight = named.tensor.detach();
    const at::Tensor error =
        precision == RuntimePrecision::kBf16 ? weight.abs() * 0x1p-8 : weight.abs().amax(1, /*keepdim=*/true) / 127;
    weight.add_(error * random_tensor(weight.sizes(), seed++).sign());
  }
  return rough;
}

/// Returns a copy of a model in fp64 whose halting scores are larger by `difference`.
template <class Model>
Model with_halting_bias(const Model& model, double difference) {
  Model shifted = converted(model, at::kDouble);
  for (const NamedTensor& named : parameters(shifted)) {
    const bool halts = named.name.ends_with("halting.linear.bias") || named.name.starts_with("exits.");
    if (halts && named.name.ends_with(".linear.bias")) named.tensor.detach().add_(difference);
  }
  return shifted;
}

template <class Reference, class Model>
Steps reference_steps(const Model& model) {
  Reference reference(model);
  return grow_branches(reference, kInputs, 5);
}

/// The same steps by models over libtorch.
struct References {
  Steps exact;                 // in fp64
  std::vector<Steps> inexact;  // with other rounding errors than those of the runtime, but of a similar size
  std::vector<Steps> shifted;  // with halting scores that are smaller or larger by their rounding error

  /// Returns whether each reference takes as many ponder steps. If not, a sum of halting probabilities is so near its
  /// threshold that rounding decides whether a node halts, and all numbers after it differ.
  bool halt_alike(std::size_t step) const {
    const auto is_alike = [&](const Steps& steps) {
      return steps[step].result.ponder_steps == exact[step].result.ponder_steps;
    };
    return std::ranges::all_of(inexact, is_alike) && std::ranges::all_of(shifted, is_alike);
  }
};

template <class Reference, class Model>
References make_references(const Model& model, RuntimePrecision precision) {
  References references{
      .exact = reference_steps<Reference>(converted(model, at::kDouble)), .inexact = {}, .shifted = {}};
  if (precision == RuntimePrecision::kFp32) {
    references.inexact.push_back(reference_steps<Reference>(model));
  } else {
    for (const std::uint64_t seed : {100, 200, 300}) {
      references.inexact.push_back(reference_steps<Reference>(with_rounding_errors(model, precision, seed)));
    }
  }
  const TransformerOptions& options = model.options();
  const bool is_adaptive = options.kind == ModelKind::kUniversal ? options.universal.adaptive != AdaptiveSides::kNone
                                                                 : options.exits.can_halt();
  const double error = precision == RuntimePrecision::kFp32 ? 1e-3 : precision == RuntimePrecision::kBf16 ? 0.05 : 0.2;
  for (const double difference : {-error, error}) {
    if (!is_adaptive) break;
    references.shifted.push_back(reference_steps<Reference>(with_halting_bias(model, difference)));
  }
  return references;
}

double largest_difference(const std::vector<float>& left, const std::vector<float>& right) {
  double largest = 0.0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(left[i]) - static_cast<double>(right[i])));
  }
  return largest;
}

double mean_difference(const std::vector<float>& left, const std::vector<float>& right) {
  double sum = 0.0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    sum += std::abs(static_cast<double>(left[i]) - static_cast<double>(right[i]));
  }
  return sum / static_cast<double>(left.size());
}

/// Expects the numbers of `exact` in `found`. A random model can multiply rounding errors by thousands, for example in
/// a norm of nearly equal numbers, so that ten times the error of another result of the same precision is allowed.
void expect_as_accurate(const std::vector<float>& found, const std::vector<float>& inexact,
                        const std::vector<float>& exact, double tolerance) {
  ASSERT_EQ(found.size(), exact.size());
  const double error = largest_difference(inexact, exact);
  for (std::size_t i = 0; i < exact.size(); ++i) {
    ASSERT_NEAR(found[i], exact[i], tolerance * std::max(1.0F, std::abs(exact[i])) + 10 * error) << "at " << i;
  }
}

/// Expects that the mean error is not much larger than that of other results with rounding errors of this size. It is
/// hardly ever more than three times as large.
void expect_similar_error(const std::vector<float>& found, std::span<const double> errors,
                          const std::vector<float>& exact, double tolerance) {
  ASSERT_EQ(found.size(), exact.size());
  EXPECT_LE(mean_difference(found, exact), tolerance + 6 * *std::ranges::max_element(errors));
}

/// The tolerances of a comparison beside the errors of other results.
struct Tolerances {
  double log_probability;
  double attention;
};

/// Rounding errors of scores of size 10 move attention weights by a quarter of these errors, even in a model whose keys
/// are so similar that errors of its weights cancel.
Tolerances tolerances_of(RuntimePrecision precision) {
  if (precision == RuntimePrecision::kFp32) return {1e-4, 1e-5};
  return precision == RuntimePrecision::kBf16 ? Tolerances{1e-4, 0x1p-7} : Tolerances{2e-4, 0x1p-5};
}

void expect_agreement(const Steps& found, const References& references, RuntimePrecision precision) {
  ASSERT_EQ(found.size(), references.exact.size());
  for (std::size_t t = 0; t < found.size() && references.halt_alike(t); ++t) {
    SCOPED_TRACE("step " + std::to_string(t));
    const StepResult& result = found[t].result;
    const StepResult& exact = references.exact[t].result;
    ASSERT_EQ(result.ponder_steps, exact.ponder_steps);
    const auto compare = [&](const std::vector<float> StepResult::*numbers, double tolerance) {
      if (precision == RuntimePrecision::kFp32) {
        return expect_as_accurate(result.*numbers, references.inexact[0][t].result.*numbers, exact.*numbers, tolerance);
      }
      std::vector<double> errors;
      for (const Steps& inexact : references.inexact) {
        errors.push_back(mean_difference(inexact[t].result.*numbers, exact.*numbers));
      }
      expect_similar_error(result.*numbers, errors, exact.*numbers, tolerance);
    };
    compare(&StepResult::log_probabilities, tolerances_of(precision).log_probability);
    compare(&StepResult::attention, tolerances_of(precision).attention);
  }
}

/// Compares a runtime of this model, on a random instruction set and number of threads, with the model over libtorch.
template <class Reference, class Model>
void check_agreement(const Model& model) {
  // A norm of two numbers gives the sign of their difference, which any rounding error may change.
  const auto precision = model.options().size > 2 ? any_of<RuntimePrecision>() : RuntimePrecision::kFp32;
  const kernels::ForcedInstructionSet forced(*rc::gen::elementOf(kernels::runnable_instruction_sets()));
  const auto threads = *rc::gen::inRange(1, 4);
  const Steps found = [&] {
    const NumThreadsScope scope(threads);
    const RuntimeModel runtime = runtime_of(model, precision);
    return grow_branches(*runtime.make_scorer(), kInputs, 5);
  }();
  const References references = make_references<Reference>(model, precision);

  const std::string failures = failures_of([&] { expect_agreement(found, references, precision); });

  if (!failures.empty()) {
    RC_FAIL(fmt::format("{}in {} on {} with {} threads\n{}", failures, enum_name(precision),
                        kernels::instruction_set_name(kernels::instruction_set()), threads, to_toml(model.options())));
  }
}

RC_GTEST_PROP(RuntimeModel, AgreesWithTheModelOverLibtorchForRandomOptions, ()) {
  check_agreement<TransformerScorer>(random_model(arbitrary_model_options(ModelKind::kTransformer)));
}

RC_GTEST_PROP(UniversalRuntime, AgreesWithTheModelOverLibtorchForRandomOptions, ()) {
  UniversalTransformer model = universal_model(arbitrary_model_options(ModelKind::kUniversal));
  convert_parameters(model, at::kFloat);
  check_agreement<UniversalScorer>(model);
}

}  // namespace
}  // namespace edgewise

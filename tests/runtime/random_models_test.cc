// SPDX-License-Identifier: Apache-2.0
// Compares the runtime with the models over libtorch for random options of the model.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "edgewise/base/config.h"
#include "edgewise/kernels/simd/instruction_set.h"
#include "edgewise/models/transformer_scorer.h"
#include "edgewise/models/universal_scorer.h"
#include "edgewise/options/position_formula.h"
#include "tests/models/universal_models.h"
#include "tests/runtime/runtime_models.h"

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
  options.filter_width = *rc::gen::inRange<std::int64_t>(1, 6);
  return options;
}

PositionKind arbitrary_positions(ModelKind kind, std::int64_t size) {
  return *rc::gen::suchThat(rc::gen::elementOf(all_of<PositionKind>()), [=](PositionKind positions) {
    return size >= smallest_position_size(positions) && (kind == ModelKind::kTransformer || has_formula(positions));
  });
}

TransformerOptions arbitrary_model_options(ModelKind kind) {
  TransformerOptions options;
  options.kind = kind;
  options.encoder_layers = *rc::gen::inRange<std::int64_t>(1, 4);
  options.decoder_layers = *rc::gen::inRange<std::int64_t>(1, 4);
  options.heads = *rc::gen::inRange<std::int64_t>(1, 5);
  options.size = options.heads * 2 * *rc::gen::inRange<std::int64_t>(1, 12);
  options.feed_forward = *rc::gen::inRange<std::int64_t>(1, 70);
  options.norm_placement = any_of<NormPlacement>();
  options.norm = any_of<NormKind>();
  options.activation = any_of<Activation>();
  options.score = any_of<ScoreKind>();
  options.attention_bias = *rc::gen::arbitrary<bool>();
  if (*rc::gen::arbitrary<bool>()) options.clamp = 0.7;
  options.final_norm = *rc::gen::arbitrary<bool>();
  options.positions = arbitrary_positions(kind, options.size);
  options.max_positions = *rc::gen::inRange<std::int64_t>(17, 40);  // kInputs have at most 17 tokens
  options.scale_embedding = *rc::gen::arbitrary<bool>();
  options.tying = any_of<Tying>();
  options.output_vocabulary = *rc::gen::inRange<std::int64_t>(11, 60);
  options.input_vocabulary =
      options.tying == Tying::kAll ? options.output_vocabulary : *rc::gen::inRange<std::int64_t>(11, 60);
  options.universal = arbitrary_universal_options();
  return options;
}

double largest_difference(const std::vector<float>& left, const std::vector<float>& right) {
  double largest = 0.0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(left[i]) - static_cast<double>(right[i])));
  }
  return largest;
}

/// Expects the numbers of `exact` in `found`. A random model can multiply rounding errors by thousands, for example in
/// a norm of nearly equal numbers, so that ten times the error of `other`, which was computed in fp32 too, is allowed.
void expect_as_accurate(const std::vector<float>& found, const std::vector<float>& other,
                        const std::vector<float>& exact, double tolerance) {
  ASSERT_EQ(found.size(), exact.size());
  const double error = largest_difference(other, exact);
  for (std::size_t i = 0; i < exact.size(); ++i) {
    ASSERT_NEAR(found[i], exact[i], tolerance * std::max(1.0F, std::abs(exact[i])) + 10 * error) << "at " << i;
  }
}

/// Computes the same steps by a runtime of this model on a random instruction set, and by `Reference` in fp32 and fp64.
template <class Reference, class Model>
void expect_agreement(const Model& model) {
  const kernels::ForcedInstructionSet forced(*rc::gen::elementOf(kernels::runnable_instruction_sets()));
  Model exact_model = model;
  convert_parameters(exact_model, at::kDouble);
  const RuntimeModel runtime = runtime_of(model);
  Reference reference(model);
  Reference exact_reference(exact_model);

  const std::vector<GrownStep> found = grow_branches(*runtime.make_scorer(), kInputs, 5);
  const std::vector<GrownStep> other = grow_branches(reference, kInputs, 5);
  const std::vector<GrownStep> exact = grow_branches(exact_reference, kInputs, 5);
  for (std::size_t t = 0; t < exact.size() && !testing::Test::HasFailure(); ++t) {
    const StepResult& result = exact[t].result;
    // A halting probability near the threshold is above it or below it by rounding, and the steps after it differ.
    if (other[t].result.ponder_steps != result.ponder_steps) break;
    EXPECT_EQ(found[t].result.ponder_steps, result.ponder_steps);
    expect_as_accurate(found[t].result.log_probabilities, other[t].result.log_probabilities, result.log_probabilities,
                       1e-4);
    expect_as_accurate(found[t].result.attention, other[t].result.attention, result.attention, 1e-5);
  }
  if (testing::Test::HasFailure()) RC_FAIL(to_toml(model.options()));
}

RC_GTEST_PROP(RuntimeModel, AgreesWithTheModelOverLibtorchForRandomOptions, ()) {
  expect_agreement<TransformerScorer>(random_model(arbitrary_model_options(ModelKind::kTransformer)));
}

RC_GTEST_PROP(UniversalRuntime, AgreesWithTheModelOverLibtorchForRandomOptions, ()) {
  UniversalTransformer model = universal_model(arbitrary_model_options(ModelKind::kUniversal));
  convert_parameters(model, at::kFloat);
  expect_agreement<UniversalScorer>(model);
}

}  // namespace
}  // namespace edgewise

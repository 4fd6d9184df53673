// SPDX-License-Identifier: Apache-2.0
// Compares the runtime with the models over libtorch for random options of the model.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "edgewise/base/config.h"
#include "edgewise/kernels/simd/instruction_set.h"
#include "edgewise/models/transformer_scorer.h"
#include "edgewise/models/universal_scorer.h"
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
  options.positions = any_of<PositionKind>();
  options.scale_embedding = *rc::gen::arbitrary<bool>();
  options.tying = any_of<Tying>();
  options.output_vocabulary = *rc::gen::inRange<std::int64_t>(11, 60);
  options.input_vocabulary =
      options.tying == Tying::kAll ? options.output_vocabulary : *rc::gen::inRange<std::int64_t>(11, 60);
  options.universal = arbitrary_universal_options();
  return options;
}

/// Computes the same steps by a runtime of this model and by `Reference`, on a random instruction set.
template <class Reference, class Model>
void expect_agreement(const Model& model) {
  const kernels::ForcedInstructionSet forced(*rc::gen::elementOf(kernels::runnable_instruction_sets()));
  const RuntimeModel runtime = runtime_of(model);
  Reference reference(model);

  expect_same_results(grow_branches(*runtime.make_scorer(), kInputs, 5), grow_branches(reference, kInputs, 5));

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

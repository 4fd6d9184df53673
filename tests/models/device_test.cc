// SPDX-License-Identifier: Apache-2.0
// Tensors on the device `meta` have shapes but no numbers: reading a number, or mixing devices, throws. So these tests
// show that a training step works on any device, and when the step waits for it.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "edgewise/ops/device_copies.h"
#include "tests/models/small_models.h"
#include "tests/models/universal_models.h"
#include "tests/support/meta_parameters.h"

namespace edgewise {
namespace {

using testing::Each;
using testing::Gt;
using testing::IsEmpty;

void add_dropout(TransformerOptions& options) {
  options.dropout = {.embedding = 0.1, .residual = 0.1, .attention = 0.1, .activation = 0.1, .word = 0.1};
}

/// Runs the passes of a training step on the device `meta`. Returns the sizes of the tensors that they read.
template <class Model>
std::vector<std::int64_t> train_on_meta(const Model& model, Precision precision, const Consistency& consistency) {
  const HostReads reads;
  Pass pass = Pass::training(7, precision);
  std::vector<TokenPair> pairs = small_pairs();
  if (consistency.has_two_passes()) {
    pass.set_cut(0.5);
    for (const TokenPair& pair : small_pairs()) pairs.push_back(pair);
  }
  const Batch batch = make_batch(pairs);
  const BatchLoss loss = model.loss(batch, {.smoothing = 0.1, .ignored = 0}, {.consistency = consistency}, pass);
  loss.objective.backward();
  EXPECT_TRUE(loss.loss_and_correct.is_meta());
  for (const NamedTensor& named : parameters(model)) {
    EXPECT_TRUE(named.tensor.grad().is_meta()) << named.name;
    EXPECT_EQ(named.tensor.grad().sizes(), named.tensor.sizes()) << named.name;
  }
  return reads.sizes();
}

TEST(TransformerOnADevice, ReadsNothingInTheForwardAndBackwardPass) {
  for (const TransformerPreset preset : all_presets()) {
    for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
      for (const Consistency& consistency : {Consistency(), Consistency{kernels::ConsistencyKind::kRDrop, 1},
                                             Consistency{kernels::ConsistencyKind::kSimCut, 1}}) {
        SCOPED_TRACE(enum_name(preset));
        TransformerOptions options = small_options(preset);
        add_dropout(options);
        const Transformer model(options, 1);
        move_to_meta(parameters(model));
        EXPECT_THAT(train_on_meta(model, precision, consistency), IsEmpty());
      }
    }
  }
}

TEST(UniversalTransformerOnADevice, ReadsOnlyTheHaltingProbabilities) {
  for (TransformerOptions options : all_kinds_of_universal_options()) {
    SCOPED_TRACE(description(options));
    add_dropout(options);
    const UniversalTransformer model(options, 1);
    move_to_meta(parameters(model));
    const std::vector<std::int64_t> sizes = train_on_meta(model, Precision::kFp32, /*added=*/{});
    EXPECT_THAT(sizes, Each(Gt(0)));
    EXPECT_LE(std::ssize(sizes), options.encoder_layers + options.decoder_layers);
  }
}

}  // namespace
}  // namespace edgewise

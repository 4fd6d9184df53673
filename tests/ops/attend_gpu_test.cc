// SPDX-License-Identifier: Apache-2.0
// Which kernels for GPUs attend() launches, in the emulator.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "edgewise/graph/builders.h"
#include "edgewise/graph/relation_ops.h"
#include "edgewise/kernels/gpu/limits.h"
#include "edgewise/ops/attend.h"
#include "edgewise/ops/backend.h"
#include "edgewise/ops/device_relation.h"
#include "tests/emulator/launch_record.h"
#include "tests/emulator/shared_memory_limit.h"
#include "tests/ops/attention_inputs.h"

namespace edgewise {
namespace {

using kernels::gpu::emulator::LaunchRecord;
using testing::ElementsAre;
using testing::IsEmpty;

class AttendGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (backend_of(at::zeros({1})) != Backend::kGpu) GTEST_SKIP() << "needs EDGEWISE_OPERATIONS=cuda-emulated";
  }
};

// Returns the kernels that the forward and the backward pass launch.
std::vector<std::string> kernels_of(const std::function<at::Tensor(const Tensors&)>& f, Tensors inputs) {
  const LaunchRecord record;
  output_and_gradients(f, inputs);
  return record.kernels();
}

std::vector<std::string> kernels_of(const Relation& relation, const Tensors& inputs) {
  return kernels_of([&](const Tensors& x) { return attend(relation, x[0], x[1], x[2], with_bias({}, x[3])); }, inputs);
}

constexpr auto kForward = "sparse_attention_forward";
constexpr auto kBackwardOfRows = "sparse_attention_backward, rows";
constexpr auto kBackwardOfSources = "sparse_attention_backward, sources";

TEST_F(AttendGpu, LaunchesTheKernelsOfIntervalsIfTheSourcesOfEachRowAreConsecutive) {
  for (const Relation& relation : {causal(5), causal(5).to_csr()}) {
    for (const std::int64_t size : {32, 64, 96, 128}) {
      EXPECT_THAT(kernels_of(relation, random_inputs(relation, 2, size, size, at::kFloat)),
                  ElementsAre("interval_attention_f32", "interval_records", "interval_query_gradient_f32",
                              "interval_source_gradient_f32"));
      EXPECT_THAT(kernels_of(relation, random_inputs(relation, 2, size, size, at::kBFloat16)),
                  ElementsAre("interval_attention_bf16", "interval_records", "interval_query_gradient_bf16",
                              "interval_source_gradient_bf16"));
    }
  }
}

TEST_F(AttendGpu, LaunchesTheSparseKernelsForOtherRelations) {
  const Relation relation = random_relation(9, 9, 4, /*seed=*/8);
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    EXPECT_THAT(kernels_of(relation, random_inputs(relation, 2, 32, 32, type)),
                ElementsAre(kForward, kBackwardOfRows, kBackwardOfSources));
  }
}

TEST_F(AttendGpu, LaunchesTheKernelsOfBitmapsForRelationsWithDenseTiles) {
  const Relation relation = random_relation(70, 70, 35, /*seed=*/8);
  EXPECT_THAT(kernels_of(relation, random_inputs(relation, 1, 32, 32, at::kFloat)),
              ElementsAre("tile_attention_f32", "tile_records", "tile_query_gradient_f32", "tile_source_gradient_f32"));
  EXPECT_THAT(
      kernels_of(relation, random_inputs(relation, 1, 32, 32, at::kBFloat16)),
      ElementsAre("tile_attention_bf16", "tile_records", "tile_query_gradient_bf16", "tile_source_gradient_bf16"));
  EXPECT_THAT(kernels_of(relation, random_inputs(relation, 1, 40, 40, at::kFloat)),
              ElementsAre(kForward, kBackwardOfRows, kBackwardOfSources));
}

TEST_F(AttendGpu, AgreesWithItsDefinitionOverDenseTiles) {
  const Relation relation = random_relation(70, 130, 60, /*seed=*/3);
  const Tensors inputs = random_inputs(relation, 2, 32, 32, at::kFloat);
  AttentionOptions options;
  options.dropout = 0.25;
  options.dropout_key = {.seed = 4, .stream = 2};
  auto run = [&](auto function) {
    return output_and_gradients(
        [&](const Tensors& x) { return function(relation, x[0], x[1], x[2], with_bias(options, x[3])); }, inputs);
  };

  const Tensors actual = run([](auto&&... x) { return attend(x...); });
  const Tensors expected = run([](auto&&... x) { return attend_plain(x...); });

  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(at::allclose(actual[i], expected[i], 1e-4, 1e-5)) << i;
}

TEST_F(AttendGpu, LaunchesTheSparseKernelsForHeadsThatTheKernelsOfIntervalsLack) {
  const Relation relation = causal(5);
  EXPECT_THAT(kernels_of(relation, random_inputs(relation, 2, 8, 8, at::kFloat)),
              ElementsAre(kForward, kBackwardOfRows, kBackwardOfSources));
  EXPECT_THAT(kernels_of(relation, random_inputs(relation, 2, 32, 64, at::kBFloat16)),
              ElementsAre(kForward, kBackwardOfRows, kBackwardOfSources));
}

TEST_F(AttendGpu, LaunchesTheSparseKernelsWhereOthersNeedMoreSharedMemoryThanTheGpuHas) {
  constexpr std::size_t kSmallGpu = 101'376;  // RTX 30, RTX 40, L4, A10
  const kernels::gpu::emulator::SharedMemoryLimit limit(kSmallGpu);
  const auto first_kernel = [](const Relation& relation, std::int64_t size, at::ScalarType type) {
    return kernels_of(relation, random_inputs(relation, 1, size, size, type)).front();
  };
  const Relation dense_tiles = random_relation(70, 70, 35, /*seed=*/8);
  EXPECT_EQ(first_kernel(causal(5), 128, at::kFloat), kForward);
  EXPECT_EQ(first_kernel(dense_tiles, 128, at::kFloat), kForward);
  for (const std::int64_t size : {32, 64, 96}) {
    EXPECT_EQ(first_kernel(causal(5), size, at::kFloat), "interval_attention_f32");
    EXPECT_EQ(first_kernel(dense_tiles, size, at::kFloat), "tile_attention_f32");
  }
  EXPECT_EQ(first_kernel(causal(5), 128, at::kBFloat16), "interval_attention_bf16");
  EXPECT_EQ(first_kernel(dense_tiles, 128, at::kBFloat16), "tile_attention_bf16");
}

TEST_F(AttendGpu, LaunchesNoKernelForMoreHeadsThanAGridHasRows) {
  const Relation relation = causal(1);
  const std::int64_t heads = kernels::gpu::kMaxGridRows + 1;
  const at::Tensor x_NHK = at::zeros({1, heads, 32});
  EXPECT_EQ(attention_kernel(relation, x_NHK, x_NHK), "definition");
}

TEST_F(AttendGpu, LaunchesNoKernelForOtherHeadsAndForDoubles) {
  const Relation relation = causal(5);
  EXPECT_THAT(kernels_of(relation, random_inputs(relation, 2, 5, 5, at::kFloat)), IsEmpty());
  EXPECT_THAT(kernels_of(relation, random_inputs(relation, 2, 256, 256, at::kFloat)), IsEmpty());
  EXPECT_THAT(kernels_of(relation, random_inputs(relation, 2, 32, 32, at::kDouble)), IsEmpty());
}

TEST_F(AttendGpu, LaunchesTheKernelsOfEachHeadsRelation) {
  const std::vector<Relation> relation_H = {causal(9), random_relation(9, 9, 4, /*seed=*/8)};
  Tensors inputs = random_inputs(relation_H[0], 2, 32, 32, at::kFloat);
  inputs.pop_back();

  EXPECT_THAT(kernels_of([&](const Tensors& x) { return attend(relation_H, x[0], x[1], x[2]); }, inputs),
              ElementsAre("interval_attention_f32", kForward, "interval_records", "interval_query_gradient_f32",
                          "interval_source_gradient_f32", kBackwardOfRows, kBackwardOfSources));
}

TEST_F(AttendGpu, AttentionKernelNamesTheKernel) {
  const Relation lists = random_relation(9, 9, 4, /*seed=*/8);
  auto kernel_of = [](const Relation& relation, std::int64_t size, at::ScalarType type) {
    const at::Tensor x_NHK = at::zeros({9, 2, size}, type);
    return attention_kernel(relation, x_NHK, x_NHK);
  };

  EXPECT_EQ(kernel_of(causal(9), 64, at::kFloat), "intervals, cuda-emulated");
  EXPECT_EQ(kernel_of(causal(9), 8, at::kFloat), "sparse, cuda-emulated");
  EXPECT_EQ(kernel_of(lists, 64, at::kBFloat16), "sparse, cuda-emulated");
  EXPECT_EQ(kernel_of(random_relation(9, 9, 8, /*seed=*/8), 64, at::kBFloat16), "sparse, cuda-emulated");
  EXPECT_EQ(kernel_of(lists, 5, at::kBFloat16), "definition");
  EXPECT_EQ(kernel_of(lists, 64, at::kDouble), "definition");
}

TEST_F(AttendGpu, TakesInputsAndGradientsAtAddressesThatAreNotAligned) {
  auto at_odd_address = [](const at::Tensor& x) {
    return at::cat({at::zeros({1}, x.options()), x.reshape(-1)}).slice(0, 1).view(x.sizes());
  };
  for (const Relation& relation : {causal(5), random_relation(5, 5, 2, /*seed=*/1)}) {
    const Tensors aligned = random_inputs(relation, 1, 32, 32, at::kFloat);
    Tensors inputs;
    for (const at::Tensor& x : aligned) inputs.push_back(at_odd_address(x));
    auto run = [&](const Tensors& x) {
      const at::Tensor out = attend(relation, x[0], x[1], x[2], with_bias({}, x[3]));
      return at::cat({at::zeros({1}), out.reshape(-1)});  // so that its gradient is not aligned
    };

    const Tensors expected = output_and_gradients(run, aligned);
    const Tensors actual = output_and_gradients(run, inputs);

    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_TRUE(at::equal(actual[i], expected[i])) << i;
  }
}

TEST(DeviceRelation, IsCopiedOnceForARelationAndItsCopies) {
  const Relation relation = causal(4);
  const Relation copy = relation;

  const DeviceRows& rows = derive_on<DeviceRows>(relation, at::kCPU);

  EXPECT_EQ(&derive_on<DeviceRows>(copy, at::kCPU), &rows);
  EXPECT_NE(&derive_on<DeviceRows>(causal(4), at::kCPU), &rows);
  const RelationView& view = rows.view();
  EXPECT_EQ(std::vector<EdgeIndex>(view.row_begin, view.row_begin + 5), (std::vector<EdgeIndex>{0, 1, 3, 6, 10}));
  EXPECT_EQ(std::vector<NodeIndex>(view.sources, view.sources + 10),
            (std::vector<NodeIndex>{0, 0, 1, 0, 1, 2, 0, 1, 2, 3}));
}

}  // namespace
}  // namespace edgewise

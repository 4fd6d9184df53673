// SPDX-License-Identifier: Apache-2.0
#include "edgewise/runtime/gpu/step_graphs.h"

#include <gtest/gtest.h>

namespace edgewise {
namespace {

/// Adds 1 to `calls` by each begin_all().
void begin(StepGraphs& graphs, const StepGraphs::Shape& shape, int& calls, const GpuStream& stream = {}) {
  graphs.begin(shape, stream, [&] { ++calls; });
}

TEST(StepGraphs, RecordTheSecondStepOfAShape) {
  StepGraphs graphs;
  int calls = 0;

  begin(graphs, {2, 16}, calls);
  EXPECT_EQ(graphs.size(), 0);
  begin(graphs, {2, 16}, calls);
  EXPECT_EQ(graphs.size(), 1);
  begin(graphs, {2, 16}, calls);
  begin(graphs, {2, 16}, calls);
  EXPECT_EQ(calls, 2);

  begin(graphs, {2, 32}, calls);
  EXPECT_EQ(calls, 3);
}

TEST(StepGraphs, AreDiscardedWhenAnArrayOfTheStreamGrows) {
  StepGraphs graphs;
  const GpuStream stream;
  GpuArray<float> array;
  int calls = 0;
  for (int i = 0; i < 2; ++i) begin(graphs, {2}, calls, stream);

  array.allocate(8, stream);
  begin(graphs, {2}, calls, stream);
  EXPECT_EQ(graphs.size(), 0);
  EXPECT_EQ(calls, 3);

  array.allocate(8, stream);  // does not grow
  begin(graphs, {2}, calls, stream);
  EXPECT_EQ(graphs.size(), 1);
}

TEST(StepGraphs, StayWhenAnArrayOfAnotherStreamGrows) {
  StepGraphs graphs;
  const GpuStream stream, other_stream;
  GpuArray<float> array;
  int calls = 0;
  for (int i = 0; i < 2; ++i) begin(graphs, {2}, calls, stream);

  array.allocate(8, other_stream);
  begin(graphs, {2}, calls, stream);

  EXPECT_EQ(calls, 2);
}

TEST(StepGraphs, KeepABoundedNumberOfGraphs) {
  StepGraphs graphs;
  int calls = 0;
  for (std::int64_t rows = 0; rows < 1000; ++rows) {
    for (int i = 0; i < 2; ++i) begin(graphs, {rows}, calls);
    EXPECT_LE(graphs.size(), 300);
  }
  EXPECT_EQ(calls, 2000);
}

}  // namespace
}  // namespace edgewise

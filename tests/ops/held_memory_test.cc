// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <vector>

#include "edgewise/base/threads.h"
#include "edgewise/graph/batch.h"
#include "edgewise/ops/attend.h"
#include "tests/ops/allocation_counter.h"

namespace edgewise {
namespace {

/// Computes attention forward and backward over each relation of a batch with one pair.
void attend_over_batch(std::int64_t inputs, std::int64_t outputs) {
  const TokenPair pair = {.input = std::vector<std::int64_t>(static_cast<std::size_t>(inputs), 3),
                          .output = std::vector<std::int64_t>(static_cast<std::size_t>(outputs) + 1, 3)};
  const Batch batch = make_batch(std::span(&pair, 1));
  for (const std::string_view name : {kEncoderEncoder, kEncoderDecoder, kDecoderDecoder}) {
    const Relation& relation = batch.graph.relation(name);
    const at::Tensor query = at::ones({relation.num_destinations(), 1, 4}).set_requires_grad(true);
    const at::Tensor key = at::ones({relation.num_sources(), 1, 4}).set_requires_grad(true);
    attend(relation, query, key, key).sum().backward();
  }
}

TEST(HeldMemory, DoesNotGrowWithTheNumberOfDifferentLengths) {
  const NumThreadsScope one_thread(1);
  std::int64_t count = 0;
  std::int64_t held_after_100 = 0;
  for (std::int64_t inputs = 50; inputs >= 1; --inputs) {  // the largest first, because workspaces are kept
    for (std::int64_t outputs = 40; outputs >= 1; --outputs) {
      attend_over_batch(inputs, outputs);
      if (++count == 100) held_after_100 = held_allocation();
    }
  }
  EXPECT_EQ(count, 2000);
  EXPECT_LE(held_allocation(), held_after_100);
}

}  // namespace
}  // namespace edgewise

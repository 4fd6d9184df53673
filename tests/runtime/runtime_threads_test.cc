// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <thread>

#include "edgewise/base/threads.h"
#include "edgewise/search/search.h"
#include "tests/runtime/runtime_models.h"

namespace edgewise {
namespace {

TEST(RuntimeModel, IsUsedByScorersOfSeveralThreadsAtATime) {
  const Transformer model = random_model(small_options(TransformerPreset::kTutorial));
  const RuntimeModel runtime = runtime_of(model);
  const auto translate = [&] {
    const auto scorer = runtime.make_scorer();
    std::vector<Tokens> outputs;
    for (const auto& best : search(*scorer, kInputs, {.beam = 3})) outputs.push_back(best.front().tokens);
    return outputs;
  };
  const std::vector<Tokens> expected = translate();

  std::vector<std::vector<Tokens>> found(4);
  {
    std::vector<std::jthread> workers;
    for (std::vector<Tokens>& outputs : found) {
      workers.emplace_back([&] {
        set_num_threads(2);
        outputs = translate();
      });
    }
  }

  for (const std::vector<Tokens>& outputs : found) EXPECT_EQ(outputs, expected);
}

}  // namespace
}  // namespace edgewise

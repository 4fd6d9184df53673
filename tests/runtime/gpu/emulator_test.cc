// SPDX-License-Identifier: Apache-2.0
// Decoding on a GPU as the emulator sees it.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "tests/emulator/launch_record.h"
#include "tests/emulator/shared_memory_limit.h"
#include "tests/runtime/gpu/models.h"

namespace edgewise {
namespace {

using kernels::gpu::emulator::LaunchRecord;
using kernels::gpu::emulator::SharedMemoryLimit;
using testing::Contains;
using testing::Not;

Transformer model_with_heads_of_128() {
  TransformerOptions options = small_options(TransformerPreset::kTutorial);
  options.size = 128;
  options.heads = 1;
  return random_model(options);
}

TEST(GpuModelOnASmallGpu, ChoosesAKernelThatTheGpuCanStart) {
  constexpr std::size_t kSmallGpu = 101'376;  // RTX 30, RTX 40, L4, A10
  const Transformer model = model_with_heads_of_128();
  const GpuModel on_gpu = gpu_model_of(model);
  const auto expected = grow_branches(*runtime_of(model).make_scorer(), kInputs, 2);
  {
    const LaunchRecord record;
    expect_same_results(grow_branches(*on_gpu.make_scorer(), kInputs, 2), expected);
    EXPECT_THAT(record.kernels(), Contains("interval_attention_f32"));
  }
  const SharedMemoryLimit limit(kSmallGpu);
  const LaunchRecord record;
  expect_same_results(grow_branches(*on_gpu.make_scorer(), kInputs, 2), expected);
  EXPECT_THAT(record.kernels(), Not(Contains("interval_attention_f32")));
}

}  // namespace
}  // namespace edgewise

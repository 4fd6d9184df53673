// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/device.h"

#include <ATen/Context.h>
#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace edgewise {
namespace {

TEST(ChooseDevice, ReturnsTheCpuForItsName) { EXPECT_EQ(choose_device({"train: train.device", "cpu"}), at::kCPU); }

TEST(PrepareDevice, ChangesNothingForTheCpu) {
  const bool before = at::globalContext().deterministicAlgorithms();
  prepare_device(at::kCPU);
  EXPECT_EQ(at::globalContext().deterministicAlgorithms(), before);
}

std::optional<std::string> explanation_of(const std::string& message) {
  return explain_gpu_memory(c10::OutOfMemoryError({__func__, __FILE__, __LINE__}, message));
}

constexpr const char* kAdvice =
    "; set a smaller batch.tokens, and a larger train.accumulate for as many tokens in a step, train.precision=bf16, "
    "or choose a smaller model";

TEST(ExplainGpuMemory, NamesTheMemoryThatWasNeededAndFree) {
  EXPECT_EQ(explanation_of("CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has a total capacity of 79.11 GiB of "
                           "which 1.10 GiB is free. Including non-PyTorch memory, this process has 77.00 GiB memory "
                           "in use. Of the allocated memory 75.00 GiB is allocated by PyTorch."),
            std::string("the memory of the GPU ran out: 2.50 GiB more were needed, 1.10 GiB of 79.11 GiB are free") +
                kAdvice);
}

TEST(ExplainGpuMemory, DoesWithoutSizesThatTheMessageLacks) {
  EXPECT_EQ(explanation_of("CUDA out of memory."), std::string("the memory of the GPU ran out") + kAdvice);
  EXPECT_EQ(explanation_of("Tried to allocate 20.00 MiB. Then more."),
            std::string("the memory of the GPU ran out: 20.00 MiB more were needed") + kAdvice);
}

TEST(ExplainGpuMemory, LeavesOtherErrorsAlone) {
  EXPECT_EQ(explain_gpu_memory(c10::Error({__func__, __FILE__, __LINE__}, "Tried to allocate 2.50 GiB. ")),
            std::nullopt);
  EXPECT_EQ(explain_gpu_memory(std::runtime_error("CUDA out of memory.")), std::nullopt);
}

}  // namespace
}  // namespace edgewise

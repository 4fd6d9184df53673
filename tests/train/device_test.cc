// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/device.h"

#include <ATen/Context.h>
#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include "tests/support/error_of.h"

namespace edgewise {
namespace {

const Gpu kH100 = {"NVIDIA H100", 9, 0};
const Gpu kA100 = {"NVIDIA A100", 8, 0};
const Gpu kT4 = {"Tesla T4", 7, 5};

GpuSearch finding(std::vector<Gpu> gpus) { return {.detail = {}, .gpus = std::move(gpus)}; }

GpuSearch failing(GpuObstacle obstacle, const std::string& detail = "") {
  return {.obstacle = obstacle, .detail = detail, .gpus = {}};
}

DeviceRequest request_of(const std::string& name, LocalPlace place = {}) {
  return {"train: train.device", name, place};
}

std::string device_of(const std::string& name, const GpuSearch& search, LocalPlace place = {}) {
  return choose_device(request_of(name, place), search).str();
}

std::string error_of_choice(const std::string& name, const GpuSearch& search, LocalPlace place = {}) {
  return error_of([&] { choose_device(request_of(name, place), search); });
}

TEST(ChooseDevice, TakesTheCpuWhateverTheGpusAre) {
  EXPECT_EQ(device_of("cpu", finding({kH100})), "cpu");
  EXPECT_EQ(device_of("cpu", failing(GpuObstacle::kNoCuda)), "cpu");
  EXPECT_EQ(choose_device(request_of("cpu")), at::kCPU);
}

TEST(ChooseDevice, TakesTheGpuOfTheProcessOrOfTheNumber) {
  const GpuSearch two = finding({kA100, kH100});
  EXPECT_EQ(device_of("cuda", two), "cuda:0");
  EXPECT_EQ(device_of("cuda", two, {.rank = 0, .size = 2}), "cuda:0");
  EXPECT_EQ(device_of("cuda", two, {.rank = 1, .size = 2}), "cuda:1");
  EXPECT_EQ(device_of("cuda:1", two), "cuda:1");
  EXPECT_EQ(device_of("cuda:0", finding({kH100}), {.rank = 3, .size = 4}), "cuda:0");
  EXPECT_EQ(device_of("cuda:1", finding({kT4, kH100})), "cuda:1");
}

TEST(ChooseDevice, ExplainsWhatIsMissing) {
  EXPECT_EQ(error_of_choice("cuda", failing(GpuObstacle::kNoCuda)),
            "train: train.device is cuda, needs a program with CUDA; build it with make all CUDA=1");
  EXPECT_EQ(error_of_choice("cuda:2", failing(GpuObstacle::kNoCuda)),
            "train: train.device is cuda:2, needs a program with CUDA; build it with make all CUDA=1");
  EXPECT_EQ(error_of_choice("cuda", failing(GpuObstacle::kNoDriver)),
            "train: train.device is cuda, needs NVIDIA's driver, which this process does not find; install version "
            "580.65.06 or newer, and give a container access to the GPUs");
  EXPECT_EQ(error_of_choice("cuda", failing(GpuObstacle::kOldDriver, "535.104.05")),
            "train: train.device is cuda, needs version 580.65.06 or newer of NVIDIA's driver, and this machine has "
            "535.104.05; install a newer one");
  EXPECT_EQ(error_of_choice("cuda", failing(GpuObstacle::kFailure, "unknown error")),
            "train: train.device is cuda, needs a GPU that works, and CUDA reports: unknown error");
  EXPECT_EQ(error_of_choice("cuda", finding({})),
            "train: train.device is cuda, needs a GPU of NVIDIA, and CUDA finds none; is CUDA_VISIBLE_DEVICES set?");
}

TEST(ChooseDevice, RefusesANumberThatNoGpuHas) {
  EXPECT_EQ(error_of_choice("cuda:2", finding({kH100, kH100})),
            "train: train.device is cuda:2, needs a number below 2, the number of GPUs of this process");
}

TEST(ChooseDevice, RefusesAnOldGpu) {
  EXPECT_EQ(error_of_choice("cuda:1", finding({kH100, kT4})),
            "train: train.device is cuda:1, needs a GPU of compute capability 8.0 or higher, and GPU 1 (Tesla T4) has "
            "7.5");
  EXPECT_EQ(error_of_choice("cuda", finding({kT4, kH100})),
            "train: train.device is cuda, needs a GPU of compute capability 8.0 or higher, and GPU 0 (Tesla T4) has "
            "7.5");
}

TEST(ChooseDevice, RefusesMoreProcessesThanGpus) {
  EXPECT_EQ(
      error_of_choice("cuda", finding({kH100, kH100}), {.rank = 0, .size = 4}),
      "train: train.device is cuda for 4 processes on this machine, needs a GPU for each, and CUDA finds 2; start "
      "fewer processes, or set train.device=cuda:0 if the launcher gives each process its own GPU");
}

TEST(ChooseDevice, RefusesAnUnknownName) {
  EXPECT_EQ(error_of_choice("gpu", finding({kH100})),
            "train: train.device is gpu, needs cpu, auto, cuda, or cuda: with the number of a GPU, such as cuda:0");
}

TEST(ChooseDevice, TakesTheFirstGpuThatCanBeUsedForAuto) {
  EXPECT_EQ(device_of("auto", finding({kT4, kA100, kH100})), "cuda:1");
  EXPECT_EQ(device_of("auto", finding({kT4})), "cpu");
  EXPECT_EQ(device_of("auto", finding({})), "cpu");
  for (const GpuObstacle obstacle :
       {GpuObstacle::kNoCuda, GpuObstacle::kNoDriver, GpuObstacle::kOldDriver, GpuObstacle::kFailure}) {
    EXPECT_EQ(device_of("auto", failing(obstacle)), "cpu");
  }
}

TEST(ChooseDevice, TakesGpusForAllProcessesOfAMachineOrForNoneForAuto) {
  const GpuSearch three = finding({kT4, kA100, kH100});
  EXPECT_EQ(device_of("auto", three, {.rank = 0, .size = 2}), "cuda:1");
  EXPECT_EQ(device_of("auto", three, {.rank = 1, .size = 2}), "cuda:2");
  for (const std::int64_t rank : {0, 1, 2, 3}) EXPECT_EQ(device_of("auto", three, {.rank = rank, .size = 4}), "cpu");
}

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
    "or "
    "choose a smaller model";

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

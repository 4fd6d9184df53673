// SPDX-License-Identifier: Apache-2.0
#include "edgewise/device/choose_gpu.h"

#include <gtest/gtest.h>

#include "edgewise/options/experiment.h"
#include "tests/support/error_of.h"

namespace edgewise {
namespace {

TEST(DeviceName, IsTheCpuAGpuOrAChoice) {
  EXPECT_EQ(parse_device_name("cpu"), DeviceName{DeviceChoice::kCpu});
  EXPECT_EQ(parse_device_name("auto"), DeviceName{DeviceChoice::kAuto});
  EXPECT_EQ(parse_device_name("cuda"), DeviceName{DeviceChoice::kGpu});
  EXPECT_EQ(parse_device_name("cuda:0"), (DeviceName{DeviceChoice::kGpu, 0}));
  EXPECT_EQ(parse_device_name("cuda:127"), (DeviceName{DeviceChoice::kGpu, 127}));
}

TEST(DeviceName, IsNoOtherText) {
  for (const char* text : {"", "gpu", "CPU", "cuda ", "cuda:", "cuda:-1", "cuda:+1", "cuda:128", "cuda:1.0", "cuda:1 ",
                           "cuda:99999999999999999999", "cuda:0:1", "cpu:0", "auto:0", "meta"}) {
    EXPECT_FALSE(parse_device_name(text).has_value()) << text;
  }
}

TEST(DeviceName, IsCheckedBeforeTraining) {
  const auto error_of_device = [](const std::string& name) {
    const std::vector<std::string> settings = {"data.task=copy", "vocabulary.shared=true", "train.device=" + name};
    return error_of([&] { check_options(parse_experiment("", "test", settings), "train"); });
  };
  EXPECT_EQ(error_of_device("gpu"),
            "train: train.device is gpu, needs cpu, auto, cuda, or cuda: with the number of a GPU, such as cuda:0");
  for (const char* name : {"cpu", "auto", "cuda", "cuda:3"}) {
    EXPECT_EQ(error_of_device(name).find("train.device"), std::string::npos) << name;
  }
}

const Gpu kH100 = {"NVIDIA H100", 9, 0};
const Gpu kA100 = {"NVIDIA A100", 8, 0};
const Gpu kT4 = {"Tesla T4", 7, 5};

GpuSearch finding(std::vector<Gpu> gpus) { return {.detail = {}, .gpus = std::move(gpus)}; }

GpuSearch failing(GpuObstacle obstacle, const std::string& detail = "") {
  return {.obstacle = obstacle, .detail = detail, .gpus = {}};
}

DeviceRequest request_of(const std::string& name, LocalRank local_rank = {}) {
  return {"train: train.device", name, local_rank};
}

std::string device_of(const std::string& name, const GpuSearch& search, LocalRank local_rank = {}) {
  const std::optional<std::int64_t> gpu = choose_gpu(request_of(name, local_rank), search);
  return gpu ? "cuda:" + std::to_string(*gpu) : "cpu";
}

std::string error_of_choice(const std::string& name, const GpuSearch& search, LocalRank local_rank = {}) {
  return error_of([&] { choose_gpu(request_of(name, local_rank), search); });
}

TEST(ChooseGpu, TakesTheCpuWhateverTheGpusAre) {
  EXPECT_EQ(device_of("cpu", finding({kH100})), "cpu");
  EXPECT_EQ(device_of("cpu", failing(GpuObstacle::kNoCuda)), "cpu");
  EXPECT_EQ(choose_gpu(request_of("cpu")), std::nullopt);
}

TEST(ChooseGpu, TakesTheGpuOfTheProcessOrOfTheNumber) {
  const GpuSearch two = finding({kA100, kH100});
  EXPECT_EQ(device_of("cuda", two), "cuda:0");
  EXPECT_EQ(device_of("cuda", two, {.rank = 0, .size = 2}), "cuda:0");
  EXPECT_EQ(device_of("cuda", two, {.rank = 1, .size = 2}), "cuda:1");
  EXPECT_EQ(device_of("cuda:1", two), "cuda:1");
  EXPECT_EQ(device_of("cuda:0", finding({kH100}), {.rank = 3, .size = 4}), "cuda:0");
  EXPECT_EQ(device_of("cuda:1", finding({kT4, kH100})), "cuda:1");
}

TEST(ChooseGpu, ExplainsWhatIsMissing) {
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

TEST(ChooseGpu, RefusesANumberThatNoGpuHas) {
  EXPECT_EQ(error_of_choice("cuda:2", finding({kH100, kH100})),
            "train: train.device is cuda:2, needs a number below 2, the number of GPUs of this process");
}

TEST(ChooseGpu, RefusesAnOldGpu) {
  EXPECT_EQ(error_of_choice("cuda:1", finding({kH100, kT4})),
            "train: train.device is cuda:1, needs a GPU of compute capability 8.0 or higher, and GPU 1 (Tesla T4) has "
            "7.5");
  EXPECT_EQ(error_of_choice("cuda", finding({kT4, kH100})),
            "train: train.device is cuda, needs a GPU of compute capability 8.0 or higher, and GPU 0 (Tesla T4) has "
            "7.5");
}

TEST(ChooseGpu, RefusesMoreProcessesThanGpus) {
  EXPECT_EQ(
      error_of_choice("cuda", finding({kH100, kH100}), {.rank = 0, .size = 4}),
      "train: train.device is cuda for 4 processes on this machine, needs a GPU for each, and CUDA finds 2; start "
      "fewer processes, or set train.device=cuda:0 if the launcher gives each process its own GPU");
}

TEST(ChooseGpu, RefusesAnUnknownName) {
  EXPECT_EQ(error_of_choice("gpu", finding({kH100})),
            "train: train.device is gpu, needs cpu, auto, cuda, or cuda: with the number of a GPU, such as cuda:0");
}

TEST(ChooseGpu, TakesTheFirstGpuThatCanBeUsedForAuto) {
  EXPECT_EQ(device_of("auto", finding({kT4, kA100, kH100})), "cuda:1");
  EXPECT_EQ(device_of("auto", finding({kT4})), "cpu");
  EXPECT_EQ(device_of("auto", finding({})), "cpu");
  for (const GpuObstacle obstacle :
       {GpuObstacle::kNoCuda, GpuObstacle::kNoDriver, GpuObstacle::kOldDriver, GpuObstacle::kFailure}) {
    EXPECT_EQ(device_of("auto", failing(obstacle)), "cpu");
  }
}

TEST(ChooseGpu, TakesGpusForAllProcessesOfAMachineOrForNoneForAuto) {
  const GpuSearch three = finding({kT4, kA100, kH100});
  EXPECT_EQ(device_of("auto", three, {.rank = 0, .size = 2}), "cuda:1");
  EXPECT_EQ(device_of("auto", three, {.rank = 1, .size = 2}), "cuda:2");
  for (const std::int64_t rank : {0, 1, 2, 3}) EXPECT_EQ(device_of("auto", three, {.rank = rank, .size = 4}), "cpu");
}

}  // namespace
}  // namespace edgewise

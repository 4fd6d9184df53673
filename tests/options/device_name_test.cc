// SPDX-License-Identifier: Apache-2.0
#include "edgewise/options/device_name.h"

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

}  // namespace
}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#include "edgewise/options/device_name.h"

#include "edgewise/base/parse_number.h"

namespace edgewise {
namespace {

constexpr std::string_view kGpuPrefix = "cuda:";
constexpr double kLastGpu = 127;  // at::Device has numbers of 8 bits

}  // namespace

std::optional<DeviceName> parse_device_name(std::string_view text) {
  if (text == "cpu") return DeviceName{DeviceChoice::kCpu};
  if (text == "auto") return DeviceName{DeviceChoice::kAuto};
  if (text == "cuda") return DeviceName{DeviceChoice::kGpu};
  if (!text.starts_with(kGpuPrefix)) return std::nullopt;
  std::int64_t gpu = 0;
  if (!parse_number(text.substr(kGpuPrefix.size()), at_least(0).at_most(kLastGpu), gpu)) return std::nullopt;
  return DeviceName{DeviceChoice::kGpu, gpu};
}

}  // namespace edgewise

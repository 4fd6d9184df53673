// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace edgewise {

enum class DeviceChoice { kCpu, kGpu, kAuto };

/// The value of train.device.
struct DeviceName {
  DeviceChoice choice = DeviceChoice::kCpu;
  std::optional<std::int64_t> gpu = std::nullopt;  // the number that the name of a GPU has

  bool operator==(const DeviceName&) const = default;
};

inline constexpr std::string_view kNeedsDeviceName =
    "needs cpu, auto, cuda, or cuda: with the number of a GPU, such as cuda:0";

/// Parses "cpu", "auto", "cuda" and "cuda:N" with N from 0 to 127; returns nothing for another text.
std::optional<DeviceName> parse_device_name(std::string_view text);

}  // namespace edgewise

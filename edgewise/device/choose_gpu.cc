// SPDX-License-Identifier: Apache-2.0
#include "edgewise/device/choose_gpu.h"

#include "edgewise/base/config/range.h"
#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"

namespace edgewise {
namespace {

constexpr int kOldestMajor = 8;                         // sm_80, the first with bf16 products
constexpr std::string_view kFirstDriver = "580.65.06";  // the first driver of CUDA 13
constexpr std::string_view kGpuPrefix = "cuda:";
constexpr double kLastGpu = 127;  // at::Device has numbers of 8 bits

bool can_be_used(const Gpu& gpu) { return gpu.major >= kOldestMajor; }

/// Throws Error if the process can use no GPU at all.
void check_no_obstacle(const DeviceRequest& request, const GpuSearch& search) {
  switch (search.obstacle) {
    case GpuObstacle::kNone:
      break;
    case GpuObstacle::kNoCuda:
      fail("{} is {}, needs a program with CUDA; build it with make all CUDA=1", request.option, request.name);
    case GpuObstacle::kNoDriver:
      fail(
          "{} is {}, needs NVIDIA's driver, which this process does not find; install version {} or newer, and give a "
          "container access to the GPUs",
          request.option, request.name, kFirstDriver);
    case GpuObstacle::kOldDriver:
      fail("{} is {}, needs version {} or newer of NVIDIA's driver, and this machine has {}; install a newer one",
           request.option, request.name, kFirstDriver, search.detail);
    case GpuObstacle::kFailure:
      fail("{} is {}, needs a GPU that works, and CUDA reports: {}", request.option, request.name, search.detail);
  }
  check(!search.gpus.empty(), "{} is {}, needs a GPU of NVIDIA, and CUDA finds none; is CUDA_VISIBLE_DEVICES set?",
        request.option, request.name);
}

/// Returns the GPU with a number, which `request` names.
std::int64_t check_gpu(const DeviceRequest& request, const GpuSearch& search, std::int64_t number) {
  check_no_obstacle(request, search);
  check(number < std::ssize(search.gpus), "{} is {}, needs a number below {}, the number of GPUs of this process",
        request.option, request.name, search.gpus.size());
  const Gpu& gpu = search.gpus[static_cast<std::size_t>(number)];
  check(can_be_used(gpu), "{} is {}, needs a GPU of compute capability {}.0 or higher, and GPU {} ({}) has {}.{}",
        request.option, request.name, kOldestMajor, number, gpu.name, gpu.major, gpu.minor);
  return number;
}

std::int64_t choose_own_gpu(const DeviceRequest& request, const GpuSearch& search) {
  check_no_obstacle(request, search);
  check(request.local_rank.size <= std::ssize(search.gpus),
        "{} is {} for {} processes on this machine, needs a GPU for each, and CUDA finds {}; start fewer processes, or "
        "set {}=cuda:0 if the launcher gives each process its own GPU",
        request.option, request.name, request.local_rank.size, search.gpus.size(),
        request.option.substr(request.option.rfind(' ') + 1));
  return check_gpu(request, search, request.local_rank.rank);
}

std::optional<std::int64_t> choose_any(const LocalRank& local_rank, const GpuSearch& search) {
  std::vector<std::int64_t> usable;
  for (std::size_t number = 0; number < search.gpus.size(); ++number) {
    if (can_be_used(search.gpus[number])) usable.push_back(static_cast<std::int64_t>(number));
  }
  if (std::ssize(usable) < local_rank.size) return std::nullopt;
  return usable[static_cast<std::size_t>(local_rank.rank)];
}

DeviceName parse_requested_name(const DeviceRequest& request) {
  const std::optional<DeviceName> name = parse_device_name(request.name);
  check(name.has_value(), "{} is {}, {}", request.option, quote_unless_plain(request.name), kNeedsDeviceName);
  return *name;
}

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

std::optional<std::int64_t> choose_gpu(const DeviceRequest& request, const GpuSearch& search) {
  const DeviceName name = parse_requested_name(request);
  switch (name.choice) {
    case DeviceChoice::kCpu:
      return std::nullopt;
    case DeviceChoice::kGpu:
      return name.gpu ? check_gpu(request, search, *name.gpu) : choose_own_gpu(request, search);
    case DeviceChoice::kAuto:
      return choose_any(request.local_rank, search);
  }
  fail("choose_gpu: choice is {}, needs one of DeviceChoice", static_cast<int>(name.choice));
}

std::optional<std::int64_t> choose_gpu(const DeviceRequest& request) {
  const bool is_cpu = parse_requested_name(request).choice == DeviceChoice::kCpu;
  return choose_gpu(request, is_cpu ? GpuSearch() : find_gpus());
}

}  // namespace edgewise

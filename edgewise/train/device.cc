// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/device.h"

#include <ATen/Context.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>

#include <cstdlib>
#include <string_view>

#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"
#include "edgewise/options/device_name.h"

namespace edgewise {
namespace {

constexpr int kOldestMajor = 8;                         // sm_80, the first with bf16 products
constexpr std::string_view kFirstDriver = "580.65.06";  // the first driver of CUDA 13

at::Device gpu_device(std::int64_t number) { return {at::kCUDA, static_cast<c10::DeviceIndex>(number)}; }

bool can_be_used(const Gpu& gpu) { return gpu.major >= kOldestMajor; }

/// Throws Error if the process can use no GPU at all.
void check_no_obstacle(const DeviceRequest& request, const GpuSearch& search) {
  switch (search.obstacle) {
    case GpuObstacle::kNone:
      break;
    case GpuObstacle::kNoCuda:
      fail("{} is {}, needs a program with CUDA; build it with make build CUDA=1", request.option, request.name);
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
at::Device choose_gpu(const DeviceRequest& request, const GpuSearch& search, std::int64_t number) {
  check_no_obstacle(request, search);
  check(number < std::ssize(search.gpus), "{} is {}, needs a number below {}, the number of GPUs of this process",
        request.option, request.name, search.gpus.size());
  const Gpu& gpu = search.gpus[static_cast<std::size_t>(number)];
  check(can_be_used(gpu), "{} is {}, needs a GPU of compute capability {}.0 or higher, and GPU {} ({}) has {}.{}",
        request.option, request.name, kOldestMajor, number, gpu.name, gpu.major, gpu.minor);
  return gpu_device(number);
}

at::Device choose_own_gpu(const DeviceRequest& request, const GpuSearch& search) {
  check_no_obstacle(request, search);
  check(request.place.size <= std::ssize(search.gpus),
        "{} is {} for {} processes on this machine, needs a GPU for each, and CUDA finds {}; start fewer processes, or "
        "set {}=cuda:0 if the launcher gives each process its own GPU",
        request.option, request.name, request.place.size, search.gpus.size(),
        request.option.substr(request.option.rfind(' ') + 1));
  return choose_gpu(request, search, request.place.rank);
}

at::Device choose_any(const LocalPlace& place, const GpuSearch& search) {
  std::vector<std::int64_t> usable;
  for (std::size_t number = 0; number < search.gpus.size(); ++number) {
    if (can_be_used(search.gpus[number])) usable.push_back(static_cast<std::int64_t>(number));
  }
  if (std::ssize(usable) < place.size) return at::kCPU;
  return gpu_device(usable[static_cast<std::size_t>(place.rank)]);
}

DeviceName parse_requested_name(const DeviceRequest& request) {
  const std::optional<DeviceName> name = parse_device_name(request.name);
  check(name.has_value(), "{} is {}, {}", request.option, quote_unless_plain(request.name), kNeedsDeviceName);
  return *name;
}

/// Returns the words of a text between two others; "" if they are not there.
std::string_view words_between(std::string_view text, std::string_view before, std::string_view after) {
  const std::size_t found = text.find(before);
  if (found == std::string_view::npos) return {};
  const std::size_t begin = found + before.size();
  const std::size_t end = text.find(after, begin);
  return end == std::string_view::npos ? std::string_view() : text.substr(begin, end - begin);
}

}  // namespace

at::Device choose_device(const DeviceRequest& request, const GpuSearch& search) {
  const DeviceName name = parse_requested_name(request);
  switch (name.choice) {
    case DeviceChoice::kCpu:
      return at::kCPU;
    case DeviceChoice::kGpu:
      return name.gpu ? choose_gpu(request, search, *name.gpu) : choose_own_gpu(request, search);
    case DeviceChoice::kAuto:
      return choose_any(request.place, search);
  }
  fail("choose_device: choice is {}, needs one of DeviceChoice", static_cast<int>(name.choice));
}

at::Device choose_device(const DeviceRequest& request) {
  const bool is_cpu = parse_requested_name(request).choice == DeviceChoice::kCpu;
  return choose_device(request, is_cpu ? GpuSearch() : find_gpus());
}

void prepare_device(at::Device device) {
  if (device.is_cpu()) return;
  ::setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/0);  // cuBLAS reads the variable when it starts
  at::Context& context = at::globalContext();
  context.setDeterministicAlgorithms(true, /*warn_only=*/false);
  context.setDeterministicFillUninitializedMemory(false);  // the operations here write all that they read
  context.setAllowBF16ReductionCuBLAS(/*allow_reduced_precision=*/false);
  c10::impl::VirtualGuardImpl(device.type()).setDevice(device);
}

std::optional<std::string> explain_gpu_memory(const std::exception& error) {
  const auto* memory = dynamic_cast<const c10::OutOfMemoryError*>(&error);
  if (memory == nullptr) return std::nullopt;
  const std::string_view text = memory->what_without_backtrace();
  const std::string_view needed = words_between(text, "Tried to allocate ", ". ");
  const std::string_view total = words_between(text, "total capacity of ", " of which ");
  const std::string_view free = words_between(text, " of which ", " is free");
  std::string sizes;
  if (!needed.empty()) sizes += fmt::format(": {} more were needed", needed);
  if (!needed.empty() && !free.empty()) sizes += fmt::format(", {} of {} are free", free, total);
  return fmt::format(
      "the memory of the GPU ran out{}; set a smaller batch.tokens, and a larger train.accumulate for as many tokens "
      "in "
      "a step, train.precision=bf16, or choose a smaller model",
      sizes);
}

}  // namespace edgewise

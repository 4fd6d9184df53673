// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace edgewise {

/// A GPU that CUDA offers to this process.
struct Gpu {
  std::string name;  // such as "NVIDIA H100 80GB HBM3"
  int major = 0;     // compute capability, such as 9.0
  int minor = 0;
};

/// The reason why a process can use no GPU.
enum class GpuObstacle {
  kNone,
  kNoCuda,     // this build does not call CUDA
  kNoDriver,   // NVIDIA's driver is not there, or a container hides it
  kOldDriver,  // the driver is older than this build's CUDA
  kFailure,    // another error of CUDA
};

struct GpuSearch {
  GpuObstacle obstacle = GpuObstacle::kNone;
  std::string detail;     // kOldDriver: the version of the driver; kFailure: the text of the error
  std::vector<Gpu> gpus;  // by number; those of an old architecture, too
};

/// Finds the GPUs of this process: those of the machine that CUDA_VISIBLE_DEVICES does not hide. gpus_cuda.cc has this
/// function, and gpus_missing.cc has it in a build without EDGEWISE_CUDA.
GpuSearch find_gpus();

enum class DeviceChoice { kCpu, kGpu, kAuto };

/// The value of train.device, of TranslatorOptions::device and of --device.
struct DeviceName {
  DeviceChoice choice = DeviceChoice::kCpu;
  std::optional<std::int64_t> gpu = std::nullopt;  // the number that the name of a GPU has

  bool operator==(const DeviceName&) const = default;
};

inline constexpr std::string_view kNeedsDeviceName =
    "needs cpu, auto, cuda, or cuda: with the number of a GPU, such as cuda:0";

/// Parses "cpu", "auto", "cuda" and "cuda:N" with N from 0 to 127; returns nothing for another text.
std::optional<DeviceName> parse_device_name(std::string_view text);

/// The number of a process among those of a training on the same machine.
struct LocalRank {
  std::int64_t rank = 0;
  std::int64_t size = 1;
};

/// The device that an option names.
struct DeviceRequest {
  std::string option;  // the beginning of errors, such as "train: train.device"
  std::string name;    // parse_device_name() accepts it
  LocalRank local_rank = {};
};

/// Returns the number of the GPU on which a process computes, or nothing for the CPU:
///
/// - "cpu";
/// - "cuda": the GPU whose number is the rank of the process on its machine; each process needs one;
/// - "cuda:N": the GPU number N. Several processes may share it only if it is another GPU for each: a launcher may set
///   CUDA_VISIBLE_DEVICES so that each process has one GPU, which is its cuda:0;
/// - "auto": of the GPUs that can be used, the one with the number of the rank. The CPU if there are fewer of them than
///   processes.
///
/// A GPU can be used if its compute capability is at least 8.0. Throws Error for another name, and if the GPU is not
/// there or cannot be used: the error describes what is missing.
std::optional<std::int64_t> choose_gpu(const DeviceRequest& request, const GpuSearch& search);

/// Does so with the GPUs of find_gpus(), which it does not call for "cpu".
std::optional<std::int64_t> choose_gpu(const DeviceRequest& request);

}  // namespace edgewise

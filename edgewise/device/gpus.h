// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

// A build without EDGEWISE_CUDA has gpus_missing.cc in the place of gpus_cuda.cc.
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

/// Finds the GPUs of this process: those of the machine that CUDA_VISIBLE_DEVICES does not hide.
GpuSearch find_gpus();

}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#include "edgewise/distributed/c10d_backends.h"

#define USE_C10D_NCCL  // the header of ProcessGroupNCCL is empty without this macro

#include <c10/cuda/CUDAFunctions.h>

#include <cstdlib>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include "edgewise/base/error.h"

namespace edgewise {

void prepare_nccl(const at::Device& device) {
  const int count = c10::cuda::device_count();
  check(device.has_index() && device.index() < count,
        "connect_processes: options.device is {}, needs one of the {} GPUs of this machine with its number, such as "
        "cuda:0",
        device.str(), count);
  ::setenv("TORCH_NCCL_BLOCKING_WAIT", "1", 1);
}

c10::intrusive_ptr<c10d::Backend> connect_nccl(const c10::intrusive_ptr<c10d::Store>& store,
                                               const NcclOptions& options) {
  auto nccl_options = c10d::ProcessGroupNCCL::Options::create();
  nccl_options->timeout = options.timeout;
  auto nccl = c10::make_intrusive<c10d::ProcessGroupNCCL>(store, static_cast<int>(options.rank),
                                                          static_cast<int>(options.size), nccl_options);
  // Not at the first exchange, as c10d does by default: that wait would have no limit.
  nccl->eagerConnectSingleDevice(options.device);
  return nccl;
}

}  // namespace edgewise

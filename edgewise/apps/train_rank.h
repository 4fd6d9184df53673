// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>

#include "edgewise/distributed/launch_environment.h"
#include "edgewise/distributed/process_group.h"

namespace edgewise {

/// Connects to the other processes of a training, which exchange tensors on `device`, and calls `train`. The errors
/// that run_program prints then begin with the rank of the process; process 0 alone prints an error of all processes.
/// `timeout` limits the wait for an exchange. Throws EarlyExit with kLostProcessExitCode (local_processes.h), after
/// printing a message, if another process is lost.
void run_as_rank(const LaunchEnvironment& launched, std::chrono::duration<double> timeout, at::Device device,
                 const std::function<void(ProcessGroup&)>& train);

}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace edgewise {

// The program edgewise does two things before its libraries start, which takes a third of a second: it blocks SIGUSR1,
// so that a request to save a training waits for its handler (train_signals.h), and it leaves a working directory that
// was removed, in which MKL would end the process.

/// Gives SIGUSR1 back the state that it had when the process was started. For commands that do not handle it.
void stop_blocking_requests();

/// Returns to the removed working directory, where relative names lead to "No such file or directory".
void return_to_removed_directory();

}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "edgewise/base/stop_request.h"

// The standard streams of a program. Printing never throws and never ends the program, so that a full disk or a reader
// that has ended harms no work: the first failure on standard output is kept and decides the exit code at the end.

namespace edgewise {

/// Prepares the standard streams; call this first in a program. Opens /dev/null on the numbers of closed streams, so
/// that no file gets such a number: reading and writing these streams still fails. Ignores SIGPIPE and SIGXFSZ, so that
/// a write to a pipe without a reader or above the limit of a file's size fails instead of ending the process.
void prepare_standard_streams();

/// Declares that the command writes its result to files: then a standard output without a reader is no failure.
void make_output_optional();

/// Declares that printing must not delay the end of the process: once `stop` is set, a stream that is blocked, because
/// its reader does not read, counts as a stream without a reader. The request must outlive the process's printing.
void give_up_blocked_streams(const StopRequest& stop);

/// Prints on standard output, without a buffer. Prints nothing after a failure.
void write_output(std::string_view text);

/// Prints on standard output, and returns whether all was written; a failure has no other effect. For logs.
bool try_write_output(std::string_view text);

template <typename... Args>
void print_output(fmt::format_string<Args...> format, Args&&... args) {
  write_output(fmt::format(format, std::forward<Args>(args)...));
}

/// Prints on standard error. Ignores failures.
void write_error(std::string_view text);

template <typename... Args>
void print_error(fmt::format_string<Args...> format, Args&&... args) {
  write_error(fmt::format(format, std::forward<Args>(args)...));
}

/// If printing has failed, ends the process with the exit code of finish_output(command, 0). For commands whose further
/// work would have no result.
void require_output(std::string_view command);

/// Returns the exit code of a program: `exit_code` if everything was printed. A standard output without a reader is no
/// failure if the output is optional or `exit_code` is not 0. Otherwise, if the reader of a pipe has ended, ends the
/// process by SIGPIPE, as other filters do, unless the process was started to ignore SIGPIPE. After any other failure
/// prints an error, and returns `exit_code` or, if that is 0, kUserErrorExitCode.
int finish_output(std::string_view command, int exit_code);

}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/runtime/standard_streams.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>

#include "edgewise/base/error.h"
#include "edgewise/base/files/file_system.h"

namespace edgewise {
namespace {

// The process has one standard output, so its state is global.
std::atomic<int> output_error = 0;  // errno of the first write that failed
std::atomic<bool> is_output_optional = false;
std::atomic<const StopRequest*> stop_request = nullptr;
bool was_sigpipe_ignored = false;

/// Waits until a stream is not blocked. Returns false if it is blocked and a stop is requested.
bool wait_until_writable(int stream) {
  constexpr int kIntervalMs = 100;  // a signal just before poll() does not interrupt it
  pollfd writable = {.fd = stream, .events = POLLOUT, .revents = 0};
  while (true) {
    const StopRequest* stop = stop_request;
    const bool is_stopped = stop != nullptr && *stop;
    const int ready = ::poll(&writable, 1, is_stopped ? 0 : kIntervalMs);
    if (ready > 0 || (ready < 0 && errno != EINTR)) return true;
    if (is_stopped) return false;
  }
}

/// Writes all bytes to a stream. Returns 0 or errno.
int write_stream(int stream, std::string_view text) {
  while (!text.empty()) {
    if (!wait_until_writable(stream)) return EPIPE;
    // A pipe that is not blocked takes PIPE_BUF bytes at once; more bytes may have to wait for the reader.
    const std::size_t size = stop_request == nullptr ? text.size() : std::min<std::size_t>(text.size(), PIPE_BUF);
    const ssize_t count = ::write(stream, text.data(), size);
    if (count >= 0) {
      text.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno != EINTR && errno != EAGAIN) {  // EAGAIN: another process made the pipe or terminal non-blocking
      return errno;
    }
  }
  return 0;
}

bool is_terminal_or_device(int stream) {
  struct stat status = {};
  return ::fstat(stream, &status) == 0 && S_ISCHR(status.st_mode);
}

/// Returns whether an error means that standard output has no reader: a pipe without a reader, a closed stream, or a
/// terminal that is gone.
bool has_no_reader(int error) {
  return error == EPIPE || error == EBADF || (error == EIO && is_terminal_or_device(STDOUT_FILENO));
}

/// Closes a copy of standard output: network file systems report some failures only when a file is closed. Returns 0 or
/// errno; 0 also if there is no number left for a copy.
int close_copy_of_output() {
  const int copy = ::dup(STDOUT_FILENO);
  return copy == -1 || ::close(copy) == 0 ? 0 : errno;
}

void end_by_sigpipe() {
  std::signal(SIGPIPE, SIG_DFL);
  std::raise(SIGPIPE);
}

}  // namespace

void prepare_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) != -1) continue;
    // The lowest free number is that of the stream. The wrong mode makes reading and writing fail.
    const int file = ::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    if (file != stream) ::_exit(kUserErrorExitCode);
  }
  was_sigpipe_ignored = std::signal(SIGPIPE, SIG_IGN) == SIG_IGN;
  std::signal(SIGXFSZ, SIG_IGN);
}

void make_output_optional() { is_output_optional = true; }

void give_up_blocked_streams(const StopRequest& stop) { stop_request = &stop; }

bool try_write_output(std::string_view text) { return write_stream(STDOUT_FILENO, text) == 0; }

void write_output(std::string_view text) {
  if (output_error == 0) output_error = write_stream(STDOUT_FILENO, text);
}

void write_error(std::string_view text) { write_stream(STDERR_FILENO, text); }

void require_output(std::string_view command) {
  if (output_error != 0) ::_exit(finish_output(command, 0));
}

int finish_output(std::string_view command, int exit_code) {
  if (output_error == 0) output_error = close_copy_of_output();
  const bool is_result_lost = exit_code == 0 && !is_output_optional;
  if (output_error == 0 || (has_no_reader(output_error) && !is_result_lost)) return exit_code;
  if (output_error == EPIPE && !was_sigpipe_ignored) end_by_sigpipe();
  print_error("{}: standard output: {}; the output is not complete\n", command, error_text(output_error));
  return exit_code == 0 ? kUserErrorExitCode : exit_code;
}

}  // namespace edgewise

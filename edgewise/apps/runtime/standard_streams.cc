// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/runtime/standard_streams.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>

#include "edgewise/base/file_descriptor.h"

namespace edgewise {
namespace {

constexpr int kFailure = 2;

// The process has one standard output, so its state is global.
std::atomic<int> output_error = 0;  // errno of the first write that failed
std::atomic<bool> is_output_optional = false;
bool was_sigpipe_ignored = false;

/// Writes all bytes to a stream. Returns 0 or errno.
int write_stream(int stream, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(stream, text.data(), text.size());
    if (count >= 0) {
      text.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN) {  // another process made the pipe or terminal non-blocking
      pollfd writable = {.fd = stream, .events = POLLOUT, .revents = 0};
      ::poll(&writable, 1, -1);
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

bool is_terminal_or_device(int stream) {
  struct stat status = {};
  return ::fstat(stream, &status) == 0 && S_ISCHR(status.st_mode);
}

/// Returns whether an error means that nobody reads standard output: a pipe without a reader, a closed stream, or a
/// terminal that is gone.
bool has_no_reader(int error) {
  return error == EPIPE || error == EBADF || (error == EIO && is_terminal_or_device(STDOUT_FILENO));
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
    if (file != stream) ::_exit(kFailure);
  }
  was_sigpipe_ignored = std::signal(SIGPIPE, SIG_IGN) == SIG_IGN;
  std::signal(SIGXFSZ, SIG_IGN);
}

void make_output_optional() { is_output_optional = true; }

void write_output(std::string_view text) {
  if (output_error == 0) output_error = write_stream(STDOUT_FILENO, text);
}

void write_error(std::string_view text) { write_stream(STDERR_FILENO, text); }

void require_output(std::string_view command) {
  if (output_error != 0) ::_exit(finish_output(command, 0));
}

int finish_output(std::string_view command, int exit_code) {
  // Network file systems report some failures only when a file is closed.
  if (output_error == 0 && ::close(::dup(STDOUT_FILENO)) != 0) output_error = errno;
  const bool is_result_lost = exit_code == 0 && !is_output_optional;
  if (output_error == 0 || (has_no_reader(output_error) && !is_result_lost)) return exit_code;
  if (output_error == EPIPE && !was_sigpipe_ignored) end_by_sigpipe();
  print_error("{}: standard output: {}; the output is not complete\n", command, error_text(output_error));
  return exit_code == 0 ? kFailure : exit_code;
}

}  // namespace edgewise

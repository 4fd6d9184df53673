// SPDX-License-Identifier: Apache-2.0
#include "edgewise/apps/serve/signal_pipe.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>

#include "edgewise/base/error.h"

namespace edgewise {
namespace {

// The self-pipe trick: a handler writes the signal's number into a pipe, and a thread reads it.
std::atomic<int> signal_writer = -1;

void write_signal(int signal) {
  const int saved_errno = errno;
  const auto number = static_cast<unsigned char>(signal);
  // A pipe that is full has thousands of signals already.
  [[maybe_unused]] const ssize_t written = ::write(signal_writer, &number, 1);
  errno = saved_errno;
}

void pass_first_signal(int signal) {
  classify_end_signal(signal) == EndSignal::kFirst ? write_signal(signal) : end_process(signal);
}

std::pair<FileDescriptor, FileDescriptor> open_pipe() {
  std::array<int, 2> ends{};
  check(::pipe2(ends.data(), O_CLOEXEC) == 0, "server: cannot create a pipe: {}", error_text(errno));
  ::fcntl(ends[1], F_SETFL, O_NONBLOCK);  // a handler must not wait
  signal_writer = ends[1];
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

}  // namespace

void block_reload_signal() { block_signal(SIGHUP); }

SignalPipe::SignalPipe() : SignalPipe(open_pipe()) {}

SignalPipe::SignalPipe(std::pair<FileDescriptor, FileDescriptor> ends)
    : reader_(std::move(ends.first)),
      writer_(std::move(ends.second)),
      reload_handler_({SIGHUP}, write_signal, WaitingCalls::kGoOn, IgnoredSignals::kAreHandled) {
  unblock_signal(SIGHUP);
}

void SignalPipe::pass_end_signals() {
  const auto signals = {SIGINT, SIGTERM};
  end_handlers_.emplace(signals, pass_first_signal);
}

int SignalPipe::wait() const {
  // ThreadSanitizer calls a handler while poll waits, but not while read does.
  pollfd waiting{.fd = reader_.number(), .events = POLLIN, .revents = 0};
  while (::poll(&waiting, 1, -1) != 1) check(errno == EINTR, "server: {}", error_text(errno));
  unsigned char signal = 0;
  check(::read(reader_.number(), &signal, 1) == 1, "server: {}", error_text(errno));
  return signal;
}

}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#include "edgewise/distributed/c10d_errors.h"

#include <c10/util/Logging.h>
#include <fmt/format.h>

#include <cstdlib>
#include <ctime>
#include <regex>

namespace edgewise {
namespace {

sigset_t broken_pipe_alone() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGPIPE);
  return signals;
}

}  // namespace

std::string describe_lost_process(std::string_view caller, std::int64_t size, std::chrono::milliseconds timeout,
                                  std::string_view cause) {
  return fmt::format("{}: one of {} processes ended or did not answer within {:g} s, needs all of them; {}", caller,
                     size, std::chrono::duration<double>(timeout).count(), cause);
}

std::string first_line(const std::exception& error) {
  static const std::regex kPlaces(R"(\[[^\]]*:[0-9]+\] )");  // "[file:line] " and "[enforce fail at file:line] "
  const std::string_view text = error.what();
  return std::regex_replace(std::string(text.substr(0, text.find('\n'))), kPlaces, "");
}

void silence_torch_log() {
  if (std::getenv("TORCH_CPP_LOG_LEVEL") != nullptr) return;
  FLAGS_caffe2_log_level = c10::GLOG_FATAL;
  // Gloo retries at once, three times. The system itself repeats an attempt that gets no answer.
  ::setenv("GLOO_DISABLE_CONNECTION_RETRIES", "1", 0);
}

BlockedBrokenPipe::BlockedBrokenPipe() {
  const sigset_t signals = broken_pipe_alone();
  ::pthread_sigmask(SIG_BLOCK, &signals, &before_);
}

BlockedBrokenPipe::~BlockedBrokenPipe() {
  const sigset_t signals = broken_pipe_alone();
  constexpr timespec kNoTime = {};
  if (sigismember(&before_, SIGPIPE) == 0) ::sigtimedwait(&signals, nullptr, &kNoTime);
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace edgewise

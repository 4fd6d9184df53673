// SPDX-License-Identifier: Apache-2.0
#include "tests/distributed/forked_group.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <iterator>

namespace edgewise {
namespace {

bool has_one_thread() { return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}) == 1; }

int run_to_exit_code(const std::function<void()>& run) {
  try {
    run();
  } catch (const std::exception& error) {
    ADD_FAILURE() << error.what();
  }
  std::fflush(stdout);
  return testing::Test::HasFailure() ? 1 : 0;
}

}  // namespace

ReservedPort::ReservedPort() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const int on = 1;
  ::setsockopt(socket_.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  const bool is_bound = ::bind(socket_.number(), reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                        ::getsockname(socket_.number(), reinterpret_cast<sockaddr*>(&address), &size) == 0;
  check(is_bound, "ReservedPort: the system has no free port, needs one");
  number_ = ntohs(address.sin_port);
}

void ReservedPort::listen() const {
  check(::listen(socket_.number(), 16) == 0, "ReservedPort: port {} is taken, needs to be free", number_);
}

RunningProcess fork_process(const std::function<void()>& run) {
  // A copy has none of the other threads, but for example their locked mutexes.
  check(has_one_thread(),
        "fork_process: this process has several threads, needs one; call functions that start threads in a "
        "fork_process of their own");
  std::fflush(stdout);
  return RunningProcess([&run] { return run_to_exit_code(run); }, ProcessOptions());
}

LaunchEnvironment launch_of(std::int64_t rank, std::int64_t size, const ReservedPort& port) {
  LaunchEnvironment launch;
  launch.rank = launch.local_rank = rank;
  launch.size = launch.local_size = size;
  launch.address = "127.0.0.1";
  launch.port = port.number();
  return launch;
}

std::vector<RunningProcess> fork_group(std::int64_t size, const ReservedPort& port,
                                       const std::function<void(ProcessGroup&)>& run, const ConnectOptions& options) {
  std::vector<RunningProcess> processes;
  for (std::int64_t rank = 0; rank < size; ++rank) {
    processes.push_back(fork_process([&, rank] { run(*connect_processes(launch_of(rank, size, port), options)); }));
  }
  return processes;
}

std::string expect_success(RunningProcess& process) {
  const bool has_ended = wait_until([&] { return process.has_ended(); });
  EXPECT_TRUE(has_ended) << "the process has not ended after ten minutes";
  if (!has_ended) process.send(SIGKILL);
  const ProcessResult result = process.wait();
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_EQ(result.errors, "");
  return result.output;
}

std::vector<std::string> run_group(std::int64_t size, const std::function<void(ProcessGroup&)>& run,
                                   const ConnectOptions& options) {
  const ReservedPort port;
  std::vector<RunningProcess> processes = fork_group(size, port, run, options);
  std::vector<std::string> outputs;
  for (RunningProcess& process : processes) outputs.push_back(expect_success(process));
  return outputs;
}

}  // namespace edgewise

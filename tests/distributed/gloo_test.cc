// SPDX-License-Identifier: Apache-2.0
// Groups of real processes that are connected by Gloo. The test itself uses no tensor before it forks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "edgewise/base/file_descriptor.h"
#include "edgewise/distributed/agreement.h"
#include "edgewise/distributed/connect.h"
#include "edgewise/distributed/free_port.h"
#include "tests/distributed/group_contract.h"
#include "tests/support/process.h"

namespace edgewise {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::MatchesRegex;

/// Listens at a port of the loopback interface.
class TakenPort {
 public:
  TakenPort() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(number_));
    EXPECT_EQ(::bind(socket_.number(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(::listen(socket_.number(), 1), 0);
  }
  int number() const { return number_; }

 private:
  FileDescriptor socket_;
  int number_ = find_free_port();
};

constexpr milliseconds kLong = std::chrono::minutes(1);

/// Connects a process and calls `work`; prints an error, which is no failure of the test.
int run_rank(const LaunchEnvironment& launched, const ConnectOptions& options,
             const std::function<void(ProcessGroup&)>& work) {
  try {
    work(*connect_processes(launched, options));
    return 0;
  } catch (const LostProcessError& error) {
    std::fprintf(stderr, "lost: %s\n", error.what());
    return 3;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}

RunningProcess start_rank(const LaunchEnvironment& launched, const std::function<void(ProcessGroup&)>& work,
                          const ConnectOptions& options = {.connect_timeout = kLong, .exchange_timeout = kLong}) {
  return RunningProcess([=] { return run_rank(launched, options, work); }, {});
}

std::vector<RunningProcess> start_all(std::int64_t size, const std::function<void(ProcessGroup&)>& work,
                                      const ConnectOptions& options = {.connect_timeout = kLong,
                                                                       .exchange_timeout = kLong}) {
  const int port = find_free_port();
  std::vector<RunningProcess> processes;
  for (std::int64_t rank = 0; rank < size; ++rank) {
    processes.push_back(
        start_rank({.rank = rank, .size = size, .address = "127.0.0.1", .port = port, .attempt = ""}, work, options));
  }
  return processes;
}

TEST(Gloo, KeepsTheContractOfProcessGroupAndPrintsNothing) {
  for (const std::int64_t size : {2, 3, 4}) {
    for (RunningProcess& process : start_all(size, [](ProcessGroup& group) { check_group(group); })) {
      const ProcessResult result = process.wait();
      EXPECT_EQ(result.exit_code, 0);
      EXPECT_EQ(result.errors + result.output, "");
    }
  }
}

TEST(Gloo, ConnectsByTheNameOfTheMachineToo) {
  const int port = find_free_port();
  std::vector<RunningProcess> processes;
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    processes.push_back(start_rank({.rank = rank, .size = 2, .address = "localhost", .port = port, .attempt = "a"},
                                   [](ProcessGroup& group) { check_group(group, 5, at::kFloat); }));
  }
  for (RunningProcess& process : processes) EXPECT_EQ(process.wait().exit_code, 0);
}

TEST(Gloo, LosesAProcessThatIsKilled) {
  const auto exchange_until_killed = [](ProcessGroup& group) {
    for (int i = 0;; ++i) {
      is_any_set(group, false);
      if (group.rank() == 1 && i == 10) raise(SIGKILL);
    }
  };
  std::vector<RunningProcess> processes = start_all(3, exchange_until_killed);
  EXPECT_EQ(processes[1].wait().exit_code, 128 + SIGKILL);
  for (const std::size_t rank : {0, 2}) {
    const ProcessResult result = processes[rank].wait();
    EXPECT_EQ(result.exit_code, 3);
    EXPECT_THAT(result.errors, MatchesRegex("lost: train: another process has ended, or did not answer within 60 s, "
                                            "needs all processes \\(.*\\)\n"));
  }
}

TEST(Gloo, LosesAProcessThatIsStoppedAfterTheTimeout) {
  const auto exchange_until_stopped = [](ProcessGroup& group) {
    for (int i = 0;; ++i) {
      is_any_set(group, false);
      if (group.rank() == 1 && i == 10) raise(SIGSTOP);
    }
  };
  std::vector<RunningProcess> processes =
      start_all(2, exchange_until_stopped, {.connect_timeout = kLong, .exchange_timeout = std::chrono::seconds(2)});
  const ProcessResult result = processes[0].wait();
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.errors, HasSubstr("did not answer within 2 s"));
  processes[1].send(SIGKILL);
  processes[1].wait();
}

TEST(Gloo, NamesTheProcessesThatDidNotCome) {
  const LaunchEnvironment launched{
      .rank = 0, .size = 4, .address = "127.0.0.1", .port = find_free_port(), .attempt = ""};
  const ConnectOptions options{.connect_timeout = milliseconds(1500), .exchange_timeout = kLong};
  LaunchEnvironment other = launched;
  other.rank = 2;
  const auto fail_to_start = [](ProcessGroup&) { throw Error("needs all processes"); };
  RunningProcess first = start_rank(launched, fail_to_start, options);
  RunningProcess third = start_rank(other, fail_to_start, {.connect_timeout = kLong, .exchange_timeout = kLong});
  EXPECT_EQ(first.wait().errors,
            "lost: connect_processes: rank 1, rank 3 of 4 did not come within 1.5 s, needs all; see why they did not "
            "start\n");
  EXPECT_EQ(third.wait().exit_code, 3);
}

TEST(Gloo, NeedsAStoreAtTheAddress) {
  const ConnectOptions options{.connect_timeout = milliseconds(500), .exchange_timeout = kLong};
  for (const char* address : {"127.0.0.1", "host.invalid"}) {
    const LaunchEnvironment launched{.rank = 1, .size = 2, .address = address, .port = find_free_port(), .attempt = ""};
    const ProcessResult result = start_rank(
                                     launched, [](ProcessGroup&) {}, options)
                                     .wait();
    EXPECT_EQ(result.exit_code, 3);
    EXPECT_THAT(result.errors, MatchesRegex("lost: connect_processes: no process answers at " + std::string(address) +
                                            ", port [0-9]+, within 0.5 s, needs rank 0 there; check MASTER_ADDR and "
                                            "MASTER_PORT .*\n"));
  }
}

TEST(Gloo, NeedsAFreePort) {
  const TakenPort taken;
  const LaunchEnvironment launched{.rank = 0, .size = 2, .address = "127.0.0.1", .port = taken.number(), .attempt = ""};
  const ProcessResult result = start_rank(launched, [](ProcessGroup&) {}).wait();
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.errors, MatchesRegex("connect_processes: port [0-9]+ of 127.0.0.1 cannot be used, needs a free "
                                          "port; set MASTER_PORT to another one .*\n"));
}

TEST(Gloo, UsesTheInterfaceThatTheUserNames) {
  const int port = find_free_port();
  std::vector<RunningProcess> processes;
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    processes.emplace_back(
        [=] {
          ::setenv("GLOO_SOCKET_IFNAME", rank == 0 ? "lo" : "none0", 1);
          return run_rank({.rank = rank, .size = 2, .address = "127.0.0.1", .port = port, .attempt = ""},
                          {.connect_timeout = kLong, .exchange_timeout = std::chrono::seconds(3)},
                          [](ProcessGroup&) {});
        },
        ProcessOptions{});
  }
  EXPECT_THAT(processes[1].wait().errors, HasSubstr("none0"));
  processes[0].wait();
}

}  // namespace
}  // namespace edgewise

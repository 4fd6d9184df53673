// SPDX-License-Identifier: Apache-2.0
#include "edgewise/distributed/connect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netdb.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "edgewise/distributed/store.h"
#include "tests/distributed/forked_group.h"
#include "tests/distributed/process_group_contract.h"
#include "tests/support/error_of.h"

namespace edgewise {
namespace {

using testing::AnyOf;
using testing::MatchesRegex;
using testing::StartsWith;

ConnectOptions wait_for_seconds(double seconds) {
  ConnectOptions options;
  options.connect_timeout = std::chrono::milliseconds(static_cast<std::int64_t>(1000 * seconds));
  return options;
}

RunningProcess fork_connection(const LaunchEnvironment& launch, const ConnectOptions& options) {
  return fork_process([&] {
    const std::string error = error_of([&] { connect_processes(launch, options); });
    std::fputs(error.c_str(), stdout);
  });
}

bool has_address(const std::string& host) {
  addrinfo* first = nullptr;
  if (::getaddrinfo(host.c_str(), nullptr, nullptr, &first) != 0) return false;
  ::freeaddrinfo(first);
  return true;
}

/// Gives this process a file system with an empty /etc/hosts, or none. Returns false if the user may not do that.
bool hide_hosts_file() {
  if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
  return ::mount("/dev/null", "/etc/hosts", nullptr, MS_BIND, nullptr) == 0 || errno == ENOENT;
}

/// Waits until ranks 0 and 1 have registered in the store that rank 0 serves.
void wait_for_ranks_0_and_1(const LaunchEnvironment& launch) {
  RunningProcess reader = fork_process([&] {
    const auto store = open_store({launch.address, launch.port, "edgewise " + launch.attempt, std::chrono::minutes(5)});
    while (!store->check({"rank 0", "rank 1"})) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  });
  expect_success(reader);
}

/// Connects in a process of its own, and returns the error text.
std::string error_of_connecting(const LaunchEnvironment& launch, const ConnectOptions& options) {
  RunningProcess process = fork_connection(launch, options);
  return expect_success(process);
}

TEST(ConnectProcesses, NamesTheRanksThatDidNotComeInAllOthers) {
  const ReservedPort port;
  RunningProcess other = fork_connection(launch_of(2, 4, port), wait_for_seconds(120));
  RunningProcess first = fork_connection(launch_of(0, 4, port), wait_for_seconds(2));
  const auto names_ranks = StartsWith(
      "connect_processes: ranks 1 and 3 of 4 did not come within 2 s, needs all; read the output of these processes, "
      "or check the way to 127.0.0.1:");
  EXPECT_THAT(expect_success(first), names_ranks);
  EXPECT_THAT(expect_success(other), names_ranks);
}

TEST(ConnectProcesses, NamesOneRankThatDidNotCome) {
  const ReservedPort port;
  EXPECT_THAT(error_of_connecting(launch_of(0, 2, port), wait_for_seconds(0.5)),
              StartsWith("connect_processes: rank 1 of 2 did not come within 0.5 s, needs all;"));
}

TEST(ConnectProcesses, ReportsATakenPortAtOnce) {
  const ReservedPort port;
  port.listen();
  EXPECT_EQ(error_of_connecting(launch_of(0, 2, port), {}), "connect_processes: process 0 cannot listen at port " +
                                                                std::to_string(port.number()) +
                                                                ", needs a free port; Address already in use");
}

TEST(ConnectProcesses, ReportsAStoreThatNobodyServes) {
  const ReservedPort port;
  EXPECT_EQ(error_of_connecting(launch_of(1, 2, port), wait_for_seconds(0.5)),
            "connect_processes: the store at 127.0.0.1:" + std::to_string(port.number()) +
                " cannot be reached within 0.5 s, needs a process 0 that serves it; Connection refused");
}

TEST(ConnectProcesses, ReportsAnUnknownHost) {
  const ReservedPort port;
  LaunchEnvironment launch = launch_of(1, 2, port);
  launch.address = "no-such-host.invalid";
  EXPECT_THAT(error_of_connecting(launch, wait_for_seconds(0.5)),
              StartsWith("connect_processes: the store at no-such-host.invalid:" + std::to_string(port.number()) +
                         " cannot be reached within 0.5 s, needs a process 0 that serves it; "));
}

TEST(ConnectProcesses, ReportsAProgramThatListensButDoesNotAnswer) {
  const ReservedPort port;
  port.listen();
  EXPECT_EQ(error_of_connecting(launch_of(1, 2, port), wait_for_seconds(0.5)),
            "connect_processes: the store at 127.0.0.1:" + std::to_string(port.number()) +
                " did not answer within 0.5 s, needs the store of these processes; does another program listen there?");
}

TEST(ConnectProcesses, ReportsThatProcess0EndedBeforeAllCame) {
  const ReservedPort port;
  RunningProcess other = fork_connection(launch_of(1, 3, port), {});
  RunningProcess first = fork_connection(launch_of(0, 3, port), {});
  wait_for_ranks_0_and_1(launch_of(0, 3, port));
  first.send(SIGKILL);
  EXPECT_THAT(expect_success(other),
              StartsWith("connect_processes: the store at 127.0.0.1:" + std::to_string(port.number()) +
                         " closed before all 3 processes came, needs process 0; "));
}

TEST(ConnectProcesses, ReportsAStoppedProcess0) {
  const ReservedPort port;
  RunningProcess first = fork_connection(launch_of(0, 3, port), {});
  RunningProcess other = fork_connection(launch_of(1, 3, port), wait_for_seconds(3));
  wait_for_ranks_0_and_1(launch_of(0, 3, port));
  first.send(SIGSTOP);
  EXPECT_THAT(expect_success(other), StartsWith("connect_processes: the store at 127.0.0.1:" +
                                                std::to_string(port.number()) + " did not answer within 3 s, "));
}

/// Three processes, one of which is killed while they connect.
struct KilledGroup {
  ReservedPort port;
  std::vector<RunningProcess> processes;
};

TEST(ConnectProcesses, ReportsAKilledProcessWhateverItsProgress) {
  constexpr std::int64_t kSize = 3;
  constexpr int kGroups = 10;
  std::vector<KilledGroup> groups(kGroups);
  for (int i = 0; i < kGroups; ++i) {
    KilledGroup& group = groups[i];
    for (std::int64_t rank = 0; rank < kSize; ++rank) {
      const LaunchEnvironment launch = launch_of(rank, kSize, group.port);
      group.processes.push_back(fork_process([launch] {
        const auto exchange_forever = [&] {
          const auto processes = connect_processes(launch, wait_for_seconds(2));
          while (true) all_gather_bytes(*processes, "x");
        };
        EXPECT_NE(error_of(exchange_forever), "no error");
      }));
    }
    ::usleep(8'000 * static_cast<useconds_t>(i));
    group.processes[i % kSize].send(SIGKILL);
  }
  for (int i = 0; i < kGroups; ++i) {
    SCOPED_TRACE("group " + std::to_string(i));
    for (std::int64_t rank = 0; rank < kSize; ++rank) {
      if (rank != i % kSize) expect_success(groups[i].processes[rank]);
    }
  }
}

TEST(ConnectProcesses, RefusesARankThatComesTwice) {
  const ReservedPort port;
  RunningProcess first = fork_connection(launch_of(0, 3, port), wait_for_seconds(60));
  std::vector<RunningProcess> twins;
  for (int i = 0; i < 2; ++i) twins.push_back(fork_connection(launch_of(1, 3, port), wait_for_seconds(60)));
  ASSERT_TRUE(wait_until([&] { return twins[0].has_ended() || twins[1].has_ended(); }));
  EXPECT_EQ(expect_success(twins[0].has_ended() ? twins[0] : twins[1]),
            "connect_processes: rank 1 of 3 came twice, needs each rank once; is a process of an earlier run left?");
}

std::string error_for_device(const at::Device& device) {
  const ReservedPort port;
  ConnectOptions options;
  options.device = device;
  return error_of_connecting(launch_of(0, 1, port), options);
}

TEST(ConnectProcesses, RefusesAGpuThatTheBuildOrTheMachineLacks) {
  EXPECT_THAT(
      error_for_device(at::Device(at::kCUDA, 99)),
      AnyOf("connect_processes: options.device is cuda:99, needs a program with CUDA; build it with make all CUDA=1",
            MatchesRegex("connect_processes: options.device is cuda:99, needs one of the [0-9]+ GPUs of this machine "
                         "with its number, such as cuda:0")));
}

TEST(ConnectProcesses, RefusesADeviceThatIsNeitherCpuNorGpu) {
  EXPECT_EQ(error_for_device(at::kMeta),
            "connect_processes: options.device is meta, needs cpu or a GPU, such as cuda:0");
}

/// Connects a group to a store that a launcher serves.
void expect_contract_at(const ReservedPort& port, const std::string& attempt) {
  constexpr std::int64_t kSize = 2;
  std::vector<RunningProcess> processes;
  for (std::int64_t rank = 0; rank < kSize; ++rank) {
    LaunchEnvironment launch = launch_of(rank, kSize, port);
    launch.has_store = true;
    launch.attempt = attempt;
    processes.push_back(fork_process([launch] { expect_contract(*connect_processes(launch)); }));
  }
  for (RunningProcess& process : processes) expect_success(process);
}

TEST(ConnectProcesses, UsesTheStoreOfALauncherForSeveralAttempts) {
  const ReservedPort port;
  // A process that connects to itself alone serves its store until it is killed.
  const RunningProcess launcher = fork_process([&] {
    LaunchEnvironment launch = launch_of(0, 1, port);
    launch.attempt = "launcher";
    const auto group = connect_processes(launch);
    ::pause();
  });
  expect_contract_at(port, "run.0");
  expect_contract_at(port, "run.1");
}

TEST(ConnectProcesses, ConnectsOverTheHostNameOfThisMachine) {
  const ReservedPort port;
  std::string host(256, '\0');
  ASSERT_EQ(::gethostname(host.data(), host.size()), 0);
  if (!has_address(host.c_str())) GTEST_SKIP() << "the host name " << host.c_str() << " has no address";
  std::vector<RunningProcess> processes;
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    LaunchEnvironment launch = launch_of(rank, 2, port);
    launch.address = host.c_str();
    launch.local_size = 1;
    launch.local_rank = 0;
    processes.push_back(fork_process([launch] { expect_contract(*connect_processes(launch)); }));
  }
  for (RunningProcess& process : processes) expect_success(process);
}

TEST(ConnectProcesses, ConnectsOverLocalhostWithoutAHostsFile) {
  RunningProcess trial = fork_process([] { std::puts(hide_hosts_file() ? "hidden" : "refused"); });
  if (expect_success(trial) == "refused\n") GTEST_SKIP() << "this user may not mount over /etc/hosts";
  const ReservedPort port;
  std::vector<RunningProcess> processes;
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    LaunchEnvironment launch = launch_of(rank, 2, port);
    launch.address = "localhost";
    processes.push_back(fork_process([launch] {
      EXPECT_TRUE(hide_hosts_file());
      expect_contract(*connect_processes(launch));
    }));
  }
  for (RunningProcess& process : processes) expect_success(process);
}

TEST(ConnectProcesses, UsesTheNetworkInterfaceOfTheEnvironment) {
  const ReservedPort port;
  const auto error_with = [&port](const char* interface) {
    RunningProcess process = fork_process([&] {
      ::setenv("GLOO_SOCKET_IFNAME", interface, 1);
      std::fputs(error_of([&] { connect_processes(launch_of(0, 1, port)); }).c_str(), stdout);
    });
    return expect_success(process);
  };
  EXPECT_EQ(error_with("lo"), "no error");
  EXPECT_THAT(error_with("none7"), StartsWith("connect_processes: GLOO_SOCKET_IFNAME names none7, needs a network "
                                              "interface with an address; "));
}

}  // namespace
}  // namespace edgewise

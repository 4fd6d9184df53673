// SPDX-License-Identifier: Apache-2.0
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "edgewise/distributed/c10d_backends.h"
#include "tests/distributed/forked_group.h"
#include "tests/distributed/process_group_contract.h"
#include "tests/support/error_of.h"

namespace edgewise {
namespace {

using testing::MatchesRegex;

constexpr std::int64_t kSize = 4;
constexpr std::int64_t kVictim = 2;

TEST(SingleProcess, KeepsTheContractOfAProcessGroup) {
  // The threads that copy large tensors end with the forked process.
  RunningProcess process = fork_process([] { expect_contract(single_process()); });
  expect_success(process);
}

class GlooGroup : public testing::TestWithParam<std::int64_t> {};

TEST_P(GlooGroup, KeepsTheContractOfAProcessGroup) { run_group(GetParam(), expect_contract); }

INSTANTIATE_TEST_SUITE_P(Sizes, GlooGroup, testing::Values(1, 2, 4));

at::Tensor one() { return at::zeros({1}, at::kFloat); }
at::Tensor one_of_each(const ProcessGroup& processes) { return at::zeros({processes.size()}, at::kFloat); }

/// Returns the error texts of an exchange and of the next, each on one line.
std::string errors_of_two_exchanges(ProcessGroup& processes) {
  std::string errors;
  for (int i = 0; i < 2; ++i) {
    try {
      processes.all_gather(one(), one_of_each(processes));
      errors += "no error\n";
    } catch (const LostProcessError& error) {
      errors += error.what() + std::string("\n");
    }
  }
  return errors;
}

/// Runs a group in which one process sends a signal to itself while the others exchange tensors.
void expect_errors_of_others(int signal, const ConnectOptions& options, const char* expected) {
  const ReservedPort port;
  std::vector<RunningProcess> processes = fork_group(
      kSize, port,
      [signal](ProcessGroup& group) {
        group.all_gather(one(), one_of_each(group));
        if (group.rank() == kVictim) std::raise(signal);
        std::fputs(errors_of_two_exchanges(group).c_str(), stdout);
      },
      options);
  for (std::int64_t rank = 0; rank < kSize; ++rank) {
    if (rank == kVictim) continue;
    EXPECT_THAT(expect_success(processes[rank]), MatchesRegex(expected));
  }
}

// The timeouts are longer than the minute that expect_success waits.
TEST(GlooProcessGroup, ReportsAKilledProcessWithoutWaitingForTheTimeout) {
  expect_errors_of_others(SIGKILL, {},
                          "(all_gather: one of 4 processes ended or did not answer within 1800 s, needs all of them; "
                          "[^\n]+\n){2}");
}

TEST(GlooProcessGroup, ReportsAStoppedProcessAfterTheTimeout) {
  ConnectOptions options;
  options.exchange_timeout = std::chrono::milliseconds(1500);
  expect_errors_of_others(SIGSTOP, options,
                          "(all_gather: one of 4 processes ended or did not answer within 1.5 s, needs all of them; "
                          "[^\n]+\n){2}");
}

TEST(GlooProcessGroup, LimitsTheTimeOfEachFunction) {
  const std::vector<std::pair<std::string, std::function<void(ProcessGroup&)>>> functions{
      {"all_to_all", [](ProcessGroup& group) { group.all_to_all(one_of_each(group), one_of_each(group)); }},
      {"all_gather", [](ProcessGroup& group) { group.all_gather(one(), one_of_each(group)); }},
      {"broadcast", [](ProcessGroup& group) { group.broadcast(one(), 1); }},
      {"gather", [](ProcessGroup& group) { group.gather(one(), one_of_each(group), 0); }},
      {"scatter", [](ProcessGroup& group) { group.scatter({}, one(), 1); }},
  };
  ConnectOptions options;
  options.exchange_timeout = std::chrono::milliseconds(1500);
  const std::vector<ReservedPort> ports(functions.size());
  std::vector<std::vector<RunningProcess>> groups;
  for (const auto& [name, function] : functions) {
    groups.push_back(fork_group(
        2, ports[groups.size()],
        [&name = name, &function = function](ProcessGroup& group) {
          group.all_gather(one(), one_of_each(group));
          if (group.rank() == 1) std::raise(SIGSTOP);
          EXPECT_THAT(
              error_of([&] { function(group); }),
              testing::StartsWith(name + ": one of 2 processes ended or did not answer within 1.5 s, needs all"));
        },
        options));
  }
  for (std::vector<RunningProcess>& group : groups) expect_success(group[0]);
}

TEST(GlooProcessGroup, ReportsALostProcessInEachExchangeInProgress) {
  const ReservedPort port;
  std::vector<RunningProcess> processes = fork_group(2, port, [](ProcessGroup& group) {
    group.all_gather(one(), one_of_each(group));
    if (group.rank() == 1) std::raise(SIGKILL);
    const at::Tensor output = one_of_each(group);
    const at::Tensor other = one_of_each(group);
    const auto first = group.begin_all_gather(one(), output);
    const auto second = group.begin_all_to_all(one_of_each(group), other);
    EXPECT_THROW(second->wait(), LostProcessError);
    EXPECT_THROW(first->wait(), LostProcessError);
    EXPECT_THROW(group.broadcast(output, 1), LostProcessError);
    EXPECT_THROW(group.gather(one(), output, 0), LostProcessError);
    EXPECT_THROW(group.scatter(output, one(), 0), LostProcessError);
    group.begin_all_gather(one(), output).reset();  // throws nothing
  });
  expect_success(processes[0]);
}

// Gloo alone waits for the timeout here: bytes to the killed process are in a queue, and some of its bytes have come.
TEST(GlooProcessGroup, ReportsAProcessThatIsKilledWhileItExchangesALargeTensor) {
  constexpr std::int64_t kBytes = 1 << 27;
  const ReservedPort port;
  std::vector<RunningProcess> processes = fork_group(2, port, [](ProcessGroup& group) {
    const at::Tensor input = at::empty({2 * kBytes}, at::kByte);
    const at::Tensor output = at::empty({2 * kBytes}, at::kByte);
    std::memset(input.mutable_data_ptr(), 1, 2 * kBytes);
    std::memset(output.mutable_data_ptr(), 0, 2 * kBytes);
    const auto exchange = group.begin_all_to_all(input, output);
    if (group.rank() == 1) {
      const volatile auto* first_byte = static_cast<const std::uint8_t*>(output.const_data_ptr());
      while (*first_byte == 0) ::usleep(100);
      std::raise(SIGKILL);
    }
    EXPECT_THAT(error_of([&] { exchange->wait(); }),
                testing::StartsWith("all_to_all: one of 2 processes ended or did not answer within 1800 s, needs all"));
    EXPECT_THROW(group.all_gather(one(), one_of_each(group)), LostProcessError);
  });
  expect_success(processes[0]);
}

TEST(GlooProcessGroup, OutlivesAProcessThatEndsInOrder) {
  const std::vector<std::string> outputs = run_group(kSize, [](ProcessGroup& group) {
    group.all_gather(one(), one_of_each(group));
    if (group.rank() == 0) ::usleep(200'000);  // the others end first
  });
  EXPECT_EQ(outputs, std::vector<std::string>(kSize));
}

}  // namespace
}  // namespace edgewise

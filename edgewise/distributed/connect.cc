// SPDX-License-Identifier: Apache-2.0
#include "edgewise/distributed/connect.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <optional>
#include <thread>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <utility>

#include "edgewise/base/background.h"
#include "edgewise/distributed/c10d_backends.h"
#include "edgewise/distributed/c10d_errors.h"
#include "edgewise/distributed/c10d_process_group.h"
#include "edgewise/distributed/store.h"

namespace edgewise {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kFirstPollPause{5};
constexpr milliseconds kLongestPollPause{200};
constexpr milliseconds kGrace{2000};
constexpr const char* kFailureKey = "failure";

double seconds(milliseconds time) { return std::chrono::duration<double>(time).count(); }

std::string rank_key(std::int64_t rank) { return fmt::format("rank {}", rank); }

/// Returns "rank 3", "ranks 1 and 3" or "ranks 1, 3 and 7".
std::string name_ranks(const std::vector<std::int64_t>& ranks) {
  if (ranks.size() == 1) return fmt::format("rank {}", ranks[0]);
  return fmt::format("ranks {} and {}", fmt::join(ranks.begin(), ranks.end() - 1, ", "), ranks.back());
}

/// Registers one process in the store and waits for the others.
class Registration {
 public:
  Registration(c10d::Store& store, const LaunchEnvironment& launch, milliseconds timeout, Clock::time_point deadline)
      : store_(store), launch_(launch), timeout_(timeout), deadline_(deadline) {}

  /// Returns the two ends of the connection to the store of each process. Throws Error in all processes unless all
  /// have a GPU, or none has one: NCCL would wait forever for a process without one.
  std::vector<ConnectionEnds> exchange(const ConnectionEnds& ends, const at::Device& device) {
    check(store_.add("processes of " + rank_key(launch_.rank), 1) == 1,
          "connect_processes: rank {} of {} came twice, needs each rank once; is a process of an earlier run left?",
          launch_.rank, launch_.size);
    store_.set(rank_key(launch_.rank), pack_strings({ends.here, ends.there, device.is_cpu() ? "the CPU" : "a GPU"}));
    wait();
    std::vector<ConnectionEnds> all;
    std::vector<std::string> devices;
    for (std::int64_t rank = 0; rank < launch_.size; ++rank) {
      const std::vector<std::string> strings = unpack_strings(store_.get_to_str(rank_key(rank)));
      all.push_back({strings.at(0), strings.at(1)});
      devices.push_back(strings.at(2));
    }
    check_devices(devices);
    return all;
  }

 private:
  static void check_devices(const std::vector<std::string>& devices) {
    const auto other = std::ranges::find_if(devices, [&](const auto& device) { return device != devices.front(); });
    if (other == devices.end()) return;
    std::this_thread::sleep_for(3 * kLongestPollPause);  // the store ends with its process
    fail("connect_processes: rank {} has {} and rank 0 has {}, needs GPUs for all or for none; does each find its GPU?",
         other - devices.begin(), *other, devices.front());
  }

  void wait() {
    std::vector<std::string> keys;
    for (std::int64_t rank = 0; rank < launch_.size; ++rank) keys.push_back(rank_key(rank));
    milliseconds pause = kFirstPollPause;
    while (!store_.check(keys)) {
      if (store_.check({kFailureKey})) throw LostProcessError(store_.get_to_str(kFailureKey));
      if (Clock::now() >= deadline_) fail_for_all();
      std::this_thread::sleep_for(pause);
      pause = std::min(2 * pause, kLongestPollPause);
    }
  }

  /// Throws one error in all processes that came: the deadlines of the others may be later.
  [[noreturn]] void fail_for_all() {
    std::vector<std::int64_t> missing;
    for (std::int64_t rank = 0; rank < launch_.size; ++rank) {
      if (!store_.check({rank_key(rank)})) missing.push_back(rank);
    }
    const std::string error = fmt::format(
        "connect_processes: {} of {} did not come within {:g} s, needs all; read the output of {}, or check the way to "
        "{}:{}",
        name_ranks(missing), launch_.size, seconds(timeout_), missing.size() == 1 ? "this process" : "these processes",
        launch_.address, launch_.port);
    store_.set(kFailureKey, error);
    std::this_thread::sleep_for(3 * kLongestPollPause);  // the store ends with its process
    throw LostProcessError(error);
  }

  c10d::Store& store_;
  const LaunchEnvironment& launch_;
  milliseconds timeout_;
  Clock::time_point deadline_;
};

/// The data that connect_processes shares with the thread in which c10d connects.
struct Meeting {
  LaunchEnvironment launch = {};
  ConnectOptions options = {};
  Clock::time_point deadline = {};
  ConnectionEnds ends = {};  // the connection to the store
  FileDescriptor listener = FileDescriptor(-1);
  std::atomic<bool> is_complete = false;  // whether all processes have registered

  /// The time left for c10d, which needs some.
  milliseconds time_left() const { return std::max(std::chrono::ceil<milliseconds>(deadline - Clock::now()), kGrace); }
};

/// Connects the processes after all have registered. `address` is that of this process.
std::unique_ptr<ProcessGroup> connect_group(const c10::intrusive_ptr<c10d::Store>& store, const Meeting& meeting,
                                            const std::string& address) {
  const LaunchEnvironment& launch = meeting.launch;
  const ConnectOptions& options = meeting.options;
  const auto gloo = connect_gloo(store, {launch.rank, launch.size, address, meeting.time_left()});
  const auto watch = std::make_shared<PeerWatch>(gloo);
  auto cpu = std::make_unique<C10dProcessGroup>(gloo, watch, options.exchange_timeout, ExchangeEnd::kIsSignalled);
  if (options.device.is_cpu()) return cpu;
  const auto nccl = connect_nccl(store, {launch.rank, launch.size, options.device, options.exchange_timeout});
  auto gpu = std::make_unique<C10dProcessGroup>(nccl, watch, options.exchange_timeout, ExchangeEnd::kIsPolled);
  return std::make_unique<RoutedProcessGroup>(std::move(cpu), std::move(gpu));
}

std::unique_ptr<ProcessGroup> meet(Meeting& meeting) {
  const LaunchEnvironment& launch = meeting.launch;
  const milliseconds timeout = meeting.options.connect_timeout;
  try {
    const auto store = open_store({meeting.ends.there, launch.port, "edgewise " + launch.attempt, meeting.time_left(),
                                   meeting.listener.is_open() ? &meeting.listener : nullptr});
    const auto all =
        Registration(*store, launch, timeout, meeting.deadline).exchange(meeting.ends, meeting.options.device);
    meeting.is_complete = true;
    return connect_group(store, meeting, address_of(launch.rank, all));
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    const std::string cause = first_line(error);
    if (meeting.is_complete) {
      throw LostProcessError(describe_lost_process("connect_processes", launch.size, timeout, cause));
    }
    throw LostProcessError(
        fmt::format("connect_processes: the store at {}:{} closed before all {} processes came, needs process 0; {}",
                    launch.address, launch.port, launch.size, cause));
  }
}

std::string late_error(const Meeting& meeting) {
  const LaunchEnvironment& launch = meeting.launch;
  const milliseconds timeout = meeting.options.connect_timeout;
  if (meeting.is_complete) {
    return describe_lost_process("connect_processes", launch.size, timeout,
                                 "the processes still connect to each other");
  }
  return fmt::format(
      "connect_processes: the store at {}:{} did not answer within {:g} s, needs the store of these processes; does "
      "another program listen there?",
      launch.address, launch.port, seconds(timeout));
}

/// Calls `meet` in a thread of its own, and leaves the thread alone if it is late: nothing ends a wait of c10d for a
/// server that does not answer.
std::unique_ptr<ProcessGroup> meet_in_time(const std::shared_ptr<Meeting>& meeting) {
  auto task = std::make_shared<std::packaged_task<std::unique_ptr<ProcessGroup>()>>([meeting] {
    const BlockedBrokenPipe blocked;
    return meet(*meeting);
  });
  std::future<std::unique_ptr<ProcessGroup>> group = task->get_future();
  std::optional<std::jthread> thread = try_start_thread([task] { (*task)(); });
  check(thread.has_value(), "connect_processes: the system refuses to start a thread, needs one; {}",
        kRaiseProcessLimit);
  thread->detach();
  // The grace is for the errors of `meet`, and for the connections after the last process came.
  if (group.wait_until(meeting->deadline + 2 * kGrace) != std::future_status::ready) {
    throw LostProcessError(late_error(*meeting));
  }
  return group.get();
}

}  // namespace

std::unique_ptr<ProcessGroup> connect_processes(const LaunchEnvironment& launch, const ConnectOptions& options) {
  silence_torch_log();
  check(options.device.is_cpu() || options.device.is_cuda(),
        "connect_processes: options.device is {}, needs cpu or a GPU, such as cuda:0", options.device.str());
  if (options.device.is_cuda()) prepare_nccl(options.device);
  const auto meeting = std::make_shared<Meeting>();
  meeting->launch = launch;
  meeting->options = options;
  meeting->deadline = Clock::now() + options.connect_timeout;
  if (launch.rank == 0 && !launch.has_store) {
    meeting->listener = listen_for_store(launch.address, launch.port, launch.local_size == launch.size);
  }
  meeting->ends = reach_store(launch.address, launch.port, options.connect_timeout);
  return meet_in_time(meeting);
}

}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#include "edgewise/distributed/c10d_process_group.h"

#include <ATen/ops/zeros.h>

#include <algorithm>
#include <limits>
#include <thread>
#include <utility>

#include "edgewise/distributed/c10d_errors.h"

namespace edgewise {
namespace {

constexpr int kWatchTag = std::numeric_limits<int>::max();

/// Returns options of c10d with a limit of time and, for an exchange from or to one process, its rank `root`.
template <class Options>
Options make_options(std::chrono::milliseconds timeout, std::int64_t root = 0) {
  Options options;
  options.timeout = timeout;
  if constexpr (requires { options.rootRank; }) options.rootRank = root;
  return options;
}

/// Calls `function` with the rank of each other process.
void for_each_peer(const c10d::Backend& backend, auto function) {
  for (int rank = 0; rank < backend.getSize(); ++rank) {
    if (rank != backend.getRank()) function(rank);
  }
}

std::vector<at::Tensor> one_byte() { return {at::zeros({1}, at::kByte)}; }

using std::chrono::milliseconds;

constexpr milliseconds kCheckInterval{50};  // between two checks of the connections while an exchange lasts
constexpr std::chrono::microseconds kPollPause{20};
constexpr milliseconds kInstant{1};  // c10d takes 0 for no limit

at::Tensor bytes_of(const at::Tensor& tensor) { return tensor.detach().view(-1).view(at::kByte); }

std::vector<at::Tensor> parts_of(const at::Tensor& tensor, std::int64_t size) { return bytes_of(tensor).chunk(size); }

bool is_in_progress(const c10::intrusive_ptr<c10d::Work>& work) {
  try {
    return !work->isCompleted();
  } catch (const std::exception&) {  // an error of CUDA
    return true;
  }
}

}  // namespace

PeerWatch::PeerWatch(c10::intrusive_ptr<c10d::Backend> gloo) : gloo_(std::move(gloo)) {
  for_each_peer(*gloo_, [&](int rank) {
    std::vector<at::Tensor> byte = one_byte();
    receives_.push_back(gloo_->recv(byte, rank, kWatchTag));
  });
}

PeerWatch::~PeerWatch() {
  if (failure_.empty()) tell_others();
}

void PeerWatch::tell_others() noexcept {
  const BlockedBrokenPipe blocked;
  std::vector<c10::intrusive_ptr<c10d::Work>> sends;
  for_each_peer(*gloo_, [&](int rank) {
    try {
      std::vector<at::Tensor> byte = one_byte();
      sends.push_back(gloo_->send(byte, rank, kWatchTag));
    } catch (const std::exception&) {  // the other process has left
    }
  });
  // The other processes have posted their receives long ago, so that Gloo has passed the bytes to the system.
}

std::string PeerWatch::failure() {
  const std::lock_guard lock(mutex_);
  return failure_;
}

std::string PeerWatch::find_failure() {
  const std::lock_guard lock(mutex_);
  if (!failure_.empty()) return failure_;
  try {
    for (const auto& receive : receives_) {
      // After abort(), the next wait() returns at once, or throws the error of the connection.
      receive->abort();
      receive->wait();
    }
  } catch (const std::exception& error) {
    failure_ = first_line(error);
  }
  return failure_;
}

void PeerWatch::set_failure(const std::string& error) {
  const std::lock_guard lock(mutex_);
  if (failure_.empty()) failure_ = error;
}

C10dProcessGroup::C10dProcessGroup(c10::intrusive_ptr<c10d::Backend> backend, std::shared_ptr<PeerWatch> watch,
                                   milliseconds timeout, ExchangeEnd end)
    : backend_(std::move(backend)), watch_(std::move(watch)), timeout_(timeout), end_(end) {}

C10dProcessGroup::~C10dProcessGroup() {
  try {
    if (watch_->failure().empty()) {
      backend_->shutdown();
    } else {
      backend_->abort();
    }
  } catch (const std::exception&) {  // another process has left meanwhile
  }
  // A thread of Gloo waits for the timeout of the exchange, and the destructor of the backend would wait for the
  // thread.
  if (std::any_of(given_up_.begin(), given_up_.end(), is_in_progress)) backend_.release();
}

std::int64_t C10dProcessGroup::rank() const { return backend_->getRank(); }
std::int64_t C10dProcessGroup::size() const { return backend_->getSize(); }

auto C10dProcessGroup::translate(std::string_view caller, auto function) {
  try {
    return function();
  } catch (const std::exception& error) {
    watch_->set_failure(first_line(error));
    throw LostProcessError(describe_lost_process(caller, size(), timeout_, first_line(error)));
  }
}

/// An exchange, or nothing.
class C10dProcessGroup::Exchange : public Pending {
 public:
  Exchange(C10dProcessGroup& group, std::string_view caller, WorkPointer work)
      : group_(group), caller_(caller), work_(std::move(work)) {}
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  ~Exchange() override {
    try {
      wait();
    } catch (const LostProcessError&) {  // the next exchange throws too
    }
  }

  void wait() override {
    const WorkPointer work = std::exchange(work_, {});
    if (!work) return;
    try {
      group_.translate(caller_, [&] { group_.wait_for(*work); });
    } catch (const LostProcessError&) {
      group_.given_up_.push_back(work);
      throw;
    }
  }

 private:
  C10dProcessGroup& group_;
  std::string_view caller_;
  WorkPointer work_;
};

void C10dProcessGroup::wait_for(c10d::Work& work) const {
  const auto deadline = std::chrono::steady_clock::now() + timeout_ + kCheckInterval;
  for (std::string failure = watch_->failure();; failure = watch_->find_failure()) {
    if (!failure.empty()) throw std::runtime_error(failure);
    if (work.isCompleted() || std::chrono::steady_clock::now() > deadline) break;
    wait_briefly(work);
    if (work.isCompleted()) break;
  }
  work.wait(kInstant);  // throws the error of the exchange, or that time is up
}

/// Returns after kCheckInterval, or as soon as the exchange has completed.
void C10dProcessGroup::wait_briefly(c10d::Work& work) const {
  if (end_ == ExchangeEnd::kIsSignalled) {
    try {
      work.wait(kCheckInterval);
    } catch (const std::exception&) {  // time is up, or the exchange has failed: wait_for distinguishes the two
    }
    return;
  }
  const auto end = std::chrono::steady_clock::now() + kCheckInterval;
  while (!work.isCompleted() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(kPollPause);
}

/// Begins an exchange unless its tensors are empty: c10d refuses them.
std::unique_ptr<ProcessGroup::Pending> C10dProcessGroup::begin(std::string_view caller, const at::Tensor& tensor,
                                                               auto function) {
  WorkPointer work;
  if (tensor.numel() > 0) work = translate(caller, function);
  return std::make_unique<Exchange>(*this, caller, std::move(work));
}

void C10dProcessGroup::run(std::string_view caller, const at::Tensor& tensor, auto function) {
  begin(caller, tensor, function)->wait();
}

std::unique_ptr<ProcessGroup::Pending> C10dProcessGroup::begin_all_to_all(const at::Tensor& input,
                                                                          const at::Tensor& output) {
  return begin("all_to_all", input, [&] {
    at::Tensor from = bytes_of(input);
    at::Tensor to = bytes_of(output);
    std::vector<std::int64_t> equal_parts;
    return backend_->alltoall_base(to, from, equal_parts, equal_parts, make_options<c10d::AllToAllOptions>(timeout_));
  });
}

std::unique_ptr<ProcessGroup::Pending> C10dProcessGroup::begin_all_gather(const at::Tensor& input,
                                                                          const at::Tensor& output) {
  return begin("all_gather", input, [&] {
    at::Tensor from = bytes_of(input);
    at::Tensor to = bytes_of(output);
    return backend_->_allgather_base(to, from, make_options<c10d::AllgatherOptions>(timeout_));
  });
}

void C10dProcessGroup::broadcast(const at::Tensor& tensor, std::int64_t root) {
  run("broadcast", tensor, [&] {
    std::vector<at::Tensor> tensors{bytes_of(tensor)};
    return backend_->broadcast(tensors, make_options<c10d::BroadcastOptions>(timeout_, root));
  });
}

void C10dProcessGroup::gather(const at::Tensor& input, const at::Tensor& output, std::int64_t root) {
  run("gather", input, [&] {
    std::vector<at::Tensor> from{bytes_of(input)};
    std::vector<std::vector<at::Tensor>> to;
    if (rank() == root) to.push_back(parts_of(output, size()));
    return backend_->gather(to, from, make_options<c10d::GatherOptions>(timeout_, root));
  });
}

void C10dProcessGroup::scatter(const at::Tensor& input, const at::Tensor& output, std::int64_t root) {
  run("scatter", output, [&] {
    std::vector<std::vector<at::Tensor>> from;
    if (rank() == root) from.push_back(parts_of(input, size()));
    std::vector<at::Tensor> to{bytes_of(output)};
    return backend_->scatter(to, from, make_options<c10d::ScatterOptions>(timeout_, root));
  });
}

}  // namespace edgewise

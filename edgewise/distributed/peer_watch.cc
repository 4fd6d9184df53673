// SPDX-License-Identifier: Apache-2.0
#include "edgewise/distributed/peer_watch.h"

#include <ATen/ops/zeros.h>

#include <limits>
#include <utility>

#include "edgewise/distributed/broken_pipe.h"
#include "edgewise/distributed/c10d_errors.h"

namespace edgewise {
namespace {

constexpr int kWatchTag = std::numeric_limits<int>::max();

/// Calls `function` with the rank of each other process.
template <class Function>
void for_each_peer(const c10d::Backend& backend, Function function) {
  for (int rank = 0; rank < backend.getSize(); ++rank) {
    if (rank != backend.getRank()) function(rank);
  }
}

std::vector<at::Tensor> one_byte() { return {at::zeros({1}, at::kByte)}; }

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

}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "edgewise/distributed/process_group.h"

namespace edgewise {

/// Returns the part of a tensor that process `from` sends to process `to`.
inline at::Tensor message(std::int64_t from, std::int64_t to, std::int64_t size, at::ScalarType type) {
  return (at::arange(size) % 7 + 10 * from + to).to(type);
}

/// Returns the messages to or from all processes, in the order of their ranks.
template <class MakeMessage>
at::Tensor concatenate_messages(std::int64_t processes, MakeMessage&& make) {
  std::vector<at::Tensor> messages;
  for (std::int64_t rank = 0; rank < processes; ++rank) messages.push_back(make(rank));
  return at::cat(messages);
}

/// Checks the functions of a group with messages of a type and a size. All processes call this function. Throws Error
/// if a result is wrong.
inline void check_group(ProcessGroup& processes, std::int64_t size, at::ScalarType type) {
  const std::int64_t rank = processes.rank();
  const std::int64_t count = processes.size();
  const auto expect = [&](const at::Tensor& actual, const at::Tensor& expected, const char* name) {
    check(actual.equal(expected), "{} of {} elements is wrong in process {} of {}", name, size, rank, count);
  };
  const auto sent = concatenate_messages(count, [&](std::int64_t to) { return message(rank, to, size, type); });
  const auto to_this = concatenate_messages(count, [&](std::int64_t from) { return message(from, rank, size, type); });

  at::Tensor received = at::zeros_like(sent);
  processes.all_to_all(sent, received);
  expect(received, to_this, "all_to_all");

  const at::Tensor own = message(rank, 3, size, type);
  const auto all_own = concatenate_messages(count, [&](std::int64_t from) { return message(from, 3, size, type); });
  received = at::zeros_like(sent);
  processes.all_gather(own, received);
  expect(received, all_own, "all_gather");

  for (std::int64_t root = 0; root < count; ++root) {
    const at::Tensor shared = rank == root ? message(root, 5, size, type) : at::zeros({size}, type);
    processes.broadcast(shared, root);
    expect(shared, message(root, 5, size, type), "broadcast");

    const bool is_root = rank == root;
    received = is_root ? at::zeros_like(sent) : at::Tensor();
    processes.gather(own, received, root);
    if (is_root) expect(received, all_own, "gather");

    const at::Tensor part = at::zeros({size}, type);
    processes.scatter(is_root ? sent : at::Tensor(), part, root);
    expect(part, message(root, rank, size, type), "scatter");
  }
}

/// Checks that several exchanges may be in progress.
inline void check_pending_exchanges(ProcessGroup& processes) {
  std::vector<std::pair<at::Tensor, at::Tensor>> exchanged;
  std::vector<std::unique_ptr<ProcessGroup::Pending>> pending;
  for (std::int64_t i = 0; i < 20; ++i) {
    const at::Tensor sent = at::full({processes.size(), 1000 * i}, static_cast<double>(100 * i + processes.rank()));
    const at::Tensor received = at::zeros_like(sent);
    exchanged.emplace_back(sent, received);
    pending.push_back(processes.begin_all_to_all(sent, received));
  }
  for (const auto& exchange : pending) exchange->wait();
  for (std::size_t i = 0; i < exchanged.size(); ++i) {
    for (std::int64_t from = 0; from < processes.size(); ++from) {
      const double expected = 100.0 * static_cast<double>(i) + static_cast<double>(from);
      check(exchanged[i].second[from].eq(expected).all().item<bool>(), "exchange {} from process {} is wrong", i, from);
    }
  }
}

/// Checks all functions of a group.
inline void check_group(ProcessGroup& processes) {
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kBFloat16, at::kLong, at::kByte}) {
    for (const std::int64_t size : {0, 1, 17, 5000}) check_group(processes, size, type);
  }
  check_pending_exchanges(processes);
}

}  // namespace edgewise

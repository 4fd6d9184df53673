// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>

#include "edgewise/base/address_space.h"

// Threads for a system that may refuse to start one: at its limit of processes (ulimit -u, pids.max of a control group)
// or of address space (ulimit -v).
namespace edgewise {

/// The advice at the end of an error about a thread that the system refuses.
inline constexpr const char* kRaiseProcessLimit =
    "raise its limit of processes (ulimit -u, or pids.max of the control group) or of address space (ulimit -v)";

/// Starts a thread that calls `fn`. Returns nothing if the system refuses, or if little address space would be left.
template <class Fn>
std::optional<std::jthread> try_start_thread(Fn fn) {
  if (!has_address_space_for_thread()) return std::nullopt;
  try {
    return std::jthread(std::move(fn));
  } catch (const std::system_error&) {
    return std::nullopt;
  }
}

/// Calls `fn` in a thread of its own, or, if the system refuses to start one, in this thread before it returns. The
/// future has the result or exception of `fn`; its destructor waits for the thread.
template <class Fn>
std::future<std::invoke_result_t<Fn>> run_in_background(Fn fn) {
  // With both policies, std::async defers the call if it cannot start a thread. libstdc++ has then already moved from
  // the function; a copy of a shared pointer is still valid.
  const auto call = [shared = std::make_shared<Fn>(std::move(fn))] { return (*shared)(); };
  const auto policy =
      has_address_space_for_thread() ? std::launch::async | std::launch::deferred : std::launch::deferred;
  auto future = std::async(policy, call);
  if (future.wait_for(std::chrono::seconds(0)) == std::future_status::deferred) future.wait();
  return future;
}

}  // namespace edgewise

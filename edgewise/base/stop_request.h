// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <exception>

// Ends long computations early: a signal handler or another thread sets a request, and loops read it between two pieces
// of work that take at most about a second.

namespace edgewise {

/// A request to end a computation before its result is complete.
using StopRequest = std::atomic<bool>;

/// The exception of a computation that a StopRequest ended. It is no Error, because nothing is wrong.
class StopException : public std::exception {
 public:
  const char* what() const noexcept override { return "stopped on request"; }
};

/// Throws StopException if the request is set. A null pointer is a request that is never set.
inline void throw_if_set(const StopRequest* stop) {
  if (stop != nullptr && *stop) throw StopException();
}

}  // namespace edgewise

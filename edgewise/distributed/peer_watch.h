// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <vector>

namespace edgewise {

/// Detects that another process of a Gloo group has ended. Gloo alone does not end each exchange with such a process:
/// in the libtorch of scripts/requirements.txt, Pair::signalException passes the error of a closed connection to the
/// buffers that wait for their turn, but neither to a buffer whose bytes are in the queue of the connection, nor to one
/// that has received a part of its bytes. These two wait for the timeout of the exchange.
///
/// A receive of one byte from each other process always waits for its turn, so that Gloo passes the error to it. A
/// process that leaves the group in order sends the byte before it closes its connections.
class PeerWatch {
 public:
  /// Posts the receives. All processes of the group construct this object. Throws an exception of c10d.
  explicit PeerWatch(c10::intrusive_ptr<c10d::Backend> gloo);
  PeerWatch(const PeerWatch&) = delete;
  PeerWatch& operator=(const PeerWatch&) = delete;
  /// Tells the other processes that this one leaves in order, unless the group has failed.
  ~PeerWatch();

  /// Returns an error text if the group has failed, otherwise "".
  std::string failure();

  /// Checks the connections without waiting for anything. Returns an error text if the group has failed, otherwise "".
  std::string find_failure();

  /// Records that the group has failed. The first text stays.
  void set_failure(const std::string& error);

 private:
  void tell_others() noexcept;

  c10::intrusive_ptr<c10d::Backend> gloo_;
  std::mutex mutex_;  // guards the members below
  std::vector<c10::intrusive_ptr<c10d::Work>> receives_;
  std::string failure_;
};

}  // namespace edgewise

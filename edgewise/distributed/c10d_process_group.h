// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <mutex>
#include <string_view>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "edgewise/distributed/process_group.h"

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

/// How the end of an exchange of a backend is noticed.
enum class ExchangeEnd {
  kIsSignalled,  // Gloo: Work::wait with a short timeout leaves the exchange as it is
  kIsPolled,     // NCCL: such a wait aborts the communicator
};

/// The processes of a backend of c10d, such as Gloo. The functions pass the bytes of the tensors to the backend.
///
/// A wait for an exchange checks every 50 ms whether a connection was closed without order, as PeerWatch finds. The
/// exchange then throws LostProcessError, as it does after `timeout`. Every later exchange of the groups with this
/// PeerWatch throws too. The backend may go on to use the tensors of an exchange that threw, and keeps their memory.
class C10dProcessGroup : public ProcessGroup {
 public:
  C10dProcessGroup(c10::intrusive_ptr<c10d::Backend> backend, std::shared_ptr<PeerWatch> watch,
                   std::chrono::milliseconds timeout, ExchangeEnd end);
  C10dProcessGroup(const C10dProcessGroup&) = delete;
  C10dProcessGroup& operator=(const C10dProcessGroup&) = delete;
  ~C10dProcessGroup() override;

  std::int64_t rank() const override;
  std::int64_t size() const override;
  std::unique_ptr<Pending> begin_all_to_all(const at::Tensor& input, const at::Tensor& output) override;
  std::unique_ptr<Pending> begin_all_gather(const at::Tensor& input, const at::Tensor& output) override;
  void broadcast(const at::Tensor& tensor, std::int64_t root) override;
  void gather(const at::Tensor& input, const at::Tensor& output, std::int64_t root) override;
  void scatter(const at::Tensor& input, const at::Tensor& output, std::int64_t root) override;

 private:
  using WorkPointer = c10::intrusive_ptr<c10d::Work>;
  class Exchange;

  /// Calls a function, and turns an exception of c10d into a LostProcessError.
  auto translate(std::string_view caller, auto function);
  std::unique_ptr<Pending> begin(std::string_view caller, const at::Tensor& tensor, auto function);
  void run(std::string_view caller, const at::Tensor& tensor, auto function);
  void wait_for(c10d::Work& work) const;
  void wait_briefly(c10d::Work& work) const;

  c10::intrusive_ptr<c10d::Backend> backend_;
  std::shared_ptr<PeerWatch> watch_;
  std::chrono::milliseconds timeout_;
  ExchangeEnd end_;
  std::vector<WorkPointer> given_up_;  // exchanges that threw; some may still be in progress
};

}  // namespace edgewise

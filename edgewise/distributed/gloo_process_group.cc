// SPDX-License-Identifier: Apache-2.0
#include "edgewise/distributed/gloo_process_group.h"

#include <ATen/ops/from_blob.h>
#include <fmt/format.h>

#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <utility>
#include <vector>

#include "edgewise/distributed/error_text.h"
#include "edgewise/distributed/store_handle.h"

namespace edgewise {
namespace {

/// Calls `work`, and throws LostProcessError for any error of libtorch.
template <class Work>
auto call(std::chrono::milliseconds timeout, Work&& work) {
  try {
    return work();
  } catch (const std::exception& error) {
    throw LostProcessError(
        fmt::format("train: another process has ended, or did not answer within {}, needs all processes ({})",
                    seconds_text(timeout), first_line(error.what())));
  }
}

/// Returns the bytes of a tensor as a tensor, because Gloo knows few types.
at::Tensor bytes_of(const at::Tensor& tensor) {
  return at::from_blob(tensor.data_ptr(), {static_cast<std::int64_t>(tensor.nbytes())}, at::kByte);
}

class GlooProcessGroup : public ProcessGroup {
 public:
  GlooProcessGroup(c10::intrusive_ptr<c10d::Store> store, const GlooOptions& options)
      : options_(options), store_(std::move(store)) {
    const auto gloo = c10d::ProcessGroupGloo::Options::create(options.timeout);
    gloo->devices.push_back(options.interface.empty()
                                ? c10d::ProcessGroupGloo::createDeviceForHostname(options.local_address)
                                : c10d::ProcessGroupGloo::createDeviceForInterface(options.interface));
    group_ = c10::make_intrusive<c10d::ProcessGroupGloo>(store_, static_cast<int>(options.rank),
                                                         static_cast<int>(options.size), gloo);
  }

  std::int64_t rank() const override { return options_.rank; }
  std::int64_t size() const override { return options_.size; }

  std::unique_ptr<Pending> begin_all_to_all(const at::Tensor& input, const at::Tensor& output) override {
    return begin(input, output, [this](at::Tensor& in, at::Tensor& out) {
      std::vector<std::int64_t> equal_parts;
      return group_->alltoall_base(out, in, equal_parts, equal_parts);
    });
  }

  std::unique_ptr<Pending> begin_all_gather(const at::Tensor& input, const at::Tensor& output) override {
    return begin(input, output, [this](at::Tensor& in, at::Tensor& out) { return group_->_allgather_base(out, in); });
  }

  void broadcast(const at::Tensor& tensor, std::int64_t root) override {
    begin(tensor, tensor, [&](at::Tensor& bytes, at::Tensor&) {
      std::vector<at::Tensor> tensors = {bytes};
      return group_->broadcast(tensors, {.rootRank = root, .rootTensor = 0});
    })->wait();
  }

  void gather(const at::Tensor& input, const at::Tensor& output, std::int64_t root) override {
    begin(input, rank() == root ? output : input, [&](at::Tensor& in, at::Tensor& out) {
      std::vector<at::Tensor> inputs = {in};
      std::vector<std::vector<at::Tensor>> outputs;
      if (rank() == root) outputs.push_back(out.chunk(size()));
      c10d::GatherOptions gather;
      gather.rootRank = root;
      return group_->gather(outputs, inputs, gather);
    })->wait();
  }

  void scatter(const at::Tensor& input, const at::Tensor& output, std::int64_t root) override {
    begin(rank() == root ? input : output, output, [&](at::Tensor& in, at::Tensor& out) {
      std::vector<at::Tensor> outputs = {out};
      std::vector<std::vector<at::Tensor>> inputs;
      if (rank() == root) inputs.push_back(in.chunk(size()));
      c10d::ScatterOptions scatter;
      scatter.rootRank = root;
      return group_->scatter(outputs, inputs, scatter);
    })->wait();
  }

 private:
  class Exchange : public Pending {
   public:
    Exchange(c10::intrusive_ptr<c10d::Work> work, std::vector<at::Tensor> tensors, std::chrono::milliseconds timeout)
        : work_(std::move(work)), tensors_(std::move(tensors)), timeout_(timeout) {}
    ~Exchange() override {
      try {
        wait();
      } catch (const LostProcessError&) {  // the next exchange fails, too
      }
    }

    void wait() override {
      if (const c10::intrusive_ptr<c10d::Work> work = std::exchange(work_, {})) call(timeout_, [&] { work->wait(); });
    }

   private:
    c10::intrusive_ptr<c10d::Work> work_;
    std::vector<at::Tensor> tensors_;  // alive as long as Gloo reads and writes them
    std::chrono::milliseconds timeout_;
  };

  template <class Start>
  std::unique_ptr<Pending> begin(const at::Tensor& input, const at::Tensor& output, Start&& start) {
    c10::intrusive_ptr<c10d::Work> work;
    at::Tensor in = bytes_of(input);
    at::Tensor out = bytes_of(output);
    if (in.numel() > 0) work = call(options_.timeout, [&] { return start(in, out); });
    return std::make_unique<Exchange>(std::move(work), std::vector<at::Tensor>{input, output, in, out},
                                      options_.timeout);
  }

  GlooOptions options_;
  c10::intrusive_ptr<c10d::Store> store_;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> group_;
};

}  // namespace

std::unique_ptr<ProcessGroup> connect_by_gloo(const StoreHandle& store, const GlooOptions& options) {
  return call(options.timeout, [&] { return std::make_unique<GlooProcessGroup>(store.store, options); });
}

}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#include "edgewise/distributed/gloo_process_group.h"

#define USE_C10D_GLOO  // the header below is empty without this macro

#include <algorithm>
#include <cstdlib>
#include <regex>
#include <string_view>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <utility>
#include <vector>

namespace edgewise {
namespace {

using Gloo = c10d::ProcessGroupGloo;
using c10::intrusive_ptr;
using std::chrono::milliseconds;

at::Tensor bytes_of(const at::Tensor& tensor) { return tensor.detach().view(-1).view(at::kByte); }

std::vector<at::Tensor> parts_of(const at::Tensor& tensor, std::int64_t size) { return bytes_of(tensor).chunk(size); }

class GlooProcessGroup : public ProcessGroup {
 public:
  GlooProcessGroup(intrusive_ptr<Gloo> gloo, milliseconds timeout) : gloo_(std::move(gloo)), timeout_(timeout) {}

  std::int64_t rank() const override { return gloo_->getRank(); }
  std::int64_t size() const override { return gloo_->getSize(); }

  std::unique_ptr<Pending> begin_all_to_all(const at::Tensor& input, const at::Tensor& output) override {
    return begin("all_to_all", input, [&] {
      c10d::AllToAllOptions options;
      options.timeout = timeout_;
      at::Tensor from = bytes_of(input);
      at::Tensor to = bytes_of(output);
      std::vector<std::int64_t> equal_parts;
      return gloo_->alltoall_base(to, from, equal_parts, equal_parts, options);
    });
  }

  std::unique_ptr<Pending> begin_all_gather(const at::Tensor& input, const at::Tensor& output) override {
    return begin("all_gather", input, [&] {
      c10d::AllgatherOptions options;
      options.timeout = timeout_;
      at::Tensor from = bytes_of(input);
      at::Tensor to = bytes_of(output);
      return gloo_->_allgather_base(to, from, options);
    });
  }

  void broadcast(const at::Tensor& tensor, std::int64_t root) override {
    run("broadcast", tensor, [&] {
      c10d::BroadcastOptions options;
      options.rootRank = root;
      options.timeout = timeout_;
      std::vector<at::Tensor> tensors{bytes_of(tensor)};
      return gloo_->broadcast(tensors, options);
    });
  }

  void gather(const at::Tensor& input, const at::Tensor& output, std::int64_t root) override {
    run("gather", input, [&] {
      c10d::GatherOptions options;
      options.rootRank = root;
      options.timeout = timeout_;
      std::vector<at::Tensor> from{bytes_of(input)};
      std::vector<std::vector<at::Tensor>> to;
      if (rank() == root) to.push_back(parts_of(output, size()));
      return gloo_->gather(to, from, options);
    });
  }

  void scatter(const at::Tensor& input, const at::Tensor& output, std::int64_t root) override {
    run("scatter", output, [&] {
      c10d::ScatterOptions options;
      options.rootRank = root;
      options.timeout = timeout_;
      std::vector<std::vector<at::Tensor>> from;
      if (rank() == root) from.push_back(parts_of(input, size()));
      std::vector<at::Tensor> to{bytes_of(output)};
      return gloo_->scatter(to, from, options);
    });
  }

 private:
  /// Calls a function, and turns an exception of c10d or Gloo into a LostProcessError.
  template <class Function>
  auto translate(std::string_view caller, Function function) const {
    try {
      return function();
    } catch (const std::exception& error) {
      throw LostProcessError(describe_lost_process(caller, size(), timeout_, first_line(error)));
    }
  }

  /// An exchange, or nothing.
  class Work : public Pending {
   public:
    Work(const GlooProcessGroup& group, std::string_view caller, intrusive_ptr<c10d::Work> work)
        : group_(group), caller_(caller), work_(std::move(work)) {}
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;
    ~Work() override {
      try {
        wait();
      } catch (const LostProcessError&) {  // the next exchange throws too
      }
    }

    void wait() override {
      const intrusive_ptr<c10d::Work> work = std::exchange(work_, {});
      if (work) group_.translate(caller_, [&] { work->wait(); });
    }

   private:
    const GlooProcessGroup& group_;
    std::string_view caller_;
    intrusive_ptr<c10d::Work> work_;
  };

  /// Begins an exchange unless its tensors are empty: Gloo refuses them.
  template <class Function>
  std::unique_ptr<Pending> begin(std::string_view caller, const at::Tensor& tensor, Function function) const {
    intrusive_ptr<c10d::Work> work;
    if (tensor.numel() > 0) work = translate(caller, function);
    return std::make_unique<Work>(*this, caller, std::move(work));
  }

  template <class Function>
  void run(std::string_view caller, const at::Tensor& tensor, Function function) const {
    begin(caller, tensor, function)->wait();
  }

  intrusive_ptr<Gloo> gloo_;
  milliseconds timeout_;
};

using Devices = decltype(Gloo::Options::devices);

Devices devices_of_interfaces(std::string_view names) {
  Devices devices;
  while (!names.empty()) {
    const std::string name(names.substr(0, names.find(',')));
    names.remove_prefix(std::min(names.size(), name.size() + 1));
    try {
      devices.push_back(Gloo::createDeviceForInterface(name));
    } catch (const std::exception& error) {
      fail("connect_processes: GLOO_SOCKET_IFNAME names {}, needs a network interface with an address; {}", name,
           first_line(error));
    }
  }
  return devices;
}

/// Not Gloo's default device: its address is that of this machine's host name, often 127.0.1.1 in /etc/hosts, where no
/// other machine reaches this one.
Devices choose_devices(const std::string& address) {
  const char* interfaces = std::getenv("GLOO_SOCKET_IFNAME");
  if (interfaces != nullptr && *interfaces != '\0') return devices_of_interfaces(interfaces);
  try {
    return {Gloo::createDeviceForHostname(address)};
  } catch (const std::exception& error) {
    fail(
        "connect_processes: Gloo cannot listen at {}, needs an address of this machine; set GLOO_SOCKET_IFNAME to the "
        "network interface; {}",
        address, first_line(error));
  }
}

}  // namespace

std::string first_line(const std::exception& error) {
  static const std::regex kPlaces(R"(\[[^\]]*:[0-9]+\] )");  // "[file:line] " and "[enforce fail at file:line] "
  const std::string_view text = error.what();
  return std::regex_replace(std::string(text.substr(0, text.find('\n'))), kPlaces, "");
}

std::string describe_lost_process(std::string_view caller, std::int64_t size, milliseconds timeout,
                                  std::string_view cause) {
  return fmt::format("{}: one of {} processes ended or did not answer within {:g} s, needs all of them; {}", caller,
                     size, std::chrono::duration<double>(timeout).count(), cause);
}

std::unique_ptr<ProcessGroup> connect_gloo(const KeyValueStore& store, const GlooOptions& options) {
  auto gloo_options = Gloo::Options::create(options.connect_timeout);
  gloo_options->devices = choose_devices(options.address);
  auto gloo = c10::make_intrusive<Gloo>(intrusive_ptr<c10d::Store>::reclaim_copy(&store.c10d_store()),
                                        static_cast<int>(options.rank), static_cast<int>(options.size), gloo_options);
  return std::make_unique<GlooProcessGroup>(std::move(gloo), options.exchange_timeout);
}

}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#include "edgewise/distributed/key_value_store.h"

#include <c10/util/Logging.h>
#include <fcntl.h>

#include <cstdlib>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

namespace edgewise {
namespace {

c10::intrusive_ptr<c10d::Store> open_store(const KeyValueStoreOptions& options) {
  c10d::TCPStoreOptions tcp;
  tcp.port = static_cast<std::uint16_t>(options.port);
  tcp.waitWorkers = false;
  tcp.timeout = options.timeout;
  if (options.listener != nullptr) {
    tcp.isServer = true;
    // The store closes its socket, and the caller closes the listener.
    tcp.masterListenFd = ::fcntl(options.listener->number(), F_DUPFD_CLOEXEC, 0);
  }
  return c10::make_intrusive<c10d::PrefixStore>(options.prefix,
                                                c10::make_intrusive<c10d::TCPStore>(options.address, tcp));
}

}  // namespace

struct KeyValueStore::Impl {
  c10::intrusive_ptr<c10d::Store> store;
};

KeyValueStore::KeyValueStore(const KeyValueStoreOptions& options)
    : impl_(std::make_unique<Impl>(Impl{open_store(options)})) {}

KeyValueStore::~KeyValueStore() = default;

void KeyValueStore::set(const std::string& key, const std::string& value) { impl_->store->set(key, value); }
std::string KeyValueStore::get(const std::string& key) { return impl_->store->get_to_str(key); }
bool KeyValueStore::has(const std::vector<std::string>& keys) { return impl_->store->check(keys); }
std::int64_t KeyValueStore::count(const std::string& key) { return impl_->store->add(key, 1); }
c10d::Store& KeyValueStore::c10d_store() const { return *impl_->store; }

void silence_torch_log() {
  if (std::getenv("TORCH_CPP_LOG_LEVEL") != nullptr) return;
  FLAGS_caffe2_log_level = c10::GLOG_FATAL;
  // Gloo retries at once, three times. The system itself repeats an attempt that gets no answer.
  ::setenv("GLOO_DISABLE_CONNECTION_RETRIES", "1", 0);
}

}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#include "edgewise/distributed/connect.h"

#include <c10/util/Flags.h>
#include <c10/util/Logging.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <utility>
#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/distributed/error_text.h"
#include "edgewise/distributed/gloo_process_group.h"
#include "edgewise/distributed/local_address.h"
#include "edgewise/distributed/store_handle.h"

C10_DECLARE_int(caffe2_log_level);

namespace edgewise {
namespace {

constexpr int kFatalOnly = 3;

c10::intrusive_ptr<c10d::Store> open_store(const LaunchEnvironment& launched, const ConnectOptions& options) {
  c10d::TCPStoreOptions store;
  store.port = static_cast<std::uint16_t>(launched.port);
  store.isServer = launched.rank == 0 && !launched.has_store;
  store.waitWorkers = false;
  store.timeout = options.connect_timeout;
  try {
    return c10::make_intrusive<c10d::PrefixStore>("edgewise/" + launched.attempt,
                                                  c10::make_intrusive<c10d::TCPStore>(launched.address, store));
  } catch (const std::exception& error) {
    if (store.isServer) {
      fail("connect_processes: port {} of {} cannot be used, needs a free port; set MASTER_PORT to another one ({})",
           launched.port, launched.address, first_line(error.what()));
    }
    throw LostProcessError(fmt::format(
        "connect_processes: no process answers at {}, port {}, within {}, needs {} there; check MASTER_ADDR "
        "and MASTER_PORT ({})",
        launched.address, launched.port, seconds_text(options.connect_timeout),
        launched.has_store ? "the store of the launcher" : "rank 0", first_line(error.what())));
  }
}

std::string key_of(std::int64_t rank) { return fmt::format("rank {}", rank); }

/// Waits until all processes have come to the store.
void meet(c10d::Store& store, const LaunchEnvironment& launched, const ConnectOptions& options) {
  std::vector<std::string> keys;
  for (std::int64_t rank = 0; rank < launched.size; ++rank) keys.push_back(key_of(rank));
  std::vector<std::string> missing;
  try {
    store.set(key_of(launched.rank), std::vector<std::uint8_t>{1});
    store.wait(keys, options.connect_timeout);
    return;
  } catch (const std::exception&) {
    try {
      for (const std::string& key : keys) {
        if (!store.check({key})) missing.push_back(key);
      }
    } catch (const std::exception&) {  // the process that serves the store has ended
      missing = {key_of(0)};
    }
  }
  throw LostProcessError(
      fmt::format("connect_processes: {} of {} did not come within {}, needs all; see why {} did not start",
                  fmt::join(missing, ", "), launched.size, seconds_text(options.connect_timeout),
                  missing.size() == 1 ? "it" : "they"));
}

}  // namespace

std::unique_ptr<ProcessGroup> connect_processes(const LaunchEnvironment& launched, const ConnectOptions& options) {
  FLAGS_caffe2_log_level = kFatalOnly;  // c10d logs each failure that it also throws
  const c10::intrusive_ptr<c10d::Store> store = open_store(launched, options);
  meet(*store, launched, options);
  return connect_by_gloo({store}, {.rank = launched.rank,
                                   .size = launched.size,
                                   .interface = read_variable("GLOO_SOCKET_IFNAME").value_or(""),
                                   .local_address = local_address_towards(launched.address),
                                   .timeout = options.exchange_timeout});
}

}  // namespace edgewise

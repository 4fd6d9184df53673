// SPDX-License-Identifier: Apache-2.0
#include "edgewise/distributed/c10d_backends.h"

#define USE_C10D_GLOO  // the header below is empty without this macro

#include <algorithm>
#include <cstdlib>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "edgewise/base/error.h"
#include "edgewise/distributed/c10d_errors.h"

namespace edgewise {
namespace {

using Gloo = c10d::ProcessGroupGloo;
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

c10::intrusive_ptr<c10d::Backend> connect_gloo(const c10::intrusive_ptr<c10d::Store>& store,
                                               const GlooOptions& options) {
  auto gloo_options = Gloo::Options::create(options.timeout);
  gloo_options->devices = choose_devices(options.address);
  return c10::make_intrusive<Gloo>(store, static_cast<int>(options.rank), static_cast<int>(options.size), gloo_options);
}

}  // namespace edgewise

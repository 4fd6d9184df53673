// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace edgewise {

/// A process that listens on a port.
struct PortOwner {
  std::int64_t process;
  std::string name;
};

/// Searches /proc for the process that listens on a TCP port of this machine. Returns nothing if there is none, or if
/// this user may not look at its descriptors.
std::optional<PortOwner> find_port_owner(std::uint16_t port);

}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace edgewise {

/// Returns the address of this machine from which packets to a host leave, such as "10.0.0.7" or "127.0.0.1". Throws
/// Error if the host is unknown or cannot be reached.
std::string local_address_towards(const std::string& host);

}  // namespace edgewise

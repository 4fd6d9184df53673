// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

// The protocol between systemd and a service: sd_listen_fds(3) and sd_notify(3). libsystemd, which also has it, would
// bring compression libraries into a server.

namespace edgewise {

/// Returns the descriptor of the listening socket that systemd has opened for this process; nothing if there is none.
/// Throws Error for several sockets.
std::optional<int> passed_socket();

/// Sends a state such as `READY=1` to the socket that the environment variable NOTIFY_SOCKET names. Ignores failures;
/// has no effect without the variable.
void notify_service_manager(std::string_view state);

}  // namespace edgewise

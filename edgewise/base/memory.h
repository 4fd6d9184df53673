// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace edgewise {

/// Returns how many bytes this process can still allocate: the smallest of the machine's available memory with its free
/// swap, cgroup_memory() (cgroup.h) and address_space_left() (address_space.h). `root` is the folder with proc/ and
/// sys/.
std::int64_t available_memory(const std::string& root = "/");

/// Throws Error if `bytes` are more than available_memory():
///
///     train: model.size 65536 needs at least 2.4 TB of memory, but 19.2 GB are available; choose a smaller model.size
///
/// The text before "needs" is `what`, the text after the semicolon `advice`.
void require_memory(double bytes, std::string_view what, std::string_view advice);

/// Writes a number of bytes for a message: "19.2 GB".
std::string memory_text(double bytes);

/// Returns the peak resident memory of this process in bytes (VmHWM of Linux). Throws Error if the system has no VmHWM.
std::int64_t peak_memory();

}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

namespace edgewise {

/// Returns the text of a LostProcessError that `caller` throws for a group of `size` processes.
std::string describe_lost_process(std::string_view caller, std::int64_t size, std::chrono::milliseconds timeout,
                                  std::string_view cause);

/// Returns the first line of the message of an exception of c10d, Gloo or NCCL, without places in their source code.
std::string first_line(const std::exception& error);

}  // namespace edgewise

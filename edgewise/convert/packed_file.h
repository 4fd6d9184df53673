// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace edgewise {

/// The ending of the name of a file that gzip has compressed.
inline constexpr std::string_view kPackedEnding = ".gz";

/// Reads a regular file, and decompresses it if its name ends with `.gz`. Throws Error for more than `max_bytes`, and
/// for a compressed file that is damaged or expands more than a thousandfold.
std::string read_packed_file(const std::filesystem::path& path, std::string_view caller, std::uint64_t max_bytes);

}  // namespace edgewise

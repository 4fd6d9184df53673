// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

// Compress texts as the programs gzip, xz and zstd do.

namespace edgewise {

std::string compress_gzip(std::string_view text);
std::string compress_xz(std::string_view text);
std::string compress_zstd(std::string_view text);

}  // namespace edgewise

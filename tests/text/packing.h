// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

// Packs texts as the programs gzip, xz and zstd do.

namespace edgewise {

std::string pack_gzip(std::string_view text);
std::string pack_xz(std::string_view text);
std::string pack_zstd(std::string_view text);

}  // namespace edgewise

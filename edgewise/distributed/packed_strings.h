// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace edgewise {

/// Returns strings as one, which processes can exchange (all_gather_bytes).
std::string pack_strings(const std::vector<std::string>& strings);

/// Returns the strings of pack_strings. Throws Error for bytes that pack_strings does not return.
std::vector<std::string> unpack_strings(const std::string& bytes);

}  // namespace edgewise

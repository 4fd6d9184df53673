// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <unordered_set>

namespace edgewise {

/// Returns the names, in lower case, of the elements of an XML document that divide its text: those that nowhere stand
/// beside text in the same element. Takes linear time.
std::unordered_set<std::string> find_xml_blocks(std::string_view xml);

}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/text/byte_range.h"

namespace edgewise {

/// Finds the bytes of each token in the text that was encoded or decoded, whatever vocabulary the tokens are from. The
/// ranges ascend without overlap, and neither begin nor end with white space; a token of white space alone has an empty
/// range. Texts are compared without case and compatibility variants (NFKC_Casefold), because vocabularies remove them;
/// `▁` counts as a space. A token that is not in the text, such as an unknown one, gets the text up to the next token
/// that is; of several such tokens in succession, the first gets it. So does the first of several tokens that share a
/// code point, such as a ligature. Takes linear time.
std::vector<ByteRange> find_token_ranges(std::string_view text, std::span<const std::string> tokens);

}  // namespace edgewise

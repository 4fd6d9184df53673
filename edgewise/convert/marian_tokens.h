// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "edgewise/convert/token_list_builder.h"

namespace edgewise {

/// The token that is added behind those of Marian. It is padding and begins outputs.
inline constexpr std::string_view kMarianPadding = "<pad>";

/// Makes the list of Marian's tokens, by number, and kMarianPadding. Throws Error, beginning with `where`, unless
/// `</s>` and `<unk>` are among them.
TokenListBuilder marian_token_list(std::vector<std::string> tokens, const std::string& where);

}  // namespace edgewise

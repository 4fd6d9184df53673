// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "edgewise/convert/token_list_builder.h"

namespace edgewise {

/// The token that is added behind those of Marian. It is padding and begins outputs.
inline constexpr std::string_view kMarianPadding = "<pad>";

/// The output bias of kMarianPadding. Its probability is 0 in every precision, so that the other tokens have the
/// probabilities of Marian, which has no such token.
inline constexpr float kPaddingBias = -8192;

inline constexpr std::string_view kMarianEnd = "</s>";

/// Settings of decoder.yml: tokens that are no text, and that outputs may contain nevertheless.
struct MarianTokenRules {
  bool allow_unknown = false;  // `<unk>`; allow-unk
  bool allow_control = false;  // names of control characters; allow-special

  friend bool operator==(const MarianTokenRules&, const MarianTokenRules&) = default;
};

/// Returns whether a token is the name of a control character, such as "<0x0A>".
bool is_marian_control_token(std::string_view token);

/// Makes the list of Marian's tokens, by number, and kMarianPadding. Throws Error, beginning with `where`, unless
/// `</s>` and `<unk>` are among them.
TokenListBuilder marian_token_list(std::vector<std::string> tokens, const MarianTokenRules& rules,
                                   const std::string& where);

}  // namespace edgewise

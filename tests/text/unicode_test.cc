// SPDX-License-Identifier: Apache-2.0
#include "edgewise/text/unicode.h"

#include <gtest/gtest.h>

namespace edgewise {
namespace {

TEST(Unicode, LowerCasesInTheRootLocale) {
  EXPECT_EQ(lower_case("ÀÉ ΑΣ ΣΑ İI ẞ Ǆ"), "àé ας σα i̇i ß ǆ");
  EXPECT_EQ(lower_case(""), "");
}

TEST(Unicode, ClassifiesCodePoints) {
  EXPECT_TRUE(is_punctuation(U'«') && is_symbol(U'€') && is_number(U'½') && is_letter(U'é'));
  EXPECT_FALSE(is_punctuation(U'€') || is_symbol(U'«') || is_number(U'a') || is_letter(U'1'));
  EXPECT_FALSE(is_space(0x200B) || is_space(U'_'));
  EXPECT_EQ(strip_trailing_space("a b \u3000\t"), "a b");
  EXPECT_EQ(strip_trailing_space(" \t"), "");
}

}  // namespace
}  // namespace edgewise

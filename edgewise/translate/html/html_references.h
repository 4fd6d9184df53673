// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "edgewise/base/escape_html.h"

namespace edgewise {

/// Replaces character references (`&amp;`, `&#233;`, `&eacute`) as section 13.2.5.72 of the HTML standard does: the
/// longest name counts, numbers from 0x80 to 0x9F are of windows-1252, and a number that is no character becomes
/// U+FFFD. Other text is unchanged, also a `&` that begins no reference. In an attribute, a name without its semicolon
/// is plain text before `=`, a letter or a digit, so that `?a=1&copy=2` is unchanged. Takes linear time.
std::string decode_html_references(std::string_view text, HtmlTextPlace place = HtmlTextPlace::kContent);

}  // namespace edgewise

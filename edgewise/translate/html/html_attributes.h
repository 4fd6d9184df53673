// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "edgewise/translate/html/html_tokens.h"

// Attributes whose values are texts: `title`, `alt`, `placeholder` and `aria-label`.

namespace edgewise {

/// Appends the texts of a start tag's attributes, each in one line, and returns the tag with marks instead of their
/// values. A mark has bytes that are not UTF-8, and the number of the text.
std::string mark_text_attributes(const HtmlToken& start_tag, std::vector<std::string>& texts);

/// Returns HTML with quoted values instead of the marks; `values` are texts.
std::string replace_marks(std::string_view html, std::span<const std::string> values);

}  // namespace edgewise

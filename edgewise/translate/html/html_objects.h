// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "edgewise/translate/html/html_document.h"

namespace edgewise {

/// Replaces each inline element of a paragraph by one object if it shows something, but has no letter and no line
/// break:
/// `<sup><a href="#n1">[1]</a></sup>`, `<sub>2</sub>`, `<b>5</b>`. Its text must have a number or a symbol beyond
/// ASCII, in `sub` and `sup` any character; other marks belong to the sentence around the element. Of elements within
/// each other, the outermost is replaced.
std::vector<InlineItem> join_objects(std::vector<InlineItem> items);

}  // namespace edgewise

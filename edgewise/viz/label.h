// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace edgewise {

/// About how wide a text is in the 11-pixel letters of a picture, in its units.
double label_width(std::string_view text);

/// As people can see it, cut to about a width.
std::string label_within(std::string_view text, double width);

/// The same, whole, as an attribute of an element.
std::string label_attribute(std::string_view text);

}  // namespace edgewise

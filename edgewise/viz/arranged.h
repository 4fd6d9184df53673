// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "edgewise/viz/svg.h"

namespace edgewise {

/// Several pictures as one: in rows of so many, each row as high and each column as wide as its largest.
SvgPicture arranged(std::string title, std::span<const SvgPicture> pictures, std::size_t columns = 1);

/// To be set into a page as large as it is drawn: what does not fit is scrolled to.
std::string svg_in_full(const SvgPicture& picture);

}  // namespace edgewise

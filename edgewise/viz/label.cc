// SPDX-License-Identifier: Apache-2.0
#include "edgewise/viz/label.h"

#include <algorithm>

#include "edgewise/base/utf8.h"
#include "edgewise/viz/page.h"
#include "edgewise/viz/svg.h"

namespace edgewise {
namespace {

constexpr double kLetter = 11;
constexpr std::size_t kMostLetters = 400;  // of an attribute

}  // namespace

double label_width(std::string_view text) { return kLetter * text_width(shown_token(text, kMostLetters)); }

std::string label_within(std::string_view text, double width) {
  std::size_t most = kMostLetters;
  std::string shown = shown_token(text, most);
  while (most > 1 && kLetter * text_width(shown) > width) {
    // Letters differ in width, so that one cut may be too wide still.
    const double share = width / (kLetter * text_width(shown));
    const auto fitting =
        static_cast<std::size_t>(share * static_cast<double>(std::min(most, count_code_points(shown))));
    most = std::clamp<std::size_t>(fitting, 1, most - 1);
    shown = shown_token(text, most);
  }
  return shown;
}

std::string label_attribute(std::string_view text) { return escaped_html(shown_token(text, kMostLetters)); }

}  // namespace edgewise

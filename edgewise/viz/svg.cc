// SPDX-License-Identifier: Apache-2.0
#include "edgewise/viz/svg.h"

#include <fmt/format.h>

#include "edgewise/base/utf8.h"
#include "edgewise/viz/colour_scale.h"
#include "edgewise/viz/page.h"
#include "edgewise/viz/palette.h"

namespace edgewise {
namespace {

// Plain properties, no variables: programs that turn SVG into print know little CSS.
constexpr std::string_view kFileStyle =
    "text { fill: #222; font: 11px system-ui, sans-serif; } .title { font-weight: 600; font-size: 13px; } "
    ".grid { stroke: #ddd; } .ink { stroke: #222; }\n"
    "@media (prefers-color-scheme: dark) { text { fill: #ddd; } .grid { stroke: #3a3d44; } .ink { stroke: #ddd; } }";

constexpr std::size_t kMostBytesOfALetter = 16;
constexpr char32_t kPictureOfNul = 0x2400;
constexpr char32_t kPictureOfDelete = 0x2421;
constexpr char32_t kWordBegin = 0x2581;  // of SentencePiece: a thick block, which would outweigh the letters
constexpr char32_t kReplacement = 0xFFFD;
constexpr char32_t kDottedCircle = 0x25CC;

bool is_mark(char32_t point) {
  return (point >= 0x300 && point <= 0x36F) || (point >= 0x483 && point <= 0x489) ||
         (point >= 0x591 && point <= 0x5BD) || (point >= 0x610 && point <= 0x61A) ||
         (point >= 0x64B && point <= 0x65F) || (point >= 0x900 && point <= 0x903) ||
         (point >= 0x93A && point <= 0x94F && point != 0x93D) || (point >= 0x1AB0 && point <= 0x1AFF) ||
         (point >= 0x1DC0 && point <= 0x1DFF) || (point >= 0x20D0 && point <= 0x20FF) ||
         (point >= 0x3099 && point <= 0x309A) || (point >= 0xFE00 && point <= 0xFE0F) ||
         (point >= 0xFE20 && point <= 0xFE2F);
}

bool is_wide(char32_t point) {
  return (point >= 0x1100 && point <= 0x115F) || (point >= 0x2E80 && point <= 0xA4CF) ||
         (point >= 0xAC00 && point <= 0xD7A3) || (point >= 0xF900 && point <= 0xFAFF) ||
         (point >= 0xFE30 && point <= 0xFE6F) || (point >= 0xFF00 && point <= 0xFF60) || point >= 0x1F000;
}

/// Marks that turn the direction of what follows them would do so beyond the token.
bool turns_direction(char32_t point) {
  return point == 0x200E || point == 0x200F || (point >= 0x202A && point <= 0x202E) ||
         (point >= 0x2066 && point <= 0x2069);
}

char32_t visible(char32_t point) {
  if (point < 0x20) return kPictureOfNul + point;
  if (point == 0x7F) return kPictureOfDelete;
  if (point == kWordBegin) return U'_';
  const bool is_no_character = (point & 0xFFFE) == 0xFFFE || (point >= 0xFDD0 && point <= 0xFDEF);
  return (point >= 0x80 && point < 0xA0) || is_no_character || turns_direction(point) ? kReplacement : point;
}

/// What an <svg> of a page and one of a file have in common.
std::string attributes_of(const SvgPicture& picture) {
  return fmt::format(R"(viewBox="0 0 {:.6g} {:.6g}" role="img" aria-label="{}")", picture.width, picture.height,
                     escaped_html(shown_token(picture.title, 200)));
}

}  // namespace

std::string svg_for_page(const SvgPicture& picture) {
  return fmt::format("<svg {} style=\"max-width: {:.0f}px\">{}</svg>\n", attributes_of(picture), picture.width,
                     picture.body);
}

std::string svg_file(const SvgPicture& picture) {
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" {} width=\"{:.6g}\" "
      "height=\"{:.6g}\">\n"
      "<title>{}</title>\n"
      "<style type=\"text/css\">{}\n{}</style>\n{}\n</svg>\n",
      attributes_of(picture), picture.width, picture.height, escaped_html(shown_token(picture.title, 200)), kFileStyle,
      drawing_style(), picture.body);
}

std::string svg_text(double x, double y, std::string_view text, std::string_view attributes) {
  return fmt::format("<text x=\"{:.6g}\" y=\"{:.6g}\"{}{}>{}</text>", x, y, attributes.empty() ? "" : " ", attributes,
                     escaped_html(text));
}

std::string shown_token(std::string_view token, std::size_t most) {
  std::string shown;
  std::size_t count = 0;
  bool is_cut = false;
  for_each_code_point(token, [&](const CodePoint& point, std::size_t) {
    const char32_t value = point.size == 0 ? kReplacement : visible(point.value);
    const bool is_on_letter = is_mark(value);
    if (count >= most && !is_on_letter) is_cut = true;
    // A pile of marks on one letter is cut too.
    if (is_cut || shown.size() > most * kMostBytesOfALetter) return;
    if (count == 0 && is_on_letter) append_utf8(shown, kDottedCircle);
    append_utf8(shown, value);
    if (!is_on_letter || count == 0) ++count;
  });
  return is_cut ? shown + "…" : shown;
}

double text_width(std::string_view text) {
  double width = 0;
  for_each_code_point(text, [&width](const CodePoint& point, std::size_t) {
    if (is_mark(point.value)) return;
    const bool is_large = (point.value >= 'A' && point.value <= 'Z') || point.value == 'm' || point.value == 'w';
    width += is_wide(point.value) ? 1.05 : is_large ? 0.75 : 0.58;
  });
  return width;
}

std::string colour_legend(double x, double y, std::string_view what) {
  constexpr int kSteps = 60;
  constexpr double kBar = 120;
  constexpr double kStep = kBar / kSteps;
  std::string svg = "<g shape-rendering=\"crispEdges\">";
  const std::vector<Colour> colours = colour_table(kSteps);
  for (int i = 0; i < kSteps; ++i) {
    svg += fmt::format("<rect x=\"{:.6g}\" y=\"{:.6g}\" width=\"{:.6g}\" height=\"10\" fill=\"{}\"/>", x + i * kStep, y,
                       kStep, hex(colours[static_cast<std::size_t>(i)]));
  }
  svg += "</g>";
  for (const auto& [place, text] : {std::pair{0.0, "0"}, {0.5, "0.5"}, {1.0, "1"}}) {
    svg += svg_text(x + place * kBar, y + 22, text, place == 0 ? "" : "text-anchor=\"middle\"");
  }
  return svg + svg_text(x + kBar + 10, y + 9, what);
}

}  // namespace edgewise

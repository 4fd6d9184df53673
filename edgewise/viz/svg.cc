// SPDX-License-Identifier: Apache-2.0
#include "edgewise/viz/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "edgewise/base/escape_html.h"
#include "edgewise/base/utf8.h"
#include "edgewise/viz/palette.h"

namespace edgewise {
namespace {

constexpr double kGap = 16;  // space between arranged pictures

// The CSS has no variables, because many SVG converters do not support them.
constexpr std::string_view kFileStyle =
    "text { fill: #222; font: 11px system-ui, sans-serif; } .title { font-weight: 600; font-size: 13px; } "
    ".grid { stroke: #ddd; } .ink { stroke: #222; }\n"
    "@media (prefers-color-scheme: dark) { text { fill: #ddd; } .grid { stroke: #3a3d44; } .ink { stroke: #ddd; } }";

/// Returns the attributes that an <svg> element in a page and in a file share.
std::string attributes_of(const SvgPicture& picture) {
  return fmt::format(R"(viewBox="0 0 {:.6g} {:.6g}" role="img" aria-label="{}")", picture.width, picture.height,
                     escape_html(printable_token(picture.title, 200)));
}

constexpr double kFontSize = 11;
constexpr std::size_t kMaxCharacters = 400;        // characters of a label
constexpr std::size_t kMaxBytesPerCharacter = 16;  // limits the number of combining marks on one character
constexpr char32_t kPictureOfNul = 0x2400;
constexpr char32_t kPictureOfDelete = 0x2421;
constexpr char32_t kWordBegin = 0x2581;  // the character ▁, which begins a word in SentencePiece
constexpr char32_t kDottedCircle = 0x25CC;

/// Returns whether a character is a zero width (non-)joiner, which has no width of its own.
bool is_joiner(char32_t point) { return point == 0x200C || point == 0x200D; }

/// Returns whether a character is drawn on or at the one before it.
bool is_combining(char32_t point) {
  return (point >= 0x300 && point <= 0x36F) || (point >= 0x483 && point <= 0x489) ||
         (point >= 0x591 && point <= 0x5BD) || (point >= 0x610 && point <= 0x61A) ||
         (point >= 0x64B && point <= 0x65F) || (point >= 0x900 && point <= 0x903) ||
         (point >= 0x93A && point <= 0x94F && point != 0x93D) || (point >= 0x1AB0 && point <= 0x1AFF) ||
         (point >= 0x1DC0 && point <= 0x1DFF) || (point >= 0x20D0 && point <= 0x20FF) ||
         (point >= 0x3099 && point <= 0x309A) || (point >= 0xFE00 && point <= 0xFE0F) ||
         (point >= 0xFE20 && point <= 0xFE2F) || is_joiner(point);
}

bool is_wide(char32_t point) {
  return (point >= 0x1100 && point <= 0x115F) || (point >= 0x2E80 && point <= 0xA4CF) ||
         (point >= 0xAC00 && point <= 0xD7A3) || (point >= 0xF900 && point <= 0xFAFF) ||
         (point >= 0xFE30 && point <= 0xFE6F) || (point >= 0xFF00 && point <= 0xFF60) || point >= 0x1F000;
}

/// Returns whether joiners between such characters change how they are drawn: scripts from Arabic to Myanmar and from
/// Tagalog to Balinese and their neighbours, and emoji with their modifiers.
bool is_joinable(char32_t point) {
  return !is_invisible(point) && ((point >= 0x0600 && point <= 0x109F) || (point >= 0x1700 && point <= 0x1CFF) ||
                                  (point >= 0x2190 && point <= 0x2BFF) || (point >= 0xA800 && point <= 0xABFF) ||
                                  (point >= 0xFB50 && point <= 0xFDCF) || point == 0xFE0F ||
                                  (point >= 0xFE70 && point <= 0xFEFC) || (point >= 0x1F000 && point <= 0x1FAFF));
}

char32_t make_visible(char32_t point) {
  if (point < 0x20) return kPictureOfNul + point;
  if (point == 0x7F) return kPictureOfDelete;
  if (point == kWordBegin) return U'_';
  const bool is_noncharacter = (point & 0xFFFE) == 0xFFFE || (point >= 0xFDD0 && point <= 0xFDEF);
  return (point >= 0x80 && point < 0xA0) || is_noncharacter || is_invisible(point) ? kReplacementCharacter : point;
}

}  // namespace

std::string svg_for_page(const SvgPicture& picture) {
  return fmt::format("<svg {} style=\"max-width: {:.0f}px\">{}</svg>\n", attributes_of(picture), picture.width,
                     picture.body);
}

std::string svg_at_full_size(const SvgPicture& picture) {
  return fmt::format("<div class=\"wide\"><div style=\"width: {:.0f}px\">{}</div></div>\n", picture.width,
                     svg_for_page(picture));
}

std::string svg_file(const SvgPicture& picture) {
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" {} width=\"{:.6g}\" "
      "height=\"{:.6g}\">\n"
      "<title>{}</title>\n"
      "<style type=\"text/css\">{}\n{}</style>\n{}\n</svg>\n",
      attributes_of(picture), picture.width, picture.height, escape_html(printable_token(picture.title, 200)),
      kFileStyle, drawing_style(), picture.body);
}

SvgPicture arrange_pictures(std::string title, std::span<const SvgPicture> pictures, std::size_t columns) {
  std::vector<double> widths(columns);
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    widths[i % columns] = std::max(widths[i % columns], pictures[i].width);
  }
  SvgPicture whole{.width = 0, .height = 0, .title = std::move(title), .body = {}};
  for (std::size_t row = 0; row < pictures.size(); row += columns) {
    double x = 0;
    double height = 0;
    const std::size_t end = std::min(row + columns, pictures.size());
    for (std::size_t i = row; i < end; ++i) {
      whole.body +=
          fmt::format("<g transform=\"translate({:.1f} {:.1f})\">\n{}</g>\n", x, whole.height, pictures[i].body);
      x += widths[i - row] + kGap;
      height = std::max(height, pictures[i].height);
    }
    whole.width = std::max(whole.width, x - kGap);
    whole.height += height + (end < pictures.size() ? kGap : 0);
  }
  return whole;
}

std::string svg_text(double x, double y, std::string_view text, std::string_view attributes) {
  return fmt::format("<text x=\"{:.6g}\" y=\"{:.6g}\"{}{}>{}</text>", x, y, attributes.empty() ? "" : " ", attributes,
                     label_html(text));
}

std::string colour_legend(double x, double y, std::string_view title) {
  constexpr int kSteps = 60;
  constexpr double kBar = 120;
  constexpr double kStep = kBar / kSteps;
  std::string svg = "<g shape-rendering=\"crispEdges\">";
  const std::vector<Colour> colours = make_colour_table(kSteps);
  for (int i = 0; i < kSteps; ++i) {
    svg += fmt::format("<rect x=\"{:.6g}\" y=\"{:.6g}\" width=\"{:.6g}\" height=\"10\" fill=\"{}\"/>", x + i * kStep, y,
                       kStep, hex(colours[static_cast<std::size_t>(i)]));
  }
  svg += "</g>";
  for (const auto& [value, text] : {std::pair{0.0, "0"}, {0.5, "0.5"}, {1.0, "1"}}) {
    svg += svg_text(x + value * kBar, y + 22, text, value == 0 ? "" : "text-anchor=\"middle\"");
  }
  return svg + svg_text(x + kBar + 10, y + 9, title);
}

std::string printable_token(std::string_view token, std::size_t max_characters) {
  std::string printable;
  std::size_t count = 0;
  bool is_cut = false;
  char32_t previous = 0;
  for_each_code_point(token, [&](const CodePoint& point, std::size_t offset) {
    // A joiner is kept between two characters that it may join.
    const std::size_t end = offset + point.size;
    const bool is_kept = is_joiner(point.value) && is_joinable(previous) && end < token.size() &&
                         is_joinable(code_point_at(token, end).value);
    const char32_t value = point.size == 0 ? kReplacementCharacter : is_kept ? point.value : make_visible(point.value);
    previous = point.value;
    const bool is_mark = is_combining(value);
    if (count >= max_characters && !is_mark) is_cut = true;
    if (is_cut || printable.size() > max_characters * kMaxBytesPerCharacter) return;
    if (count == 0 && is_mark) append_utf8(printable, kDottedCircle);
    append_utf8(printable, value);
    if (!is_mark || count == 0) ++count;
  });
  return is_cut ? printable + "…" : printable;
}

double text_width(std::string_view text) {
  double width = 0;
  for_each_code_point(text, [&width](const CodePoint& point, std::size_t) {
    if (is_combining(point.value)) return;
    const bool is_broad = (point.value >= 'A' && point.value <= 'Z') || point.value == 'm' || point.value == 'w';
    width += is_wide(point.value) ? 1.05 : is_broad ? 0.75 : 0.58;
  });
  return width;
}

double label_width(std::string_view text) { return kFontSize * text_width(printable_token(text, kMaxCharacters)); }

std::string fit_label(std::string_view text, double width) {
  std::size_t max_characters = kMaxCharacters;
  std::string printable = printable_token(text, max_characters);
  while (max_characters > 1 && kFontSize * text_width(printable) > width) {
    // Characters differ in width, so one cut may not be enough.
    const double ratio = width / (kFontSize * text_width(printable));
    const auto fitting =
        static_cast<std::size_t>(ratio * static_cast<double>(std::min(max_characters, count_code_points(printable))));
    max_characters = std::clamp<std::size_t>(fitting, 1, max_characters - 1);
    printable = printable_token(text, max_characters);
  }
  return printable;
}

std::string label_html(std::string_view text) { return escape_html(printable_token(text, kMaxCharacters)); }

}  // namespace edgewise

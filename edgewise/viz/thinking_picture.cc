// SPDX-License-Identifier: Apache-2.0
#include "edgewise/viz/thinking_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "edgewise/viz/label.h"
#include "edgewise/viz/page.h"
#include "edgewise/viz/palette.h"

namespace edgewise {
namespace {

constexpr double kMargin = 24;
constexpr double kNames = 64;  // room for the sides' names
constexpr double kTitle = 28;
constexpr double kNarrowest = 26;
constexpr double kWidest = 120;
constexpr double kBlock = 9;  // height of a step
constexpr double kBar = 18;   // width of it

double word_width(const ThoughtToken& token) { return std::clamp(label_width(token.text) + 10, kNarrowest, kWidest); }

double width_of(const ThoughtSide& side) {
  double width = kNames;
  for (const ThoughtToken& token : side.tokens) width += word_width(token);
  return width;
}

double height_of(const ThoughtSide& side) {
  std::int64_t most = 1;
  for (const ThoughtToken& token : side.tokens) most = std::max(most, token.steps);
  return 46 + kBlock * static_cast<double>(most);
}

std::string token_svg(const ThoughtToken& token, double middle, double y, std::size_t colour) {
  const std::string says = label_attribute(fmt::format("{}: {} steps", token.text, token.steps));
  std::string svg =
      fmt::format("<g class=\"thought\" data-steps=\"{}\" role=\"img\" aria-label=\"{}\"><title>{}</title>",
                  token.steps, says, says);
  svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>", middle, y,
                     escaped_html(label_within(token.text, word_width(token) - 6)));
  for (std::int64_t step = 0; step < token.steps; ++step) {
    svg += fmt::format("<rect class=\"f{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\"/>", colour % kColours,
                       middle - kBar / 2, y + 7 + kBlock * static_cast<double>(step), kBar, kBlock - 1.5);
  }
  return svg + fmt::format("<text class=\"small\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text></g>\n",
                           middle, y + 18 + kBlock * static_cast<double>(token.steps), token.steps);
}

}  // namespace

SvgPicture draw_thinking(const std::string& title, const std::vector<ThoughtSide>& sides) {
  double width = label_width(title) * 1.25;
  double height = kTitle;
  for (const ThoughtSide& side : sides) {
    width = std::max(width, width_of(side));
    height += height_of(side);
  }
  SvgPicture picture{.width = width + 2 * kMargin, .height = height, .title = title, .body = {}};
  std::string& svg = picture.body;
  svg = svg_text(kMargin, 16, title, "class=\"title\"") + "\n";
  double y = kTitle + 18;
  for (std::size_t i = 0; i < sides.size(); ++i) {
    svg += fmt::format("<text class=\"faint\" x=\"{}\" y=\"{:.1f}\">{}</text>\n", kMargin, y,
                       label_attribute(sides[i].name));
    double x = kMargin + kNames;
    for (const ThoughtToken& token : sides[i].tokens) {
      svg += token_svg(token, x + word_width(token) / 2, y, i);
      x += word_width(token);
    }
    y += height_of(sides[i]);
  }
  return picture;
}

GraphDrawing active_part(const GraphDrawing& whole, const std::vector<std::vector<std::int64_t>>& steps,
                         std::int64_t step, SeenByActive seen) {
  const auto is_active = [&](std::size_t set, std::int64_t node) {
    return steps[set][static_cast<std::size_t>(node)] >= step;
  };
  GraphDrawing part = whole;
  for (std::size_t set = 0; set < part.sets.size(); ++set) {
    part.sets[set].faint.clear();
    for (std::int64_t node = 0; node < std::ssize(steps[set]); ++node) {
      part.sets[set].faint.push_back(!is_active(set, node));
    }
  }
  for (DrawnRelation& relation : part.relations) {
    const bool within = relation.source_set == relation.destination_set;  // between the sides, thinking is over
    std::vector<SeenSources> rows;
    for (const SeenSources& row : relation.rows) {
      if (!is_active(relation.destination_set, row.destination)) continue;
      if (seen == SeenByActive::kAll || !within) {
        rows.push_back(row);
        continue;
      }
      for (std::int64_t source = row.begin; source < row.end; ++source) {
        if (is_active(relation.source_set, source)) rows.push_back({row.destination, source, source + 1});
      }
    }
    relation.rows = std::move(rows);
  }
  return part;
}

}  // namespace edgewise

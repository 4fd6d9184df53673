// SPDX-License-Identifier: Apache-2.0
#include "edgewise/viz/ponder_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "edgewise/base/escape_html.h"
#include "edgewise/viz/palette.h"

namespace edgewise {
namespace {

constexpr double kMargin = 24;
constexpr double kNameWidth = 64;  // width of the column of sequence names
constexpr double kTitleHeight = 28;
constexpr double kMinTokenWidth = 26;
constexpr double kMaxTokenWidth = 120;
constexpr double kBlockHeight = 9;  // height of the block of one step
constexpr double kBlockWidth = 18;

double token_width(const TokenSteps& token) {
  return std::clamp(label_width(token.text) + 10, kMinTokenWidth, kMaxTokenWidth);
}

double width_of(const SequenceSteps& sequence) {
  double width = kNameWidth;
  for (const TokenSteps& token : sequence.tokens) width += token_width(token);
  return width;
}

double height_of(const SequenceSteps& sequence) {
  std::int64_t max_steps = 1;
  for (const TokenSteps& token : sequence.tokens) max_steps = std::max(max_steps, token.steps);
  return 46 + kBlockHeight * static_cast<double>(max_steps);
}

std::string draw_token(const TokenSteps& token, double middle, double y, std::size_t colour) {
  const std::string description = label_html(fmt::format("{}: {} steps", token.text, token.steps));
  std::string svg =
      fmt::format("<g class=\"thought\" data-steps=\"{}\" role=\"img\" aria-label=\"{}\"><title>{}</title>",
                  token.steps, description, description);
  svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>", middle, y,
                     escape_html(fit_label(token.text, token_width(token) - 6)));
  for (std::int64_t step = 0; step < token.steps; ++step) {
    svg += fmt::format("<rect class=\"f{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\"/>", colour % kColours,
                       middle - kBlockWidth / 2, y + 7 + kBlockHeight * static_cast<double>(step), kBlockWidth,
                       kBlockHeight - 1.5);
  }
  return svg + fmt::format("<text class=\"small\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text></g>\n",
                           middle, y + 18 + kBlockHeight * static_cast<double>(token.steps), token.steps);
}

}  // namespace

SvgPicture draw_ponder_steps(const std::string& title, const std::vector<SequenceSteps>& sequences) {
  double width = label_width(title) * 1.25;
  double height = kTitleHeight;
  for (const SequenceSteps& sequence : sequences) {
    width = std::max(width, width_of(sequence));
    height += height_of(sequence);
  }
  SvgPicture picture{.width = width + 2 * kMargin, .height = height, .title = title, .body = {}};
  std::string& svg = picture.body;
  svg = svg_text(kMargin, 16, title, "class=\"title\"") + "\n";
  double y = kTitleHeight + 18;
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    svg += fmt::format("<text class=\"faint\" x=\"{}\" y=\"{:.1f}\">{}</text>\n", kMargin, y,
                       label_html(sequences[i].name));
    double x = kMargin + kNameWidth;
    for (const TokenSteps& token : sequences[i].tokens) {
      svg += draw_token(token, x + token_width(token) / 2, y, i);
      x += token_width(token);
    }
    y += height_of(sequences[i]);
  }
  return picture;
}

GraphDrawing select_active_subgraph(const GraphDrawing& whole, const std::vector<std::vector<std::int64_t>>& steps,
                                    std::int64_t step, SourceFilter sources) {
  const auto is_active = [&](std::size_t set, std::int64_t node) {
    return steps[set][static_cast<std::size_t>(node)] >= step;
  };
  GraphDrawing subgraph = whole;
  for (std::size_t set = 0; set < subgraph.sets.size(); ++set) {
    subgraph.sets[set].faint.clear();
    for (std::int64_t node = 0; node < std::ssize(steps[set]); ++node) {
      subgraph.sets[set].faint.push_back(!is_active(set, node));
    }
  }
  for (RelationDrawing& relation : subgraph.relations) {
    const bool is_within_set = relation.source_set == relation.destination_set;
    std::vector<IntervalRow> rows;
    for (const IntervalRow& row : relation.rows) {
      if (!is_active(relation.destination_set, row.destination)) continue;
      if (sources == SourceFilter::kAll || !is_within_set) {
        rows.push_back(row);
        continue;
      }
      for (std::int64_t source = row.begin; source < row.end; ++source) {
        if (is_active(relation.source_set, source)) rows.push_back({row.destination, source, source + 1});
      }
    }
    relation.rows = std::move(rows);
  }
  return subgraph;
}

}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#include "edgewise/viz/tree_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "edgewise/base/escape_html.h"
#include "edgewise/base/files/json.h"

namespace edgewise {
namespace {

constexpr double kMargin = 24;
constexpr double kTitleHeight = 30;
constexpr double kRowHeight = 34;
constexpr double kGap = 30;  // horizontal space between two tokens of a path
constexpr double kMinTokenWidth = 34;
constexpr double kMaxTokenWidth = 110;
constexpr double kScoreWidth = 130;  // width of the score after an end token

std::string_view name_of(HypothesisStatus status) {
  constexpr std::array<std::string_view, 4> kNames = {"kept", "cut", "ended", "best"};  // in the order of the enum
  return kNames.at(static_cast<std::size_t>(status));
}

/// The coordinates of the nodes. The path of the best output is a straight line; other branches are below it.
class TreeLayout {
 public:
  explicit TreeLayout(const std::vector<HypothesisDrawing>& nodes)
      : nodes_(nodes), children_(nodes.size()), depth_(nodes.size()), row_(nodes.size()) {
    std::vector<std::size_t> roots;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const bool is_root = nodes[i].parent < 0;
      depth_[i] = is_root ? 0 : depth_[parent(i)] + 1;
      (is_root ? roots : children_[parent(i)]).push_back(i);
      if (widths_.size() <= depth_[i]) widths_.resize(depth_[i] + 1, kMinTokenWidth);
      widths_[depth_[i]] = std::clamp(label_width(nodes[i].label) + 12, widths_[depth_[i]], kMaxTokenWidth);
    }
    for (std::vector<std::size_t>& children : children_) sort_siblings(children);
    sort_siblings(roots);
    assign_rows(roots);
    begin_ = {kMargin};
    for (const double width : widths_) begin_.push_back(begin_.back() + width + kGap);
  }

  double x(std::size_t node) const { return begin_[depth_[node]]; }
  double column_width(std::size_t node) const { return widths_[depth_[node]]; }
  double y(std::size_t node) const { return kTitleHeight + kRowHeight * (static_cast<double>(row_[node]) + 0.5); }
  double width() const { return begin_.back() + kScoreWidth; }
  double height() const { return kTitleHeight + kRowHeight * static_cast<double>(num_rows_) + 8; }

 private:
  std::size_t parent(std::size_t node) const { return static_cast<std::size_t>(nodes_[node].parent); }

  /// Sorts the children of one parent, or the roots: first the node of the best output, then other nodes that were not
  /// pruned, then pruned nodes. Each of these groups is sorted by falling log-probability.
  void sort_siblings(std::vector<std::size_t>& siblings) const {
    const auto rank = [this](std::size_t node) {
      const HypothesisStatus status = nodes_[node].status;
      return status == HypothesisStatus::kBest ? 0 : status == HypothesisStatus::kPruned ? 2 : 1;
    };
    std::ranges::stable_sort(siblings, [&](std::size_t a, std::size_t b) {
      if (rank(a) != rank(b)) return rank(a) < rank(b);
      return nodes_[a].log_probability > nodes_[b].log_probability;
    });
  }

  /// Assigns a row to each node, depth-first, without recursion, because a path may have thousands of nodes.
  void assign_rows(const std::vector<std::size_t>& roots) {
    std::vector<std::size_t> stack(roots.rbegin(), roots.rend());
    while (!stack.empty()) {
      const std::size_t node = stack.back();
      stack.pop_back();
      row_[node] = num_rows_;
      stack.insert(stack.end(), children_[node].rbegin(), children_[node].rend());
      if (children_[node].empty()) ++num_rows_;
    }
  }

  const std::vector<HypothesisDrawing>& nodes_;
  std::vector<std::vector<std::size_t>> children_;
  std::vector<std::size_t> depth_;
  std::vector<std::size_t> row_;
  std::vector<double> widths_;
  std::vector<double> begin_;
  std::size_t num_rows_ = 0;
};

std::string draw_edge(const TreeLayout& layout, const HypothesisDrawing& node, std::size_t number) {
  const auto parent = static_cast<std::size_t>(node.parent);
  const double x1 = layout.x(parent) + layout.column_width(parent);
  const double x2 = layout.x(number);
  const double middle = (x1 + x2) / 2;
  return fmt::format(
      "<path class=\"branch {}\" data-node=\"{}\" d=\"M{:.1f} {:.1f}C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}\"/>\n",
      name_of(node.status), number, x1, layout.y(parent), middle, layout.y(parent), middle, layout.y(number), x2,
      layout.y(number));
}

std::string draw_node(const TreeLayout& layout, const HypothesisDrawing& node, std::size_t number) {
  const double x = layout.x(number);
  const double y = layout.y(number);
  const double width = layout.column_width(number);
  std::string description =
      fmt::format("{}: {}, log-probability {:.2f}", node.label, name_of(node.status), node.log_probability);
  if (node.score) description += fmt::format(", score {:.3f}", *node.score);
  std::string svg = fmt::format(
      "<g class=\"hypothesis {}\" data-node=\"{}\" data-parent=\"{}\" role=\"img\" aria-label=\"{}\"><title>{}</title>",
      name_of(node.status), number, node.parent, label_html(description), label_html(description));
  svg += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"17\" rx=\"4\"/>", x, y - 9, width);
  svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>", x + width / 2, y + 3.5,
                     escape_html(fit_label(node.label, width - 8)));
  svg += fmt::format("<text class=\"small\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{:.2f}</text>",
                     x + width / 2, y + 18, node.log_probability);
  if (node.score) {
    svg += fmt::format("<text class=\"score\" x=\"{:.1f}\" y=\"{:.1f}\">score {:.3f}{}</text>", x + width + 8, y + 4,
                       *node.score, node.status == HypothesisStatus::kBest ? ", the best" : "");
  }
  return svg + "</g>\n";
}

}  // namespace

SvgPicture draw(const TreeDrawing& tree) {
  const TreeLayout layout(tree.nodes);
  SvgPicture picture;
  picture.title = tree.title;
  picture.width = std::max(layout.width(), 2 * kMargin + label_width(tree.title) * 1.3);
  picture.height = layout.height();
  std::string& svg = picture.body;
  svg = svg_text(kMargin, 16, tree.title, "class=\"title\"") + "\n";
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    if (tree.nodes[i].parent >= 0) svg += draw_edge(layout, tree.nodes[i], i);
  }
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) svg += draw_node(layout, tree.nodes[i], i);
  return picture;
}

std::string json_of(const TreeDrawing& tree) {
  const auto node_json = [](const HypothesisDrawing& node) {
    JsonObject json;
    json.add("parent", node.parent).add("text", node.label).add("log_probability", node.log_probability);
    if (node.score) json.add("score", *node.score);
    return json.add("fate", name_of(node.status)).text();
  };
  return JsonObject().add("title", tree.title).add_json("nodes", json_array(tree.nodes, node_json)).text();
}

}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "edgewise/base/ascii.h"
#include "edgewise/base/config/range.h"
#include "edgewise/base/error.h"
#include "edgewise/base/escape_html.h"
#include "edgewise/base/utf8.h"
#include "edgewise/graph/batch.h"
#include "edgewise/pictures/pictures.h"
#include "edgewise/viz/page.h"
#include "edgewise/viz/svg.h"

namespace edgewise {
namespace {

constexpr std::string_view kPictureGraph = "picture graph";

std::size_t set_index(const Graph& graph, const std::string& set) {
  const auto& sets = graph.sets();
  return static_cast<std::size_t>(std::ranges::find(sets, set, &Graph::NodeSet::name) - sets.begin());
}

NodeSetDrawing set_drawing(const Graph& graph, const Graph::NodeSet& set) {
  NodeSetDrawing drawn{.name = set.name, .labels = {}};
  for (std::int64_t part = 0; part < graph.num_parts(); ++part) {
    const std::vector<NodeIndex> nodes = graph.nodes(set.name, part);
    drawn.part_sizes.push_back(std::ssize(nodes));
    for (const NodeIndex node : nodes) drawn.labels.push_back(std::to_string(node));
  }
  return drawn;
}

/// Returns the rows of a relation as ranges of sources.
std::vector<IntervalRow> rows_of(const Relation& relation) {
  const RelationView view = relation.view();
  std::vector<IntervalRow> rows;
  for (std::int64_t row = 0; row < view.num_destinations; ++row) {
    for (EdgeIndex edge = view.row_begin[row]; edge < view.row_begin[row + 1];) {
      const EdgeIndex first = edge++;
      if (view.intervals != nullptr) edge = view.row_begin[row + 1];
      const NodeIndex begin = view.source(row, first);
      while (edge < view.row_begin[row + 1] && view.source(row, edge) == begin + (edge - first)) ++edge;
      rows.push_back({.destination = row, .begin = begin, .end = begin + (edge - first)});
    }
  }
  return rows;
}

/// Returns the picture of a drawing. Its page highlights the edges into the node under the pointer; `hint_text`
/// stands below the picture while no node is highlighted.
template <class Drawing>
PictureForms make_forms(Drawing value, std::string_view hint_text) {
  const auto drawing = std::make_shared<const Drawing>(std::move(value));
  const auto page = [drawing, hint = escape_html(hint_text)] {
    const std::string body = fmt::format("<div class=\"lightable\">\n{}<output data-rest=\"{}\">{}</output>\n</div>\n",
                                         svg_at_full_size(draw(*drawing)), hint, hint);
    return html_page(
        {.title = drawing->title, .body = body, .style = page_file("graph.css"), .script = page_file("graph.js")});
  };
  return {.html = page,
          .svg = [drawing] { return svg_file(draw(*drawing)); },
          .json = [drawing] { return json_of(*drawing); }};
}

PairLengths parse_lengths(std::string_view text) {
  const auto parse = [](std::string_view side, std::int64_t& length) {
    return side.size() <= 6 && !side.starts_with('-') && parse_number(side, Range(), length);
  };
  const std::size_t colon = text.find(':');
  PairLengths lengths;
  check(colon != std::string_view::npos && parse(text.substr(0, colon), lengths.input) &&
            parse(text.substr(colon + 1), lengths.output),
        "{}: --lengths has {}, needs INPUT:OUTPUT, as 9:10", kPictureGraph, quote_unless_plain(text));
  return lengths;
}

GraphDrawing drawing_of_pairs(const std::vector<PairLengths>& lengths) {
  GraphDrawing drawing = graph_drawing(make_batch_graph(lengths), "");
  drawing.title = fmt::format("A batch of {} sentence {}: {} nodes, {} edges", lengths.size(),
                              lengths.size() == 1 ? "pair" : "pairs", drawing.num_nodes(), drawing.num_edges());
  return drawing;
}

}  // namespace

GraphDrawing graph_drawing(const Graph& graph, std::string title) {
  GraphDrawing drawing{.title = std::move(title), .sets = {}, .relations = {}};
  for (const Graph::NodeSet& set : graph.sets()) drawing.sets.push_back(set_drawing(graph, set));
  for (const Graph::NamedRelation& named : graph.relations()) {
    drawing.relations.push_back({.name = named.name,
                                 .source_set = set_index(graph, named.source_set),
                                 .destination_set = set_index(graph, named.destination_set),
                                 .rows = rows_of(named.relation)});
  }
  return drawing;
}

PictureForms picture_graph(GraphDrawing drawing) {
  const std::string hint = is_large(drawing)
                               ? "Each row is a node, filled where it attends to the node of the column."
                               : "Point at a node, or go through them with the arrow keys: the edges into it.";
  return make_forms(std::move(drawing), hint);
}

PictureForms picture_graph(TreeDrawing tree) {
  return make_forms(std::move(tree),
                    "Point at a token, or go through them with the arrow keys: the path that leads to it.");
}

GraphDrawing batch_drawing(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs) {
  check(inputs.size() == outputs.size(), "{}: --input is there {} times and --output {} times, needs as many",
        kPictureGraph, inputs.size(), outputs.size());
  std::vector<PairLengths> lengths;
  std::vector<std::vector<std::string>> words(2);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::vector<std::string> input = split_ascii(inputs[i], " \t");
    const std::vector<std::string> output = split_ascii(outputs[i], " \t");
    words[0].insert(words[0].end(), input.begin(), input.end());
    words[1].insert(words[1].end(), output.begin(), output.end());
    lengths.push_back({std::ssize(input), std::ssize(output)});
  }
  GraphDrawing drawing = drawing_of_pairs(lengths);
  for (std::size_t set = 0; set < words.size(); ++set) drawing.sets[set].labels = words[set];
  return drawing;
}

GraphDrawing pattern_drawing(const PatternPictureOptions& options) {
  check(!options.terms.empty() || !options.config.empty(),
        "{}: no term is given, needs terms, such as \"window 8\", or --config", kPictureGraph);
  const Direction direction = options.is_encoder ? Direction::kBoth : Direction::kCausal;
  RelationTerms terms;
  if (options.config.empty()) {
    const std::string pattern = fmt::format("{}: the pattern", kPictureGraph);
    terms = parse_patterns({options.terms}, direction, pattern).of_layer(0);
  } else {
    const TransformerOptions model = read_experiment(options.config).model;
    check_layer_options(model, kPictureGraph, "model.");
    const std::int64_t layers = options.is_encoder ? model.encoder_layers : model.decoder_layers;
    check(options.layer < layers, "{}: --layer is {}, needs a number below {}, the layers of {}", kPictureGraph,
          options.layer, layers, options.is_encoder ? "the encoder" : "the decoder");
    const RelationPatterns patterns = options.is_encoder ? model.encoder_patterns() : model.decoder_patterns();
    terms = patterns.of_layer(static_cast<std::size_t>(options.layer));
  }
  const Relation relation = make_relation(terms, direction, std::span(&options.nodes, 1));
  return graph_drawing(Graph(relation),
                       fmt::format("{}, {} nodes, {} edges", format_terms(terms), options.nodes, relation.num_edges()));
}

GraphDrawing batch_drawing(const std::vector<std::string>& lengths) {
  std::vector<PairLengths> pairs(lengths.size());
  std::ranges::transform(lengths, pairs.begin(), parse_lengths);
  return drawing_of_pairs(pairs);
}

}  // namespace edgewise

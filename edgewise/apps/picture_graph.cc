// SPDX-License-Identifier: Apache-2.0
// edgewise picture graph KIND … -o FILE
#include <fmt/format.h>

#include <cctype>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "edgewise/experiment/beam_tree.h"
#include "edgewise/apps/runtime/commands.h"
#include "edgewise/experiment/drawn_relation.h"
#include "edgewise/apps/picture_output.h"
#include "edgewise/base/error.h"
#include "edgewise/graph/builders.h"
#include "edgewise/graph/graph_pool.h"
#include "edgewise/viz/arranged.h"
#include "edgewise/viz/page.h"
#include "edgewise/viz/pages.h"

namespace edgewise {
namespace {

constexpr std::string_view kPictureGraph = "picture graph";
constexpr std::int64_t kMostNodes = 20'000;  // a strided relation of more does not fit in memory

/// What all kinds of graphs have in common.
struct GraphCommand {
  std::string out;
  std::int64_t nodes = 12;
  WindowOptions window = {.before = 2, .after = 2};
  std::int64_t stride = 4;
  std::int64_t block = 4;
  bool is_causal = false;
  std::int64_t in_degree = 3;
  std::uint64_t seed = 1;
  std::vector<std::string> lengths = {"9:10"};
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::string model;
  std::string sentence;
  BeamTreeOptions beam;
};

/// A drawing that lights what a node sees.
template <class Drawing>
void write_drawing(const GraphCommand& command, const Drawing& drawing, std::string_view hint) {
  const auto page = [&] {
    const SvgPicture picture = draw(drawing);
    const std::string body = fmt::format("<div class=\"lightable\">\n{}<output data-rest=\"{}\">{}</output>\n</div>\n",
                                         svg_in_full(picture), escaped_html(hint), escaped_html(hint));
    return html_page({.title = drawing.title,
                      .body = body,
                      .style = std::string(page_file("graph.css")),
                      .script = std::string(page_file("graph.js"))});
  };
  write_picture(
      command.out,
      {.html = page, .svg = [&] { return svg_file(draw(drawing)); }, .json = [&] { return json_of(drawing); }},
      kPictureGraph);
}

void write_graph(const GraphCommand& command, const GraphDrawing& drawing) {
  write_drawing(command, drawing,
                is_large(drawing) ? "Each row is a node, filled where it sees the node of the column."
                                  : "Point at a node, or go through them with the arrow keys: what it sees.");
}

void write_relation(const GraphCommand& command, const Relation& relation, std::string title) {
  write_graph(command, drawing_of(Graph(relation), std::move(title)));
}

std::vector<std::string> words_of(std::string_view sentence) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : std::string(sentence) + " ") {
    if (c != ' ' && c != '\t') {
      word += c;
    } else if (!word.empty()) {
      words.push_back(std::exchange(word, {}));
    }
  }
  return words;
}

std::int64_t whole_number(std::string_view text, const std::string& lengths) {
  const bool is_number =
      !text.empty() && text.size() <= 6 && text.find_first_not_of("0123456789") == std::string_view::npos;
  check(is_number, "{}: --lengths has {}, needs INPUT:OUTPUT, as 9:10", kPictureGraph, lengths);
  return std::stoll(std::string(text));
}

PairLengths lengths_of(const std::string& text) {
  const std::size_t colon = text.find(':');
  check(colon != std::string::npos, "{}: --lengths has {}, needs INPUT:OUTPUT, as 9:10", kPictureGraph, text);
  return {whole_number(std::string_view(text).substr(0, colon), text),
          whole_number(std::string_view(text).substr(colon + 1), text)};
}

/// A batch of sentence pairs, of lengths or of words.
GraphDrawing batch_drawing(const GraphCommand& command) {
  check(command.inputs.size() == command.outputs.size(),
        "{}: --input is there {} times and --output {} times, needs as many", kPictureGraph, command.inputs.size(),
        command.outputs.size());
  std::vector<PairLengths> lengths;
  std::vector<std::vector<std::string>> words(2);
  for (std::size_t i = 0; i < command.inputs.size(); ++i) {
    const std::vector<std::string> input = words_of(command.inputs[i]);
    const std::vector<std::string> output = words_of(command.outputs[i]);
    words[0].insert(words[0].end(), input.begin(), input.end());
    words[1].insert(words[1].end(), output.begin(), output.end());
    lengths.push_back({std::ssize(input), std::ssize(output)});
  }
  if (lengths.empty()) {
    for (const std::string& text : command.lengths) lengths.push_back(lengths_of(text));
  }
  GraphPool pool;
  GraphDrawing drawing = drawing_of(pool.batch(lengths), "");
  drawing.title = fmt::format("A batch of {} sentence {}: {} nodes, {} edges", lengths.size(),
                              lengths.size() == 1 ? "pair" : "pairs", drawing.num_nodes(), drawing.num_edges());
  if (command.inputs.empty()) return drawing;
  for (std::size_t set = 0; set < words.size(); ++set) drawing.sets[set].labels = words[set];
  return drawing;
}

using Run = void (*)(const GraphCommand&);

CLI::App* add_kind(CLI::App& graph, int& exit_code, const std::shared_ptr<GraphCommand>& command, const char* name,
                   const char* help, Run run) {
  CLI::App* kind = graph.add_subcommand(name, help);
  add_picture_output(*kind, command->out);
  kind->callback([command, run, &exit_code] {
    check_picture_output(command->out, kPictureGraph);
    run(*command);
    exit_code = 0;
  });
  return kind;
}

void add_nodes(CLI::App* kind, GraphCommand& command) {
  kind->add_option("--nodes", command.nodes, "how many nodes there are")
      ->check(CLI::Range(std::int64_t{1}, kMostNodes));
}

}  // namespace

void add_picture_graph(CLI::App& picture, int& exit_code) {
  CLI::App* graph = picture.add_subcommand(
      "graph", "Who may look at whom: nodes and edges, or from a thousand nodes on the adjacency matrix");
  graph->require_subcommand(1);
  const auto command = std::make_shared<GraphCommand>();
  const auto add = [&](const char* name, const char* help, Run run) {
    return add_kind(*graph, exit_code, command, name, help, run);
  };

  add_nodes(add("complete", "everyone sees everyone: an encoder",
                [](const GraphCommand& c) {
                  write_relation(c, complete(c.nodes), fmt::format("Complete, {} nodes", c.nodes));
                }),
            *command);
  add_nodes(
      add("causal", "a node sees itself and all before it: a decoder",
          [](const GraphCommand& c) { write_relation(c, causal(c.nodes), fmt::format("Causal, {} nodes", c.nodes)); }),
      *command);

  CLI::App* sliding = add("window", "a node sees its neighbours", [](const GraphCommand& c) {
    write_relation(c, window(c.nodes, c.window),
                   fmt::format("Window of {} back and {} ahead in steps of {}, {} nodes", c.window.before,
                               c.window.after, c.window.dilation, c.nodes));
  });
  add_nodes(sliding, *command);
  sliding->add_option("--before", command->window.before, "how many steps back a node sees")
      ->check(CLI::NonNegativeNumber);
  sliding->add_option("--after", command->window.after, "how many steps ahead; 0: causal")
      ->check(CLI::NonNegativeNumber);
  sliding->add_option("--dilation", command->window.dilation, "the length of a step")->check(CLI::PositiveNumber);

  CLI::App* sparse = add(
      "strided", "a node sees itself, and every earlier one at a multiple of the stride", [](const GraphCommand& c) {
        write_relation(c, strided(c.nodes, c.stride), fmt::format("Strided by {}, {} nodes", c.stride, c.nodes));
      });
  add_nodes(sparse, *command);
  sparse->add_option("--stride", command->stride)->check(CLI::PositiveNumber);

  CLI::App* blocks = add("block", "nodes see those of their own block", [](const GraphCommand& c) {
    write_relation(c, block_local(c.nodes, c.block, c.is_causal ? Direction::kCausal : Direction::kBoth),
                   fmt::format("Blocks of {}, {} nodes", c.block, c.nodes));
  });
  add_nodes(blocks, *command);
  blocks->add_option("--block", command->block, "nodes of a block")->check(CLI::PositiveNumber);
  blocks->add_flag("--causal", command->is_causal, "not the later ones");

  CLI::App* random = add("random", "each node sees others drawn at random", [](const GraphCommand& c) {
    write_relation(c, random_relation(c.nodes, c.nodes, c.in_degree, c.seed),
                   fmt::format("Random, {} edges into each of {} nodes", c.in_degree, c.nodes));
  });
  add_nodes(random, *command);
  random->add_option("--in-degree", command->in_degree, "how many a node sees")->check(CLI::NonNegativeNumber);
  random->add_option("--seed", command->seed, "what they are drawn from");

  CLI::App* pairs = add("pairs", "a batch of sentence pairs: inputs above, outputs below",
                        [](const GraphCommand& c) { write_graph(c, batch_drawing(c)); });
  pairs->add_option("--lengths", command->lengths, "tokens of each pair, INPUT:OUTPUT; several are a batch");
  pairs->add_option("--input", command->inputs, "instead, a pair in words; several are a batch")
      ->allow_extra_args(false)
      ->excludes("--lengths");
  pairs->add_option("--output", command->outputs, "of as many pairs")->allow_extra_args(false)->needs("--input");

  CLI::App* beam = add("beam", "the hypotheses of a beam search, with what it cut", [](const GraphCommand& c) {
    write_drawing(c, beam_tree(read_model_files(c.model, kPictureGraph), c.sentence, c.beam, kPictureGraph),
                  "Point at a token, or go through them with the arrow keys: the path that leads to it.");
  });
  beam->add_option("--model", command->model, "a run or model directory")->required();
  beam->add_option("--input", command->sentence, "the sentence to translate")->required();
  beam->add_option("--beam", command->beam.beam, "hypotheses kept alive")->check(CLI::Range(1, 64));
  beam->add_option("--cut", command->beam.cut, "continuations shown of each step that were not taken, the likeliest")
      ->check(CLI::Range(0, 64));
}

}  // namespace edgewise

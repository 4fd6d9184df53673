// SPDX-License-Identifier: Apache-2.0
// edgewise picture KIND … -o FILE
#include <filesystem>
#include <memory>
#include <utility>

#include "edgewise/apps/runtime/commands.h"
#include "edgewise/apps/runtime/shared_options.h"
#include "edgewise/base/files/files.h"
#include "edgewise/graph/builders.h"
#include "edgewise/pictures/pictures.h"
#include "edgewise/text/corpus/line_reader.h"
#include "edgewise/translate/model_paths.h"

namespace edgewise {
namespace {

using Paths = std::vector<std::filesystem::path>;

/// A picture of a command, and the paths that the command reads.
struct PictureSource {
  std::function<PictureForms()> draw;
  std::function<Paths()> inputs = [] { return Paths(); };
};

/// Adds -o and --out, the file whose extension selects the format, and makes the command write the picture. Errors
/// begin with `caller`.
void add_picture_output(CLI::App& command, const char* caller, PictureSource source) {
  const auto file = std::make_shared<std::string>();
  add_path(command, "-o,--out", *file,
           "the file to write; its extension selects the format: .html a page, .svg a drawing, .png the drawing "
           "or an animation in pixels, .json the numbers")
      ->required();
  command.callback([file, caller, source = std::move(source)] {
    check_output_file(*file, source.inputs(), caller);
    write_picture(*file, caller, source.draw);
  });
}

void add_attention_map_options(CLI::App& command, AttentionMapSelection& selection) {
  command
      .add_option("--attention", selection.kind,
                  "the attention that is drawn, or open first on a page: encoder, decoder or cross (default); a "
                  "language model has decoder only")
      ->transform(one_of<AttentionKind>());
  command.add_option("--layer", selection.layer,
                     "the layer of the map, from 0, or mean; default: the last layer, in a drawing all layers");
  command.add_option("--head", selection.head,
                     "the head of the map, from 0, or mean; default: the mean of the heads, in a drawing all heads");
}

void add_attention(CLI::App& picture) {
  const auto options = std::make_shared<AttentionPictureOptions>();
  CLI::App* attention = picture.add_subcommand(
      "attention", "Draw the attention weights of a model on one sentence pair, or of a language model on a text");
  add_path(*attention, "--model", options->model, "a run or model directory")->required();
  auto* input = attention->add_option("--input", options->input,
                                      "the input sentence of the pair, or the text of a language model");
  attention->add_option("--output", options->output, "the output sentence; default: the model's translation of --input")
      ->needs(input);
  auto* pairs =
      add_path(*attention, "--pairs", options->pairs, "instead of --input: a file with `input ||| output` on each line")
          ->excludes(input);
  add_number(*attention, "--line", &options->line, "the line of --pairs to draw, from 1; default 1",
             at_least(1).at_most(1e12))
      ->needs(pairs);
  auto* gold = add_path(*attention, "--gold", options->gold,
                        "a file of gold word alignments, one line per pair: `2-3` links word 2 of the input and word 3 "
                        "of the output surely, `2p3` possibly; the alignment error rate of each head is shown");
  add_number(*attention, "--gold-first", &options->gold_first,
             "the number of the first word in --gold: 1 (default) or 0", at_least(0).at_most(1))
      ->needs(gold);
  add_attention_map_options(*attention, options->map);
  add_picture_output(*attention, "picture attention",
                     {.draw = [options] { return picture_attention(*options); },
                      .inputs =
                          [options] {
                            return Paths{options->model, options->pairs, options->gold};
                          }});
}

struct ReportCommand {
  std::string run;
  std::string input;
  std::string page;
};

void run_report(const ReportCommand& command) {
  constexpr const char* kCaller = "picture report";
  check(command.page.ends_with(".html"), "{}: --out is {}, needs a name that ends with .html", kCaller,
        quote_unless_plain(command.page));
  check_output_file(command.page, Paths{command.run, command.input}, kCaller);
  AtomicFile output(command.page, kCaller);
  output.write(run_report_page(command.run, read_sentences(command.input, kCaller)));
  output.commit();
}

void add_report(CLI::App& picture) {
  const auto command = std::make_shared<ReportCommand>();
  CLI::App* report = picture.add_subcommand("report", "Write a page about a run: curves, translations and attention");
  add_path(*report, "run", command->run, "a run directory")->required();
  add_path(*report, "--input", command->input, "a file of a few sentences, one per line; -: standard input")
      ->required();
  add_path(*report, "-o,--out", command->page, "the page to write, an .html file")->required();
  report->callback([command] { run_report(*command); });
}

/// The command-line options of all subcommands of `picture graph`.
struct GraphCommand {
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
  PatternPictureOptions pattern;
  std::string model;
  std::string sentence;
  BeamTreeOptions beam;
};

using DrawGraph = PictureForms (*)(const GraphCommand&);

constexpr const char* kGraphCaller = "picture graph";
constexpr double kMaxNodes = 20'000;  // the edges of a strided relation grow with the square of the nodes

PictureForms picture_relation(const Relation& relation, std::string title) {
  return picture_graph(graph_drawing(Graph(relation), std::move(title)));
}

PictureForms picture_pairs(const GraphCommand& graph) {
  const bool has_words = !graph.inputs.empty() || !graph.outputs.empty();
  return picture_graph(has_words ? batch_drawing(graph.inputs, graph.outputs) : batch_drawing(graph.lengths));
}

PictureForms picture_beam(const GraphCommand& graph) {
  return picture_graph(
      beam_tree(read_model_files(graph.model, kGraphCaller), graph.sentence, graph.beam, kGraphCaller));
}

void add_graph(CLI::App& picture) {
  CLI::App* graphs = picture.add_subcommand(
      "graph", "Draw a graph of tokens: nodes and edges, or from 1000 nodes on the adjacency matrix");
  graphs->require_subcommand(1);
  const auto command = std::make_shared<GraphCommand>();
  const auto add = [&](const char* name, const char* help, DrawGraph draw) {
    CLI::App* kind = graphs->add_subcommand(name, help);
    add_picture_output(*kind, kGraphCaller,
                       {.draw = [command, draw] { return draw(*command); },
                        .inputs =
                            [command] {
                              return Paths{command->model, command->pattern.config};
                            }});
    return kind;
  };
  const auto add_relation = [&](const char* name, const char* help, DrawGraph draw) {
    CLI::App* kind = add(name, help, draw);
    add_number(*kind, "--nodes", &command->nodes, "the number of nodes; default 12", at_least(1).at_most(kMaxNodes));
    return kind;
  };

  add_relation("complete", "every node attends to every node, as in an encoder", [](const GraphCommand& graph) {
    return picture_relation(complete(graph.nodes), fmt::format("Complete, {} nodes", graph.nodes));
  });
  add_relation("causal", "a node attends to itself and to all nodes before it, as in a decoder",
               [](const GraphCommand& graph) {
                 return picture_relation(causal(graph.nodes), fmt::format("Causal, {} nodes", graph.nodes));
               });

  CLI::App* sliding = add_relation("window", "a node attends to its neighbours", [](const GraphCommand& graph) {
    return picture_relation(window(graph.nodes, graph.window),
                            fmt::format("Window of {} back and {} ahead in steps of {}, {} nodes", graph.window.before,
                                        graph.window.after, graph.window.dilation, graph.nodes));
  });
  add_number(*sliding, "--before", &command->window.before, "the number of neighbours before a node; default 2",
             at_least(0).at_most(kMaxNodes));
  add_number(*sliding, "--after", &command->window.after, "the number of neighbours after a node; default 2; 0: causal",
             at_least(0).at_most(kMaxNodes));
  add_number(*sliding, "--dilation", &command->window.dilation, "the distance between neighbours in nodes; default 1",
             at_least(1).at_most(kMaxNodes));

  CLI::App* sparse =
      add_relation("strided", "a node attends to itself and to each earlier node at a multiple of the stride",
                   [](const GraphCommand& graph) {
                     return picture_relation(strided(graph.nodes, graph.stride),
                                             fmt::format("Strided by {}, {} nodes", graph.stride, graph.nodes));
                   });
  add_number(*sparse, "--stride", &command->stride, "the stride in nodes; default 4", at_least(1).at_most(kMaxNodes));

  CLI::App* blocks = add_relation("block", "a node attends to the nodes of its block", [](const GraphCommand& graph) {
    const Direction direction = graph.is_causal ? Direction::kCausal : Direction::kBoth;
    return picture_relation(block_local(graph.nodes, graph.block, direction),
                            fmt::format("Blocks of {}, {} nodes", graph.block, graph.nodes));
  });
  add_number(*blocks, "--block", &command->block, "the number of nodes in a block; default 4",
             at_least(1).at_most(kMaxNodes));
  blocks->add_flag("--causal", command->is_causal, "leave out edges from later nodes");

  CLI::App* random =
      add_relation("random", "a node attends to nodes that are drawn at random", [](const GraphCommand& graph) {
        return picture_relation(random_relation(graph.nodes, graph.nodes, graph.in_degree, graph.seed),
                                fmt::format("Random, {} edges into each of {} nodes", graph.in_degree, graph.nodes));
      });
  add_number(*random, "--in-degree", &command->in_degree, "the number of edges into a node; default 3",
             at_least(0).at_most(1000));
  add_number(*random, "--seed", &command->seed, "the seed of the random sources; default 1", Range());

  CLI::App* pattern = add("pattern", "a node attends as a layer with a pattern of model.relation",
                          [](const GraphCommand& graph) { return picture_graph(pattern_drawing(graph.pattern)); });
  auto* terms = pattern->add_option("terms", command->pattern.terms,
                                    "the terms of the pattern, each in quotes: \"window 8\" \"sinks 2\"");
  auto* config = add_path(*pattern, "--config", command->pattern.config,
                          "instead of terms: a config, whose model.relation is drawn")
                     ->excludes(terms);
  add_number(*pattern, "--layer", &command->pattern.layer, "the layer of --config, from 0; default 0",
             at_least(0).at_most(999))
      ->needs(config);
  pattern->add_flag("--encoder", command->pattern.is_encoder,
                    "draw the pattern of an encoder, with edges from later nodes; of --config: model.encoder_relation");
  add_number(*pattern, "--nodes", &command->pattern.nodes, "the number of nodes; default 12",
             at_least(1).at_most(kMaxNodes));

  CLI::App* pairs = add("pairs", "a batch of sentence pairs: inputs above, outputs below", picture_pairs);
  pairs->add_option("--lengths", command->lengths,
                    "the tokens of each pair as INPUT:OUTPUT, one or several pairs; default 9:10");
  pairs->add_option("--input", command->inputs, "instead of --lengths: the input sentence of a pair; may be repeated")
      ->allow_extra_args(false)
      ->excludes("--lengths");
  pairs->add_option("--output", command->outputs, "the output sentence of a pair, one for each --input")
      ->allow_extra_args(false)
      ->needs("--input");

  CLI::App* beam = add("beam", "the hypotheses of a beam search, and those that it left out", picture_beam);
  add_path(*beam, "--model", command->model, "a run or model directory")->required();
  beam->add_option("--input", command->sentence, "the sentence to translate")->required();
  add_number(*beam, "--beam", &command->beam.beam, "the number of hypotheses in the beam; default 4",
             at_least(1).at_most(64));
  add_number(*beam, "--cut", &command->beam.cut,
             "the number of likeliest continuations to draw that each step left out; default 2",
             at_least(0).at_most(64));
}

void add_training(CLI::App& picture) {
  const auto runs = std::make_shared<std::vector<std::string>>();
  const auto map = std::make_shared<AttentionMapSelection>();
  CLI::App* training = picture.add_subcommand(
      "training", "Draw the course of training: loss, scores, learning rate, speed, and how attention changed");
  add_path(*training, "runs", *runs, "run directories, of finished or running runs")->required();
  add_attention_map_options(*training, *map);
  add_picture_output(*training, "picture training",
                     {.draw = [runs, map] { return picture_training(*runs, *map); },
                      .inputs = [runs] { return Paths(runs->begin(), runs->end()); }});
}

void add_halting(CLI::App& picture) {
  const auto options = std::make_shared<HaltingPictureOptions>();
  CLI::App* halting = picture.add_subcommand("halting",
                                             "Draw how many ponder steps a Universal Transformer, or how many layers a "
                                             "decoder with exits, takes for each token");
  add_path(*halting, "--model", options->model, "a run or model directory; a run also shows how training changed them")
      ->required();
  halting->add_option("--input", options->inputs, "a sentence to translate; may be repeated")->allow_extra_args(false);
  add_path(*halting, "--corpus", options->corpus, "a file of sentences, one per line; -: standard input");
  add_picture_output(*halting, "picture halting",
                     {.draw = [options] { return picture_halting(*options); },
                      .inputs =
                          [options] {
                            return Paths{options->model, options->corpus};
                          }});
}

void add_positions(CLI::App& picture) {
  const auto options = std::make_shared<PositionPictureOptions>();
  CLI::App* positions =
      picture.add_subcommand("positions", "Draw the positional encodings: as a map, and single dimensions as curves");
  add_picture_output(*positions, "picture positions", {.draw = [options] { return picture_positions(*options); }});
  add_number(*positions, "--positions", &options->positions, "the number of positions; default 100",
             at_least(1).at_most(1000));
  add_number(*positions, "--size", &options->size, "the dimensions of a vector; default 20", at_least(1).at_most(1024));
  add_number(*positions, "--dimensions", &options->dimensions,
             "the dimensions to draw as curves, separated by commas; default 4,5,6,7", at_least(0).at_most(1023));
}

}  // namespace

void add_picture(CLI::App& program) {
  CLI::App* picture =
      program.add_subcommand("picture", "Draw models, graphs and runs: attention, ponder steps, curves");
  picture->require_subcommand(1);
  add_attention(*picture);
  add_report(*picture);
  add_graph(*picture);
  add_training(*picture);
  add_halting(*picture);
  add_positions(*picture);
}

}  // namespace edgewise

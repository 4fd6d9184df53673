// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string_view>

#include "edgewise/experiment/sentence_attention.h"
#include "edgewise/graph/graph.h"
#include "edgewise/translate/model_files.h"
#include "edgewise/viz/graph_picture.h"
#include "edgewise/viz/tree_picture.h"

// The pictures that `edgewise picture` draws. Errors begin with the name of the command, as in "picture attention".

namespace edgewise {

/// One picture in several file formats. Each function computes its format when it is called.
struct PictureForms {
  std::function<std::string()> html;      // a page without external files
  std::function<std::string()> svg;       // a drawing, for print
  std::function<std::string()> json;      // the picture's numbers
  std::function<std::string()> png = {};  // an animation; unset: `svg` is rasterised
};

/// Computes a picture and writes the format that the file name ends with, atomically. Throws Error before the
/// computation when the file name has the extension of no format. Errors begin with `caller`.
void write_picture(const std::string& file, std::string_view caller, const std::function<PictureForms()>& draw);

/// Renders a standalone SVG as PNG, two pixels for each of its units.
std::string png_from_svg(const std::string& svg);

struct AttentionPictureOptions {
  std::string model;                       // a run or model directory
  std::optional<std::string> input;        // a sentence; unset: `pairs` is read
  std::optional<std::string> output = {};  // unset: the model translates the input
  std::string pairs = {};                  // a file with `input ||| output` on each line
  std::int64_t line = 1;                   // the drawn pair, from 1
  std::string gold = {};                   // a file with a gold alignment for each pair; empty: no error rates
  std::int64_t gold_first = 1;             // the number that `gold` gives to the first word of a sentence
  AttentionMapSelection map = {};
};

/// Draws the attention of all heads of a model on one sentence pair, with the word alignment of each map, or of a
/// language model on the text `input`.
PictureForms picture_attention(const AttentionPictureOptions& options);

/// Returns the drawing of a graph with one or two node sets, whose nodes are labelled by their numbers.
GraphDrawing graph_drawing(const Graph& graph, std::string title);

/// Draws nodes and edges, or the adjacency matrix of a large graph.
PictureForms picture_graph(GraphDrawing drawing);

/// Draws the hypotheses of a beam search.
PictureForms picture_graph(TreeDrawing tree);

struct BeamTreeOptions {
  std::int64_t beam = 4;
  std::int64_t cut = 2;  // number of the likeliest continuations to draw that each step left out
};

/// Translates a sentence as `edgewise translate --beam N --nbest N` and returns the tree of the search: every
/// hypothesis that the model scored, also those that fell out of the beam. Throws Error for a sentence without tokens
/// and for one with more tokens than the model was trained with; errors begin with `caller`.
TreeDrawing beam_tree(ModelFiles model, const std::string& sentence, const BeamTreeOptions& options,
                      std::string_view caller);

/// Draws a batch of sentence pairs as one graph, whose nodes carry the words of the sentences.
GraphDrawing batch_drawing(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs);

/// Draws a batch of sentence pairs whose lengths are given as "INPUT:OUTPUT", such as "9:10".
GraphDrawing batch_drawing(const std::vector<std::string>& lengths);

struct PatternPictureOptions {
  std::vector<std::string> terms;  // as in a config's model.relation; empty: those of `config`
  std::string config;              // a config, if there are no terms
  std::int64_t layer = 0;          // the layer of `config` to draw, from 0
  bool is_encoder = false;  // whether the pattern permits later tokens, and is model.encoder_relation of `config`
  std::int64_t nodes = 12;
};

/// Draws the edges of a pattern over one document.
GraphDrawing pattern_drawing(const PatternPictureOptions& options);

struct HaltingPictureOptions {
  std::string model;                // a run or model directory
  std::vector<std::string> inputs;  // sentences
  std::string corpus = {};          // a file of more sentences, one per line; "-": standard input
};

/// Draws the ponder steps of each token of a Universal Transformer, or the layers of a decoder with exits, and, for a
/// run, how the distribution of ponder steps changed in training.
PictureForms picture_halting(const HaltingPictureOptions& options);

/// The defaults are those of the textbook chapter.
struct PositionPictureOptions {
  std::int64_t positions = 100;
  std::int64_t size = 20;                               // dimensions of a position's vector
  std::vector<std::int64_t> dimensions = {4, 5, 6, 7};  // dimensions that are drawn as curves
};

/// Draws the positional encodings of all kinds, as maps and as curves.
PictureForms picture_positions(const PositionPictureOptions& options);

/// Draws the metrics of runs over their steps and, for runs that recorded attention, the selected map as it changed.
PictureForms picture_training(const std::vector<std::string>& runs, const AttentionMapSelection& map);

/// Returns an HTML page about a run: its curves, and translations of the inputs with their cross-attention.
std::string run_report_page(const std::string& run, const std::vector<std::string>& inputs);

}  // namespace edgewise

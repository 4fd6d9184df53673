// SPDX-License-Identifier: Apache-2.0
// The graph tutorial, step by step: a sentence pair as a graph, attention as messages along its edges and in one call,
// with the time of each way, a Transformer that uses this attention, and the training of the copy task by messages.
//
//     build/examples/example_tutorial [EPOCHS [TRAINING PAIRS]]
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "edgewise/base/threads.h"
#include "edgewise/data/batches.h"
#include "edgewise/data/corpus.h"
#include "edgewise/data/encode.h"
#include "edgewise/graph/batch.h"
#include "edgewise/message/message_graph.h"
#include "edgewise/models/transformer.h"
#include "edgewise/ops/attend.h"
#include "edgewise/ops/loss.h"
#include "edgewise/train/adam.h"
#include "edgewise/train/learning_rate_schedule.h"

using namespace edgewise;

// --- 1. Graphs. The lengths of a pair determine its graph. A batch joins the graphs of its pairs. --------------------

void print_range(const std::string& name, const auto& numbers) {
  fmt::print("  {:<16} {} to {}\n", name, numbers.front(), numbers.back());
}

void print_graph_numbering() {
  const SpecialTokens special;
  const TokenPair pair = {.input = {28, 25, 7, 26, 6, 4, 5, 9, 18},
                          .output = {special.begin, 28, 25, 7, 26, 6, 4, 5, 9, 18, special.end}};
  const Batch batch = make_batch(std::span(&pair, 1));
  fmt::print("The graph of a pair with 9 and 10 tokens:\n");
  print_range("encoder nodes", batch.graph.nodes(kEncoder));
  print_range("decoder nodes", batch.graph.nodes(kDecoder));
  print_range("ee edges", batch.graph.edges(kEncoderEncoder));
  print_range("ed edges", batch.graph.edges(kEncoderDecoder));
  print_range("dd edges", batch.graph.edges(kDecoderDecoder));
  fmt::print("  input            {}\n  its positions    {}\n", batch.input_tokens, batch.input_positions);
  fmt::print("  output           {}\n  its positions    {}\n\n", batch.output_tokens, batch.output_positions);
}

// --- 2. Attention in the naive way: a message function on edges, a reduce function on mailboxes. ---------------------

// Sends the source's value, and its score with the destination.
Columns message_func(const EdgeBatch& edges) {
  return {{"score", (edges.source("k") * edges.destination("q")).sum(-1, /*keepdim=*/true)}, {"v", edges.source("v")}};
}

// Averages the values in a mailbox, weighted by the softmax of the scores.
// Shape of a mailbox column: [nodes, messages, heads, size].
NodeFunction reduce_func(double head_size) {
  return [head_size](const NodeBatch& nodes) -> Columns {
    const at::Tensor attention = at::softmax(nodes.mailbox("score") / std::sqrt(head_size), /*dim=*/1);
    return {{"dx", (attention * nodes.mailbox("v")).sum(1)}};
  };
}

void naive_propagate_attention(MessageGraph& graph, const at::Tensor& edges, double head_size) {
  graph.send_and_recv(edges, {message_func}, {reduce_func(head_size)});
}

// --- 3. Attention with built-in functions: they sum the numerators and the denominators of the softmax. --------------

EdgeFunction source_dot_destination(const std::string& source, const std::string& destination, const std::string& out) {
  return [=](const EdgeBatch& edges) -> Columns {
    return {{out, (edges.source(source) * edges.destination(destination)).sum(-1, /*keepdim=*/true)}};
  };
}

EdgeFunction scaled_exp(std::string field, double scale) {
  return [=](const EdgeBatch& edges) -> Columns {
    return {{field, at::exp((edges.data(field) / scale).clamp(-5, 5))}};
  };
}

void propagate_attention(MessageGraph& graph, const at::Tensor& edges, double head_size) {
  graph.apply_edges(source_dot_destination("k", "q", "score"), edges);
  graph.apply_edges(scaled_exp("score", std::sqrt(head_size)), edges);
  graph.send_and_recv(edges, {u_mul_e("v", "score", "v"), copy_e("score", "score")},
                      {sum("v", "wv"), sum("score", "z")});
}

// --- 4. Attention in one call, with the tutorial's clamp as a score function, and without it. ------------------------

/// Returns the median of five times in milliseconds.
double time_of(const std::function<at::Tensor()>& compute) {
  std::vector<double> times;
  for (int i = 0; i < 5; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    compute();
    times.push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
  }
  std::ranges::sort(times);
  return times[2];
}

void compare_four_ways() {
  const at::NoGradGuard no_grad;
  const std::int64_t heads = 8;
  const std::int64_t head_size = 64;
  std::vector<PairLengths> lengths;
  for (std::int64_t i = 0; i < 64; ++i) lengths.push_back({.input = 6 + i % 23, .output = 7 + i % 23});

  MessageGraph graph(make_batch_graph(lengths));
  for (const char* name : {"q", "k", "v"}) {
    graph.ndata().set(name, at::randn({graph.graph().num_nodes(), heads, head_size}));
  }
  const at::Tensor nodes = graph.nodes(kEncoder);
  const at::Tensor edges = graph.edges(kEncoderEncoder);
  const Relation& relation = graph.graph().relation(kEncoderEncoder);
  const auto column = [&](const char* name) { return graph.ndata().get(name, nodes); };
  const auto attend_with = [&](const AttentionOptions& options) {
    return attend(relation, column("q"), column("k"), column("v"), options);
  };

  const std::vector<std::pair<std::string, std::function<at::Tensor()>>> ways = {
      {"functions of edges and mailboxes",
       [&] {
         naive_propagate_attention(graph, edges, head_size);
         return column("dx");
       }},
      {"built-in messages",
       [&] {
         propagate_attention(graph, edges, head_size);
         return column("wv") / column("z");
       }},
      {"attend with a score function", [&] { return attend_with({.score = clamp(Score::product(), -5, 5)}); }},
      {"attend", [&] { return attend_with({}); }},
  };
  const at::Tensor expected = attend_with({});
  for (const auto& [name, compute] : ways) {
    const double difference = (compute() - expected).abs().max().item<double>();
    fmt::print("{:<33} {:8.2f} ms, differs from attend by {:.1e} at most\n", name, time_of(compute), difference);
  }
  fmt::print("\n");
}

// --- 5. The Transformer: Transformer::forward_by_messages follows the tutorial's forward line by line. ---------------

Transformer make_model(std::int64_t vocabulary) {
  TransformerOptions options = TransformerOptions::from_preset(TransformerPreset::kTutorial);
  options.encoder_layers = options.decoder_layers = 1;
  options.size = options.feed_forward = 128;
  options.heads = 1;
  options.input_vocabulary = options.output_vocabulary = vocabulary;
  return Transformer(options, /*seed=*/1);
}

// --- 6. Training. ----------------------------------------------------------------------------------------------------

struct Totals {
  double loss = 0;
  std::int64_t correct = 0;
  std::int64_t tokens = 0;
  double difference_to_fused = 0;  // largest difference from the fused model in a batch's loss per token
};

constexpr LossOptions kLoss = {.smoothing = 0.1, .ignored = SpecialTokens().padding};

at::Tensor batch_loss(const Transformer& model, const Batch& batch, Pass pass, Totals& totals) {
  MessageGraph graph(batch.graph);
  Pass fused_pass = pass;  // draws the same dropout masks
  const at::Tensor labels = at::tensor(batch.labels);
  const at::Tensor logits = model.forward_by_messages(graph, batch, pass);
  at::Tensor loss = smoothed_loss(logits, labels, kLoss);
  {
    const at::NoGradGuard no_grad;
    const at::Tensor fused = smoothed_loss(model.forward(batch, fused_pass), labels, kLoss);
    const double difference = std::abs((fused - loss).item<double>()) / static_cast<double>(batch.labels.size());
    totals.difference_to_fused = std::max(totals.difference_to_fused, difference);
  }
  totals.loss += loss.item<double>();
  totals.correct += count_correct(logits, labels, kLoss);
  totals.tokens += static_cast<std::int64_t>(batch.labels.size());
  return loss;
}

void print_totals(const std::string& name, const Totals& totals) {
  const auto tokens = static_cast<double>(totals.tokens);
  fmt::print("{}: loss {:.4f}, accuracy {:.2f} %, the fused model's losses differ by {:.1e} at most\n", name,
             totals.loss / tokens, 100 * static_cast<double>(totals.correct) / tokens, totals.difference_to_fused);
  std::fflush(stdout);  // a pipe shows the line at once
}

void train(std::int64_t epochs, std::int64_t pairs) {
  DataOptions data;
  data.task = DataTask::kCopy;
  data.train_size = pairs;
  const Splits splits = make_synthetic(data);
  const auto vocabulary = build_vocabulary({splits.train.inputs, splits.train.outputs});
  const PairEncoder encoder(vocabulary, vocabulary, {});
  const auto training = encode_pairs(splits.train, encoder).pairs;
  const auto validation = encode_pairs(splits.valid, encoder).pairs;
  const BatchOptions batching = {.tokens = 0, .sentences = 128};

  const Transformer model = make_model(vocabulary->size());
  LocalAdam adam(parameters(model), {.beta1 = 0.9, .beta2 = 0.98, .epsilon = 1e-9});
  const LearningRateSchedule noam({.schedule = ScheduleKind::kNoam, .factor = 1, .warmup = 400}, /*size=*/128);
  BatchStream batches(training, batching, /*seed=*/1);

  std::int64_t step = 0;
  for (std::int64_t epoch = 1; epoch <= epochs; ++epoch) {
    Totals training_totals;
    while (batches.position().epoch < epoch) {
      const Batch batch = batches.next();
      ++step;
      adam.clear_gradients();
      batch_loss(model, batch, Pass::training(/*seed=*/static_cast<std::uint64_t>(step)), training_totals).backward();
      adam.step(noam(step), static_cast<double>(batch.labels.size()));
      if (step % 10 == 0) print_totals(fmt::format("step {:>3}           ", step), training_totals);
    }
    print_totals(fmt::format("epoch {} training  ", epoch), training_totals);

    const at::NoGradGuard no_grad;
    Totals validation_totals;
    for (const Batch& batch : batches_in_order(validation, batching)) {
      batch_loss(model, batch, Pass::inference(), validation_totals);
    }
    print_totals(fmt::format("epoch {} validation", epoch), validation_totals);
  }
}

int main(int argc, char** argv) {
  set_num_threads(available_cores());
  print_graph_numbering();
  compare_four_ways();
  train(/*epochs=*/argc > 1 ? std::atoll(argv[1]) : 4, /*pairs=*/argc > 2 ? std::atoll(argv[2]) : 9000);
}

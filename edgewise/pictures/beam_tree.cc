// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/pictures/pictures.h"
#include "edgewise/translate/translator.h"

namespace edgewise {
namespace {

/// A node of the search tree, with the scored continuations.
struct ScoredNode {
  std::int64_t parent = -1;
  std::int64_t token = 0;
  std::map<std::int64_t, double> next_tokens = {};  // scored tokens with their log-probabilities
};

/// Forwards all calls to another scorer and records the nodes of one sentence in the order of their numbers.
class RecordingScorer : public Scorer {
 public:
  RecordingScorer(std::unique_ptr<Scorer> scorer, std::vector<ScoredNode>& nodes)
      : scorer_(std::move(scorer)), nodes_(nodes) {}

  std::int64_t vocabulary_size() const override { return scorer_->vocabulary_size(); }

  void encode(std::span<const std::int64_t> slots, std::span<const Tokens> inputs) override {
    scorer_->encode(slots, inputs);
  }

  void step(const StepRequest& request, StepResult& result) override {
    scorer_->step(request, result);
    const auto first = nodes_.size();
    for (const NewNode& node : request.nodes) nodes_.push_back({.parent = node.parent, .token = node.token});
    const auto count = static_cast<std::size_t>(request.num_candidates);
    for (std::size_t i = 0; i < result.candidates.size(); ++i) {
      const Candidate& candidate = result.candidates[i];
      if (candidate.token >= 0) nodes_[first + i / count].next_tokens[candidate.token] = candidate.log_probability;
    }
    for (std::size_t i = 0; i < request.wanted.size(); ++i) {
      const Continuation& wanted = request.wanted[i];
      nodes_[first + static_cast<std::size_t>(wanted.row)].next_tokens[wanted.token] = result.wanted[i];
    }
  }

 private:
  std::unique_ptr<Scorer> scorer_;
  std::vector<ScoredNode>& nodes_;
};

/// A scored continuation that the search did not expand.
struct UnexpandedToken {
  std::size_t parent = 0;
  std::int64_t token = 0;
  double log_probability = 0.0;
};

/// Turns the recorded nodes into a drawing.
class TreeBuilder {
 public:
  /// Each output begins with the tokens `beginning`, which TranslatedText leaves out.
  TreeBuilder(const std::vector<ScoredNode>& scored, const Vocabulary& vocabulary, Tokens beginning)
      : scored_(scored),
        vocabulary_(vocabulary),
        beginning_(std::move(beginning)),
        children_(scored.size()),
        depth_(scored.size()) {
    for (std::size_t i = 0; i < scored.size(); ++i) {
      HypothesisDrawing node = {.parent = scored[i].parent, .label = text_of(scored[i].token)};
      if (scored[i].parent >= 0) {
        const auto parent = static_cast<std::size_t>(scored[i].parent);
        node.log_probability = nodes_[parent].log_probability + log_probability(parent, scored[i].token);
        children_[parent][scored[i].token] = i;
        depth_[i] = depth_[parent] + 1;
      }
      nodes_.push_back(std::move(node));
    }
  }

  /// Marks the path of an output. The first call must have the best output.
  void add_output(const TranslatedText& output) {
    const bool is_best = num_outputs_++ == 0;
    const HypothesisStatus status = is_best ? HypothesisStatus::kBest : HypothesisStatus::kKept;
    std::size_t node = 0;
    keep(node, status);
    std::vector<std::int64_t> tokens = beginning_;
    tokens.insert(tokens.end(), output.token_numbers.begin(), output.token_numbers.end());
    for (const std::int64_t token : tokens) {
      const auto child = children_[node].find(token);
      if (child == children_[node].end()) return;
      node = child->second;
      keep(node, status);
    }
    const std::int64_t end = vocabulary_.special().end;
    children_[node][end] = nodes_.size();
    nodes_.push_back({.parent = static_cast<std::int64_t>(node),
                      .label = text_of(end),
                      .log_probability = output.log_probability,
                      .score = output.score,
                      .status = is_best ? HypothesisStatus::kBest : HypothesisStatus::kEnded});
  }

  /// Adds the `most` likeliest tokens of each step that the search did not expand.
  void add_unexpanded(std::size_t most) {
    std::map<std::size_t, std::vector<UnexpandedToken>> by_depth;
    for (std::size_t i = 0; i < scored_.size(); ++i) {
      for (const auto& [token, log_probability] : scored_[i].next_tokens) {
        if (children_[i].contains(token)) continue;
        by_depth[depth_[i]].push_back({i, token, nodes_[i].log_probability + log_probability});
      }
    }
    for (auto& [depth, cut] : by_depth) {
      std::ranges::stable_sort(cut, std::greater<>(), &UnexpandedToken::log_probability);
      if (cut.size() > most) cut.resize(most);
      for (const UnexpandedToken& token : cut) {
        nodes_.push_back({.parent = static_cast<std::int64_t>(token.parent),
                          .label = text_of(token.token),
                          .log_probability = token.log_probability});
      }
    }
  }

  std::vector<HypothesisDrawing> take_nodes() { return std::move(nodes_); }

 private:
  std::string text_of(std::int64_t token) const { return std::string(vocabulary_.token_text(token)); }

  double log_probability(std::size_t node, std::int64_t token) const {
    const auto found = scored_[node].next_tokens.find(token);
    return found == scored_[node].next_tokens.end() ? 0.0 : found->second;
  }

  void keep(std::size_t node, HypothesisStatus status) {
    if (nodes_[node].status == HypothesisStatus::kPruned) nodes_[node].status = status;
  }

  const std::vector<ScoredNode>& scored_;
  const Vocabulary& vocabulary_;
  Tokens beginning_;
  std::vector<std::map<std::int64_t, std::size_t>> children_;
  std::vector<std::size_t> depth_;
  std::vector<HypothesisDrawing> nodes_;
  std::size_t num_outputs_ = 0;
};

/// Checks that the sentence is translated in one part, so that its search is one tree.
void check_length(const TextCodec& codec, const std::string& sentence, std::string_view caller) {
  const Vocabulary& vocabulary = *codec.vocabularies.input;
  const FramedInput input = frame_input(vocabulary, sentence, codec.end_input, codec.languages, caller);
  const std::int64_t tokens = std::ssize(vocabulary.encode(input.text));
  check(tokens > 0, "{}: input has no tokens, needs at least one", caller);
  check(codec.max_input == 0 || tokens <= codec.max_input,
        "{}: input has {} tokens, needs at most {}, as the model was trained with", caller, tokens, codec.max_input);
}

}  // namespace

TreeDrawing beam_tree(ModelFiles model, const std::string& sentence, const BeamTreeOptions& options,
                      std::string_view caller) {
  const TextCodec codec = model.codec;
  check_length(codec, sentence, caller);
  TranslatorOptions translating;
  translating.search = model.experiment.search;
  translating.search->kind = SearchKind::kBeam;
  translating.beam = translating.n_best = options.beam;
  translating.protect = false;  // the tree has each token that the model reads and writes

  std::vector<ScoredNode> scored;
  const ScorerFactory make =
      make_runtime_scorer_factory(std::move(model), RuntimePrecision::kFp32, translating.search->recorded_heads);
  Translator translator(
      codec, [&] { return std::make_unique<RecordingScorer>(make(), scored); }, translating);
  const Translation translation = translator.translate(sentence);

  TreeBuilder builder(scored, *codec.vocabularies.output,
                      output_beginning(*codec.vocabularies.output, codec.languages.output, caller));
  for (const TranslatedText& output : translation.outputs) builder.add_output(output);
  builder.add_unexpanded(static_cast<std::size_t>(options.cut));
  return {.title = fmt::format("Beam of {}: {}", options.beam, sentence), .nodes = builder.take_nodes()};
}

}  // namespace edgewise

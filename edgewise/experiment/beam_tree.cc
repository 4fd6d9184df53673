// SPDX-License-Identifier: Apache-2.0
#include "edgewise/experiment/beam_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/translate/runtime_scorers.h"
#include "edgewise/translate/translator.h"

namespace edgewise {
namespace {

/// A node of the search's tree, and what the model said may follow it.
struct AskedNode {
  std::int64_t parent = -1;
  std::int64_t token = 0;
  std::map<std::int64_t, double> followers = {};  // log-probabilities of the likeliest, and of those asked for
};

/// Passes everything on, and remembers it. Of one sentence, whose nodes come in the order of their numbers.
class RememberingScorer : public Scorer {
 public:
  RememberingScorer(std::unique_ptr<Scorer> scorer, std::vector<AskedNode>& nodes)
      : scorer_(std::move(scorer)), nodes_(nodes) {}

  std::int64_t vocabulary_size() const override { return scorer_->vocabulary_size(); }

  void read(std::span<const std::int64_t> places, std::span<const Tokens> inputs) override {
    scorer_->read(places, inputs);
  }

  void step(const StepRequest& request, StepResult& result) override {
    scorer_->step(request, result);
    const auto first = nodes_.size();
    for (const NewNode& node : request.nodes) nodes_.push_back({.parent = node.parent, .token = node.token});
    const auto count = static_cast<std::size_t>(request.num_candidates);
    for (std::size_t i = 0; i < result.candidates.size(); ++i) {
      const Candidate& candidate = result.candidates[i];
      if (candidate.token >= 0) nodes_[first + i / count].followers[candidate.token] = candidate.log_probability;
    }
    for (std::size_t i = 0; i < request.wanted.size(); ++i) {
      const Continuation& wanted = request.wanted[i];
      nodes_[first + static_cast<std::size_t>(wanted.row)].followers[wanted.token] = result.wanted[i];
    }
  }

 private:
  std::unique_ptr<Scorer> scorer_;
  std::vector<AskedNode>& nodes_;
};

/// A continuation that was not taken.
struct CutFollower {
  std::size_t parent = 0;
  std::int64_t token = 0;
  double log_probability = 0.0;
};

/// Turns what the scorer was asked into a drawing.
class TreeMaker {
 public:
  TreeMaker(const std::vector<AskedNode>& asked, const Vocabulary& vocabulary)
      : asked_(asked), vocabulary_(vocabulary), children_(asked.size()), depth_(asked.size()) {
    for (std::size_t i = 0; i < asked.size(); ++i) {
      DrawnHypothesis node = {.parent = asked[i].parent, .label = text_of(asked[i].token)};
      if (asked[i].parent >= 0) {
        const auto parent = static_cast<std::size_t>(asked[i].parent);
        node.log_probability = drawn_[parent].log_probability + log_probability(parent, asked[i].token);
        children_[parent][asked[i].token] = i;
        depth_[i] = depth_[parent] + 1;
      }
      drawn_.push_back(std::move(node));
    }
  }

  /// Outputs come best first.
  void add_output(const TranslatedText& output) {
    const bool is_best = num_outputs_++ == 0;
    const Fate fate = is_best ? Fate::kBest : Fate::kKept;
    std::size_t node = 0;
    keep(node, fate);
    for (const std::string& token : output.tokens) {
      const auto child = std::ranges::find_if(
          children_[node], [&](const auto& entry) { return vocabulary_.token_text(entry.first) == token; });
      if (child == children_[node].end()) return;
      node = child->second;
      keep(node, fate);
    }
    children_[node][kEndToken] = drawn_.size();
    drawn_.push_back({.parent = static_cast<std::int64_t>(node),
                      .label = text_of(kEndToken),
                      .log_probability = output.log_probability,
                      .score = output.score,
                      .fate = is_best ? Fate::kBest : Fate::kEnded});
  }

  /// The likeliest of each step that were not taken.
  void add_cut(std::size_t most) {
    std::map<std::size_t, std::vector<CutFollower>> by_depth;
    for (std::size_t i = 0; i < asked_.size(); ++i) {
      for (const auto& [token, log_probability] : asked_[i].followers) {
        if (children_[i].contains(token)) continue;
        by_depth[depth_[i]].push_back({i, token, drawn_[i].log_probability + log_probability});
      }
    }
    for (auto& [depth, cut] : by_depth) {
      std::ranges::stable_sort(cut, std::greater<>(), &CutFollower::log_probability);
      if (cut.size() > most) cut.resize(most);
      for (const CutFollower& follower : cut) {
        drawn_.push_back({.parent = static_cast<std::int64_t>(follower.parent),
                          .label = text_of(follower.token),
                          .log_probability = follower.log_probability});
      }
    }
  }

  std::vector<DrawnHypothesis> take() { return std::move(drawn_); }

 private:
  std::string text_of(std::int64_t token) const { return std::string(vocabulary_.token_text(token)); }

  double log_probability(std::size_t node, std::int64_t token) const {
    const auto found = asked_[node].followers.find(token);
    return found == asked_[node].followers.end() ? 0.0 : found->second;
  }

  void keep(std::size_t node, Fate fate) {
    if (drawn_[node].fate == Fate::kCut) drawn_[node].fate = fate;
  }

  const std::vector<AskedNode>& asked_;
  const Vocabulary& vocabulary_;
  std::vector<std::map<std::int64_t, std::size_t>> children_;
  std::vector<std::size_t> depth_;
  std::vector<DrawnHypothesis> drawn_;
  std::size_t num_outputs_ = 0;
};

/// What a search of one sentence asks goes in one piece, or its tree is not one.
void check_length(const Coding& coding, const std::string& sentence, std::string_view caller) {
  const std::int64_t tokens = std::ssize(coding.vocabularies.input->encode(sentence));
  check(tokens > 0, "{}: input has no tokens, needs at least one", caller);
  check(coding.max_input == 0 || tokens <= coding.max_input,
        "{}: input has {} tokens, needs at most {}, as the model was trained with", caller, tokens, coding.max_input);
}

}  // namespace

TreeDrawing beam_tree(ModelFiles model, const std::string& sentence, const BeamTreeOptions& options,
                      std::string_view caller) {
  const Coding coding = coding_of(model);
  check_length(coding, sentence, caller);
  TranslatorOptions translating;
  translating.search = model.experiment.search;
  translating.search.kind = SearchKind::kBeam;
  translating.search.beam = translating.search.n_best = options.beam;

  std::vector<AskedNode> asked;
  const Translator::MakeScorer make = open_runtime_scorers(std::move(model), {});
  Translator translator(
      coding, [&] { return std::make_unique<RememberingScorer>(make(), asked); }, translating);
  const Translation translation = translator.translate(sentence);

  TreeMaker maker(asked, *coding.vocabularies.output);
  for (const TranslatedText& output : translation.outputs) maker.add_output(output);
  maker.add_cut(static_cast<std::size_t>(options.cut));
  return {.title = fmt::format("Beam of {}: {}", options.beam, sentence), .nodes = maker.take()};
}

}  // namespace edgewise

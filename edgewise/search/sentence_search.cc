// SPDX-License-Identifier: Apache-2.0
#include "edgewise/search/sentence_search.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "edgewise/base/error.h"

namespace edgewise {
namespace {

/// Returns the distinct tokens in ascending order.
Tokens sort_unique(Tokens tokens) {
  std::ranges::sort(tokens);
  tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
  return tokens;
}

/// Returns the tokens that would complete an n-gram of `size` tokens that `produced` already contains; distinct,
/// ascending. Costs O(length · size).
Tokens repeating_tokens(std::span<const std::int64_t> produced, std::int64_t size) {
  const auto context_size = static_cast<std::size_t>(size - 1);
  if (produced.size() <= context_size) return {};
  const auto context = produced.last(context_size);
  Tokens ends;
  for (std::size_t begin = 0; begin + context_size < produced.size(); ++begin) {
    if (std::ranges::equal(produced.subspan(begin, context_size), context))
      ends.push_back(produced[begin + context_size]);
  }
  return sort_unique(std::move(ends));
}

}  // namespace

SentenceSearch::SentenceSearch(const SearchRules& rules, std::int64_t slot, SearchInput input)
    : rules_(rules), slot_(slot), input_(std::move(input)) {
  const auto input_length = static_cast<std::int64_t>(input_.tokens.size());
  const auto prefix_length = static_cast<std::int64_t>(input_.prefix.size());
  longest_ = rules.options().kind == SearchKind::kScoring ? prefix_length
                                                          : std::max(rules.longest_output(input_length), prefix_length);
  shortest_ = rules.shortest_output(input_length);
  add_first_nodes();
}

/// Adds the begin token and the prefix as one chain of nodes. Hypotheses begin at its last node: one, or n_best
/// samples.
void SentenceSearch::add_first_nodes() {
  NodeIndex node = tree_.grow(0, HypothesisTree::kRoot, rules_.options().begin_token);
  for (const std::int64_t token : input_.prefix) node = tree_.grow(0, node, token);
  const bool draws = rules_.options().kind == SearchKind::kSampling;
  const std::int64_t count = draws ? rules_.options().n_best : 1;
  const std::uint64_t seed = mix(rules_.options().seed, static_cast<std::uint64_t>(input_.id));
  for (std::int64_t i = 0; i < count; ++i) {
    active_.push_back({node, 0.0, RandomStream(seed, static_cast<std::uint64_t>(i))});
  }
}

// --- requests

void SentenceSearch::add_requests(Step& step) {
  first_row_ = step.nodes.size();
  first_weight_ = step.num_weights;
  wanted_begin_.clear();
  for (NodeIndex node = first_node_; node < tree_.num_nodes(); ++node) {
    step.nodes.push_back({slot_, tree_.parent(node), tree_.token(node)});
    step.num_weights += input_.tokens.size();
    wanted_begin_.push_back(step.wanted.size());
    request_continuations(node, step);
  }
  wanted_begin_.push_back(step.wanted.size());
}

void SentenceSearch::request_continuations(NodeIndex node, Step& step) {
  if (is_forced(node)) {
    request_token(input_.prefix[static_cast<std::size_t>(tree_.depth(node))], step);
  } else if (must_end(node)) {
    request_token(rules_.options().end_token, step);
  } else {
    request_restricted(node, step);
  }
}

void SentenceSearch::request_token(std::int64_t token, Step& step) const {
  step.wanted.push_back({static_cast<std::int64_t>(step.nodes.size()) - 1, token});
}

bool SentenceSearch::must_end(NodeIndex node) const { return tree_.depth(node) >= longest_; }

/// Excludes repetitions and an early end token from the candidates. Requests log-probabilities of excluded tokens that
/// may still follow: those with a repetition penalty, and the end token, which follows if no other token may.
void SentenceSearch::request_restricted(NodeIndex node, Step& step) const {
  const SearchOptions& options = rules_.options();
  Tokens produced;
  if (options.no_repeat_ngram > 0 || options.repetition_penalty != 1) {
    produced = tree_.path(node);
    produced.erase(produced.begin());
  }
  Tokens forbidden;
  if (options.no_repeat_ngram > 0) forbidden = repeating_tokens(produced, options.no_repeat_ngram);
  Tokens excluded = forbidden;
  if (options.repetition_penalty != 1) excluded.insert(excluded.end(), produced.begin(), produced.end());
  // A prefix may contain the end token, which may follow nevertheless.
  std::erase(forbidden, options.end_token);
  std::erase(excluded, options.end_token);
  if (tree_.depth(node) < shortest_) excluded.push_back(options.end_token);
  const auto row = static_cast<std::int64_t>(step.nodes.size()) - 1;
  for (const std::int64_t token : sort_unique(std::move(excluded))) {
    step.excluded.push_back({row, token});
    const bool is_forbidden = std::ranges::binary_search(forbidden, token);
    if (!is_forbidden && rules_.allowed()[token] != 0) request_token(token, step);
  }
}

// --- results

void SentenceSearch::advance(const Step& step) {
  store_attention(step);
  store_ponder_steps(step);
  add_prefix_score(step);
  extend(choose(step));
}

void SentenceSearch::store_attention(const Step& step) {
  if (!rules_.needs_attention()) return;
  const std::size_t rows = wanted_begin_.size() - 1;
  const auto begin = step.result.attention.begin() + static_cast<std::ptrdiff_t>(first_weight_);
  attention_.insert(attention_.end(), begin, begin + static_cast<std::ptrdiff_t>(rows * input_.tokens.size()));
}

void SentenceSearch::store_ponder_steps(const Step& step) {
  if (step.result.ponder_steps.empty()) return;
  const auto begin = step.result.ponder_steps.begin() + static_cast<std::ptrdiff_t>(first_row_);
  ponder_steps_.insert(ponder_steps_.end(), begin, begin + static_cast<std::ptrdiff_t>(wanted_begin_.size()) - 1);
}

void SentenceSearch::add_prefix_score(const Step& step) {
  double log_probability = 0.0;
  for (NodeIndex node = first_node_; node < tree_.num_nodes() && is_forced(node); ++node) {
    const std::size_t wanted = wanted_begin_[static_cast<std::size_t>(node - first_node_)];
    log_probability += check_log_probability(step.result.wanted[wanted], node, step.wanted[wanted].token);
  }
  for (ActiveHypothesis& hypothesis : active_) hypothesis.log_probability += log_probability;
}

/// Returns at least one token: the end token if no other may follow. Throws Error if the scorer gave no candidate, as
/// scorers do when all log-probabilities are NaN.
std::vector<NextToken> SentenceSearch::next_tokens(NodeIndex node, const Step& step) const {
  std::vector<NextToken> next;
  if (!must_end(node)) add_candidates(node, step, next);
  const auto index = static_cast<std::size_t>(node - first_node_);
  for (std::size_t i = wanted_begin_[index]; i < wanted_begin_[index + 1]; ++i) {
    const std::int64_t token = step.wanted[i].token;
    const double log_probability = check_log_probability(step.result.wanted[i], node, token);
    if (token == rules_.options().end_token) continue;
    next.push_back({token, log_probability * rules_.options().repetition_penalty});
  }
  if (!next.empty()) return next;
  for (std::size_t i = wanted_begin_[index]; i < wanted_begin_[index + 1]; ++i) {
    const std::int64_t token = step.wanted[i].token;
    if (token == rules_.options().end_token)
      next.push_back({token, check_log_probability(step.result.wanted[i], node, token)});
  }
  check(!next.empty(),
        "search: the scorer gave no continuation of {} tokens, needs one; the model computes infinite numbers or NaN",
        tree_.depth(node));
  return next;
}

void SentenceSearch::add_candidates(NodeIndex node, const Step& step, std::vector<NextToken>& next) const {
  const std::size_t row = row_of(node);
  if (!rules_.needs_all_continuations()) {
    const auto count = static_cast<std::size_t>(rules_.num_candidates());
    for (const Candidate& candidate : std::span(step.result.candidates).subspan(row * count, count)) {
      if (candidate.token < 0) break;
      next.push_back({candidate.token, check_log_probability(candidate.log_probability, node, candidate.token)});
    }
    return;
  }
  const auto vocabulary = static_cast<std::size_t>(rules_.vocabulary_size());
  const auto all = std::span(step.result.log_probabilities).subspan(row * vocabulary, vocabulary);
  auto excluded = std::ranges::lower_bound(step.excluded, static_cast<std::int64_t>(row), {}, &Continuation::row);
  for (std::size_t token = 0; token < vocabulary; ++token) {
    const auto number = static_cast<std::int64_t>(token);
    const bool is_excluded =
        excluded != step.excluded.end() && excluded->row == static_cast<std::int64_t>(row) && excluded->token == number;
    if (is_excluded) ++excluded;
    if (is_excluded || rules_.allowed()[token] == 0) continue;
    next.push_back({number, check_log_probability(all[token], node, number)});
  }
}

double SentenceSearch::check_log_probability(float log_probability, NodeIndex node, std::int64_t token) const {
  // Rounding may make the logarithm of a probability near 1 positive; can_stop relies on at most 0.
  constexpr float kRounding = 1e-4f;
  if (!(log_probability <= kRounding)) {
    fail("search: the scorer gave {} for token {} after {} tokens, a log-probability of at most 0 is needed",
         log_probability, token, tree_.depth(node));
  }
  return std::min(log_probability, 0.0f);
}

// --- extending hypotheses

std::vector<Extension> SentenceSearch::choose(const Step& step) {
  const SearchOptions& options = rules_.options();
  const bool draws = options.kind == SearchKind::kSampling;
  BestExtensions best(draws ? active_.size() : static_cast<std::size_t>(options.beam) - finished_.size());
  for (std::size_t parent = 0; parent < active_.size(); ++parent) {
    ActiveHypothesis& hypothesis = active_[parent];
    std::vector<NextToken> next = next_tokens(hypothesis.node, step);
    if (draws) next = {sample_token(std::move(next), options, hypothesis.random)};
    for (const NextToken& token : next) {
      best.add({parent, token, hypothesis.log_probability + token.log_probability});
    }
  }
  return best.take();
}

void SentenceSearch::extend(const std::vector<Extension>& extensions) {
  std::vector<ActiveHypothesis> extended;
  for (const Extension& extension : extensions) {
    const ActiveHypothesis& parent = active_[extension.parent];
    if (extension.next.token == rules_.options().end_token) {
      finish(parent.node, extension.log_probability);
    } else {
      extended.push_back({parent.node, extension.log_probability, parent.random});
    }
  }
  first_node_ = static_cast<NodeIndex>(tree_.num_nodes());
  active_.clear();
  if (can_stop(extended)) return;
  auto next = extended.begin();
  for (const Extension& extension : extensions) {
    if (extension.next.token == rules_.options().end_token) continue;
    next->node = tree_.grow(0, next->node, extension.next.token);
    ++next;
  }
  active_ = std::move(extended);
}

void SentenceSearch::finish(NodeIndex node, double log_probability) {
  Hypothesis hypothesis;
  hypothesis.tokens = tree_.path(node);
  hypothesis.tokens.erase(hypothesis.tokens.begin());
  hypothesis.log_probability = log_probability;
  hypothesis.score = rules_.score(log_probability, tree_.depth(node) + 1) + coverage_penalty_of(node);
  if (rules_.options().attention) hypothesis.attention = attention_of(node);
  if (!ponder_steps_.empty()) hypothesis.ponder_steps = ponder_steps_of(node);
  // Inserts after hypotheses of equal score: the earlier hypothesis wins.
  const auto position = std::upper_bound(finished_.begin(), finished_.end(), hypothesis,
                                         [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
  finished_.insert(position, std::move(hypothesis));
}

double SentenceSearch::coverage_penalty_of(NodeIndex node) const {
  if (rules_.options().coverage_penalty == 0) return 0;
  const std::size_t inputs = input_.tokens.size();
  std::vector<double> weights(inputs, 0.0);
  for (; node != HypothesisTree::kRoot; node = tree_.parent(node)) {
    for (std::size_t i = 0; i < inputs; ++i) weights[i] += attention_[static_cast<std::size_t>(node) * inputs + i];
  }
  return rules_.coverage_penalty(weights);
}

std::vector<float> SentenceSearch::attention_of(NodeIndex node) const {
  const auto inputs = static_cast<std::ptrdiff_t>(input_.tokens.size());
  std::vector<float> weights(static_cast<std::size_t>(inputs) * (static_cast<std::size_t>(tree_.depth(node)) + 1));
  for (auto row = weights.end(); node != HypothesisTree::kRoot; node = tree_.parent(node)) {
    row -= inputs;
    std::copy_n(attention_.begin() + node * inputs, inputs, row);
  }
  return weights;
}

std::vector<std::int64_t> SentenceSearch::ponder_steps_of(NodeIndex node) const {
  std::vector<std::int64_t> steps(static_cast<std::size_t>(tree_.depth(node)) + 1);
  for (auto next = steps.rbegin(); node != HypothesisTree::kRoot; node = tree_.parent(node)) {
    *next++ = ponder_steps_[static_cast<std::size_t>(node)];
  }
  return steps;
}

/// Returns whether no active hypothesis can become one of the n_best. The upper bound of its score: log-probabilities
/// only fall, the divisor is largest for the longest output, and a coverage penalty is at most 0. A hypothesis that can
/// only reach an equal score ranks behind the finished one.
bool SentenceSearch::can_stop(const std::vector<ActiveHypothesis>& extended) const {
  const SearchOptions& options = rules_.options();
  if (extended.empty()) return true;
  if (options.kind != SearchKind::kBeam || !options.early_stop) return false;
  if (static_cast<std::int64_t>(finished_.size()) < options.n_best) return false;
  const double worst_result = finished_[static_cast<std::size_t>(options.n_best) - 1].score;
  return worst_result >= rules_.score(extended.front().log_probability, longest_ + 1);
}

std::vector<Hypothesis> SentenceSearch::take_results() {
  const auto n_best = static_cast<std::size_t>(rules_.options().n_best);
  if (finished_.size() > n_best) finished_.resize(n_best);
  return std::move(finished_);
}

}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#include "edgewise/search/sentence_search.h"

#include <algorithm>
#include <iterator>

#include "edgewise/base/error.h"

namespace edgewise {

SentenceSearch::SentenceSearch(const SearchRules& rules, std::int64_t slot, SearchInput input)
    : rules_(rules), slot_(slot), input_(std::move(input)) {
  n_best_ = rules.options().n_best;
  if (input_.n_best > 0) n_best_ = std::min(n_best_, input_.n_best);
  const auto input_length = static_cast<std::int64_t>(input_.tokens.size());
  longest_ = rules.options().kind == SearchKind::kScoring
                 ? num_first_tokens()
                 : std::max(rules.longest_output(input_length), num_first_tokens());
  shortest_ = rules.shortest_output(input_length);
  if (avoids_loops(rules.options())) limits_ = copy_limits(input_.tokens);
  add_first_nodes();
}

// --- loops

bool SentenceSearch::needs_restart() const {
  if (!avoids_loops(rules_.options()) || is_restarted_) return false;
  if (active_.empty()) return contains_loop(finished_.front().tokens);
  const auto is_loop = [this](const ActiveHypothesis& hypothesis) { return contains_loop(hypothesis.node); };
  return !has_output_ && std::ranges::all_of(active_, is_loop);
}

void SentenceSearch::restart() {
  is_restarted_ = true;
  tree_ = HypothesisTree();
  attention_.clear();
  ponder_steps_.clear();
  active_.clear();
  finished_.clear();
  first_node_ = 0;
  add_first_nodes();
}

bool SentenceSearch::contains_loop(std::span<const std::int64_t> tokens) const {
  const auto first = static_cast<std::size_t>(num_first_tokens());
  for (std::size_t size = first; size <= tokens.size(); ++size) {
    if (ends_with_loop(tokens.subspan(first, size - first), limits_)) return true;
  }
  return false;
}

/// Notes whether the hypothesis at a new node contains a loop after its first tokens.
void SentenceSearch::find_loop(NodeIndex node) {
  if (!avoids_loops(rules_.options()) || is_restarted_) return;
  bool has_loop = has_loop_[static_cast<std::size_t>(tree_.parent(node))];
  if (!has_loop) {
    const std::vector<std::int64_t> path = tree_.path(node);
    has_loop = ends_with_loop(std::span(path).subspan(static_cast<std::size_t>(1 + num_first_tokens())), limits_);
  }
  has_loop_.push_back(has_loop);
}

/// Adds the begin token and the first tokens of the output as one chain of nodes. Hypotheses begin at its last node:
/// one, or n_best samples.
void SentenceSearch::add_first_nodes() {
  NodeIndex node = tree_.grow(0, HypothesisTree::kRoot, rules_.options().begin_token);
  for (const std::int64_t token : input_.forced) node = tree_.grow(0, node, token);
  for (const std::int64_t token : input_.prefix) node = tree_.grow(0, node, token);
  has_loop_.assign(static_cast<std::size_t>(tree_.num_nodes()), false);
  const bool draws = rules_.options().kind == SearchKind::kSampling;
  const std::int64_t count = draws ? n_best_ : 1;
  const std::uint64_t seed = mix(rules_.options().seed, static_cast<std::uint64_t>(input_.id));
  for (std::int64_t i = 0; i < count; ++i) {
    active_.push_back({node, 0.0, RandomStream(seed, static_cast<std::uint64_t>(i))});
  }
}

/// Returns whether the token after a node is in a prefix whose log-probability counts.
bool SentenceSearch::has_scored_next_token(NodeIndex node) const {
  return rules_.conventions().counts_prefix && has_next_first_token(node) &&
         tree_.depth(node) >= std::ssize(input_.forced);
}

/// Returns the length in the score of a hypothesis of `length` tokens, last one included. In generate(), a prefix is a
/// part of decoder_input_ids, to which the forced token then belongs.
std::int64_t SentenceSearch::scored_length(std::int64_t length) const {
  return rules_.conventions().counts_prefix || input_.prefix.empty() ? length : length - num_first_tokens();
}

// --- requests

void SentenceSearch::add_requests(Step& step) {
  first_row_ = step.nodes.size();
  first_weight_ = step.num_weights;
  step.attention = step.attention || needs_attention();
  requests_.clear();
  for (NodeIndex node = first_node_; node < tree_.num_nodes(); ++node) {
    step.nodes.push_back({slot_, tree_.parent(node), tree_.token(node)});
    step.num_weights += input_.tokens.size();
    requests_.push_back({step.wanted.size(), 0, {}});
    request_continuations(node, step);
  }
}

void SentenceSearch::request_continuations(NodeIndex node, Step& step) {
  const std::int64_t row = std::ssize(step.nodes) - 1;
  if (has_next_first_token(node)) {
    if (!has_scored_next_token(node)) return;
    step.wanted.push_back(
        {row, input_.prefix[static_cast<std::size_t>(tree_.depth(node) - std::ssize(input_.forced))]});
  } else if (!is_at_limit(node) || rules_.conventions().last_token == LastToken::kAny) {
    request_restricted(node, step);
  } else if (rules_.conventions().last_token == LastToken::kEnd) {
    step.wanted.push_back({row, rules_.options().end_token});
  }
}

/// Excludes the restricted tokens from the candidates, and requests the log-probabilities of those that are needed.
void SentenceSearch::request_restricted(NodeIndex node, Step& step) {
  const SearchOptions& options = rules_.options();
  const PathLimits limits = {.is_too_short = tree_.depth(node) < shortest_,
                             .most_copies = is_restarted_ ? limits_.copying : 0,
                             .once = input_.once};
  const bool needs_path = options.no_repeat_ngram > 0 || options.repetition_penalty != 1 || is_restarted_ ||
                          !limits.once.empty() || limits.is_too_short || rules_.conventions().renormalizes;
  if (!needs_path) return;
  const std::int64_t row = std::ssize(step.nodes) - 1;
  NodeRequest& request = requests_.back();
  for (const RestrictedToken& restricted : restricted_tokens(rules_, tree_.path(node), limits)) {
    if (rules_.allowed()[restricted.token] != 0) {
      step.excluded.push_back({row, restricted.token});
      ++request.num_excluded;
    }
    if (!is_needed(restricted, rules_)) continue;
    step.wanted.push_back({row, restricted.token});
    request.needed.push_back(restricted);
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
  if (!needs_attention()) return;
  const auto begin = step.result.attention.begin() + static_cast<std::ptrdiff_t>(first_weight_);
  attention_.insert(attention_.end(), begin,
                    begin + static_cast<std::ptrdiff_t>(requests_.size() * input_.tokens.size()));
}

void SentenceSearch::store_ponder_steps(const Step& step) {
  if (step.result.ponder_steps.empty()) return;
  const auto begin = step.result.ponder_steps.begin() + static_cast<std::ptrdiff_t>(first_row_);
  ponder_steps_.insert(ponder_steps_.end(), begin, begin + std::ssize(requests_));
}

void SentenceSearch::add_prefix_score(const Step& step) {
  double log_probability = 0.0;
  for (NodeIndex node = first_node_; node < tree_.num_nodes() && has_next_first_token(node); ++node) {
    if (!has_scored_next_token(node)) continue;
    const double of_token = wanted_log_probability(node, 0, step);
    const bool counts = !std::isinf(of_token) || rules_.options().kind == SearchKind::kScoring;
    if (counts) log_probability += of_token;
  }
  for (ActiveHypothesis& hypothesis : active_) hypothesis.log_probability += log_probability;
}

std::vector<NextToken> SentenceSearch::next_tokens(NodeIndex node, const Step& step) const {
  const LastToken last = rules_.conventions().last_token;
  if (is_at_limit(node) && last != LastToken::kAny) {
    const bool is_forced = last == LastToken::kForcedEnd;
    return {{rules_.options().end_token, is_forced ? 0.0 : wanted_log_probability(node, 0, step)}};
  }
  const NodeRequest& request = request_of(node);
  std::vector<double> log_probabilities;
  for (std::size_t i = 0; i < request.needed.size(); ++i) {
    log_probabilities.push_back(wanted_log_probability(node, i, step));
  }
  return apply_restrictions(unrestricted_tokens(node, step), request.needed, log_probabilities, rules_);
}

std::vector<NextToken> SentenceSearch::unrestricted_tokens(NodeIndex node, const Step& step) const {
  const std::size_t row = row_of(node);
  std::vector<NextToken> next;
  if (!rules_.needs_all_continuations()) {
    const auto count = static_cast<std::size_t>(rules_.num_candidates());
    for (const Candidate& candidate : std::span(step.result.candidates).subspan(row * count, count)) {
      if (candidate.token < 0) break;
      next.push_back({candidate.token, check_log_probability(candidate.log_probability, node, candidate.token)});
    }
    const auto num_allowed = static_cast<std::size_t>(rules_.vocabulary_size() - std::ssize(rules_.forbidden()));
    // A scorer with a shortlist has no candidate if all tokens that it selects are excluded. The end token, which is
    // one of them, is then a needed continuation, whose log-probability next_tokens() has checked.
    const NodeRequest& request = request_of(node);
    check(!next.empty() || request.num_excluded == num_allowed || !request.needed.empty(),
          "search: the scorer gave no continuation of {} tokens, needs one; the model computes infinite numbers or NaN",
          tree_.depth(node));
    return next;
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
  return next;
}

/// Returns the log-probability of a node's wanted continuation number `index`.
double SentenceSearch::wanted_log_probability(NodeIndex node, std::size_t index, const Step& step) const {
  const std::size_t wanted = request_of(node).first_wanted + index;
  return check_log_probability(step.result.wanted[wanted], node, step.wanted[wanted].token);
}

double SentenceSearch::check_log_probability(float log_probability, NodeIndex node, std::int64_t token) const {
  // Rounding may make the logarithm of a probability near 1 positive; can_stop relies on at most 0.
  constexpr float kRounding = 1e-4f;
  if (!(log_probability <= kRounding)) {
    fail("search: the scorer gave {} for token {} after {} tokens, needs a log-probability of at most 0",
         log_probability, token, tree_.depth(node));
  }
  return std::min(log_probability, 0.0f);
}

// --- extending hypotheses

std::vector<Extension> SentenceSearch::choose(const Step& step) {
  const SearchOptions& options = rules_.options();
  const bool draws = options.kind == SearchKind::kSampling;
  BestExtensions best(draws ? active_.size() : rules_.num_ranked(finished_.size()));
  for (std::size_t parent = 0; parent < active_.size(); ++parent) {
    ActiveHypothesis& hypothesis = active_[parent];
    std::vector<NextToken> next = next_tokens(hypothesis.node, step);
    if (draws) next = {sample_token(std::move(next), sampling_options(options), hypothesis.random)};
    for (const NextToken& token : next) {
      best.add({parent, token, hypothesis.log_probability + token.log_probability});
    }
  }
  return best.take();
}

void SentenceSearch::extend(std::vector<Extension> best) {
  const KeptExtensions kept = rules_.keep(std::move(best), is_at_limit(active_.front().node));
  for (const Extension& extension : kept.finished) finish(extension);
  if (kept.active.empty() && finished_.empty()) {
    // No token may follow any hypothesis: the sentence needs an output nevertheless.
    for (std::size_t i = 0; i < active_.size(); ++i) {
      finish({i, {rules_.options().end_token, 0.0}, active_[i].log_probability});
    }
  }
  const bool stops = kept.active.empty() || can_stop(kept.active);
  grow(stops ? std::vector<Extension>() : kept.active);
}

/// Replaces the active hypotheses by their extensions.
void SentenceSearch::grow(const std::vector<Extension>& extensions) {
  first_node_ = static_cast<NodeIndex>(tree_.num_nodes());
  std::vector<ActiveHypothesis> extended;
  for (const Extension& extension : extensions) {
    const ActiveHypothesis& parent = active_[extension.parent];
    const NodeIndex node = tree_.grow(0, parent.node, extension.next.token);
    find_loop(node);
    extended.push_back({node, extension.log_probability, parent.random});
  }
  active_ = std::move(extended);
}

void SentenceSearch::finish(const Extension& extension) {
  const NodeIndex node = active_[extension.parent].node;
  has_output_ = has_output_ || !contains_loop(node);
  Hypothesis hypothesis;
  hypothesis.tokens = tree_.path(node);
  hypothesis.tokens.erase(hypothesis.tokens.begin());
  if (extension.next.token != rules_.options().end_token) hypothesis.tokens.push_back(extension.next.token);
  const std::size_t predicted = hypothesis.tokens.size() + 1;
  hypothesis.log_probability = extension.log_probability;
  hypothesis.score =
      rules_.score(extension.log_probability, scored_length(tree_.depth(node) + 1)) + coverage_penalty_of(node);
  if (returns_attention()) {
    hypothesis.attention = attention_of(node);
    hypothesis.attention.resize(predicted * input_.tokens.size());
  }
  if (!ponder_steps_.empty()) {
    hypothesis.ponder_steps = ponder_steps_of(node);
    hypothesis.ponder_steps.resize(predicted);
  }
  // Inserts after hypotheses of equal score: the earlier hypothesis wins.
  const auto position = std::upper_bound(finished_.begin(), finished_.end(), hypothesis,
                                         [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
  finished_.insert(position, std::move(hypothesis));
  const std::int64_t most = std::max(rules_.options().beam, n_best_);
  if (std::ssize(finished_) > most) finished_.pop_back();
}

double SentenceSearch::coverage_penalty_of(NodeIndex node) const {
  if (rules_.conventions().coverage_penalty == 0) return 0;
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

bool SentenceSearch::can_stop(const std::vector<Extension>& active) const {
  const std::int64_t length = tree_.depth(active_.front().node) + 1;
  return rules_.is_done({.finished = finished_,
                         .n_best = static_cast<std::size_t>(n_best_),
                         .best_log_probability = active.front().log_probability,
                         .length = scored_length(length),
                         .longest = scored_length(longest_ + 1)});
}

std::vector<Hypothesis> SentenceSearch::take_results() {
  if (std::ssize(finished_) > n_best_) finished_.resize(static_cast<std::size_t>(n_best_));
  return std::move(finished_);
}

}  // namespace edgewise

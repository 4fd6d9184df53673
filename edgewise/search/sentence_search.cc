// SPDX-License-Identifier: Apache-2.0
#include "edgewise/search/sentence_search.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "edgewise/base/error.h"
#include "edgewise/search/repeats.h"

namespace edgewise {

SentenceSearch::SentenceSearch(const Rules& rules, std::int64_t place, SearchInput input)
    : rules_(rules), place_(place), input_(std::move(input)) {
  const auto input_length = static_cast<std::int64_t>(input_.tokens.size());
  const auto prefix_length = static_cast<std::int64_t>(input_.prefix.size());
  longest_ = rules.options().kind == SearchKind::kScoring ? prefix_length
                                                          : std::max(rules.longest_output(input_length), prefix_length);
  shortest_ = rules.shortest_output(input_length);
  plant();
}

/// The begin token and the prefix: one chain, of which the last is alive; of samples, so many hypotheses begin there.
void SentenceSearch::plant() {
  NodeIndex node = tree_.grow(0, HypothesisTree::kRoot, rules_.options().begin_token);
  for (const std::int64_t token : input_.prefix) node = tree_.grow(0, node, token);
  const bool draws = rules_.options().kind == SearchKind::kSampling;
  const std::int64_t count = draws ? rules_.options().n_best : 1;
  const std::uint64_t seed = mix(rules_.options().seed, static_cast<std::uint64_t>(input_.id));
  for (std::int64_t i = 0; i < count; ++i) {
    living_.push_back({node, 0.0, RandomStream(seed, static_cast<std::uint64_t>(i))});
  }
}

// --- asking

void SentenceSearch::ask(Step& step) {
  first_row_ = step.nodes.size();
  first_weight_ = step.num_weights;
  wanted_begin_.clear();
  for (NodeIndex node = first_node_; node < tree_.num_nodes(); ++node) {
    step.nodes.push_back({place_, tree_.parent(node), tree_.token(node)});
    step.num_weights += input_.tokens.size();
    wanted_begin_.push_back(step.wanted.size());
    ask_about(node, step);
  }
  wanted_begin_.push_back(step.wanted.size());
}

void SentenceSearch::ask_about(NodeIndex node, Step& step) {
  if (is_forced(node)) {
    want(input_.prefix[static_cast<std::size_t>(tree_.depth(node))], step);
  } else if (must_end(node)) {
    want(rules_.options().end_token, step);
  } else {
    restrict_repeats(node, step);
  }
}

void SentenceSearch::want(std::int64_t token, Step& step) const {
  step.wanted.push_back({static_cast<std::int64_t>(step.nodes.size()) - 1, token});
}

bool SentenceSearch::must_end(NodeIndex node) const { return tree_.depth(node) >= longest_; }

/// Tokens whose log-probability is penalised are no candidates, but wanted beside those. The end token, where it may
/// not follow yet, is wanted too: it ends what cannot go on.
void SentenceSearch::restrict_repeats(NodeIndex node, Step& step) const {
  const SearchOptions& options = rules_.options();
  Tokens produced;
  if (options.no_repeat_ngram > 0 || options.repetition_penalty != 1) {
    produced = tree_.path(node);
    produced.erase(produced.begin());
  }
  Tokens forbidden;
  if (options.no_repeat_ngram > 0) forbidden = ends_of_repeats(produced, options.no_repeat_ngram);
  const bool is_too_short = tree_.depth(node) < shortest_;
  const Tokens penalised = options.repetition_penalty != 1 ? different_tokens(produced) : Tokens();

  Tokens excluded = forbidden;
  excluded.insert(excluded.end(), penalised.begin(), penalised.end());
  if (is_too_short) excluded.push_back(options.end_token);
  const auto row = static_cast<std::int64_t>(step.nodes.size()) - 1;
  for (const std::int64_t token : different_tokens(excluded)) {
    step.excluded.push_back({row, token});
    const bool is_forbidden = std::ranges::binary_search(forbidden, token) && token != options.end_token;
    if (!is_forbidden && rules_.allowed()[token] != 0) want(token, step);
  }
}

// --- reading the answer

void SentenceSearch::advance(const Step& step) {
  read_attention(step);
  read_steps(step);
  follow_prefix(step);
  take(choose(step));
}

void SentenceSearch::read_attention(const Step& step) {
  if (!rules_.needs_attention()) return;
  const std::size_t rows = wanted_begin_.size() - 1;
  const auto begin = step.result.attention.begin() + static_cast<std::ptrdiff_t>(first_weight_);
  attention_.insert(attention_.end(), begin, begin + static_cast<std::ptrdiff_t>(rows * input_.tokens.size()));
}

void SentenceSearch::read_steps(const Step& step) {
  if (step.result.steps.empty()) return;
  const auto begin = step.result.steps.begin() + static_cast<std::ptrdiff_t>(first_row_);
  steps_.insert(steps_.end(), begin, begin + static_cast<std::ptrdiff_t>(wanted_begin_.size()) - 1);
}

void SentenceSearch::follow_prefix(const Step& step) {
  double log_probability = 0.0;
  for (NodeIndex node = first_node_; node < tree_.num_nodes() && is_forced(node); ++node) {
    const std::size_t wanted = wanted_begin_[static_cast<std::size_t>(node - first_node_)];
    log_probability += accepted(step.result.wanted[wanted], node, step.wanted[wanted].token);
  }
  for (Living& living : living_) living.log_probability += log_probability;
}

/// Never empty: where nothing may follow, the end token does.
std::vector<Follower> SentenceSearch::followers(NodeIndex node, const Step& step) const {
  std::vector<Follower> found;
  if (!must_end(node)) add_candidates(node, step, found);
  const auto index = static_cast<std::size_t>(node - first_node_);
  for (std::size_t i = wanted_begin_[index]; i < wanted_begin_[index + 1]; ++i) {
    const std::int64_t token = step.wanted[i].token;
    const double log_probability = accepted(step.result.wanted[i], node, token);
    if (token == rules_.options().end_token) continue;
    found.push_back({token, log_probability * rules_.options().repetition_penalty});
  }
  if (!found.empty()) return found;
  for (std::size_t i = wanted_begin_[index]; i < wanted_begin_[index + 1]; ++i) {
    const std::int64_t token = step.wanted[i].token;
    if (token == rules_.options().end_token) found.push_back({token, accepted(step.result.wanted[i], node, token)});
  }
  return found;
}

void SentenceSearch::add_candidates(NodeIndex node, const Step& step, std::vector<Follower>& found) const {
  const std::size_t row = row_of(node);
  if (!rules_.all_continuations()) {
    const auto count = static_cast<std::size_t>(rules_.num_candidates());
    for (const Candidate& candidate : std::span(step.result.candidates).subspan(row * count, count)) {
      if (candidate.token < 0) break;
      found.push_back({candidate.token, accepted(candidate.log_probability, node, candidate.token)});
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
    found.push_back({number, accepted(all[token], node, number)});
  }
}

double SentenceSearch::accepted(float log_probability, NodeIndex node, std::int64_t token) const {
  // The logarithm of a probability near 1 may be rounded to above 0; the bound that ends a search counts on at most 0.
  constexpr float kRounding = 1e-4f;
  if (!(log_probability <= kRounding)) {
    fail("search: the scorer gave {} for token {} after {} tokens, a log-probability of at most 0 is needed",
         log_probability, token, tree_.depth(node));
  }
  return std::min(log_probability, 0.0f);
}

// --- choosing

std::vector<Choice> SentenceSearch::choose(const Step& step) {
  const SearchOptions& options = rules_.options();
  const bool draws = options.kind == SearchKind::kSampling;
  BestChoices best(draws ? living_.size() : static_cast<std::size_t>(options.beam) - ended_.size());
  for (std::size_t parent = 0; parent < living_.size(); ++parent) {
    Living& living = living_[parent];
    std::vector<Follower> following = followers(living.node, step);
    if (draws) following = {draw(std::move(following), options, living.random)};
    for (const Follower& follower : following) {
      best.offer({parent, follower.token, living.log_probability + follower.log_probability});
    }
  }
  return best.take();
}

void SentenceSearch::take(const std::vector<Choice>& choices) {
  std::vector<Living> going_on;
  for (const Choice& choice : choices) {
    const Living& parent = living_[choice.parent];
    if (choice.token == rules_.options().end_token) {
      end(parent.node, choice.log_probability);
    } else {
      going_on.push_back({parent.node, choice.log_probability, parent.random});
    }
  }
  first_node_ = static_cast<NodeIndex>(tree_.num_nodes());
  const bool is_decided_now = is_decided(going_on);
  living_.clear();
  if (is_decided_now) return;
  auto next = going_on.begin();
  for (const Choice& choice : choices) {
    if (choice.token == rules_.options().end_token) continue;
    next->node = tree_.grow(0, next->node, choice.token);
    ++next;
  }
  living_ = std::move(going_on);
}

void SentenceSearch::end(NodeIndex node, double log_probability) {
  Hypothesis hypothesis;
  hypothesis.tokens = tree_.path(node);
  hypothesis.tokens.erase(hypothesis.tokens.begin());
  hypothesis.log_probability = log_probability;
  hypothesis.score = rules_.score(log_probability, tree_.depth(node) + 1) + coverage_of(node);
  if (rules_.options().attention) hypothesis.attention = attention_of(node);
  if (!steps_.empty()) hypothesis.steps = steps_of(node);
  // After its equals: the earlier hypothesis wins.
  const auto place = std::upper_bound(ended_.begin(), ended_.end(), hypothesis,
                                      [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
  ended_.insert(place, std::move(hypothesis));
}

double SentenceSearch::coverage_of(NodeIndex node) const {
  if (rules_.options().coverage_penalty == 0) return 0;
  const std::size_t inputs = input_.tokens.size();
  std::vector<double> weights(inputs, 0.0);
  for (; node != HypothesisTree::kRoot; node = tree_.parent(node)) {
    for (std::size_t i = 0; i < inputs; ++i) weights[i] += attention_[static_cast<std::size_t>(node) * inputs + i];
  }
  return rules_.coverage(weights);
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

std::vector<std::int64_t> SentenceSearch::steps_of(NodeIndex node) const {
  std::vector<std::int64_t> steps(static_cast<std::size_t>(tree_.depth(node)) + 1);
  for (auto next = steps.rbegin(); node != HypothesisTree::kRoot; node = tree_.parent(node)) {
    *next++ = steps_[static_cast<std::size_t>(node)];
  }
  return steps;
}

/// Whether none of those going on can get among the best that are wanted. A log-probability can only fall, is divided
/// by most at the longest output, and a coverage penalty is at most 0: that is the most that one can still be worth.
/// One that could only draw level comes after its equals.
bool SentenceSearch::is_decided(const std::vector<Living>& going_on) const {
  const SearchOptions& options = rules_.options();
  if (going_on.empty()) return true;
  if (options.kind != SearchKind::kBeam || !options.early_stop) return false;
  if (static_cast<std::int64_t>(ended_.size()) < options.n_best) return false;
  const double worst_wanted = ended_[static_cast<std::size_t>(options.n_best) - 1].score;
  return worst_wanted >= rules_.score(going_on.front().log_probability, longest_ + 1);
}

std::vector<Hypothesis> SentenceSearch::take_found() {
  const auto wanted = static_cast<std::size_t>(rules_.options().n_best);
  if (ended_.size() > wanted) ended_.resize(wanted);
  return std::move(ended_);
}

}  // namespace edgewise

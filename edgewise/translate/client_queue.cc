// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/client_queue.h"

#include <algorithm>
#include <iterator>

namespace edgewise {

bool ClientQueue::Call::can_hand_out() const {
  return !translated.empty() && (!options.keeps_order || *translated.begin() == sentences.begin()->first);
}

bool ClientQueue::Call::has_space_for(std::int64_t tokens) const {
  return sentences.empty() ||
         (std::ssize(sentences) < options.max_sentences && num_tokens + tokens <= options.max_tokens);
}

ClientQueue::SharedCall ClientQueue::make_call(CallOptions options) {
  auto call = std::make_shared<Call>();
  call->options = std::move(options);
  return call;
}

bool ClientQueue::try_put(const SharedCall& call, std::vector<TokenizedSentence>& sentences) {
  std::int64_t tokens = 0;
  for (const TokenizedSentence& sentence : sentences) tokens += sentence.num_tokens();
  const std::lock_guard lock(mutex_);
  if (call->stop) std::rethrow_exception(call->error);
  const bool fits = calls_.empty() || num_tokens_ + tokens <= max_tokens_;
  if (is_closed_ || !fits) return false;
  for (TokenizedSentence& sentence : sentences) add(call, std::move(sentence));
  return true;
}

void ClientQueue::put(const SharedCall& call, TokenizedSentence sentence) {
  const std::int64_t tokens = sentence.num_tokens();
  std::unique_lock lock(mutex_);
  if (is_stop_requested()) cancel_all_calls();
  call->has_space.wait(lock, [&] { return call->stop || call->has_space_for(tokens); });
  if (call->stop) std::rethrow_exception(call->error);
  add(call, std::move(sentence));
}

void ClientQueue::add(const SharedCall& call, TokenizedSentence sentence) {
  const std::int64_t tokens = sentence.num_tokens();
  for (SentencePart& part : sentence.parts) part.input.id = next_part_++;
  calls_.insert(call);
  num_tokens_ += tokens;
  waiting_parts_ += std::ssize(sentence.parts);
  const bool had_waiting_parts = call->has_waiting_parts();
  call->num_tokens += tokens;
  call->untranslated_tokens += tokens;
  call->put_times.push_back(Clock::now());
  call->sentences.emplace_hint(call->sentences.end(), call->num_sentences++, std::move(sentence));
  if (!had_waiting_parts) add_to_client(call);
  has_parts_.notify_all();
}

void ClientQueue::add_to_client(const SharedCall& call) {
  const std::string& name = call->options.client;
  auto found = clients_by_name_.find(name);
  if (found == clients_by_name_.end()) {
    clients_.push_back({name, {}});
    found = clients_by_name_.emplace(name, std::prev(clients_.end())).first;
  }
  found->second->calls.push_back(call);
}

/// Removes a call that may have parts that no search has.
void ClientQueue::remove_from_client(const Call& call) {
  if (!call.has_waiting_parts()) return;
  for (auto waiting = call.sentences.find(call.next_sentence); waiting != call.sentences.end(); ++waiting) {
    waiting_parts_ -= std::ssize(waiting->second.parts);
  }
  waiting_parts_ += static_cast<std::int64_t>(call.next_part);
  const auto client = clients_by_name_.at(call.options.client);
  std::erase_if(client->calls, [&](const SharedCall& other) { return other.get() == &call; });
  if (!client->calls.empty()) return;
  clients_by_name_.erase(client->name);
  clients_.erase(client);
}

/// Takes the next part of the call whose turn it is, and gives the next turn to the next client.
SearchInput ClientQueue::take_next_part() {
  Client& client = clients_.front();
  SharedCall call = std::move(client.calls.front());
  client.calls.pop_front();

  const std::size_t number = call->next_sentence;
  const std::size_t part = call->next_part;
  TokenizedSentence& sentence = call->sentences.at(number);
  SearchInput input = std::move(sentence.parts[part].input);  // which put_result() brings back
  input.n_best = call->options.n_best;
  input.stop = &call->stop;
  running_[input.id] = {call, number, part};
  if (part == 0) {
    const Clock::duration wait = Clock::now() - call->put_times.front();
    call->put_times.pop_front();
    if (call->options.begin) call->options.begin(std::chrono::duration<double>(wait).count());
  }
  --waiting_parts_;
  if (++call->next_part == sentence.parts.size()) {
    call->next_part = 0;
    ++call->next_sentence;
  }
  if (call->has_waiting_parts()) client.calls.push_back(std::move(call));
  if (client.calls.empty()) {
    clients_by_name_.erase(client.name);
    clients_.pop_front();
  } else {
    clients_.splice(clients_.end(), clients_, clients_.begin());
  }
  return input;
}

/// Waits for a part, or for close(). Returns whether there is a part.
bool ClientQueue::wait_for_part(std::unique_lock<std::mutex>& lock) {
  has_parts_.wait(lock, [&] { return !clients_.empty() || is_closed_; });
  return !clients_.empty();
}

bool ClientQueue::Consumer::wait() {
  std::unique_lock lock(queue_.mutex_);
  if (queue_.is_stop_requested()) {
    for (const std::int64_t id : std::exchange(parts_, {})) queue_.running_.erase(id);
    queue_.cancel_all_calls();
  }
  return queue_.wait_for_part(lock);
}

std::optional<SearchInput> ClientQueue::Consumer::next(bool is_busy) {
  std::unique_lock lock(queue_.mutex_);
  const bool has_part = is_busy ? !queue_.clients_.empty() : queue_.wait_for_part(lock);
  if (!has_part) return std::nullopt;
  SearchInput input = queue_.take_next_part();
  parts_.insert(input.id);
  return input;
}

/// Removes a part from those in searches. Returns nullopt if its call has ended.
std::optional<ClientQueue::RunningPart> ClientQueue::end_part(std::int64_t id) {
  const auto found = running_.find(id);
  RunningPart part = std::move(found->second);
  running_.erase(found);
  if (part.call->stop) return std::nullopt;
  return part;
}

void ClientQueue::Consumer::put_result(SearchInput input, std::vector<Hypothesis> best) {
  parts_.erase(input.id);
  const std::lock_guard lock(queue_.mutex_);
  const std::optional<RunningPart> running = queue_.end_part(input.id);
  if (!running) return;
  std::vector<SentencePart>& parts = running->call->sentences.at(running->sentence).parts;
  parts[running->part].input = std::move(input);
  parts[running->part].hypotheses = std::move(best);
  const bool is_translated = std::ranges::none_of(parts, [](const auto& part) { return part.hypotheses.empty(); });
  if (is_translated) queue_.end_sentence(running->call, running->sentence);
}

void ClientQueue::end_sentence(const SharedCall& call, std::size_t number) {
  const std::int64_t tokens = call->sentences.at(number).num_tokens();
  num_tokens_ -= tokens;
  call->untranslated_tokens -= tokens;
  call->translated.insert(number);
  if (call->translated.size() == call->sentences.size()) calls_.erase(call);
  if (calls_.empty()) is_empty_.notify_all();
  if (call->can_hand_out()) call->has_news.notify_all();
}

/// Ends a call, and the searches of its parts if it has any.
void ClientQueue::end_call(const SharedCall& call, const std::exception_ptr& error) {
  if (call->stop) return;
  call->stop = true;
  call->error = error;
  remove_from_client(*call);
  num_tokens_ -= std::exchange(call->untranslated_tokens, 0);
  calls_.erase(call);
  if (calls_.empty()) is_empty_.notify_all();
  call->has_space.notify_all();
  call->has_news.notify_all();
}

void ClientQueue::cancel_call(const SharedCall& call) {
  end_call(call, std::make_exception_ptr(StopException()));
  call->translated.clear();
}

void ClientQueue::cancel_all_calls() {
  while (!calls_.empty()) cancel_call(SharedCall(*calls_.begin()));
}

void ClientQueue::Consumer::fail(const std::exception_ptr& error) {
  if (parts_.empty()) next(/*is_busy=*/true);
  const std::lock_guard lock(queue_.mutex_);
  for (const std::int64_t id : std::exchange(parts_, {})) {
    if (const auto running = queue_.end_part(id)) queue_.end_call(running->call, error);
  }
}

void ClientQueue::complete(const SharedCall& call, const std::exception_ptr& error) {
  const std::lock_guard lock(mutex_);
  call->is_complete = true;
  if (!call->error) call->error = error;
  call->has_news.notify_all();
}

bool ClientQueue::wait_until(const SharedCall& call, Clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  return call->has_news.wait_until(lock, deadline, [&] { return call->is_ready(); });
}

std::optional<std::pair<std::size_t, TokenizedSentence>> ClientQueue::take(const SharedCall& call) {
  std::unique_lock lock(mutex_);
  call->has_news.wait(lock, [&] { return call->is_ready(); });
  if (!call->can_hand_out()) {
    if (call->error) std::rethrow_exception(call->error);
    return std::nullopt;
  }
  const std::size_t number = call->translated.extract(call->translated.begin()).value();
  TokenizedSentence sentence = std::move(call->sentences.extract(number).mapped());
  call->num_tokens -= sentence.num_tokens();
  call->has_space.notify_all();
  return std::pair(number, std::move(sentence));
}

void ClientQueue::cancel(const SharedCall& call) {
  const std::lock_guard lock(mutex_);
  cancel_call(call);
}

void ClientQueue::cancel_all() {
  const std::lock_guard lock(mutex_);
  cancel_all_calls();
}

void ClientQueue::close() {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  has_parts_.notify_all();
}

void ClientQueue::wait_until_empty() {
  std::unique_lock lock(mutex_);
  is_empty_.wait(lock, [&] { return calls_.empty(); });
}

ClientQueue::Load ClientQueue::load() const {
  const std::lock_guard lock(mutex_);
  return {.calls = std::ssize(calls_),
          .waiting_calls = std::ranges::count_if(calls_, [](const SharedCall& call) { return !call->has_begun(); }),
          .waiting_parts = waiting_parts_,
          .running_parts = std::ssize(running_),
          .tokens = num_tokens_};
}

}  // namespace edgewise

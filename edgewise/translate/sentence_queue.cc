// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/sentence_queue.h"

namespace edgewise {

bool SentenceQueue::fits(const TokenizedSentence& sentence) const {
  return entries_.empty() ||
         (std::ssize(entries_) < limits_.sentences && num_tokens_ + sentence.num_tokens() <= limits_.tokens);
}

bool SentenceQueue::put(TokenizedSentence sentence) {
  abort_if_requested();
  std::unique_lock lock(mutex_);
  has_space_.wait(lock, [&] { return is_aborted_ || fits(sentence); });
  if (is_aborted_) return false;

  num_tokens_ += sentence.num_tokens();
  const std::size_t parts = sentence.parts.size();
  // A reference to an element of a deque stays valid while others are added and removed at its ends.
  Entry& entry = entries_.emplace_back(Entry{{std::move(sentence), {}}, parts});
  entry.translated.results.resize(parts);
  for (std::size_t part = 0; part < parts; ++part) {
    part_entries_[next_id_] = {&entry, part};
    SearchInput input = entry.translated.sentence.input(part);
    input.id = next_id_++;
    waiting_parts_.push_back(std::move(input));
  }
  has_parts_.notify_all();
  return true;
}

void SentenceQueue::close(const std::exception_ptr& error) {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  if (!error_) error_ = error;
  has_parts_.notify_all();
  front_is_complete_.notify_all();
}

void SentenceQueue::abort(const std::exception_ptr& error) {
  const std::lock_guard lock(mutex_);
  if (is_aborted_) return;
  is_aborted_ = true;
  if (error) error_ = error;
  has_space_.notify_all();
  has_parts_.notify_all();
  front_is_complete_.notify_all();
}

void SentenceQueue::abort_if_requested() {
  if (is_stop_requested()) abort(std::make_exception_ptr(StopException()));
}

bool SentenceQueue::is_stopped() const {
  const std::lock_guard lock(mutex_);
  return is_aborted_ || is_stop_requested();
}

std::optional<SearchInput> SentenceQueue::next(bool is_busy) {
  std::unique_lock lock(mutex_);
  if (!is_busy) has_parts_.wait(lock, [&] { return is_aborted_ || is_closed_ || !waiting_parts_.empty(); });
  if (is_aborted_ || waiting_parts_.empty()) return std::nullopt;
  SearchInput part = std::move(waiting_parts_.front());
  waiting_parts_.pop_front();
  return part;
}

void SentenceQueue::put_result(SearchInput part, std::vector<Hypothesis> best) {
  const std::lock_guard lock(mutex_);
  const auto found = part_entries_.find(part.id);
  auto [entry, index] = found->second;
  part_entries_.erase(found);
  entry->translated.results[index] = std::move(best);
  if (--entry->missing_parts == 0) front_is_complete_.notify_all();
}

std::optional<SentenceQueue::Translated> SentenceQueue::take() {
  std::unique_lock lock(mutex_);
  front_is_complete_.wait(
      lock, [&] { return is_aborted_ || (entries_.empty() ? is_closed_ : entries_.front().missing_parts == 0); });
  if (is_aborted_ || entries_.empty()) {
    if (error_) std::rethrow_exception(error_);
    return std::nullopt;
  }
  Translated translated = std::move(entries_.front().translated);
  entries_.pop_front();
  num_tokens_ -= translated.sentence.num_tokens();
  has_space_.notify_all();
  return translated;
}

}  // namespace edgewise

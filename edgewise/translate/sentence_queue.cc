// SPDX-License-Identifier: Apache-2.0
#include "edgewise/translate/sentence_queue.h"

namespace edgewise {

bool SentenceQueue::has_room(const CodedSentence& sentence) const {
  return entries_.empty() ||
         (std::ssize(entries_) < limits_.sentences && num_tokens_ + sentence.num_tokens() <= limits_.tokens);
}

bool SentenceQueue::put(CodedSentence sentence) {
  std::unique_lock lock(mutex_);
  room_.wait(lock, [&] { return is_aborted_ || has_room(sentence); });
  if (is_aborted_) return false;

  num_tokens_ += sentence.num_tokens();
  const std::size_t parts = sentence.parts.size();
  // References to a deque's elements stay good while others come and go at its ends.
  Entry& entry = entries_.emplace_back(Entry{{std::move(sentence), {}}, parts});
  entry.translated.found.resize(parts);
  for (std::size_t part = 0; part < parts; ++part) {
    places_[next_id_] = {&entry, part};
    const CodedSentence& coded = entry.translated.sentence;
    waiting_.push_back({coded.parts[part], part == 0 ? coded.prefix : Tokens(), next_id_++});
  }
  parts_came_.notify_all();
  return true;
}

void SentenceQueue::close(const std::exception_ptr& error) {
  const std::lock_guard lock(mutex_);
  is_closed_ = true;
  if (!error_) error_ = error;
  parts_came_.notify_all();
  front_is_done_.notify_all();
}

void SentenceQueue::abort(const std::exception_ptr& error) {
  const std::lock_guard lock(mutex_);
  is_aborted_ = true;
  if (error) error_ = error;
  room_.notify_all();
  parts_came_.notify_all();
  front_is_done_.notify_all();
}

std::optional<SearchInput> SentenceQueue::next_part(bool is_busy) {
  std::unique_lock lock(mutex_);
  if (!is_busy) parts_came_.wait(lock, [&] { return is_aborted_ || is_closed_ || !waiting_.empty(); });
  if (is_aborted_ || waiting_.empty()) return std::nullopt;
  SearchInput part = std::move(waiting_.front());
  waiting_.pop_front();
  return part;
}

void SentenceQueue::found(const SearchInput& part, std::vector<Hypothesis> best) {
  const std::lock_guard lock(mutex_);
  const auto place = places_.find(part.id);
  auto [entry, index] = place->second;
  places_.erase(place);
  entry->translated.found[index] = std::move(best);
  if (--entry->missing == 0) front_is_done_.notify_all();
}

std::optional<SentenceQueue::Translated> SentenceQueue::take() {
  std::unique_lock lock(mutex_);
  front_is_done_.wait(lock,
                      [&] { return is_aborted_ || (entries_.empty() ? is_closed_ : entries_.front().missing == 0); });
  if (is_aborted_ || entries_.empty()) {
    if (error_) std::rethrow_exception(error_);
    return std::nullopt;
  }
  Translated translated = std::move(entries_.front().translated);
  entries_.pop_front();
  num_tokens_ -= translated.sentence.num_tokens();
  room_.notify_all();
  return translated;
}

}  // namespace edgewise

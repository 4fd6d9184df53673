// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>

#include "translator.h"

namespace edgewise::python {

namespace nb = nanobind;

/// An iterator of Python over the translations of an iterator's sentences. At most `ahead` + 1 sentences are in memory.
class TranslationStream {
 public:
  TranslationStream(std::shared_ptr<SharedTranslator> translator, nb::iterator sentences,
                    const SentenceKeywords& keywords, std::int64_t ahead);
  TranslationStream(const TranslationStream&) = delete;
  TranslationStream& operator=(const TranslationStream&) = delete;

  /// Reads sentences, and returns the translation of the first one that is not returned yet. Throws stop_iteration
  /// after the last one. Throws an exception of the iterator after the translations of all sentences before it.
  nb::object next();

  /// Ends the stream and cancels the sentences that are not translated yet.
  void close();

 private:
  void end();
  void read_sentences();
  void read_sentence();

  std::shared_ptr<SharedTranslator> translator_;
  nb::object sentences_;  // null at the end
  SentenceKeywords keywords_;
  std::int64_t most_sentences_;
  std::size_t num_read_ = 0;
  std::exception_ptr error_;  // of the iterator
  std::unique_ptr<ServiceCall> call_;
  bool is_running_ = false;  // whether next() has not returned
};

}  // namespace edgewise::python

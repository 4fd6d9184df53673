// SPDX-License-Identifier: Apache-2.0
// Translator.stream.
#include "stream.h"

#include <utility>

#include "bindings.h"
#include "edgewise/base/error.h"
#include "texts.h"

namespace edgewise::python {
namespace {

/// Sets a flag for a scope. Throws Error if it is set already.
class RunningScope {
 public:
  explicit RunningScope(bool& is_running) : is_running_(is_running) {
    check(!is_running, "stream: the stream is in use, needs one thread at a time");
    is_running = true;
  }
  RunningScope(const RunningScope&) = delete;
  RunningScope& operator=(const RunningScope&) = delete;
  ~RunningScope() { is_running_ = false; }

 private:
  bool& is_running_;
};

}  // namespace

TranslationStream::TranslationStream(std::shared_ptr<SharedTranslator> translator, nb::iterator sentences,
                                     const SentenceKeywords& keywords, std::int64_t ahead)
    : translator_(std::move(translator)),
      sentences_(std::move(sentences)),
      keywords_(keywords),
      most_sentences_(ahead + 1),
      call_(std::make_unique<ServiceCall>(translator_->service(keywords.alignments()),
                                          keywords.result_options(translator_->search()))) {}

void TranslationStream::read_sentence() {
  PyObject* element = PyIter_Next(sentences_.ptr());
  if (element == nullptr) {
    sentences_.reset();
    if (PyErr_Occurred() != nullptr) throw nb::python_error();
    return;
  }
  const nb::object owned = nb::steal(element);
  const TranslationRequest request = {.input = read_element(owned, "stream", "sentences", num_read_++),
                                      .languages = keywords_.languages()};
  const nb::gil_scoped_release release;
  call_->put(request);
}

void TranslationStream::read_sentences() {
  try {
    while (sentences_.is_valid() && call_->size() < most_sentences_) read_sentence();
  } catch (const nb::python_error& error) {
    // KeyboardInterrupt and SystemExit end the stream at once.
    if (!error.matches(PyExc_Exception)) {
      end();
      throw;
    }
    sentences_.reset();
    error_ = std::current_exception();
  } catch (...) {
    sentences_.reset();
    error_ = std::current_exception();
  }
}

nb::object TranslationStream::next() {
  const RunningScope running(is_running_);
  read_sentences();
  if (!call_ || call_->size() == 0) {
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
    throw nb::stop_iteration();
  }
  Translation translation;
  try {
    const nb::gil_scoped_release release;
    translation = call_->take();
  } catch (...) {
    end();
    throw;
  }
  return nb::cast(std::move(translation));
}

void TranslationStream::close() {
  const RunningScope running(is_running_);
  end();
}

void TranslationStream::end() {
  sentences_.reset();
  error_ = nullptr;
  call_.reset();
}

void bind_streams(nb::module_& module) {
  nb::class_<TranslationStream>(module, "TranslationStream",
                                "An iterator over translations, from Translator.stream. It reads sentences as needed.")
      .def("__iter__", [](nb::handle self) { return nb::borrow(self); })
      .def("__next__", &TranslationStream::next)
      .def(
          "close", [](TranslationStream& self) { self.close(); },
          "Ends the stream, and the translation of the sentences that it has read ahead.");
}

}  // namespace edgewise::python

// SPDX-License-Identifier: Apache-2.0
// The classes Generator and GenerationStream.
#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings.h"
#include "edgewise/base/error.h"
#include "generation_call.h"
#include "keyword_options.h"
#include "model_paths.h"
#include "texts.h"

namespace edgewise::python {
namespace {

using namespace nb::literals;

/// The object of Python's class Generator.
struct PythonGenerator {
  std::shared_ptr<SharedGenerator> shared;
  std::string name;  // the model as the user named it
};

void init_generator(PythonGenerator* self, nb::handle model, const nb::kwargs& keywords) {
  constexpr std::string_view kCaller = "Generator";
  const std::vector<std::string> paths = read_model_paths(model, kCaller);
  check(paths.size() == 1, "Generator: model has {} models, needs one", paths.size());
  GeneratorOptions options;
  set_options(fields_of(options), keywords, kCaller);  // before the model is read, which takes longer
  new (self) PythonGenerator{std::make_shared<SharedGenerator>(paths.front(), options), describe(model)};
}

nb::dict options_of(const PythonGenerator& self) {
  GeneratorOptions options = self.shared->options();
  nb::dict values;
  for (const Field& field : fields_of(options)) values[field.name.c_str()] = option_value(field);
  return values;
}

GenerateOptions read_options(const nb::kwargs& keywords, std::string_view caller) {
  GenerateOptions options;
  set_options(fields_of(options), keywords, caller, "Generator.generate");
  return options;
}

nb::object make_generation(const GeneratedTexts& texts) {
  const nb::module_ results = nb::module_::import_("edgewise._generation");
  nb::list samples;
  for (const GeneratedText& sample : texts.samples) {
    samples.append(
        results.attr("GeneratedText")(make_text(sample.text), make_text(enum_name(sample.end)), sample.tokens));
  }
  return results.attr("Generation")(samples, texts.prompt_tokens);
}

nb::object generate(const PythonGenerator& self, nb::handle prompts, const nb::kwargs& keywords) {
  const GenerateOptions options = read_options(keywords, "generate");
  Texts texts = read_texts(prompts, "generate", "prompts");
  std::vector<GenerationRequest> requests;
  for (std::string& text : texts.texts) requests.push_back({std::move(text), options});
  std::shared_ptr<GenerationService> service = self.shared->service();
  std::vector<GeneratedTexts> generated;
  {
    const nb::gil_scoped_release release;
    generated = continue_all(std::move(service), requests);
  }
  if (texts.is_one) return make_generation(generated.front());
  nb::list list;
  for (const GeneratedTexts& each : generated) list.append(make_generation(each));
  return list;
}

/// An iterator of Python over the parts of a continuation.
class GenerationStream {
 public:
  GenerationStream(const PythonGenerator& generator, const GenerationRequest& request)
      : call_(std::make_unique<ContinuationCall>(generator.shared->service(), std::span(&request, 1))) {}

  /// Throws stop_iteration after the last part.
  nb::object next() {
    std::optional<GeneratedPiece> piece;
    do {
      if (!call_) throw nb::stop_iteration();
      piece = take();
      if (!piece || piece->end) call_.reset();
      if (piece && piece->end) end_ = piece->end;
    } while (!piece || piece->text.empty());
    return make_text(piece->text);
  }

  void close() {
    check(!is_running_, "close: the stream is in use, needs one thread at a time");
    call_.reset();
  }

  nb::object finish_reason() const { return end_ ? make_text(enum_name(*end_)) : nb::none(); }

 private:
  std::optional<GeneratedPiece> take() {
    check(!is_running_, "stream: the stream is in use, needs one thread at a time");
    is_running_ = true;
    std::optional<GeneratedPiece> piece;
    try {
      const nb::gil_scoped_release release;
      piece = call_->next();
    } catch (...) {
      is_running_ = false;
      call_.reset();
      throw;
    }
    is_running_ = false;
    return piece;
  }

  std::unique_ptr<ContinuationCall> call_;  // null at the end
  std::optional<FinishReason> end_;
  bool is_running_ = false;  // whether a thread waits for a part
};

std::unique_ptr<GenerationStream> stream(const PythonGenerator& self, nb::handle prompt, const nb::kwargs& keywords) {
  const GenerationRequest request = {read_text(prompt, "stream", "prompt"), read_options(keywords, "stream")};
  check(request.options.samples == 1, "stream: samples is {}, needs 1; generate() returns several",
        request.options.samples);
  return std::make_unique<GenerationStream>(self, request);
}

/// Returns a help text and the options of a struct after it.
template <class Options>
std::string help_with_options(const std::string& head) {
  Options options;
  return head + "\n\nOptions:\n" + describe_options(fields_of(options), true);
}

const std::string& class_help() {
  static const std::string text = help_with_options<GeneratorOptions>(
      "Writes texts with a language model: a run or model directory. Threads may use a generator at the same time.\n\n"
      "Generator(model, *, option=value, ...)");
  return text;
}

const std::string& generate_help() {
  static const std::string text = help_with_options<GenerateOptions>(
      "Continues a prompt, or each prompt of an iterable; returns a Generation, or a list of them. A prompt may be\n"
      "empty. The prompts of all threads are continued in common batches; a text does not depend on the others.\n\n"
      "generate(prompts, *, option=value, ...)");
  return text;
}

template <class Options>
nb::list list_options() {
  Options options;
  nb::list list;
  for (const Field& field : fields_of(options)) {
    list.append(nb::make_tuple(make_text(field.name), make_text(annotation_of(field)), make_text(field.help)));
  }
  return list;
}

}  // namespace

void bind_generator(nb::module_& module) {
  module.def("_generator_fields", &list_options<GeneratorOptions>);
  module.def("_generate_fields", &list_options<GenerateOptions>);
  nb::class_<GenerationStream>(module, "GenerationStream",
                               "An iterator over the parts of a continuation, from Generator.stream.")
      .def("__iter__", [](nb::handle self) { return nb::borrow(self); })
      .def("__next__", &GenerationStream::next)
      .def_prop_ro("finish_reason", &GenerationStream::finish_reason,
                   "Why the text ended: \"end\", \"stop\" or \"length\"; None before its end.")
      .def("close", &GenerationStream::close, "Ends the computation of the text.");
  nb::class_<PythonGenerator>(module, "Generator", class_help().c_str())
      .def("__init__", &init_generator, "model"_a.none(), "options"_a)
      .def("__repr__",
           [](const PythonGenerator& self) { return make_text(fmt::format("<edgewise.Generator {}>", self.name)); })
      .def_prop_ro("options", &options_of, "The options of the generator and their values, as a dict.")
      .def("generate", &generate, "prompts"_a.none(), "options"_a, generate_help().c_str())
      .def(
          "stream", &stream, "prompt"_a.none(), "options"_a,
          "Continues a prompt, and returns an iterator over the parts of the continuation, each a str, as soon as they "
          "are\n"
          "certain: whole characters, and never a part of a stop string. The options are those of generate, but "
          "samples.");
}

}  // namespace edgewise::python

// SPDX-License-Identifier: Apache-2.0
// The class Translator.
#include "translator.h"

#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <algorithm>
#include <new>
#include <span>
#include <utility>

#include "bindings.h"
#include "edgewise/base/config/fields.h"
#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"
#include "keyword_options.h"
#include "model_paths.h"
#include "stream.h"
#include "texts.h"
#include "translated_texts.h"

namespace edgewise::python {
namespace {

using namespace nb::literals;

/// Options of a Translator and of its search, which are keywords of the same function.
struct AllOptions {
  TranslatorOptions translator;
  SearchOptions search;

  /// Returns the fields of both; they point into this object.
  std::vector<Field> fields() {
    std::vector<Field> all = fields_of(translator);
    for (Field& field : fields_of(search)) all.push_back(std::move(field));
    return all;
  }
};

void init_translator(PythonTranslator* self, nb::handle model, const nb::kwargs& keywords) {
  constexpr std::string_view kCaller = "Translator";
  const std::vector<std::string> paths = read_model_paths(model, kCaller);
  AllOptions options;
  set_options(options.fields(), keywords, kCaller);  // before the model is read, which takes longer
  const auto change_search = [&](const SearchOptions& defaults) {
    AllOptions changed{options.translator, defaults};
    set_options(changed.fields(), keywords, kCaller);
    check(changed.search.kind != SearchKind::kScoring, "Translator: kind is scoring, needs beam or sampling");
    check_effects(changed.search, defaults, kCaller);
    return changed.search;
  };
  new (self) PythonTranslator{load_translator(paths, options.translator, change_search), describe(model)};
}

nb::dict options_of(const PythonTranslator& self) {
  AllOptions options{self.shared->options(), self.shared->search()};
  nb::dict values;
  for (const Field& field : options.fields()) values[field.name.c_str()] = option_value(field);
  return values;
}

/// Adds prefixes to requests, as many as there are.
void add_prefixes(std::vector<TranslationRequest>& requests, bool is_one, nb::handle prefix) {
  Texts prefixes = read_texts(prefix, "translate", "prefix");
  check(prefixes.is_one == is_one, "translate: prefix is {}, needs {}", prefixes.is_one ? "one text" : "several texts",
        is_one ? "one text, as the sentence is" : "as many texts as there are sentences");
  check(prefixes.texts.size() == requests.size(), "translate: prefix has {} texts, needs {}, one for each sentence",
        prefixes.texts.size(), requests.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    requests[i].prefix = std::move(prefixes.texts[i]);
    requests[i].prefix_place = fmt::format("prefix[{}]", i);
  }
}

nb::object translate(const PythonTranslator& self, nb::handle sentences, nb::handle prefix,
                     const SentenceKeywords& keywords) {
  Texts texts = read_texts(sentences, "translate", "sentences");
  std::vector<TranslationRequest> requests;
  requests.reserve(texts.texts.size());
  for (std::string& text : texts.texts) {
    requests.push_back({.input = std::move(text), .languages = keywords.languages()});
  }
  if (!prefix.is_none()) add_prefixes(requests, texts.is_one, prefix);
  std::shared_ptr<TranslationService> service = self.shared->service(keywords.alignments());
  std::vector<Translation> translations;
  {
    const nb::gil_scoped_release release;
    translations = translate_all(std::move(service), requests, keywords.result_options(self.shared->search()));
  }
  if (texts.is_one) return nb::cast(std::move(translations.front()));
  nb::list list;
  for (Translation& translation : translations) list.append(nb::cast(std::move(translation)));
  return list;
}

/// Returns one text for one, and a list for several.
nb::object make_texts(const Texts& texts) {
  if (texts.is_one) return make_text(texts.texts.front());
  return make_text_list(texts.texts);
}

LineBreaks read_line_breaks(const std::string& name) {
  if (const auto line_breaks = find_enum<LineBreaks>(name)) return *line_breaks;
  fail("translate_text: line_breaks is {}, needs \"end\" or \"space\"", quote(name));
}

const std::string& class_help() {
  static const std::string text = [] {
    AllOptions options;
    const std::string head =
        "Translates with a model: a run or model directory, the name of a model such as \"en-de\", or a list of both, "
        "which\n"
        "is an ensemble. Threads may use a translator at the same time.\n\n"
        "Translator(model, *, option=value, ...)\n\n"
        "Options of the translator:\n";
    return head + describe_options(fields_of(options.translator), true) +
           "\nOptions of the search, whose defaults are those of the model's config:\n" +
           describe_options(fields_of(options.search), false);
  }();
  return text;
}

/// Returns (name, annotation, help) of each option, from which the stub is written.
nb::list option_fields() {
  AllOptions options;
  nb::list list;
  for (const Field& field : options.fields()) {
    list.append(nb::make_tuple(make_text(field.name), make_text(annotation_of(field)), make_text(field.help)));
  }
  return list;
}

}  // namespace

void bind_translator(nb::module_& module) {
  module.def("_option_fields", &option_fields);
  nb::class_<PythonTranslator>(module, "Translator", class_help().c_str())
      .def("__init__", &init_translator, "model"_a.none(), "options"_a)
      .def("__repr__",
           [](const PythonTranslator& self) { return make_text(fmt::format("<edgewise.Translator {}>", self.name)); })
      .def_prop_ro("options", &options_of, "All options and their values, as a dict.")
      .def(
          "translate",
          [](const PythonTranslator& self, nb::handle sentences, nb::handle prefix,
             std::optional<std::string> input_language, std::optional<std::string> output_language, bool alignment,
             bool attention) {
            return translate(self, sentences, prefix,
                             {std::move(input_language), std::move(output_language), alignment, attention});
          },
          "sentences"_a.none(), nb::kw_only(), "prefix"_a = nb::none(), "input_language"_a = nb::none(),
          "output_language"_a = nb::none(), "alignment"_a = false, "attention"_a = false,
          "Translates a sentence, or each sentence of an iterable; returns a Translation, or a list of them.\n\n"
          "prefix: the first words of the output, or a list with those of each output\n"
          "input_language, output_language: languages of a multilingual model; default: those of the translator\n"
          "alignment, attention: whether translations have alignments, and attention weights\n\n"
          "The sentences of all threads are translated in common batches; a translation does not depend on the others.")
      .def(
          "stream",
          [](const PythonTranslator& self, nb::handle sentences, std::int64_t ahead,
             std::optional<std::string> input_language, std::optional<std::string> output_language, bool alignment,
             bool attention) {
            check(ahead >= 0 && ahead <= 1'000'000, "stream: ahead is {}, needs a whole number from 0 to 1000000",
                  ahead);
            return std::make_unique<TranslationStream>(
                self.shared, iterate_texts(sentences, "stream", "sentences"),
                SentenceKeywords{std::move(input_language), std::move(output_language), alignment, attention}, ahead);
          },
          "sentences"_a.none(), nb::kw_only(), "ahead"_a = 256, "input_language"_a = nb::none(),
          "output_language"_a = nb::none(), "alignment"_a = false, "attention"_a = false,
          "Returns an iterator over the translations of an iterable of sentences, in their order.\n\n"
          "ahead: the most sentences that are read beyond the one whose translation is returned next; 0: each "
          "sentence\n"
          "is read after the translation of the one before was returned\n\n"
          "The iterable may be endless. It is read in the thread that reads the translations.")
      .def(
          "translate_text",
          [](const PythonTranslator& self, nb::handle texts, std::optional<std::string> language,
             const std::string& line_breaks, std::optional<std::string> input_language,
             std::optional<std::string> output_language) {
            const TextOptions options = {.language = language.value_or(""),
                                         .line_breaks = read_line_breaks(line_breaks),
                                         .languages = {input_language.value_or(""), output_language.value_or("")}};
            return make_texts(translate_plain(*self.shared, read_texts(texts, "translate_text", "texts"), options));
          },
          "texts"_a.none(), nb::kw_only(), "language"_a = nb::none(), "line_breaks"_a = "end",
          "input_language"_a = nb::none(), "output_language"_a = nb::none(),
          "Translates a text, or each text of an iterable, sentence by sentence. Everything between the sentences "
          "stays\n"
          "as it is: line breaks, empty lines and spaces. Returns a str, or a list of str.\n\n"
          "language: the language of the text, such as de, by whose abbreviations it is split; default: the input\n"
          "language of the translator, or else rules for most languages\n"
          "line_breaks: \"end\", a line break ends a sentence, or \"space\", a line break is a space")
      .def(
          "translate_html",
          [](const PythonTranslator& self, nb::handle documents, std::optional<std::string> language,
             std::optional<std::string> input_language, std::optional<std::string> output_language) {
            const TextOptions options = {.language = language.value_or(""),
                                         .languages = {input_language.value_or(""), output_language.value_or("")}};
            return make_texts(
                translate_documents(*self.shared, read_texts(documents, "translate_html", "documents"), options));
          },
          "documents"_a.none(), nb::kw_only(), "language"_a = nb::none(), "input_language"_a = nb::none(),
          "output_language"_a = nb::none(),
          "Translates the text of an HTML document or a part of one, or of each document of an iterable, and keeps "
          "its\n"
          "markup. Returns a str, or a list of str. The keywords are those of translate_text.");
}

}  // namespace edgewise::python

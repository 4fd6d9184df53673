// SPDX-License-Identifier: Apache-2.0
// The classes Translation and Output.
#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "attention_picture.h"
#include "bindings.h"
#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"
#include "edgewise/translate/translation.h"
#include "texts.h"

namespace edgewise::python {
namespace {

const TranslatedText& best(const Translation& translation) { return translation.outputs.front(); }

nb::list make_pairs(const std::vector<AlignedPair>& alignment) {
  nb::list pairs;
  for (const AlignedPair& pair : alignment) pairs.append(nb::make_tuple(pair.input, pair.output));
  return pairs;
}

/// Returns a list for each output token of the weights of all input tokens.
nb::list make_weights(const TranslatedText& output, std::size_t input_tokens) {
  nb::list rows;
  for (const AttentionRow& row : output.attention) {
    std::vector<float> weights(input_tokens, 0.0f);
    std::ranges::copy(row.weights, weights.begin() + row.first_input);
    rows.append(nb::cast(weights));
  }
  return rows;
}

std::string repr_of(const TranslatedText& output) {
  return fmt::format("<edgewise.Output {} score={:.4f}>", quote(output.text), output.score);
}

std::string repr_of(const Translation& translation) {
  return fmt::format("<edgewise.Translation {} score={:.4f} outputs={}>", quote(best(translation).text),
                     best(translation).score, translation.outputs.size());
}

// Pickling. Tokens may be parts of characters, so that they are bytes. A state that no __getstate__ gives throws Error.

void check_size(const nb::tuple& state, std::size_t size, const char* name) {
  check(nb::len(state) == size, "Translation.__setstate__: {} has {} elements, needs {}", name, nb::len(state), size);
}

nb::tuple make_bytes(const std::vector<std::string>& texts) {
  nb::list list;
  for (const std::string& text : texts) list.append(nb::bytes(text.data(), text.size()));
  return nb::tuple(list);
}

std::vector<std::string> read_bytes(const nb::tuple& texts) {
  std::vector<std::string> read;
  for (const nb::handle text : texts) {
    const auto bytes = nb::cast<nb::bytes>(text);
    read.emplace_back(bytes.c_str(), bytes.size());
  }
  return read;
}

nb::tuple output_state(const TranslatedText& output) {
  std::vector<std::int64_t> aligned;
  for (const AlignedPair& pair : output.alignment) aligned.insert(aligned.end(), {pair.input, pair.output});
  nb::list attention;
  for (const AttentionRow& row : output.attention) attention.append(nb::make_tuple(row.first_input, row.weights));
  return nb::make_tuple(nb::bytes(output.text.data(), output.text.size()), output.score, output.log_probability,
                        make_bytes(output.tokens), output.token_numbers, aligned, attention, output.ponder_steps);
}

AttentionRow read_attention(const nb::tuple& state, std::size_t input_tokens) {
  check_size(state, 2, "a row of attention");
  AttentionRow row = {nb::cast<std::int64_t>(state[0]), nb::cast<std::vector<float>>(state[1])};
  const auto last_begin = static_cast<std::int64_t>(input_tokens) - std::ssize(row.weights);
  check(row.first_input >= 0 && row.first_input <= last_begin,
        "Translation.__setstate__: a row of attention has {} weights from input token {} on, needs tokens of the {} of "
        "the input",
        row.weights.size(), row.first_input, input_tokens);
  return row;
}

TranslatedText read_output(const nb::tuple& state, std::size_t input_tokens) {
  check_size(state, 8, "an output");
  TranslatedText output;
  const auto text = nb::cast<nb::bytes>(state[0]);
  output.text.assign(text.c_str(), text.size());
  output.score = nb::cast<double>(state[1]);
  output.log_probability = nb::cast<double>(state[2]);
  output.tokens = read_bytes(nb::cast<nb::tuple>(state[3]));
  output.token_numbers = nb::cast<std::vector<std::int64_t>>(state[4]);
  const auto aligned = nb::cast<std::vector<std::int64_t>>(state[5]);
  check(aligned.size() % 2 == 0, "Translation.__setstate__: the alignment has {} numbers, needs pairs", aligned.size());
  for (std::size_t i = 0; i < aligned.size(); i += 2) output.alignment.push_back({aligned[i], aligned[i + 1]});
  for (const nb::handle row : nb::cast<nb::list>(state[6])) {
    output.attention.push_back(read_attention(nb::cast<nb::tuple>(row), input_tokens));
  }
  output.ponder_steps = nb::cast<std::vector<std::int64_t>>(state[7]);
  return output;
}

Translation read_translation(const nb::tuple& state) {
  check_size(state, 3, "state");
  Translation translation = {
      .input_tokens = read_bytes(nb::cast<nb::tuple>(state[0])), .outputs = {}, .was_cut = nb::cast<bool>(state[2])};
  for (const nb::handle output : nb::cast<nb::list>(state[1])) {
    translation.outputs.push_back(read_output(nb::cast<nb::tuple>(output), translation.input_tokens.size()));
  }
  check(!translation.outputs.empty(), "Translation.__setstate__: state has no output, needs at least one");
  return translation;
}

/// An output and the input that its attention weights belong to. It keeps the translation alive.
struct Output {
  nb::object translation;
  std::size_t index = 0;

  const Translation& whole() const { return nb::cast<const Translation&>(translation); }
  const TranslatedText& get() const { return whole().outputs.at(index); }
};

nb::list make_outputs(nb::handle translation) {
  nb::list outputs;
  const std::size_t count = nb::cast<const Translation&>(translation).outputs.size();
  for (std::size_t i = 0; i < count; ++i) outputs.append(nb::cast(Output{nb::borrow(translation), i}));
  return outputs;
}

/// Defines the properties that Output has, and Translation for its best output.
template <class Class, class Get, class Input>
void define_output(Class& bound, Get get, Input input) {
  using Self = typename Class::Type;
  bound
      .def_prop_ro(
          "text", [get](const Self& self) { return make_text(get(self).text); }, "The translated text.")
      .def_prop_ro(
          "score", [get](const Self& self) { return get(self).score; },
          "The log-probability divided by the length norm of the search; a higher score is better.")
      .def_prop_ro(
          "log_probability", [get](const Self& self) { return get(self).log_probability; },
          "The sum of the log-probabilities of all tokens, end token included.")
      .def_prop_ro(
          "tokens", [get](const Self& self) { return make_text_list(get(self).tokens); }, "The tokens of the text.")
      .def_prop_ro(
          "alignment", [get](const Self& self) { return make_pairs(get(self).alignment); },
          "Pairs of an input token and an output token, counted from 0; [] unless alignment=True.")
      .def_prop_ro(
          "attention",
          [get, input](const Self& self) { return make_weights(get(self), input(self).input_tokens.size()); },
          "For each output token the weights of all input tokens; [] unless attention=True.")
      .def_prop_ro(
          "ponder_steps", [get](const Self& self) { return nb::cast(get(self).ponder_steps); },
          "The steps of each token in a Universal Transformer with adaptive computation time; else [].")
      .def("__str__", [get](const Self& self) { return make_text(get(self).text); })
      .def("_repr_html_", [get, input](const Self& self) -> nb::object {
        if (get(self).attention.empty()) return nb::none();
        return make_text(attention_html(input(self), get(self)));
      });
}

}  // namespace

void bind_results(nb::module_& module) {
  nb::class_<Output> output(module, "Output", "One output of a translation.");
  define_output(
      output, [](const Output& self) -> const TranslatedText& { return self.get(); },
      [](const Output& self) -> const Translation& { return self.whole(); });
  output.def("__repr__", [](const Output& self) { return make_text(repr_of(self.get())); })
      .def("__getstate__", [](const Output& self) { return nb::make_tuple(self.translation, self.index); })
      .def("__setstate__", [](Output& self, const nb::tuple& state) {
        check(nb::len(state) == 2, "Output.__setstate__: state has {} elements, needs 2", nb::len(state));
        const auto index = nb::cast<std::size_t>(state[1]);
        const std::size_t count = nb::cast<const Translation&>(state[0]).outputs.size();
        check(index < count, "Output.__setstate__: the index is {}, needs a number in [0, {})", index, count);
        new (&self) Output{nb::borrow(state[0]), index};
      });

  nb::class_<Translation> translation(
      module, "Translation", "The translation of a sentence. Its text, score and tokens are those of the best output.");
  define_output(
      translation, [](const Translation& self) -> const TranslatedText& { return best(self); },
      [](const Translation& self) -> const Translation& { return self; });
  translation
      .def_prop_ro(
          "outputs", [](nb::handle self) { return make_outputs(self); },
          "All outputs, best first: as many as n_best, or fewer if the search found fewer.")
      .def_prop_ro(
          "input_tokens", [](const Translation& self) { return make_text_list(self.input_tokens); },
          "The tokens of the input.")
      .def_prop_ro(
          "was_cut", [](const Translation& self) { return self.was_cut; },
          "Whether the end of the input was not translated, because long_inputs is \"cut\".")
      .def("__repr__", [](const Translation& self) { return make_text(repr_of(self)); })
      .def("__getstate__",
           [](const Translation& self) {
             nb::list outputs;
             for (const TranslatedText& each : self.outputs) outputs.append(output_state(each));
             return nb::make_tuple(make_bytes(self.input_tokens), outputs, self.was_cut);
           })
      .def("__setstate__",
           [](Translation& self, const nb::tuple& state) { new (&self) Translation(read_translation(state)); });
}

}  // namespace edgewise::python

// SPDX-License-Identifier: Apache-2.0
// The function score, and the classes Score, BleuScore and ChrfScore.
#include <fmt/format.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>

#include <string>
#include <utility>
#include <vector>

#include "bindings.h"
#include "edgewise/base/error.h"
#include "edgewise/base/utf8.h"
#include "edgewise/text/metrics/bleu.h"
#include "edgewise/text/metrics/chrf.h"
#include "signals.h"
#include "texts.h"

namespace edgewise::python {
namespace {

using namespace nb::literals;

struct PythonBleu {
  BleuScore score;
  std::string signature;

  std::string text() const { return score.format(1, signature); }
};

struct PythonChrf {
  ChrfScore score;
  std::string signature;

  std::string text() const { return score.format(1, signature); }
};

struct Score {
  PythonBleu bleu;
  PythonChrf chrf;

  std::string text() const { return bleu.text() + "\n" + chrf.text(); }
};

BleuTokenizer read_tokenizer(const std::string& name) {
  if (const auto tokenizer = find_enum<BleuTokenizer>(name)) return *tokenizer;
  std::string names;
  for (const auto& known : enum_names(BleuTokenizer())) {
    names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", known.name);
  }
  fail("score: tokenize is {}, needs one of {}", quote(name), names);
}

Score score_texts(nb::handle hypotheses, nb::handle references, const std::string& tokenize, bool lowercase,
                  int chrf_word_order) {
  const std::vector<std::string> hypothesis_texts = read_text_list(hypotheses, "score", "hypotheses");
  const std::vector<std::string> reference_texts = read_text_list(references, "score", "references");
  check(hypothesis_texts.size() == reference_texts.size(), "score: hypotheses has {} texts, needs the {} of references",
        hypothesis_texts.size(), reference_texts.size());
  check(!hypothesis_texts.empty(), "score: hypotheses is empty, needs at least one text");
  const BleuOptions bleu_options{.tokenizer = read_tokenizer(tokenize), .lower_case = lowercase};
  const ChrfOptions chrf_options{.word_order = chrf_word_order, .lower_case = lowercase};
  Score score{{{}, bleu_signature(bleu_options)}, {{}, chrf_signature(chrf_options)}};
  StopRequest stop = false;
  const nb::gil_scoped_release release;
  run_until_signal(
      [&] {
        score.bleu.score = bleu(hypothesis_texts, reference_texts, bleu_options, &stop);
        score.chrf.score = chrf(hypothesis_texts, reference_texts, chrf_options);
      },
      stop);
  return score;
}

}  // namespace

void bind_scores(nb::module_& module) {
  nb::class_<PythonBleu>(module, "BleuScore", "BLEU of a corpus, with the numbers of sacreBLEU.")
      .def_prop_ro(
          "score", [](const PythonBleu& self) { return self.score.score; }, "From 0 to 100.")
      .def_prop_ro(
          "precisions", [](const PythonBleu& self) { return self.score.precisions; },
          "The precisions of n-grams of 1 to 4 words, from 0 to 100.")
      .def_prop_ro("brevity_penalty", [](const PythonBleu& self) { return self.score.brevity_penalty; })
      .def_prop_ro(
          "ratio", [](const PythonBleu& self) { return self.score.ratio(); },
          "The length of the hypotheses divided by that of the references.")
      .def_prop_ro(
          "hypothesis_length", [](const PythonBleu& self) { return self.score.hypothesis_length; }, "In words.")
      .def_prop_ro(
          "reference_length", [](const PythonBleu& self) { return self.score.reference_length; }, "In words.")
      .def_prop_ro(
          "signature", [](const PythonBleu& self) { return self.signature; }, "The settings in sacreBLEU's notation.")
      .def("__str__", &PythonBleu::text)
      .def("__repr__", [](const PythonBleu& self) { return "<edgewise.BleuScore " + self.text() + ">"; });
  nb::class_<PythonChrf>(module, "ChrfScore", "chrF of a corpus, with the numbers of sacreBLEU.")
      .def_prop_ro(
          "score", [](const PythonChrf& self) { return self.score.score; }, "From 0 to 100.")
      .def_prop_ro(
          "name", [](const PythonChrf& self) { return self.score.name; }, "chrF2, or chrF2++.")
      .def_prop_ro(
          "signature", [](const PythonChrf& self) { return self.signature; }, "The settings in sacreBLEU's notation.")
      .def("__str__", &PythonChrf::text)
      .def("__repr__", [](const PythonChrf& self) { return "<edgewise.ChrfScore " + self.text() + ">"; });
  nb::class_<Score>(module, "Score", "BLEU and chrF of a corpus.")
      .def_prop_ro("bleu", [](const Score& self) { return self.bleu; })
      .def_prop_ro("chrf", [](const Score& self) { return self.chrf; })
      .def("__str__", &Score::text)
      .def("__repr__", [](const Score& self) { return "<edgewise.Score " + self.text() + ">"; });
  module.def("score", &score_texts, "hypotheses"_a.none(), "references"_a.none(), nb::kw_only(), "tokenize"_a = "13a",
             "lowercase"_a = false, "chrf_word_order"_a = 0,
             "Scores translations by BLEU and chrF, with the numbers of sacreBLEU.\n\n"
             "hypotheses, references: iterables of as many sentences\n"
             "tokenize: the tokenizer of BLEU, \"13a\", \"intl\" or \"none\"\n"
             "lowercase: whether both are lower-cased before scoring\n"
             "chrf_word_order: the longest word n-gram of chrF; 0: chrF, 2: chrF++");
}

}  // namespace edgewise::python

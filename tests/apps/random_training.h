// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <random>
#include <string>

namespace edgewise {

/// Draws configs of trainings that take one or two seconds, over everything that the state of a run depends on.
class RandomTraining {
 public:
  static constexpr std::int64_t kSteps = 60;

  explicit RandomTraining(std::uint64_t seed) : random_(seed) {}

  /// Returns a config whose text data are the files `large.tsv` and `small.tsv` of sentence_pairs().
  std::string config() {
    return data() + batch() + model() + train() + "[search]\nbeam = " + pick({"1", "3"}) + "\n[show]\n" + recorded_;
  }

  /// Returns lines of a TSV file.
  static std::string sentence_pairs(int count) {
    constexpr std::array kWords = {"eine", "kleine", "grosse", "katze", "maus", "sucht", "findet", "wieder", "haus"};
    std::string lines;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      std::string sentence = kWords[i % kWords.size()];
      for (std::size_t j = 1; j < 2 + i % 4; ++j) sentence += std::string(" ") + kWords[(i * j + 2) % kWords.size()];
      lines += fmt::format("{}\t{}\n", sentence, sentence);
    }
    return lines;
  }

  /// Returns a number from `lowest` to `highest`.
  std::int64_t number(std::int64_t lowest, std::int64_t highest) {
    return std::uniform_int_distribution<std::int64_t>(lowest, highest)(random_);
  }
  double share() { return std::uniform_real_distribution<double>()(random_); }

  std::string pick(std::initializer_list<const char*> choices) {
    return *std::next(choices.begin(), number(0, std::ssize(choices) - 1));
  }

 private:
  std::string data() {
    if (number(0, 1) == 0) {
      recorded_.clear();
      return fmt::format(
          "[data]\ntask = \"{}\"\ntrain_size = 250\nvalid_size = 15\ntest_size = 0\nsymbols = 4\nlength_mean = 3.0\n"
          "length_deviation = 1.0\n[vocabulary]\nshared = true\n",
          pick({"copy", "sort"}));
    }
    recorded_ = pick({"", "input = \"eine katze\"\noutput = \"katze\"\n"});
    return fmt::format(
        "[data]\ntrain = [\"large.tsv\", \"small.tsv\"]\nweights = [{}]\nvalid = [\"small.tsv\"]\n[vocabulary]\n"
        "shared = true\n{}",
        pick({"1, 1", "1, 2.5", "0.3, 3"}),
        pick({"", "kind = \"sentencepiece\"\nmodel = \"bpe\"\nsize = 40\ninput_sampling = 0.2\n"}));
  }

  std::string batch() {
    return fmt::format("[batch]\ntokens = {}\nsentences = {}\nwindow = {}\nbucket = {}\npositions = \"{}\"\n",
                       pick({"0", "60"}), pick({"8", "16"}), pick({"0", "100"}), pick({"0", "2"}),
                       pick({"counted", "shifted"}));
  }

  std::string model() {
    const std::string kind = pick({"transformer", "transformer", "universal"});
    const std::string decoder = kind == "transformer" && number(0, 1) == 0
                                    ? "decoder_layers = 3\nexits.layers = [1, 2]\n"
                                    : "decoder_layers = 1\n";
    return fmt::format(
        "[model]\nkind = \"{}\"\nencoder_layers = {}\n{}size = {}\nheads = 2\nfeed_forward = 16\n"
        "dropout.residual = {}\ndropout.attention = {}\n",
        kind, number(1, 2), decoder, pick({"16", "64"}), pick({"0.0", "0.2"}), pick({"0.0", "0.2"}));
  }

  /// Returns a schedule with the options that have an effect on it.
  std::string schedule() {
    const std::string kind = pick({"constant", "noam", "inverse_sqrt", "linear", "cosine", "plateau"});
    const std::string rate = kind == "noam" ? "" : "learning_rate = 0.003\n";
    const std::string patience = kind == "plateau" ? fmt::format("plateau_patience = {}\n", number(1, 2)) : "";
    return fmt::format("schedule = \"{}\"\nwarmup = 20\n{}{}", kind, rate, patience);
  }

  std::string train() {
    return fmt::format(
        "[train]\nepochs = 0\nsteps = {}\nseed = {}\n{}"
        "accumulate = {}\n{}{}clip_norm = {}\naverage = {}\n"
        "keep_best = {}\npatience = {}\nlog_every = {}\nvalidate_every = {}\nsave_every = {}\nbest_by = \"{}\"\n",
        kSteps, number(1, 1000), schedule(), number(1, 3), pick({"", "rdrop = 1.0\n", "simcut = 2.0\ncut = 0.1\n"}),
        pick({"", "precision = \"bf16\"\n", "quantise = \"int8\"\n"}), pick({"0.0", "0.5"}), pick({"0.0", "0.9"}),
        number(0, 2), pick({"0", "0", "3"}), pick({"0", "3", "7"}), pick({"0", "7", "20", "25"}),
        pick({"0", "3", "10"}), pick({"auto", "loss", "accuracy"}));
  }

  std::mt19937_64 random_;
  std::string recorded_;  // the [show] section
};

}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "edgewise/data/encoded_text.h"
#include "edgewise/experiment/make_vocabularies.h"
#include "edgewise/experiment/translation_task.h"
#include "edgewise/train/updater.h"

namespace edgewise {

/// Returns the experiment of a small model that learns to copy letters, with other settings added.
inline Experiment small_experiment(const std::vector<std::string>& others) {
  std::vector<std::string> all = {"data.task=copy",         "data.train_size=24", "data.valid_size=0",
                                  "data.test_size=0",       "data.symbols=5",     "vocabulary.shared=true",
                                  "batch.tokens=0",         "batch.sentences=6",  "model.encoder_layers=2",
                                  "model.decoder_layers=2", "model.size=12",      "model.heads=2",
                                  "model.feed_forward=10",  "train.clip_norm=1"};
  all.insert(all.end(), others.begin(), others.end());
  return parse_experiment("", "small", all);
}

/// A small model that learns to copy letters, and its batches, for tests that call Updater.
class SmallTraining {
 public:
  /// `settings` are those of small_experiment().
  explicit SmallTraining(const std::vector<std::string>& settings)
      : experiment_(small_experiment(settings)),
        corpus_(load_corpus(experiment_.data, "")),
        vocabularies_(make_vocabularies(experiment_.vocabulary, corpus_)),
        task_({experiment_, vocabularies_, make_model(transformer_options(experiment_, vocabularies_), /*seed=*/3)},
              {}),
        batches_(std::make_shared<EncodedText>(corpus_.train, PairEncoder(vocabularies_.input, vocabularies_.output,
                                                                          make_encode_options(experiment_.data))),
                 experiment_.batch, /*seed=*/1, virtual_ranks_of(experiment_.train, single_process())) {}

  const TrainOptions& options() const { return experiment_.train; }
  TranslationTask& task() { return task_; }
  BatchShares& batches() { return batches_; }

 private:
  Experiment experiment_;
  Corpus corpus_;
  Vocabularies vocabularies_;
  TranslationTask task_;
  BatchShares batches_;
};

}  // namespace edgewise

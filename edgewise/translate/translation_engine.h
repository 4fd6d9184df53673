// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "edgewise/base/config/fields.h"
#include "edgewise/base/stop_request.h"
#include "edgewise/options/data_options.h"
#include "edgewise/search/search.h"
#include "edgewise/translate/decoder_depth.h"
#include "edgewise/translate/model_files.h"
#include "edgewise/translate/text_codec.h"

namespace edgewise {

/// Whether a model with a shortlist (search/shortlist.h) computes only the tokens that it selects.
enum class ShortlistUse {
  kAuto,  // on CPUs, except for scoring, whose outputs may have any token
  kOff
};

inline constexpr auto enum_names(ShortlistUse) { return names_in_order<ShortlistUse>("auto", "off"); }

/// Options of a Translator. Search options that are not set come from the [search] section of the model's config. The
/// listed fields are those that a user may set by name, beside the fields of SearchOptions.
struct TranslatorOptions {
  std::string device = "cpu";                            // device/choose_gpu.h
  RuntimePrecision precision = RuntimePrecision::kFp32;  // number format of the model's matrix products
  ShortlistUse shortlist = ShortlistUse::kAuto;          // whether models use theirs
  DecoderDepth depth = {};                               // the part of the decoder that translates
  std::optional<SearchOptions> search = {};              // all search options but the special tokens
  std::optional<std::int64_t> beam = {};                 // search.beam
  std::optional<std::int64_t> n_best = {};               // search.n_best
  std::optional<double> length_penalty = {};             // search.length_penalty
  // Most tokens of an input; by default as in training; 0: no limit but that of a model with learned positions.
  std::optional<std::int64_t> max_input = {};
  LongInputs long_inputs = LongInputs::kSplit;
  PairLanguages languages = {};                             // for a multilingual model; by default as in its config
  SearchCapacity capacity = {};                             // batch size of each worker
  int workers = 1;                                          // searches that run in parallel, each with its own scorer
  int threads = 0;                                          // threads of each worker; 0: num_threads() / workers
  bool alignment = false;                                   // whether translations have alignments and attention
  std::optional<std::int64_t> attention_layer = {};         // search.attention_layer
  std::optional<std::int64_t> attention_head = {};          // search.attention_head
  bool allow_unknown = false;                               // whether `<unknown>` may appear in an output
  bool protect = true;                                      // whether text that is no language is kept as it is
  std::int64_t max_pending_sentences = 4096;                // sentences of a stream that are read and not yet returned
  std::int64_t max_pending_tokens = std::int64_t{1} << 20;  // input tokens of these sentences
  const StopRequest* stop = nullptr;  // read while weights are packed and in each step; may be null

  template <class Self, class Field>
  static void list_fields(Self& self, Field&& field) {
    field(
        "device", self.device,
        "where translating computes: cpu; cuda, the first GPU; cuda:N, the GPU number N; or auto, a GPU if one can be "
        "used");
    field("precision", self.precision, "number format of matrix products");
    field(
        "shortlist", self.shortlist,
        "lexical shortlist of a model that has one: auto, which computes only the output tokens that it selects for an "
        "input, or off");
    field("decoder_layers", self.depth.layers,
          "first decoder layers, at whose end the model has an exit, to translate with; by default all layers",
          at_least(1).at_most(1000));
    field("exit_threshold", self.depth.exit_threshold,
          "threshold of halting at exits, for a model that has them; 1: no token halts; by default that of the model's "
          "config",
          range_of<ExitOptions>("threshold"));
    field("input_language", self.languages.input,
          "a multilingual model's name of the language of inputs, such as eng_Latn; empty: as in the model's config");
    field("output_language", self.languages.output,
          "a multilingual model's name of the language of outputs, such as fra_Latn; empty: as in the model's config");
    field("max_input", self.max_input,
          "most tokens of an input; 0: no limit but that of a model with learned positions; by default the limit of "
          "training",
          range_of<DataOptions>("max_length"));
    field("long_inputs", self.long_inputs,
          "treatment of inputs above max_input: split at sentence ends, or cut off at the end");
    field("allow_unknown", self.allow_unknown, "allow the token <unknown> in outputs");
    field(
        "protect", self.protect,
        "copy inputs without words (numbers, codes, marks), keep addresses, placeholders, long numbers, emoji and code "
        "of an input byte for byte, and remove invisible characters; false: the model reads all text as it is");
    field("batch_sentences", self.capacity.sentences, "most sentences that a worker translates at a time",
          at_least(1).at_most(1e6));
    field("batch_tokens", self.capacity.tokens, "most input tokens that a worker translates at a time; 0: no limit",
          at_least(0).at_most(1e9));
    field("workers", self.workers, "searches that run in parallel and share the cores", at_least(1).at_most(1024));
    field("threads", self.threads,
          "threads of each worker; 0: OMP_NUM_THREADS, or the number of available cores, divided by the workers",
          at_least(0).at_most(1024));
    field("max_pending_tokens", self.max_pending_tokens,
          "most input tokens of all sentences that wait or are in translation; a call with more waits",
          at_least(1).at_most(1e12));
  }
};

/// A model or an ensemble, ready for translating. Copies share the packed parameters.
struct LoadedModels {
  TextCodec codec;
  SearchOptions search;  // options of the first model's config
  ScorerFactory make_scorer;
};

/// Packs models from read_models; several are an ensemble. Of the options, device, precision, shortlist, depth, search,
/// attention_layer, attention_head and stop have an effect. Throws Error for an empty list, and StopException if
/// options.stop is set meanwhile.
LoadedModels load_models(std::vector<ModelFiles> models, const TranslatorOptions& options);

/// The text codec, the search options and the scorers of a model or an ensemble: what translating needs apart from a
/// queue of sentences. Threads may call all functions at the same time.
class TranslationEngine {
 public:
  /// See the constructors of Translator.
  TranslationEngine(std::vector<ModelFiles> models, const TranslatorOptions& options);
  TranslationEngine(LoadedModels models, TranslatorOptions options);
  TranslationEngine(TextCodec codec, ScorerFactory make_scorer, TranslatorOptions options);

  const TextCodec& codec() const { return codec_; }
  const SearchOptions& search_options() const { return search_; }
  const TranslatorOptions& options() const { return options_; }

  /// Converts a sentence as TextCodec::encode does; its parts are inputs of a queue.
  TokenizedSentence encode(const TranslationRequest& request) const {
    return codec_.encode(request, options_.long_inputs);
  }

  /// Searches the inputs of a queue until the queue is at its end or stopped, on options().threads threads and with a
  /// scorer that no other call uses meanwhile. A scorer whose search threw an exception is not used again.
  void run(SearchQueue& queue);

 private:
  void apply_options();
  void apply_vocabulary_rules();
  std::unique_ptr<Scorer> borrow_scorer();
  void return_scorer(std::unique_ptr<Scorer> scorer);

  TextCodec codec_;
  SearchOptions search_;
  ScorerFactory make_scorer_;
  TranslatorOptions options_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Scorer>> idle_scorers_;
};

}  // namespace edgewise

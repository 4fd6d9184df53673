// SPDX-License-Identifier: Apache-2.0
#include "tests/experiment/short_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <fstream>
#include <memory>

#include "edgewise/base/files/files.h"
#include "edgewise/base/sha256.h"
#include "edgewise/experiment/make_vocabularies.h"
#include "edgewise/experiment/train.h"
#include "edgewise/runtime/runtime_model.h"
#include "edgewise/text/vocabulary/mapped_vocabulary.h"
#include "tests/support/memory_folder.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

/// Writes the events of a run to a record. Later events of the same name are appended.
class Recorder : public RunObserver {
 public:
  explicit Recorder(ShortRunResult& record) : record_(record) {}

  void on_corpus(const Corpus& corpus) override {
    for (const TrainingText& text : corpus.train) add("corpus", std::to_string(text.text->report().kept));
    add("validation pairs",
        fmt::format("{} {}", fmt::join(corpus.valid.inputs, "|"), fmt::join(corpus.valid.outputs, "|")));
  }
  void on_data(std::int64_t pairs, const Corpus&, const Vocabularies& vocabularies) override {
    add("pairs", std::to_string(pairs));
    add("vocabularies", vocabularies.input->serialize() + vocabularies.output->serialize());
  }
  void on_texts(const TextCorpus& corpus) override {
    add("text", std::to_string(corpus.train->fingerprint()));
    if (corpus.valid != nullptr) add("validation text", std::to_string(corpus.valid->fingerprint()));
    if (corpus.test != nullptr) add("test text", std::to_string(corpus.test->fingerprint()));
  }
  void on_text_data(std::optional<std::int64_t> tokens, const TextCorpus&, const Vocabularies& vocabularies) override {
    add("tokens", std::to_string(tokens.value_or(0)));
    add("vocabularies", vocabularies.output->serialize());
  }
  void on_step(const StepReport& step) override {
    add("steps", fmt::format("{} {} {} {} {} {}", step.step, step.loss, step.gradient_norm, step.learning_rate,
                             step.tokens, step.last_step.value_or(0)));
  }
  void on_log(const StepReport& step) override { add("logs", fmt::format("{} {}", step.step, step.loss)); }
  void on_validation(std::int64_t step, const Validation& validation, bool is_best) override {
    add("validations", fmt::format("{} {} {} {} {} {}", step, validation.loss, validation.accuracy,
                                   validation.bleu.value_or(-1), is_best, validation.attention));
  }
  void on_save(std::int64_t step, const fs::path& path) override {
    add("saves", fmt::format("{} {}", step, path.filename().string()));
  }
  void on_warning(std::int64_t step, const std::string& text) override {
    add("warnings", fmt::format("{} {}", step, text));
  }

  void add(const std::string& name, const std::string& value) { record_.values[name] += value + "\n"; }

 private:
  ShortRunResult& record_;
};

class CountingScorer : public Scorer {
 public:
  CountingScorer(std::unique_ptr<Scorer> scorer, std::int64_t& steps) : scorer_(std::move(scorer)), steps_(steps) {}

  std::int64_t vocabulary_size() const override { return scorer_->vocabulary_size(); }
  void encode(std::span<const std::int64_t> slots, std::span<const Tokens> inputs) override {
    scorer_->encode(slots, inputs);
  }
  void step(const StepRequest& request, StepResult& result) override {
    steps_ += std::ssize(request.nodes);
    scorer_->step(request, result);
  }

 private:
  std::unique_ptr<Scorer> scorer_;
  std::int64_t& steps_;
};

/// Records the weights and, unless it is a language model, the translations of the run's last model.
void record_model(const fs::path& run, const SearchOptions& search, Recorder& recorder) {
  recorder.add("weights", sha256(read_file(run / "last" / "model.safetensors", "record_model")));
  ModelFiles files = read_model_files(run / "last", "record_model");
  if (!has_encoder(files.experiment.model.kind)) return;
  const TextCodec codec = files.codec;
  const ScorerFactory make_scorer =
      make_runtime_scorer_factory(std::move(files), RuntimePrecision::kFp32, search.recorded_heads);
  std::int64_t steps = 0;
  TranslatorOptions options;
  options.search = search;
  Translator translator(
      codec, [&] { return std::make_unique<CountingScorer>(make_scorer(), steps); }, options);
  try {
    for (const char* input : {"a b c a", "b", "c d c b a b"}) {
      for (const TranslatedText& output : translator.translate(input).outputs) {
        recorder.add("translations", fmt::format("{} {}", output.score, fmt::join(output.token_numbers, " ")));
      }
    }
  } catch (const Error& error) {  // the model of a training that diverged
    recorder.add("translations", error.what());
  }
  recorder.add("search steps", std::to_string(steps));
}

void record_files(const fs::path& run, Recorder& recorder) {
  for (const auto& entry : fs::directory_iterator(run)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("events.")) recorder.add("file " + name, "exists");
  }
}

fs::path make_folder() {
  fs::path folder = memory_folder() / fmt::format("edgewise-options-{}", getpid());
  fs::remove_all(folder);
  fs::create_directories(folder);
  return folder;
}

void write(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

// Words with capitals, marks, rare letters, sides of different lengths, equal sides, and bytes that are not UTF-8.
constexpr const char* kTrainingText =
    "A b c.\tC b A\nb a\ta B\na b, c d\td c\na\ta b c d e\nc d\tc d\nB c d a\ta d c b\na a b\tb a a\nd\td a\n"
    "\xff a b\tb a\na c e\te c a\nB a c\tc a B\ne d c b\tb c d e\na b\tb a!\n";

/// Returns a vocabulary of another system, with words of the texts and two languages.
std::shared_ptr<const Vocabulary> make_languages() {
  TokenList list = {.text = TokenText::kTokens,
                    .tokens = {"<s>", "<pad>", "</s>", "<unk>", "a", "b", "c", "d", "e", "__en__", "__fr__"}};
  list.rules = {.special = {.padding = 1, .unknown = 3, .begin = 2, .end = 2},
                .omitted = {0, 1, 2, 3, 9, 10},
                .forbidden = {0, 1},
                .end_input = true,
                .language_place = LanguagePlace::kBeforeBoth,
                .languages = {{"en", 9}, {"fr", 10}}};
  return make_mapped_vocabulary(std::make_shared<TokenIndex>(std::move(list), "test"), nullptr);
}

// Documents, and a line that is not UTF-8.
constexpr const char* kText =
    "the ship sails to the shore\nwhere it waits for the wind\n--\nthe wind comes from the west\nand from the \xff "
    "sea\n"
    "--\nthere is no other ship on this shore, and no other wind\n";

constexpr const char* kRareText = "c ß\tß c\na œ b\tb œ a\n";
constexpr const char* kSentenceText =
    "the ship waits.\tdas Schiff wartet.\nthe wind sails on.\tder Wind segelt weiter.\n";

}  // namespace

ShortRuns::ShortRuns() : folder_(make_folder()) {
  std::string training = kTrainingText;
  for (int i = 0; i < 3; ++i) training += kTrainingText;
  write(folder_ / "train.tsv", training + kRareText);
  write(folder_ / "sentences.tsv", kSentenceText);
  std::string links;
  for (const char letter : training + kRareText) links += letter == '\n' ? "0-0\n" : "";
  write(folder_ / "links", links);
  write(folder_ / "other-links", std::string(links.size() / 4, '\n'));  // no pair has links
  write(folder_ / "valid.tsv", "a b\tb a\nC d e\te d C\n");
  write(folder_ / "train.txt", kText);
  write(folder_ / "valid.txt", "the ship\n--\nsails to the other shore\n");
  write(folder_ / "other.tsv", "a b\tb a\nd e\te d\nb c a\ta c b\nc\tc d\n");
  const Corpus corpus = load_corpus(parse_experiment("", "test", letter_settings()).data, folder_);
  Experiment reversed = parse_experiment("", "test", letter_settings() + Settings{"vocabulary.size=8"});
  write_vocabularies(folder_ / "vocabulary", make_vocabularies(reversed.vocabulary, corpus), true, "test");
  const Experiment pieces =
      parse_experiment("", "test", text_settings() + Settings{"vocabulary.kind=sentencepiece", "vocabulary.size=24"});
  const auto languages = make_languages();
  write_vocabularies(folder_ / "languages", {languages, languages}, true, "test");
  write_vocabularies(folder_ / "pieces", make_vocabularies(pieces.vocabulary, load_corpus(pieces.data, folder_)), true,
                     "test");
}

ShortRuns::~ShortRuns() { fs::remove_all(folder_); }

const ShortRunResult& ShortRuns::operator()(const Settings& settings) {
  const auto found = results_.find(settings);
  return found != results_.end() ? found->second : results_.emplace(settings, run(settings)).first->second;
}

const fs::path& ShortRuns::begin(const Settings& settings) {
  const auto [entry, is_new] = begun_.try_emplace(settings, folder_ / fmt::format("begun-{}", begun_.size()));
  if (is_new) {
    run(settings);
    fs::rename(folder_ / "run", entry->second);
  }
  return entry->second;
}

const ShortRunResult& ShortRuns::resume(const Settings& settings, const Settings& others) {
  const auto found = resumed_.find({settings, others});
  if (found != resumed_.end()) return found->second;
  fs::remove_all(folder_ / "run");
  fs::copy(begin(settings), folder_ / "run", fs::copy_options::recursive);
  return resumed_.emplace(std::pair(settings, others), run(settings + others, /*is_resumed=*/true)).first->second;
}

ShortRunResult ShortRuns::run(const Settings& settings, bool is_resumed) const {
  ShortRunResult record;
  record.is_refused = true;
  try {
    const Experiment experiment = parse_experiment("", "test", settings);
    check_options(experiment, "train");
    record.is_refused = false;
    const fs::path run = folder_ / "run";
    if (!is_resumed) fs::remove_all(run);
    Recorder recorder(record);
    recorder.add("unused options", describe_unused_options(experiment.vocabulary));
    RunRequests requests;
    const TrainResult result =
        train(experiment, run, {.data_folder = folder_, .is_resumed = is_resumed}, recorder, requests);
    recorder.add("end", fmt::format("{} {}", static_cast<int>(result.outcome), result.step));
    recorder.add("test pairs", fmt::format("{}", fmt::join(result.test.outputs, "|")));
    record_model(run, experiment.search, recorder);
    record_files(run, recorder);
  } catch (const Error& error) {
    record.error = error.what();
  }
  return record;
}

}  // namespace edgewise

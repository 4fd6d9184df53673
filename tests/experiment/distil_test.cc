// SPDX-License-Identifier: Apache-2.0
#include "edgewise/experiment/distil.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "edgewise/base/config/config.h"
#include "edgewise/base/files/files.h"
#include "edgewise/base/random.h"
#include "edgewise/experiment/distil_pairs.h"
#include "edgewise/text/metrics/chrf.h"
#include "edgewise/train/run_files.h"
#include "tests/support/error_of.h"
#include "tests/train/run_folder.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

/// Records the steps, and calls a function after each translated line.
class StepRecorder : public DistilObserver {
 public:
  void on_step(std::string_view step, bool is_done) override { steps.emplace_back(step, is_done); }
  void on_translation(std::int64_t lines) override {
    if (after_line) after_line(lines);
  }

  std::vector<std::pair<std::string, bool>> steps;
  std::function<void(std::int64_t lines)> after_line;
};

/// Requests a stop in the training of a step.
class TrainingStopper : public StepRecorder {
 public:
  TrainingStopper(RunRequests& requests, std::string step) : requests_(requests), step_(std::move(step)) {}

  std::unique_ptr<RunObserver> observe_training(const Experiment& student) override {
    if (steps.back().first != step_) return StepRecorder::observe_training(student);
    return std::make_unique<ThirdStep>(requests_);
  }

 private:
  class ThirdStep : public RunObserver {
   public:
    explicit ThirdStep(RunRequests& requests) : requests_(requests) {}
    void on_step(const StepReport& report) override {
      if (report.step == 3) requests_.stop = true;
    }

   private:
    RunRequests& requests_;
  };

  RunRequests& requests_;
  std::string step_;
};

class DistilTest : public RunFolder {
 protected:
  static constexpr int kLines = 300;

  DistilTest() {
    fs::create_directories(folder());
    RandomStream random(3);
    for (int i = 0; i < kLines; ++i) {
      std::string line;
      for (std::uint64_t n = 2 + random.next_below(4); n > 0; --n) {
        line += static_cast<char>('a' + random.next_below(4));
        line += ' ';
      }
      inputs_ += line + "\n";
    }
    write("inputs", inputs_);
    write("valid.tsv", "a b\ta b\nc d a\tc d a\n");
    write("student.toml",
          "[data]\nvalid = [\"valid.tsv\"]\ntest = [\"valid.tsv\"]\n[vocabulary]\nshared = true\n"
          "[batch]\ntokens = 60\n[model]\nencoder_layers = 1\ndecoder_layers = 1\nsize = 16\nheads = 2\n"
          "feed_forward = 16\ndecoder_mixer = \"ssru\"\n"
          "[train]\nepochs = 0\nsteps = 6\nwarmup = 2\nguided_alignment = 0.5\n");
    train_teacher();
  }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder() / name, std::ios::binary) << text;
  }
  static std::string read(const fs::path& path) { return read_file(path, "read"); }

  DistilOptions options() const {
    DistilOptions options;
    options.teachers = {"teacher"};
    options.inputs = {"inputs"};
    options.student = "student.toml";
    options.filter.skip_repeated = false;
    options.tuning = {.steps = 5, .learning_rate = 0.001};
    options.shortlist.first = options.shortlist.best = 4;
    return options;
  }

  void run(const DistilOptions& options, const std::string& out, DistilObserver& observer,
           Overwrite overwrite = Overwrite::kNo) const {
    RunRequests requests;
    distil(options, folder(), folder() / out, observer, requests, overwrite);
  }

  std::string error(const DistilOptions& options, const std::string& out = "out") const {
    StepRecorder recorder;
    std::string text = error_of([&] { run(options, out, recorder); });
    const std::string prefix = folder().string() + "/";
    for (auto at = text.find(prefix); at != std::string::npos; at = text.find(prefix)) text.erase(at, prefix.size());
    return text;
  }

  std::string inputs_;

 private:
  void train_teacher() const {
    const std::vector<std::string> settings = {
        "data.task=copy",         "data.train_size=200",     "data.valid_size=0",        "data.test_size=0",
        "data.symbols=4",         "data.length_mean=4",      "data.length_deviation=1",  "vocabulary.shared=true",
        "batch.tokens=0",         "batch.sentences=20",      "model.encoder_layers=1",   "model.decoder_layers=1",
        "model.size=16",          "model.heads=2",           "model.feed_forward=16",    "train.epochs=0",
        "train.steps=60",         "train.schedule=constant", "train.learning_rate=0.02", "train.warmup=0",
        "train.validate_every=0", "search.beam=2",           "search.min_length=1"};
    RunObserver observer;
    RunRequests requests;
    train(parse_experiment("", "teacher", settings), folder() / "teacher", {}, observer, requests);
  }
};

std::vector<std::pair<std::string, bool>> all_steps(bool is_done) {
  return {{"1-translations", is_done}, {"2-pairs", is_done}, {"3-links", is_done},
          {"4-student", is_done},      {"5-tuned", is_done}, {"6-model", is_done}};
}

TEST_F(DistilTest, MakesAStudentStepByStepAndSkipsWhatIsDone) {
  StepRecorder first;
  run(options(), "out", first);

  const fs::path out = folder() / "out";
  EXPECT_EQ(first.steps, all_steps(false));
  const std::string translations = read(out / "1-translations" / "translations.tsv");
  EXPECT_EQ(std::ranges::count(translations, '\n'), kLines);
  const auto pairs = std::ranges::count(read(out / "2-pairs" / "inputs"), '\n');
  EXPECT_GT(pairs, 0);
  EXPECT_EQ(std::ranges::count(read(out / "2-pairs" / "outputs"), '\n'), pairs);
  EXPECT_EQ(std::ranges::count(read(out / "3-links" / "links"), '\n'), pairs);
  EXPECT_THAT(read(out / "4-student" / "run" / "last" / "config.toml"), HasSubstr("decoder_mixer = \"ssru\""));
  const std::string tuned = read(out / "5-tuned" / "run" / "last" / "config.toml");
  EXPECT_THAT(tuned, HasSubstr("quantise = \"int8\""));
  EXPECT_THAT(tuned, HasSubstr("steps = 5"));
  EXPECT_NE(read(out / "5-tuned" / "run" / "last" / "model.safetensors"),
            read(out / "4-student" / "run" / "last" / "model.safetensors"));
  const std::string card = read(out / "6-model" / "card.md");
  EXPECT_THAT(card, HasSubstr("| teachers | teacher |"));
  EXPECT_THAT(card, HasSubstr("2 test pairs of valid.tsv"));
  EXPECT_TRUE(fs::exists(out / "6-model" / "model" / "shortlist.bin"));
  EXPECT_FALSE(fs::exists(out / "6-model" / "listed"));
  EXPECT_THAT(read(out / "6-model" / "model" / "config.toml"), HasSubstr("attention_head = 0"));
  const auto attention = [&](std::optional<std::int64_t> head) {
    TranslatorOptions translator = {.precision = RuntimePrecision::kInt8, .shortlist = ShortlistUse::kOff};
    translator.alignment = true;
    translator.attention_head = head;
    const std::vector<TranslationRequest> requests = {{.input = "a b", .prefix = "b a"}};
    return Translator(out / "6-model" / "model", translator).translate(requests).front().outputs.front().attention;
  };
  EXPECT_EQ(attention(std::nullopt), attention(0));
  EXPECT_NE(attention(std::nullopt), attention(-1));

  const auto time = fs::last_write_time(out / "1-translations" / "translations.tsv");
  StepRecorder second;
  run(options(), "out", second);
  EXPECT_EQ(second.steps, all_steps(true));
  EXPECT_EQ(fs::last_write_time(out / "1-translations" / "translations.tsv"), time);
}

TEST_F(DistilTest, MakesNoLinksNoShortlistAndNo8BitsUnlessTheyAreWanted) {
  write(
      "plain.toml",
      "[vocabulary]\nshared = true\n[batch]\ntokens = 60\n[model]\nencoder_layers = 1\ndecoder_layers = 1\nsize = 16\n"
      "heads = 2\nfeed_forward = 16\n[train]\nepochs = 0\nsteps = 2\nwarmup = 1\n");
  DistilOptions plain = options();
  plain.student = "plain.toml";
  plain.shortlist = {};
  plain.tuning = {};
  plain.shortlist.learn = plain.quantise = false;
  StepRecorder recorder;
  run(plain, "out", recorder);

  EXPECT_EQ(recorder.steps.size(), 4U);
  EXPECT_FALSE(fs::exists(folder() / "out" / "3-links"));
  const fs::path model = folder() / "out" / "6-model" / "model";
  EXPECT_FALSE(fs::exists(model / "shortlist.bin"));
  EXPECT_EQ(read(model / "model.safetensors"),
            read(folder() / "out" / "4-student" / "run" / "last" / "model.safetensors"));
}

TEST_F(DistilTest, GoesOnWithTheTranslationsAndTheTrainingWhereItStopped) {
  StepRecorder whole;
  run(options(), "whole", whole);

  RunRequests requests;
  StepRecorder stopped;
  stopped.after_line = [&](std::int64_t lines) { requests.stop = lines >= 7; };
  EXPECT_THROW(distil(options(), folder(), folder() / "parts", stopped, requests), StopException);
  const fs::path file = folder() / "parts" / "1-translations" / "translations.tsv";
  const std::string begun = read(file);
  EXPECT_GE(std::ranges::count(begun, '\n'), 7);
  EXPECT_LT(std::ranges::count(begun, '\n'), kLines);
  std::ofstream(file, std::ios::app) << "an incomplete li";

  for (const char* step : {"4-student", "5-tuned"}) {
    RunRequests training;
    TrainingStopper stopper(training, step);
    EXPECT_THROW(distil(options(), folder(), folder() / "parts", stopper, training), StopException);
    EXPECT_THAT(stopper.steps.back(), Pair(step, false));
  }

  StepRecorder resumed;
  run(options(), "parts", resumed);
  EXPECT_THAT(resumed.steps, ElementsAre(Pair("1-translations", true), Pair("2-pairs", true), Pair("3-links", true),
                                         Pair("4-student", true), Pair("5-tuned", false), Pair("6-model", false)));
  const auto files = {"1-translations/translations.tsv",
                      "2-pairs/inputs",
                      "2-pairs/outputs",
                      "3-links/links",
                      "4-student/run/last/model.safetensors",
                      "5-tuned/run/last/model.safetensors",
                      "6-model/model/model.safetensors"};
  for (const char* name : files) {
    EXPECT_EQ(read(folder() / "parts" / name), read(folder() / "whole" / name)) << name;
  }
}

TEST_F(DistilTest, RefusesAStepThatWasMadeFromOtherOptionsUnlessItMayBeReplaced) {
  StepRecorder first;
  run(options(), "out", first);
  DistilOptions changed = options();
  changed.filter.max_words = 4;

  EXPECT_EQ(error(changed),
            "distil: out/2-pairs was made from other files or options, needs --overwrite to be made again; or choose "
            "another --out");
  StepRecorder replaced;
  run(changed, "out", replaced, Overwrite::kYes);
  EXPECT_THAT(replaced.steps, ElementsAre(Pair("1-translations", true), Pair("2-pairs", false), Pair("3-links", false),
                                          Pair("4-student", false), Pair("5-tuned", false), Pair("6-model", false)));
  write("student.toml",
        "[data]\nvalid = [\"valid.tsv\"]\n[vocabulary]\nshared = true\n[batch]\ntokens = 60\n[model]\n"
        "encoder_layers = 1\ndecoder_layers = 1\nsize = 16\nheads = 2\nfeed_forward = 16\n"
        "[train]\nepochs = 0\nsteps = 2\nwarmup = 1\n");
  StepRecorder another_student;
  run(changed, "out", another_student, Overwrite::kYes);
  EXPECT_THAT(read(folder() / "out" / "4-student" / "run" / "last" / "config.toml"),
              HasSubstr("decoder_mixer = \"attention\""));
  write("inputs", inputs_ + "a\n");
  EXPECT_THAT(error(changed), HasSubstr("distil: out/1-translations was made from other files or options"));
  fs::create_directories(folder() / "other" / "1-translations");
  write("other/1-translations/mine", "text");
  EXPECT_EQ(error(options(), "other"),
            "distil: other/1-translations has files but no step.txt, needs a folder of its own");
}

TEST_F(DistilTest, ChoosesTheHypothesisThatIsMostSimilarToTheReference) {
  std::string references;
  for (int i = 0; i < kLines; ++i) references += i % 2 == 0 ? "a a\n" : "d c b\n";
  write("references", references);
  DistilOptions by_chrf = options();
  by_chrf.references = {"references"};
  by_chrf.search.best_by = HypothesisChoice::kChrf;
  by_chrf.search.n_best = 4;
  StepRecorder recorder;
  StopRequest stop = false;
  translate_corpus(by_chrf, folder(), folder() / "translations", recorder, stop);

  Translator teacher(folder() / "teacher", {.beam = 4, .n_best = 4});
  std::ifstream lines(folder() / "translations");
  std::istringstream inputs(inputs_);
  int others = 0;
  for (int i = 0; i < kLines; ++i) {
    std::string line;
    std::string input;
    std::getline(lines, line);
    std::getline(inputs, input);
    const std::string output = line.substr(input.size() + 1, line.rfind('\t') - input.size() - 1);
    const std::string reference = i % 2 == 0 ? "a a" : "d c b";
    const auto similarity = [&](const std::string& text) {
      return chrf(std::span(&text, 1), std::span(&reference, 1)).score;
    };
    const Translation translation = teacher.translate(input);
    for (const TranslatedText& other : translation.outputs) EXPECT_LE(similarity(other.text), similarity(output));
    others += output != translation.outputs.front().text ? 1 : 0;
  }
  EXPECT_GT(others, 0);
}

TEST_F(DistilTest, LeavesOutPairsForEachReason) {
  write("translations",
        "a b\tA B\t-0.5\n\tA\t-1\na\t\t-1\na b c d e\tA B C D E\t-0.1\na\tA B C D\t-0.1\na b\tA B\t-0.5\na c\tA C\t-3\n"
        "c\tC\tnan\n");
  const DistilFilterOptions filter = {.max_ratio = 1.5, .max_words = 4, .min_log_probability = -2};
  StopRequest stop = false;
  const DistilledPairs pairs =
      filter_pairs(folder() / "translations", filter, folder() / "left", folder() / "right", stop);

  EXPECT_EQ(pairs.describe_skipped(),
            "2 pairs with an empty side, 1 with too many words, 1 with sides of too different length, 2 with an "
            "unlikely output, 1 that came before");
  EXPECT_EQ(pairs.kept, 1);
  EXPECT_EQ(read(folder() / "left"), "a b\n");
  EXPECT_EQ(read(folder() / "right"), "A B\n");

  write("translations", "\ta\t0\n");
  EXPECT_EQ(error_of([&] { filter_pairs(folder() / "translations", {}, folder() / "left", folder() / "right", stop); }),
            "distil: no pair is left, needs at least one; left out: 1 pair with an empty side");
}

TEST_F(DistilTest, NamesOptionsThatDoNotFitBeforeItWritesAnything) {
  const auto error_with = [&](const std::function<void(DistilOptions&)>& change) {
    DistilOptions changed = options();
    change(changed);
    return error(changed);
  };
  EXPECT_EQ(error_with([](DistilOptions& o) { o.teachers.clear(); }),
            "distil: teachers is empty, needs at least one model");
  EXPECT_EQ(error_with([](DistilOptions& o) { o.inputs.clear(); }),
            "distil: inputs is empty, needs at least one file of sentences");
  EXPECT_EQ(error_with([](DistilOptions& o) { o.student.clear(); }),
            "distil: student is empty, needs the config of the student's training");
  EXPECT_EQ(error_with([](DistilOptions& o) { o.references = {"inputs"}; }),
            "distil: references is [\"inputs\"], needs search.best_by=chrf");
  EXPECT_EQ(error_with([](DistilOptions& o) { o.search.n_best = 4; }),
            "distil: search.n_best is 4, needs search.best_by=chrf");
  EXPECT_EQ(error_with([](DistilOptions& o) { o.tuning.steps = 0; }),
            "distil: tuning.learning_rate is 0.001, needs tuning.steps above 0");
  EXPECT_EQ(error_with([](DistilOptions& o) { o.shortlist.learn = false; }),
            "distil: shortlist.first is 4, needs shortlist.learn=true");
  EXPECT_EQ(error_with([](DistilOptions& o) { o.search.best_by = HypothesisChoice::kChrf; }),
            "distil: references are 0 files, needs 1, one for each of inputs with search.best_by=chrf");
  EXPECT_EQ(error_with([](DistilOptions& o) { o.quantise = false; }),
            "distil: tuning.steps is 5, needs quantise=true, for which the student is tuned");
  write("plain.toml", "[data]\nvalid = [\"valid.tsv\"]\n");
  EXPECT_EQ(error_with([](DistilOptions& o) { o.student = "plain.toml", o.alignment_iterations = 7; }),
            "distil: alignment_iterations is 7, needs a student with train.guided_alignment above 0");
  write("student.toml", "[data]\ntrain = [\"valid.tsv\"]\n");
  EXPECT_EQ(error(options()),
            "distil: student.toml names training pairs, needs data.train, data.weights and data.alignments left out, "
            "because the student learns those of its teachers");
  EXPECT_FALSE(fs::exists(folder() / "out"));
}

TEST_F(DistilTest, RefusesADirectoryWithAModelOrOneInWhichAnotherProcessWorks) {
  EXPECT_EQ(error(options(), "teacher"),
            "distil: teacher holds a model, needs a directory for the steps; choose another --out");
  EXPECT_FALSE(fs::exists(folder() / "teacher" / "1-translations"));
  const RunLock lock(folder() / "taken");
  EXPECT_THAT(error(options(), "taken"), HasSubstr("another process trains in taken"));
  EXPECT_FALSE(fs::exists(folder() / "taken" / "1-translations"));
}

TEST(DistilOptions, AreReadFromAConfig) {
  const auto options = parse_config<DistilOptions>(
      "teachers = [\"a\", \"b\"]\ninputs = [\"in\"]\nstudent = \"s.toml\"\nquantise = false\n"
      "[search]\nbest_by = \"chrf\"\n[filter]\nmin_log_probability = -1.5\n[shortlist]\nlearn = false\nbest = 50\n"
      "[tuning]\nsteps = 7\n",
      "distil.toml");
  EXPECT_THAT(options.teachers, ElementsAre("a", "b"));
  EXPECT_EQ(options.search.best_by, HypothesisChoice::kChrf);
  EXPECT_EQ(options.filter.min_log_probability, -1.5);
  EXPECT_FALSE(options.shortlist.learn || options.quantise);
  EXPECT_EQ(options.shortlist.best, 50);
  EXPECT_EQ(options.tuning.steps, 7);
}

}  // namespace
}  // namespace edgewise

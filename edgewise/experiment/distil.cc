// SPDX-License-Identifier: Apache-2.0
#include "edgewise/experiment/distil.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <utility>

#include "edgewise/base/config/config.h"
#include "edgewise/base/config/option_rules.h"
#include "edgewise/base/error.h"
#include "edgewise/base/files/files.h"
#include "edgewise/base/sha256.h"
#include "edgewise/base/version.h"
#include "edgewise/experiment/distil_pairs.h"
#include "edgewise/experiment/distil_step.h"
#include "edgewise/experiment/make_vocabularies.h"
#include "edgewise/text/corpus/parallel_text.h"
#include "edgewise/text/metrics/bleu.h"
#include "edgewise/text/metrics/chrf.h"
#include "edgewise/train/run_files.h"
#include "edgewise/translate/model_files.h"
#include "edgewise/translate/translator.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

bool chooses_by_chrf(const DistilOptions& options) { return options.search.best_by == HypothesisChoice::kChrf; }

constexpr auto kDistilRules = std::to_array<OptionRule<DistilOptions>>({
    {"references search.n_best", chooses_by_chrf, "search.best_by=chrf"},
    {"tuning.steps", [](const DistilOptions& o) { return o.quantise; },
     "quantise=true, for which the student is tuned"},
    {"tuning.learning_rate", [](const DistilOptions& o) { return o.tuning.steps > 0; }, "tuning.steps above 0"},
    {"shortlist.first shortlist.best shortlist.threshold shortlist.sentences shortlist.iterations",
     [](const DistilOptions& o) { return o.shortlist.learn; }, "shortlist.learn=true"},
});

void check_distil_options(const DistilOptions& options) {
  check_ranges(options, kDistil);
  check(!options.teachers.empty(), "{}: teachers is empty, needs at least one model", kDistil);
  check(!options.inputs.empty(), "{}: inputs is empty, needs at least one file of sentences", kDistil);
  check(!options.student.empty(), "{}: student is empty, needs the config of the student's training", kDistil);
  check_effects<DistilOptions>(options, DistilOptions(), kDistilRules, kDistil);
  check(!chooses_by_chrf(options) || options.references.size() == options.inputs.size(),
        "{}: references are {} files, needs {}, one for each of inputs with search.best_by=chrf", kDistil,
        options.references.size(), options.inputs.size());
}

/// Hashes what a step depends on.
class StepHash {
 public:
  StepHash& add(std::string_view text) {
    hash_.update(fmt::format("{} ", text.size()));
    hash_.update(text);
    return *this;
  }
  StepHash& add_file(const fs::path& file) { return add(hash_file(file)); }
  StepHash& add_files(const std::vector<std::string>& files, const fs::path& folder) {
    for (const std::string& file : files) add_file(folder / file);
    return *this;
  }
  std::string finish() { return hash_.finish(); }

 private:
  Sha256 hash_;
};

/// A student's config, and the paths of its training pairs.
struct StudentConfig {
  fs::path path;
  Experiment experiment;

  fs::path folder() const { return path.parent_path(); }
  bool has_links() const { return experiment.train.guided_alignment > 0; }
};

/// The paths in the folder of the result.
struct DistilPaths {
  fs::path out;

  fs::path translations() const { return out / "1-translations" / "translations.tsv"; }
  fs::path inputs() const { return out / "2-pairs" / "inputs"; }
  fs::path outputs() const { return out / "2-pairs" / "outputs"; }
  fs::path links() const { return out / "3-links" / "links"; }
  fs::path student() const { return out / "4-student" / "run"; }
  fs::path tuned() const { return out / "5-tuned" / "run"; }
};

/// Throws Error for a directory with a model, to which nothing may be added.
void check_destination(const fs::path& out) {
  check(!model_directory(out, kDistil), "{}: {} holds a model, needs a directory for the steps; choose another --out",
        kDistil, out.string());
}

/// Makes the head that learns the links the one whose weights give alignments, unless the config chooses one.
void record_guided_head(Experiment& student) {
  CrossHeads& heads = student.search.recorded_heads;
  if (heads.layer != CrossHeads().layer || heads.head != CrossHeads().head) return;
  heads = {.layer = student.train.guided_layer, .head = student.train.guided_head};
}

/// Reads the student's config, whose training pairs become those of the teachers.
StudentConfig read_student(const DistilOptions& options, const fs::path& folder, const DistilPaths& paths) {
  StudentConfig student = {.path = folder / options.student, .experiment = {}};
  student.experiment = read_experiment(student.path);
  DataOptions& data = student.experiment.data;
  check(data.train.empty() && data.weights.empty() && data.alignments.empty(),
        "{}: {} names training pairs, needs data.train, data.weights and data.alignments left out, because the student "
        "learns those of its teachers",
        kDistil, student.path.string());
  data.train = {fs::absolute(paths.inputs()).string(), fs::absolute(paths.outputs()).string()};
  if (student.has_links()) {
    data.alignments = {fs::absolute(paths.links()).string()};
    record_guided_head(student.experiment);
  }
  const std::int64_t iterations = options.alignment_iterations;
  check(student.has_links() || iterations == DistilOptions().alignment_iterations,
        "{}: alignment_iterations is {}, needs a student with train.guided_alignment above 0", kDistil, iterations);
  check_options(student.experiment, kDistil);
  check(has_encoder(student.experiment.model.kind),
        "{}: {} has model.kind=language_model, needs a model that translates", kDistil, student.path.string());
  return student;
}

/// Returns the config of the run that tunes the student of another run.
Experiment tuning_config(const StudentConfig& student, const DistilTuningOptions& tuning, const fs::path& run) {
  const TrainOptions defaults;
  Experiment tuned = student.experiment;
  tuned.vocabulary.file = fs::absolute(run).lexically_normal().string();  // as train() names the model of `from`
  TrainOptions& train = tuned.train;
  train.quantise = ProductRounding::kInt8;
  train.precision = Precision::kFp32;
  train.epochs = 0;
  train.steps = tuning.steps;
  train.schedule = ScheduleKind::kConstant;
  train.learning_rate = tuning.learning_rate;
  train.warmup = tuning.steps / 10;
  train.min_learning_rate = defaults.min_learning_rate;
  train.factor = defaults.factor;
  train.plateau_factor = defaults.plateau_factor;
  train.plateau_patience = defaults.plateau_patience;
  return tuned;
}

void write_text(const fs::path& path, std::string_view text) {
  AtomicFile file(path, kDistil);
  file.write(text);
  file.commit();
}

struct TestScores {
  double bleu = 0;
  double chrf = 0;
};

BleuOptions bleu_options(const Experiment& student) {
  return {.lower_case = student.vocabulary.output_case == CaseKind::kLower};
}

TestScores score_test(Translator& translator, const SentencePairs& test, const Experiment& student,
                      const StopRequest& stop) {
  std::vector<TranslationRequest> requests;
  for (const std::string& input : test.inputs) requests.push_back({.input = input});
  std::vector<std::string> outputs;
  for (Translation& translation : translator.translate(requests)) {
    outputs.push_back(std::move(translation.outputs.front().text));
  }
  const BleuOptions options = bleu_options(student);
  return {.bleu = bleu(outputs, test.outputs, options, &stop).score,
          .chrf = chrf(outputs, test.outputs, {.lower_case = options.lower_case}).score};
}

/// Runs the steps one after the other.
class Distillation {
 public:
  Distillation(const DistilOptions& options, const fs::path& folder, const fs::path& out, DistilObserver& observer,
               RunRequests& requests, Overwrite overwrite)
      : options_(options),
        folder_(folder),
        paths_{out},
        student_(read_student(options, folder, paths_)),
        observer_(observer),
        requests_(requests),
        overwrite_(overwrite) {
    if (is_tuned()) check_options(tuning_config(student_, options.tuning, paths_.student()), kDistil);
  }

  void run() {
    const std::string translations = hash_translations();  // names missing files before anything is written
    const RunLock lock(paths_.out);                        // two processes must not append to one file
    std::string hash = translate(translations);
    hash = filter(hash);
    if (student_.has_links()) hash = align(hash);
    hash = train_student(hash);
    if (is_tuned()) hash = tune(hash);
    finish_model(hash);
  }

 private:
  /// Calls `make` with the folder of a step that is not done, and returns the hash of the step.
  template <class Make>
  std::string run_step(const char* name, const std::string& hash, Make make) {
    throw_if_set(&requests_.stop);
    StepFolder step(paths_.out / name, hash, overwrite_);
    observer_.on_step(name, step.is_done());
    if (!step.is_done()) {
      make(step);
      step.finish();
    }
    return hash;
  }

  std::string hash_translations() const {
    StepHash hash;
    for (const std::string& teacher : options_.teachers) {
      const fs::path path = path_exists(folder_ / teacher, kDistil) ? folder_ / teacher : fs::path(teacher);
      hash.add_file(find_model(path, kDistil) / kManifestName);
    }
    hash.add_files(options_.inputs, folder_).add_files(options_.references, folder_).add(to_toml(options_.search));
    return hash.finish();
  }

  std::string translate(const std::string& hash) {
    return run_step("1-translations", hash, [&](const StepFolder&) {
      translate_corpus(options_, folder_, paths_.translations(), observer_, requests_.stop);
    });
  }

  std::string filter(const std::string& before) {
    return run_step(
        "2-pairs", StepHash().add(before).add(to_toml(options_.filter)).finish(), [&](const StepFolder& step) {
          const DistilledPairs pairs =
              filter_pairs(paths_.translations(), options_.filter, paths_.inputs(), paths_.outputs(), requests_.stop);
          const std::string skipped = pairs.describe_skipped();
          write_text(step / "report.txt",
                     fmt::format("{} pairs{}{}\n", pairs.kept, skipped.empty() ? "" : "; left out: ", skipped));
          observer_.on_pairs(pairs);
        });
  }

  std::string align(const std::string& before) {
    const std::string iterations = std::to_string(options_.alignment_iterations);
    return run_step("3-links", StepHash().add(before).add(iterations).finish(), [&](const StepFolder&) {
      write_links(paths_.inputs(), paths_.outputs(), options_.alignment_iterations, paths_.links(), requests_.stop);
    });
  }

  std::string train_student(const std::string& before) {
    StepHash hash;
    hash.add(before).add_file(student_.path);
    hash.add_files(student_.experiment.data.valid, student_.folder());
    if (const auto given = read_given_vocabularies(student_.experiment.vocabulary, student_.folder())) {
      hash.add(given->vocabularies.input->serialize()).add(given->vocabularies.output->serialize());
    }
    return run_step("4-student", hash.finish(),
                    [&](const StepFolder&) { run_training(student_.experiment, paths_.student(), {}); });
  }

  bool is_tuned() const { return options_.tuning.steps > 0; }

  std::string tune(const std::string& before) {
    return run_step("5-tuned", StepHash().add(before).add(to_toml(options_.tuning)).finish(), [&](const StepFolder&) {
      run_training(tuning_config(student_, options_.tuning, paths_.student()), paths_.tuned(), paths_.student());
    });
  }

  /// Begins a training, from the parameters of another run unless `from` is empty, or resumes it.
  void run_training(const Experiment& experiment, const fs::path& run, const fs::path& from) {
    const std::unique_ptr<RunObserver> training = observer_.observe_training(experiment);
    const bool is_resumed = path_exists(run / "last", kDistil);
    const TrainResult result = edgewise::train(
        experiment, run,
        {.data_folder = student_.folder(), .is_resumed = is_resumed, .from = is_resumed ? fs::path() : from}, *training,
        requests_);
    if (result.outcome == Outcome::kInterrupted) throw StopException();
  }

  void finish_model(const std::string& before) {
    StepHash hash;
    hash.add(before).add(to_toml(options_.shortlist)).add(options_.quantise ? "int8" : "fp32");
    hash.add_files(student_.experiment.data.test, student_.folder());
    run_step("6-model", hash.finish(), [&](const StepFolder& step) {
      make_model_directory(step);
      write_text(step / "card.md", model_card(step / "model"));
    });
  }

  void make_model_directory(const StepFolder& step) const {
    fs::path source = is_tuned() ? paths_.tuned() : paths_.student();
    const fs::path listed = options_.quantise ? step / "listed" : step / "model";
    if (options_.shortlist.learn) {
      learn_shortlist(source, {paths_.inputs().string(), paths_.outputs().string(), ""}, listed, options_.shortlist,
                      Overwrite::kYes);
      source = listed;
    }
    if (options_.quantise) {
      quantise_model(source, step / "model", Overwrite::kYes);
      file_system().remove_all(step / "listed");
    } else if (!options_.shortlist.learn) {
      const ModelFiles files = read_model_files(source, kDistil);
      write_derived_model(files, files.parameters.bytes(), step / "model", kDistil);
    }
  }

  std::string model_card(const fs::path& model) const {
    const TransformerOptions& size = student_.experiment.model;
    std::string card = fmt::format(
        "# A student of {}\n\nMade by `edgewise distil`, edgewise {}.\n\n"
        "| | |\n|---|---|\n| teachers | {} |\n| pairs | {} |\n"
        "| layers | {} and {} of size {}, feed-forward {}, decoder mixer {} |\n"
        "| training for 8 bits | {} steps |\n| matrices | {} |\n| shortlist | {} |\n| bytes of the parameters | {} |\n",
        options_.teachers.front(), version(), fmt::join(options_.teachers, ", "),
        strip_line_feed(read_file(paths_.out / "2-pairs" / "report.txt", kDistil)), size.encoder_layers,
        size.decoder_layers, size.size, size.feed_forward, enum_name(size.decoder_mixer), options_.tuning.steps,
        options_.quantise ? "8 bits" : "fp32", options_.shortlist.learn ? "yes" : "no",
        fs::file_size(model / kParametersFile));
    const std::vector<std::string>& files = student_.experiment.data.test;
    return files.empty() ? card : card + test_table(model, files);
  }

  /// Compares the student with its teachers on the test set of its config.
  std::string test_table(const fs::path& model, const std::vector<std::string>& files) const {
    std::vector<std::string> paths;
    paths.reserve(files.size());
    for (const std::string& file : files) paths.push_back((student_.folder() / file).string());
    const SentencePairs test = read_pairs(paths, {.bad_pairs = BadPairs::kError});
    Translator teachers = load_teachers(options_, folder_, requests_.stop);
    Translator student(model, {.precision = options_.quantise ? RuntimePrecision::kInt8 : RuntimePrecision::kFp32,
                               .stop = &requests_.stop});
    std::string table = fmt::format("\n{} test pairs of {}, {}:\n\n| | BLEU | chrF |\n|---|---|---|\n", test.size(),
                                    fmt::join(files, ", "), bleu_signature(bleu_options(student_.experiment)));
    const auto add = [&](const char* name, Translator& translator) {
      const TestScores scores = score_test(translator, test, student_.experiment, requests_.stop);
      table += fmt::format("| {} | {:.1f} | {:.1f} |\n", name, scores.bleu, scores.chrf);
    };
    add("teachers", teachers);
    add("student", student);
    return table;
  }

  static std::string strip_line_feed(std::string text) {
    while (text.ends_with('\n')) text.pop_back();
    return text;
  }

  const DistilOptions& options_;
  fs::path folder_;
  DistilPaths paths_;
  StudentConfig student_;
  DistilObserver& observer_;
  RunRequests& requests_;
  Overwrite overwrite_;
};

}  // namespace

void distil(const DistilOptions& options, const fs::path& folder, const fs::path& out, DistilObserver& observer,
            RunRequests& requests, Overwrite overwrite) {
  check_distil_options(options);
  check_destination(out);
  Distillation(options, folder, out, observer, requests, overwrite).run();
}

}  // namespace edgewise

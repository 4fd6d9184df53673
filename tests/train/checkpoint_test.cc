// SPDX-License-Identifier: Apache-2.0
#include "edgewise/train/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cmath>
#include <fstream>
#include <limits>

#include "edgewise/base/error.h"
#include "edgewise/base/files/directory.h"
#include "edgewise/base/files/file_system.h"
#include "edgewise/base/files/files.h"
#include "edgewise/base/files/manifest.h"
#include "edgewise/base/files/safetensors.h"
#include "edgewise/nn/serialize.h"
#include "tests/support/error_of.h"
#include "tests/support/whole_files.h"
#include "tests/train/file_size_limit.h"
#include "tests/train/flat_training.h"
#include "tests/train/run_folder.h"
#include "tests/train/same_run.h"
#include "tests/train/test_run.h"

namespace edgewise {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::ThrowsMessage;
using testing::UnorderedElementsAre;

/// A task with the objects of its checkpoints.
struct Saved {
  explicit Saved(NextTokenTask& saved_task) : task(saved_task), training(task.parameters()) {}

  CheckpointObjects objects(WeightAverage* average = nullptr) {
    return {task, training.parameters, training.pieces, training.adam, average};
  }

  Snapshot snapshot(const std::filesystem::path& run, const TrainingState& state, WeightAverage* average = nullptr) {
    const CheckpointObjects saved = objects(average);
    return snapshot_last(run, saved, gather_tensors(saved), state);
  }

  NextTokenTask& task;
  FlatTraining training;
};

class Checkpoint : public RunFolder {
 protected:
  std::string in_run(const std::string& name) const { return (folder() / name).string(); }

  void train() const { ASSERT_EQ(TestRun(folder(), short_run()).start(), Outcome::kFinished); }

  void resume(NextTokenTask::Options task = {}) const { TestRun(folder(), short_run(), std::move(task)).resume(); }

  void save(NextTokenTask& task) const {
    Saved saved(task);
    require_finite("last", saved.training.parameters, 0);
    write(saved.snapshot(folder(), {}));
  }

  static void write(Snapshot snapshot) { write_snapshot(snapshot); }

  static TrainingState read_state(const std::filesystem::path& file) {
    return parse_training_state(read_file(file), file, "next_token");
  }

  void damage(const std::string& name) const {
    const std::filesystem::path file = folder() / name;
    std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
  }
};

TEST_F(Checkpoint, IsAModelDirectoryWithTheStateOfTraining) {
  train();

  EXPECT_THAT(names_in(folder()), UnorderedElementsAre("last", "previous", "best", "metrics.jsonl", "lock"));
  EXPECT_THAT(names_in(folder() / "best"),
              UnorderedElementsAre("manifest.json", "model.safetensors", "config.toml", "validation.toml"));
  EXPECT_THAT(names_in(folder() / "last"), UnorderedElementsAre("manifest.json", "model.safetensors", "config.toml",
                                                                "training.safetensors", "training.toml"));
  EXPECT_EQ(read_file(folder() / "best/config.toml"), "tokens = 12\n");
  EXPECT_EQ(verify_manifest(folder() / "last").files.size(), 4U);
}

TEST_F(Checkpoint, RestoresTheSavedState) {
  NextTokenTask task;
  Saved saved(task);
  saved.training.moment("variance.table").fill_(0.25);
  TrainingState state;
  state.step = 12;
  state.updates = 11;
  state.skips_in_a_row = 1;
  state.averaged = 11;
  state.positions = {{2, 5}, {3, 0}};
  state.epoch_step = 8;
  state.gradient_norm = 1.0 / 9.0;
  state.log = {.loss = 1.0 / 3.0, .tokens = 40, .correct = 7};
  state.losses = {.steps = 11, .mean = 2.5, .variance = 1.0 / 7.0};
  state.metrics_size = 1234;
  state.best = Validation{.loss = 0.1, .accuracy = 0.7, .sequence_accuracy = std::nullopt, .bleu = 31.4};
  state.best_step = 9;
  state.validated_step = 10;
  state.validations_since_best = 1;
  state.seed = std::numeric_limits<std::uint64_t>::max();
  state.data_fingerprint = 0x8000000000000001;
  WeightAverage average(saved.training.parameters, saved.training.pieces, 0.9);
  average.averages().fill_(0.125);
  write(saved.snapshot(folder(), state, &average));

  NextTokenTask other;
  other.table().detach().zero_();
  Saved other_saved(other);
  WeightAverage other_average(other_saved.training.parameters, other_saved.training.pieces, 0.9);
  const TrainingState restored = read_last_state(folder(), "next_token");
  read_last_tensors(folder(), restored, other_saved.objects(&other_average));

  EXPECT_TRUE(other.table().equal(task.table()));
  EXPECT_TRUE(other_saved.training.moment("variance.table").equal(saved.training.moment("variance.table")));
  EXPECT_EQ(restored.step, 12);
  EXPECT_TRUE(
      other_saved.training.parameters.views(other_average.averages(), "")[1].tensor.eq(0.125).all().item<bool>());
  EXPECT_EQ(other_average.num_updates(), 11);
  EXPECT_EQ(restored.updates, 11);
  EXPECT_EQ(restored.skips_in_a_row, 1);
  EXPECT_EQ(restored.averaged, 11);
  EXPECT_EQ(restored.losses, state.losses);
  EXPECT_EQ(restored.metrics_size, 1234);
  EXPECT_EQ(restored.positions, state.positions);
  EXPECT_EQ(restored.epoch_step, 8);
  EXPECT_EQ(restored.gradient_norm, state.gradient_norm);
  EXPECT_EQ(restored.log, state.log);
  ASSERT_TRUE(restored.best.has_value());
  EXPECT_EQ(restored.best->loss, 0.1);
  EXPECT_EQ(restored.best->accuracy, 0.7);
  EXPECT_EQ(restored.best->sequence_accuracy, std::nullopt);
  EXPECT_EQ(restored.best->bleu, 31.4);
  EXPECT_EQ(restored.best_step, 9);
  EXPECT_EQ(restored.validated_step, 10);
  EXPECT_EQ(restored.validations_since_best, 1);
  EXPECT_EQ(restored.seed, state.seed);
  EXPECT_EQ(restored.data_fingerprint, state.data_fingerprint);
}

TEST_F(Checkpoint, HoldsTheParametersAsTheyWereAtTheSnapshot) {
  NextTokenTask task;
  const at::Tensor before = task.table().detach().clone();
  Saved saved(task);
  const Snapshot snapshot = saved.snapshot(folder(), {});
  task.table().detach().fill_(1.0);
  write(snapshot);

  NextTokenTask other;
  Saved other_saved(other);
  read_last_tensors(folder(), {}, other_saved.objects());
  EXPECT_TRUE(other.table().equal(before));
}

TEST_F(Checkpoint, StaysUndamagedWhenTheDiskIsFull) {
  NextTokenTask task;
  save(task);
  const std::string before = read_file(folder() / "last/model.safetensors");
  task.table().detach().fill_(1.0);

  {
    const FileSizeLimit limit(100);
    EXPECT_THROW(save(task), Error);
  }

  EXPECT_EQ(read_file(folder() / "last/model.safetensors"), before);
  EXPECT_NO_THROW(verify_manifest(folder() / "last"));
  EXPECT_THAT(names_in(folder()), UnorderedElementsAre("last"));
  save(task);
  EXPECT_NE(read_file(folder() / "last/model.safetensors"), before);
}

TEST_F(Checkpoint, IsResumedWithoutTheFilesOfAKilledSave) {
  train();
  std::filesystem::create_directory(folder() / ".last.tmp-1-0");
  std::ofstream(folder() / ".last.tmp-1-0" / "model.safetensors") << "half of it";

  EXPECT_NO_THROW(resume());
  EXPECT_THAT(names_in(folder()), UnorderedElementsAre("last", "previous", "best", "metrics.jsonl", "lock"));
  NextTokenTask task;
  EXPECT_NO_THROW(save(task));
}

TEST_F(Checkpoint, IsNotReplacedByParametersThatAreNotFinite) {
  NextTokenTask task;
  save(task);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double number : {std::nan(""), kInfinity, -kInfinity}) {
    task.bias().detach().select(0, 3).fill_(number);

    EXPECT_THAT(
        [&] { save(task); },
        ThrowsMessage<Error>("train: parameter \"bias\" is not finite at step 0, needs finite numbers; last stays "
                             "as it was, go on from it with a lower learning rate"));
    EXPECT_THAT(
        [&] {
          const FlatTraining training(task.parameters());
          snapshot_model(folder() / "best", task, training.parameters, {.step = 4, .validation = {}});
        },
        ThrowsMessage<Error>("train: parameter \"bias\" is not finite at step 4, needs finite numbers; best stays "
                             "as it was, go on from it with a lower learning rate"));
  }
  EXPECT_NO_THROW(read_last_state(folder(), "next_token"));
}

TEST_F(Checkpoint, NeedsADirectoryWithoutARun) {
  EXPECT_NO_THROW(require_no_run(folder()));
  std::filesystem::create_directory(folder());
  std::ofstream(folder() / "notes.txt") << "mine";
  EXPECT_NO_THROW(require_no_run(folder()));

  std::ofstream(folder() / "metrics.jsonl") << "";
  EXPECT_THAT([this] { require_no_run(folder()); },
              ThrowsMessage<Error>("train: " + folder().string() +
                                   " holds a run (metrics.jsonl), needs a directory without one; go on with it by "
                                   "--resume, or choose another"));
  EXPECT_THAT([this] { require_no_run(folder() / "notes.txt"); },
              ThrowsMessage<Error>("train: " + in_run("notes.txt") + " is a file, needs a directory"));
}

TEST_F(Checkpoint, NeedsARunToResume) {
  EXPECT_THAT([this] { resume(); },
              ThrowsMessage<Error>("train: " + folder().string() +
                                   " has no last, needs a run to go on with; leave --resume out to begin one"));

  train();
  for (const char* name : {"last", "previous"}) std::filesystem::remove_all(folder() / name);
  std::filesystem::rename(folder() / "best", folder() / "last");
  EXPECT_THAT(
      [this] { resume(); },
      ThrowsMessage<Error>("train: " + folder().string() + " has no whole checkpoint: " + in_run("last/manifest.json") +
                           " does not list training.safetensors, needs to; copy the whole directory again; " +
                           in_run("previous/manifest.json") + ": No such file or directory"));
}

TEST_F(Checkpoint, IsReplacedByThePreviousOneWhenAModelHasItsPlace) {
  train();
  std::filesystem::remove_all(folder() / "last");
  std::filesystem::copy(folder() / "best", folder() / "last");
  EXPECT_THAT(restore_last(folder()), HasSubstr("last/manifest.json does not list training.safetensors, needs to"));
  EXPECT_NO_THROW(resume());
}

TEST_F(Checkpoint, NeedsNoListOfItsFiles) {  // which earlier versions did not save
  train();
  std::string state = read_file(folder() / "last/training.toml");
  const std::size_t begin = state.find("files = ");
  ASSERT_NE(begin, std::string::npos);
  state.erase(begin, state.find('\n', begin) + 1 - begin);
  DirectoryWriter writer(folder() / "last");
  for (const char* name : {"config.toml", "model.safetensors", "training.safetensors"}) {
    writer.write(name, read_file(folder() / "last" / name));
  }
  writer.write("training.toml", state);
  writer.commit();
  EXPECT_EQ(restore_last(folder()), "");
  EXPECT_NO_THROW(resume());
}

TEST_F(Checkpoint, NeedsARunOfTheSameKind) {
  train();
  EXPECT_THAT(
      [this] { resume({.kind = "universal"}); },
      ThrowsMessage<Error>("train: " + in_run("last") + " holds a model of kind \"next_token\", needs \"universal\""));
}

TEST_F(Checkpoint, ListsAllParametersThatDiffer) {
  train();
  TestRun other(folder(), short_run(), {.tokens = 20});
  const at::Tensor before = other.task.bias().detach().clone();

  EXPECT_THAT([&] { other.resume(); },
              ThrowsMessage<Error>("load_tensors: " + in_run("last/model.safetensors") +
                                   " has \"table\" as F32 [12, 12] instead of F32 [20, 12], needs exactly the "
                                   "tensors that the config describes; use the config and the "
                                   "file of one training"));
  EXPECT_TRUE(other.task.bias().equal(before));
}

TEST_F(Checkpoint, IsReplacedByThePreviousOneWhenItIsDamaged) {
  for (const char* name : {"model.safetensors", "training.safetensors", "training.toml", "config.toml"}) {
    SCOPED_TRACE(name);
    std::filesystem::remove_all(folder());
    train();
    const std::int64_t before = read_state(folder() / "previous/training.toml").step;
    const std::filesystem::path file = folder() / "last" / name;
    std::string bytes = read_file(file);
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
    std::ofstream(file, std::ios::binary) << bytes;

    TestRun run(folder(), short_run());
    run.trainer.resume();

    EXPECT_EQ(run.trainer.state().step, before);
    ASSERT_EQ(run.warnings.size(), 1U);
    EXPECT_THAT(run.warnings[0].second,
                AllOf(HasSubstr(in_run("last") + " is damaged (" + file.string() + " has SHA-256"),
                      HasSubstr("the file was altered, copy it again); " + in_run("previous") +
                                " has taken its place; its step is ")));
    EXPECT_EQ(run.trainer.run(run.requests), Outcome::kFinished);
    EXPECT_EQ(restore_last(folder()), "");
  }
}

TEST_F(Checkpoint, IsReplacedByThePreviousOneWhenItIsAbsent) {
  train();
  std::filesystem::remove_all(folder() / "last");

  EXPECT_THAT(restore_last(folder()), HasSubstr("last/manifest.json: No such file or directory); "));

  EXPECT_THAT(names_in(folder()), UnorderedElementsAre("last", "best", "metrics.jsonl", "lock"));
  EXPECT_EQ(restore_last(folder()), "");
}

/// Cannot read the files of a directory.
class UnreadableDirectory : public FileSystem {
 public:
  explicit UnreadableDirectory(std::filesystem::path directory) : directory_(std::move(directory)) {}

  ssize_t read_at(int file, std::uint64_t offset, std::span<char> buffer) override {
    const auto path = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(file));
    if (path.parent_path() != directory_) return FileSystem::read_at(file, offset, buffer);
    errno = EIO;
    return -1;
  }

 private:
  std::filesystem::path directory_;
};

TEST_F(Checkpoint, IsNotDamagedIfTheSystemDoesNotReadIt) {
  train();
  const std::string last = read_file(folder() / "last/manifest.json");
  const std::string previous = read_file(folder() / "previous/manifest.json");
  {
    UnreadableDirectory files(folder() / "last");
    const ScopedFileSystem replaced(files);
    EXPECT_THAT([this] { resume(); },
                ThrowsMessage<UnreadableFile>("train: " + in_run("last/manifest.json") + ": Input/output error"));
  }

  EXPECT_EQ(read_file(folder() / "last/manifest.json"), last);
  EXPECT_EQ(read_file(folder() / "previous/manifest.json"), previous);
  EXPECT_EQ(restore_last(folder()), "");
}

TEST_F(Checkpoint, ReportsTheDamageWhenBothAreDamaged) {
  train();
  damage("last/model.safetensors");
  std::filesystem::remove(folder() / "previous/training.toml");

  EXPECT_THAT(
      error_of([this] { resume(); }),
      MatchesRegex("train: " + folder().string() + " has no whole checkpoint: " + in_run("last/model.safetensors") +
                   " has [0-9]+ bytes, needs [0-9]+ as in manifest.json; the file was cut, copy it again; " +
                   in_run("previous/training.toml") + ": No such file or directory; manifest.json lists it"));
}

TEST_F(Checkpoint, ReportsADirectoryThatCannotBeCreated) {
  std::ofstream(folder()) << "a file";
  EXPECT_THAT([this] { TestRun(folder() / "run", short_run()).start(); },
              ThrowsMessage<Error>("train: " + in_run("run") + ": Not a directory"));
}

TEST(Validation, ComparesByBleuThenSequencesThenLoss) {
  const Validation plain = {.loss = 2.0, .accuracy = 0.5};
  const auto with = [](double loss, std::optional<double> sequences, std::optional<double> bleu) {
    return Validation{.loss = loss, .accuracy = 0.5, .sequence_accuracy = sequences, .bleu = bleu};
  };

  EXPECT_TRUE(is_better(with(1.9, {}, {}), plain));
  EXPECT_FALSE(is_better(plain, plain));
  EXPECT_FALSE(is_better(with(std::nan(""), {}, {}), plain));
  EXPECT_TRUE(is_better(plain, with(std::nan(""), {}, {})));

  EXPECT_TRUE(is_better(with(3.0, 0.9, {}), with(2.0, 0.8, {})));
  EXPECT_FALSE(is_better(with(3.0, 0.9, {}), with(2.0, 0.9, {})));
  EXPECT_TRUE(is_better(with(1.0, 0.9, {}), with(2.0, 0.9, {})));

  EXPECT_TRUE(is_better(with(3.0, 0.1, 20.0), with(2.0, 0.9, 19.0)));
  EXPECT_FALSE(is_better(with(1.0, 0.9, 19.0), with(2.0, 0.1, 20.0)));
  EXPECT_TRUE(is_better(with(1.0, 0.5, 20.0), with(2.0, 0.5, 20.0)));
}

TEST(Validation, ComparesByTheChosenScoreThenByLoss) {
  const Validation one = {.loss = 2.0, .accuracy = 0.5, .sequence_accuracy = 0.2, .bleu = 20.0};
  const Validation two = {.loss = 1.0, .accuracy = 0.4, .sequence_accuracy = 0.1, .bleu = 19.0};

  EXPECT_TRUE(is_better(one, two, BestMetric::kBleu));
  EXPECT_TRUE(is_better(one, two, BestMetric::kSequences));
  EXPECT_TRUE(is_better(one, two, BestMetric::kAccuracy));
  EXPECT_TRUE(is_better(two, one, BestMetric::kLoss));
  for (const BestMetric by : {BestMetric::kBleu, BestMetric::kSequences, BestMetric::kAccuracy, BestMetric::kLoss}) {
    Validation equal = one;
    EXPECT_FALSE(is_better(equal, one, by));
    equal.loss = 1.5;
    EXPECT_TRUE(is_better(equal, one, by));
  }
}

TEST(Validation, MustMeasureTheChosenScore) {
  const Validation plain = {.loss = 2.0, .accuracy = 0.5};
  EXPECT_THAT([&] { require_measured(plain, BestMetric::kBleu); },
              ThrowsMessage<Error>("train: best_by is bleu, which this validation does not measure; set "
                                   "train.best_by=auto"));
  EXPECT_THROW(require_measured(plain, BestMetric::kSequences), Error);
  for (const BestMetric by : {BestMetric::kAuto, BestMetric::kAccuracy, BestMetric::kLoss})
    EXPECT_NO_THROW(require_measured(plain, by));
}

}  // namespace
}  // namespace edgewise

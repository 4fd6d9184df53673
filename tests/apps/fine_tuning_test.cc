// SPDX-License-Identifier: Apache-2.0
// edgewise train CONFIG --from MODEL
#include <gmock/gmock.h>

#include <csignal>
#include <cstring>
#include <sstream>

#include "edgewise/base/files/safetensors.h"
#include "tests/apps/alterations.h"
#include "tests/apps/metric_of.h"
#include "tests/apps/program.h"
#include "tests/apps/stored_model.h"
#include "tests/train/same_run.h"

namespace edgewise {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

/// The config of a run that starts from the model of kTinyConfig, whose vocabulary and sizes it leaves out.
const std::string kDomainConfig = kTinyDataConfig + R"(
[batch]
tokens = 0
sentences = 32

[train]
epochs = 0
steps = 10
schedule = "constant"
learning_rate = 0.001
warmup = 4
)";

class FineTuning : public ProgramTest {
 protected:
  FineTuning() {
    write("general.toml", kTinyConfig);
    write("domain.toml", kDomainConfig);
  }

  void train_general(const std::vector<std::string>& settings = {}) const {
    run_well(with_settings({"train", "general.toml", "--out", "general"}, settings));
  }

  static std::vector<std::string> command(const std::vector<std::string>& settings, const std::string& out = "run") {
    return with_settings({"train", "domain.toml", "--out", out, "--from", "general"}, settings);
  }

  static std::vector<std::string> with_settings(std::vector<std::string> arguments,
                                                const std::vector<std::string>& settings) {
    for (const std::string& setting : settings) arguments.insert(arguments.end(), {"--set", setting});
    return arguments;
  }

  /// Returns the last line of an output.
  static std::string last_line(const std::string& output) {
    return output.substr(output.rfind('\n', output.size() - 2) + 1);
  }
};

// So small a rate changes no number in fp32.
const std::vector<std::string> kStandStill = {"train.learning_rate=1e-30", "train.steps=1"};

TEST_F(FineTuning, StartsFromTheModelWithItsVocabularyAndSizes) {
  const std::string general = run_well({"train", "general.toml", "--out", "general", "--set", "search.beam=3"});
  const std::string output = run_well(command(kStandStill));

  EXPECT_THAT(output, HasSubstr("\nstarts from the parameters in general/best/model.safetensors\n"));
  EXPECT_TRUE(read("run/last/model.safetensors") == read("general/best/model.safetensors"));
  EXPECT_EQ(read("run/last/vocabulary.txt"), read("general/best/vocabulary.txt"));
  EXPECT_EQ(last_line(output), last_line(general));
  EXPECT_THAT(read("run/last/config.toml"),
              AllOf(HasSubstr("\nsize = 16\n"), HasSubstr("\nshared = true\n"), HasSubstr("\nbeam = 3\n"),
                    HasSubstr("\nfile = \"" + path("general").string() + "\"\n")));
}

TEST_F(FineTuning, LearnsFasterThanFromScratch) {
  train_general({"train.epochs=20", "train.schedule=constant", "train.learning_rate=0.01"});
  const std::vector<std::string> other_pairs = {"data.seed=2", "train.learning_rate=0.01"};
  run_well(command(other_pairs));
  run_well(with_settings({"train", "general.toml", "--out", "scratch"},
                         {"data.seed=2", "train.learning_rate=0.01", "train.schedule=constant", "train.warmup=4",
                          "train.epochs=0", "train.steps=40"}));

  const double tuned = metric_of(read("run/metrics.jsonl"), "valid_loss").back();
  const std::vector<double> scratch = metric_of(read("scratch/metrics.jsonl"), "valid_loss");
  EXPECT_LT(tuned, scratch.back());
}

TEST_F(FineTuning, StartsFromParametersThatAreStoredInAnyType) {
  train_general({"train.epochs=1"});
  std::filesystem::copy(path("general/best"), path("stored"));
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kI8}) {
    SCOPED_TRACE(dtype_name(dtype));
    const StoredModel stored = store(SafetensorsFile::open(path("general/best/model.safetensors")), dtype);
    write("stored/model.safetensors", stored.bytes);
    write_manifest(path("stored"), {"config.toml", "model.safetensors", "vocabulary.txt"});
    std::filesystem::remove_all(path("run"));

    run_well(with_settings({"train", "domain.toml", "--out", "run", "--from", "stored"}, kStandStill));

    const SafetensorsFile tuned = SafetensorsFile::open(path("run/last/model.safetensors"));
    ASSERT_EQ(tuned.tensors().size(), stored.values.size());
    for (const TensorInfo& tensor : tuned.tensors()) {
      std::vector<float> values(tensor.bytes.size() / sizeof(float));
      std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
      EXPECT_THAT(values, testing::Pointwise(testing::FloatNear(1e-29F), stored.values.at(tensor.name))) << tensor.name;
    }
  }
}

TEST_F(FineTuning, ResumesWithTheSameBitsWithoutTheModel) {
  train_general({"train.epochs=1", "search.beam=2"});
  const std::vector<std::string> settings = {"train.average=0.9", "train.validate_every=4", "model.dropout.word=0.1"};
  run_well(command(settings, "whole"));
  run_well(command({settings[0], settings[1], settings[2], "train.steps=5"}));
  std::filesystem::rename(path("general"), path("elsewhere"));
  std::filesystem::copy(path("run"), path("damaged"), std::filesystem::copy_options::recursive);
  std::filesystem::resize_file(path("damaged/last/config.toml"), 10);

  for (const std::string out : {"run", "damaged"}) {
    SCOPED_TRACE(out);
    const std::string output = run_well(with_settings({"train", "domain.toml", "--out", out, "--resume"}, settings));
    EXPECT_THAT(output, Not(HasSubstr("starts from")));
    EXPECT_EQ(find_difference(path(out), path("whole")), "");
  }
}

TEST_F(FineTuning, SaysHowToGoOnWhenItIsStopped) {
  train_general({"train.epochs=1"});
  const ProcessResult stopped =
      run(command({"train.steps=1000000"}), {.signal = SIGINT, .signal_when = path("run/metrics.jsonl").string()});
  EXPECT_EQ(stopped.exit_code, 130) << stopped.errors;
  EXPECT_THAT(stopped.output, HasSubstr("To go on, replace --from MODEL by --resume in the command.\n"));

  std::vector<std::string> both = command({});
  both.emplace_back("--resume");
  expect_refused(both,
                 "train: --from is given to resume a run, needs to be left out, because run/last has the run's "
                 "parameters");
  const ProcessResult again = run(command({}));
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.errors, AllOf(HasSubstr("train: run holds a run ("),
                                  HasSubstr("), needs a directory without one; go on with it by --resume")));
}

TEST_F(FineTuning, RefusesOptionsThatAreNotThoseOfTheModel) {
  train_general({"train.epochs=1", "model.kind=universal", "model.universal.epsilon=0.02"});
  const std::string general = path("general").string();
  const auto expect_other = [&](const std::string& option, const std::string& value, const std::string& needed) {
    const std::string unquoted = value.front() == '"' ? value.substr(1, value.size() - 2) : value;
    expect_refused(command({option + "=" + unquoted}),
                   "train: " + option + " is " + value + ", needs " + needed +
                       " to start from general, because fine-tuning keeps vocabulary and model; leave " + option +
                       " out");
    EXPECT_FALSE(std::filesystem::exists(path("run")));
  };
  expect_other("model.size", "30", "16");
  expect_other("model.kind", "\"transformer\"", "\"universal\"");
  expect_other("model.preset", "\"chapter\"", "\"tutorial\"");
  expect_other("model.universal.epsilon", "0.01", "0.02");
  expect_other("vocabulary.kind", "\"characters\"", "\"words\"");
  expect_other("vocabulary.min_count", "2", "1");
  expect_other("vocabulary.file", "\"other\"", "\"" + general + "\"");

  run_well(command({"model.size=16", "model.universal.epsilon=0.02", "vocabulary.shared=true", "train.steps=1",
                    "model.universal.ponder_weight=0.5", "model.dropout.residual=0.3", "search.beam=2"}));
  EXPECT_THAT(read("run/last/config.toml"),
              AllOf(HasSubstr("\nponder_weight = 0.5\n"), HasSubstr("\nresidual = 0.3\n"), HasSubstr("\nbeam = 2\n")));
}

TEST_F(FineTuning, GivesAModelThatCanBeAveragedWithTheOneItStartedFrom) {
  train_general({"train.epochs=1"});
  run_well(command({"model.dropout.residual=0.3"}));
  run_well({"average", "--out", "mean", "general", "run"});
  run_well({"translate", "--model", "mean"}, {.input = "a b\n"});
}

TEST_F(FineTuning, RefusesAMissingOrDamagedModelAndLeavesNoRun) {
  expect_refused(command({}), absent_model_text("train", "general"));
  train_general({"train.epochs=1"});
  std::filesystem::resize_file(path("general/best/model.safetensors"), 100);

  const ProcessResult damaged = run(command({}));

  EXPECT_EQ(damaged.exit_code, 2);
  EXPECT_THAT(damaged.errors, HasSubstr("train: general/best/model.safetensors has 100 bytes, needs "));
  EXPECT_FALSE(std::filesystem::exists(path("run")));
}

TEST_F(FineTuning, RefusesSentencesForWhichTheModelHasTooFewPositions) {
  train_general({"train.epochs=1", "model.positions=learned", "model.max_positions=12", "data.max_length=10"});
  expect_refused(
      command({}),
      "train: model.max_positions is 12, needs more than data.max_length, which is 256; set a smaller data.max_length");
  run_well(command({"data.max_length=10", "train.steps=1"}));
}

/// Models of other systems in tests/convert/models.
class ImportedFineTuning : public FineTuning, public testing::WithParamInterface<std::string> {
 protected:
  ImportedFineTuning() {
    run_well({"import", EDGEWISE_SOURCE "/tests/convert/models/" + GetParam(), "--out", "general"});
    write("pairs.tsv", "eu.\tsœur\nsœur a acheté\tu duru\nmak derin\tver su\n");
    write("domain.toml",
          "[data]\ntrain = [\"pairs.tsv\"]\nvalid = [\"pairs.tsv\"]\n[train]\nepochs = 1\nschedule = \"constant\"\n"
          "smoothing = 0.0\nrdrop = 1.0\n[model.dropout]\nword = 0.1\n");
  }
};

TEST_P(ImportedFineTuning, TrainsAndTranslates) {
  const std::string output = run_well(command({}));

  EXPECT_THAT(output, HasSubstr("starts from the parameters in general/model.safetensors\n"));
  EXPECT_THAT(read("run/last/config.toml"),
              AllOf(HasSubstr("\nkind = \"mapped\"\n"), HasSubstr("\nrules = \"huggingface\"\n")));
  EXPECT_EQ(read("run/last/vocabulary.json"), read("general/vocabulary.json"));
  EXPECT_FALSE(read("run/last/model.safetensors") == read("general/model.safetensors"));
  run_well({"translate", "--model", "run"}, {.input = "sœur a acheté\n"});
  run_well({"average", "--out", "mean", "general", "run"});
  run_well(with_settings({"train", "domain.toml", "--out", "run", "--resume"}, {"train.epochs=2"}));
}

INSTANTIATE_TEST_SUITE_P(, ImportedFineTuning, testing::Values("marian_1", "marian_2", "m2m100_1"),
                         [](const auto& model) { return model.param; });

TEST_F(FineTuning, KeepsAModelOfMarianOneThatMarianCanHave) {
  run_well({"import", EDGEWISE_SOURCE "/tests/convert/models/marian_npz", "--out", "general"});
  write("pairs.tsv", "a b\tb a\nb c\tc b\n");
  write("domain.toml",
        "[data]\ntrain = [\"pairs.tsv\"]\n[train]\nepochs = 2\nschedule = \"constant\"\nweight_decay = 0.1\n");
  run_well(command({}));
  EXPECT_FALSE(read("run/last/model.safetensors") == read("general/model.safetensors"));
  run_well({"export", "run", "--format", "marian", "--out", "exported"});
}

TEST_F(FineTuning, BeginsWithTheLossThatTheImportedModelHas) {
  run_well({"import", EDGEWISE_SOURCE "/tests/convert/models/marian_2", "--out", "general"});
  write("pairs.tsv", "eu.\tsœur\nsœur a acheté\tu duru\n");
  write("in", "eu.\nsœur a acheté\n");
  write("out", "sœur\nu duru\n");
  write("domain.toml",
        "[data]\ntrain = [\"pairs.tsv\"]\nvalid = [\"pairs.tsv\"]\n[train]\nschedule = \"constant\"\n"
        "smoothing = 0.0\n");
  run_well(command(kStandStill));

  // The loss is a mean over tokens, each of which has a log-probability.
  double sum = 0;
  std::size_t tokens = 0;
  std::istringstream lines(run_well({"score-pairs", "--model", "general", "--json", "in", "out"}));
  for (std::string line; std::getline(lines, line);) {
    const nlohmann::json output = nlohmann::json::parse(line).at("outputs").at(0);
    sum += output.at("log_probability").get<double>();
    tokens += output.at("tokens").size() + 1;  // the end token has a probability too
  }
  EXPECT_NEAR(metric_of(read("run/metrics.jsonl"), "valid_loss").front(), -sum / static_cast<double>(tokens), 1e-4);
}

}  // namespace
}  // namespace edgewise

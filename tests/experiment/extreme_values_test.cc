// SPDX-License-Identifier: Apache-2.0
// The smallest and the largest permitted number of every option either work, or end with an error that says why not.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "edgewise/experiment/train.h"
#include "edgewise/options/experiment.h"
#include "edgewise/translate/translator.h"
#include "tests/base/support.h"
#include "tests/support/number_fields.h"

namespace edgewise {
namespace {

// Two steps of a tiny model that copies letters.
const std::string kConfig = R"(
[data]
task = "copy"
train_size = 60
valid_size = 4
test_size = 0
symbols = 4
length_mean = 3.0
length_deviation = 1.0

[vocabulary]
shared = true

[batch]
sentences = 16

[model]
encoder_layers = 1
decoder_layers = 1
size = 16
heads = 2
feed_forward = 16

[train]
steps = 2
warmup = 1
)";

/// Options without which the extreme option would have no effect.
std::vector<std::string> context_of(const std::string& path) {
  static const std::map<std::string, std::vector<std::string>> contexts = {
      {"train.learning_rate", {"train.schedule=constant"}},
      {"train.min_learning_rate", {"train.schedule=plateau", "train.learning_rate=1000"}},
      {"train.plateau_factor", {"train.schedule=plateau", "train.plateau_patience=1", "train.validate_every=1"}},
      {"train.plateau_patience", {"train.schedule=plateau", "train.validate_every=1"}},
      {"train.cut", {"train.simcut=1"}},
      {"train.weight_decay", {"train.schedule=constant", "train.learning_rate=1"}},
      {"batch.positions_below", {"batch.positions=spread"}},
      {"model.max_positions", {"model.positions=learned"}},
      {"model.key_value_heads", {"model.size=65536", "model.heads=65536"}},
      {"model.rotary.base", {"model.positions=rotary"}},
      {"model.rotary.factor", {"model.positions=rotary", "model.rotary.scaling=linear"}},
      {"model.rotary.low_frequency",
       {"model.positions=rotary", "model.rotary.scaling=llama3", "model.rotary.high_frequency=1000000"}},
      {"model.rotary.high_frequency",
       {"model.positions=rotary", "model.rotary.scaling=llama3", "model.rotary.low_frequency=0.001"}},
      {"model.rotary.trained_length", {"model.positions=rotary", "model.rotary.scaling=llama3"}},
      {"model.t5_buckets", {"model.positions=t5", "model.t5_distance=3000"}},
      {"model.t5_distance", {"model.positions=t5", "model.t5_buckets=4"}},
      {"model.exits.layers", {"model.decoder_layers=2"}},
      {"model.universal.filter_width", {"model.kind=universal", "model.universal.transition=separable_convolution"}},
      {"vocabulary.size", {"vocabulary.kind=sentencepiece"}},
      {"vocabulary.character_coverage", {"vocabulary.kind=sentencepiece", "vocabulary.size=9"}},
      {"vocabulary.placeholders", {"vocabulary.kind=sentencepiece", "vocabulary.size=9"}},
      {"vocabulary.input_sampling", {"vocabulary.kind=sentencepiece", "vocabulary.size=9"}},
      {"vocabulary.output_sampling", {"vocabulary.kind=sentencepiece", "vocabulary.size=9"}},
      {"search.top_k", {"search.kind=sampling"}},
      {"search.top_p", {"search.kind=sampling"}},
      {"search.min_p", {"search.kind=sampling"}},
      {"search.temperature", {"search.kind=sampling"}},
      {"search.n_best", {"search.kind=sampling"}},
  };
  const auto found = contexts.find(path);
  if (found != contexts.end()) return found->second;
  if (path.starts_with("model.exits.")) {
    return {"model.decoder_layers=2", "model.exits.layers=[1]", "model.exits.threshold=0.5"};
  }
  return path.starts_with("model.universal.") ? std::vector<std::string>{"model.kind=universal"}
                                              : std::vector<std::string>();
}

/// Returns whether an error says that the memory or the disk is too small, names the option, or says what the option
/// did.
bool is_explained(const std::string& error, const std::string& path) {
  static const std::map<std::string, std::string> effects = {
      {"data.min_length", "too short a sentence"},
      {"data.length_mean", "too long a sentence"},
      {"data.length_deviation", "too long a sentence"},
      {"vocabulary.min_count", "no token that occurs"},
      {"vocabulary.placeholders", "set size to "},
      {"model.size", "needs a divisor of model.size 1"},
      {"model.rotary.high_frequency", "needs less than the model.rotary.high_frequency"},
  };
  const std::string name = path.substr(path.rfind('.') + 1);
  const auto effect = effects.find(path);
  return error.find(" of memory, but ") != std::string::npos || error.find(" MB left, needs ") != std::string::npos ||
         error.find(name + " is ") != std::string::npos ||
         (effect != effects.end() && error.find(effect->second) != std::string::npos);
}

/// Ends training after two steps.
class StopAfterTwoSteps : public RunObserver {
 public:
  explicit StopAfterTwoSteps(RunRequests& requests) : requests_(requests) {}
  void on_step(const StepReport& report) override { requests_.stop = report.step >= 2; }

 private:
  RunRequests& requests_;
};

void train_and_translate(const std::vector<std::string>& settings, const std::filesystem::path& run) {
  const Experiment experiment = parse_experiment(kConfig, "config.toml", settings);
  RunRequests requests;
  StopAfterTwoSteps observer(requests);
  train(experiment, run, {}, observer, requests);
  Translator(run).translate("a b a");
}

void expect_to_work(const std::string& path, const std::string& value) {
  const TemporaryFolder folder;
  const std::string setting = path + "=" + value;
  std::vector<std::string> settings = context_of(path);
  settings.push_back(setting);
  const std::string error = error_of([&] { train_and_translate(settings, folder / "run"); });
  EXPECT_TRUE(error == "no error" || is_explained(error, path)) << setting << ": " << error;
}

std::string number_text(const NumberField& field, double number) {
  return field.text_of(field.is_whole ? fmt::format("{}", static_cast<std::int64_t>(number))
                                      : fmt::format("{}", number));
}

class ExtremeValues : public testing::TestWithParam<NumberField> {};

TEST_P(ExtremeValues, WorkOrAreExplained) {
  const NumberField& field = GetParam();
  if (field.is_unsigned) {
    expect_to_work(field.path, "0");
    expect_to_work(field.path, "18446744073709551615");
  } else {
    expect_to_work(field.path, number_text(field, *field.range.smallest()));
    expect_to_work(field.path, number_text(field, *field.range.largest()));
  }
}

std::string test_name(const testing::TestParamInfo<NumberField>& info) {
  std::string name = info.param.path;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(OfEachOption, ExtremeValues, testing::ValuesIn(number_fields<Experiment>()), test_name);

}  // namespace
}  // namespace edgewise

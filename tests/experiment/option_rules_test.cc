// SPDX-License-Identifier: Apache-2.0
// Options that contradict each other are refused before training opens a file.
#include <gtest/gtest.h>

#include "edgewise/experiment/train.h"
#include "tests/base/support.h"
#include "tests/experiment/option_table.h"
#include "tests/support/error_of.h"

namespace edgewise {
namespace {

std::string error_with(const Settings& settings) {
  return error_of([&] { check_options(parse_experiment("", "test", letter_settings() + settings), "train"); });
}

TEST(OptionRules, LetANewRunButNoResumedOneTrainAnotherPartOfTheModel) {
  const auto with = [](const Settings& more) {
    return parse_experiment("", "test", letter_settings() + Settings{"model.exits.layers=[1]"} + more);
  };
  const Experiment before = with({});
  const Experiment halting = with({"train.part=halting", "model.exits.threshold=0.5"});
  EXPECT_EQ(error_of([&] { check_resumed(halting, before, "config.toml", "train"); }),
            "train: train.part is \"halting\", needs \"model\" as in config.toml, because a resumed run keeps its "
            "vocabulary, its model and the part that it trains; set train.part=\"model\", or begin another run");
  EXPECT_EQ(error_of([&] { check_start(halting, before, "model", "train"); }), "no error");
}

TEST(OptionRules, NameTheOptionItsValueAndWhatItNeeds) {
  EXPECT_EQ(error_with({}), "no error");
  EXPECT_EQ(error_with({"model.universal.epsilon=0.05"}),
            "train: model.universal.epsilon is 0.05, needs model.kind=universal");
  EXPECT_EQ(error_with({"train.learning_rate=0.01", "train.schedule=noam"}),
            "train: train.learning_rate is 0.01, needs train.schedule other than noam, which has train.factor instead");
  EXPECT_EQ(error_with({"train.patience=3", "data.valid_size=0"}),
            "train: train.patience is 3, needs validation data; set data.valid, data.valid_size or data.valid_share");
  EXPECT_EQ(
      error_with({"train.schedule=plateau", "data.valid_size=0"}),
      "train: train.schedule is plateau, needs validation data; set data.valid, data.valid_size or data.valid_share");
  EXPECT_EQ(error_with({"data.task=addition"}), "train: data.symbols is 5, needs data.task=copy, reverse or sort");
  EXPECT_EQ(error_with({"data.task=addition", "data.symbols=26"}), "no error");
  EXPECT_EQ(error_with({"train.best_by=bleu"}), "train: train.best_by is bleu, needs data.task=text");
  EXPECT_EQ(error_with({"vocabulary.shared=false", "model.tying=all"}),
            "train: model.tying is all, needs vocabulary.shared=true, one vocabulary for both sides; or set "
            "model.tying=output");
  EXPECT_EQ(error_with({"batch.tokens=0", "batch.sentences=0"}),
            "train: batch.tokens and batch.sentences are 0, needs a limit; set batch.tokens or batch.sentences");
  EXPECT_EQ(error_with({"show.input=a b"}), "train: show.output is empty, needs the output that belongs to show.input");
  EXPECT_EQ(error_with({"show.output=a b"}), "train: show.output is \"a b\", needs show.input");
  EXPECT_EQ(error_with({"search.temperature=0.5"}), "train: search.temperature is 0.5, needs search.kind=sampling");
  EXPECT_EQ(error_with({"search.kind=scoring"}), "train: search.kind is scoring, needs beam or sampling");
  EXPECT_EQ(error_with({"search.attention_layer=2"}),
            "train: search.attention_layer is 2, needs at most 1, counted from 0");
  EXPECT_EQ(error_with({"search.attention_head=2"}),
            "train: search.attention_head is 2, needs at most 1, counted from 0");
  EXPECT_EQ(error_with({"search.attention_layer=0", "model.kind=universal"}),
            "train: search.attention_layer is 0, needs model.kind=transformer");
  EXPECT_EQ(error_with({"search.n_best=2"}), "train: search.n_best is 2, needs at most search.beam, which is 1");
  EXPECT_EQ(error_with({"train.clip_norm=1e-38"}),
            "train: train.clip_norm is 1e-38, needs at least 1e-09, or 0 for no limit");
  EXPECT_EQ(error_with({"train.clip_norm=1e-9"}), "no error");
  EXPECT_EQ(error_with({"model.heads=3"}), "train: model.heads is 3, needs a divisor of model.size 8");
  EXPECT_EQ(error_with({"train.schedule=linear", "train.warmup=5"}),
            "train: train.steps is 2, the linear schedule needs more than its train.warmup of 5");
  EXPECT_EQ(error_with({"train.warmup=0", "train.schedule=noam"}),
            "train: train.warmup is 0, the noam schedule needs at least 1 step");
  EXPECT_EQ(error_with({"train.schedule=plateau", "train.min_learning_rate=0.5", "train.learning_rate=0.25"}),
            "train: train.min_learning_rate is 0.5, needs at most the train.learning_rate of 0.25");
  EXPECT_EQ(error_with({"model.size=1", "model.heads=1", "model.norm=std_norm"}),
            "train: model.norm is std_norm, needs a model.size above 1, because std_norm divides by size - 1");
  EXPECT_EQ(error_with({"train.rdrop=1", "train.simcut=3"}),
            "train: train.simcut is 3.0, needs train.rdrop=0, because SimCut replaces it");
  EXPECT_EQ(error_with({"train.quantise=int8"}), "no error");
  EXPECT_EQ(
      error_with({"train.quantise=int8", "train.precision=bf16"}),
      "train: train.quantise is \"int8\", needs train.precision=fp32, because bf16 would round the rounded numbers "
      "again");
  EXPECT_EQ(error_with({"model.exits.layers=[1]", "train.part=halting", "train.quantise=int8"}),
            "train: train.quantise is \"int8\", needs train.part=model, because no other parameters may change");
  EXPECT_EQ(error_with({"train.guided_alignment=1"}),
            "train: train.guided_alignment is 1.0, needs data.alignments, the links that it learns");
  EXPECT_EQ(error_with({R"(data.alignments=["links"])"}),
            "train: data.alignments is [\"links\"], needs data.task=text");
  EXPECT_EQ(error_with({"train.guided_head=1"}), "train: train.guided_head is 1, needs train.guided_alignment above 0");
  EXPECT_EQ(error_with({"train.cut=0.1"}), "train: train.cut is 0.1, needs train.simcut above 0");
  EXPECT_EQ(error_with({"model.norm=rms_norm", "model.norm_bias=false"}),
            "train: model.norm_bias is false, needs model.norm other than rms_norm, which has no bias");
  EXPECT_EQ(error_with({"model.rotary.base=500"}), "train: model.rotary.base is 500.0, needs model.positions=rotary");
  EXPECT_EQ(error_with({"model.positions=rotary", "model.rotary.factor=2"}),
            "train: model.rotary.factor is 2.0, needs model.rotary.scaling=linear or llama3");
  EXPECT_EQ(error_with({"model.positions=rotary", "model.rotary.scaling=llama3", "model.rotary.low_frequency=4"}),
            "train: model.rotary.low_frequency is 4, needs less than the model.rotary.high_frequency of 4");
  EXPECT_EQ(error_with({"model.positions=rotary", "model.t5_buckets=8"}),
            "train: model.t5_buckets is 8, needs model.positions=t5");
  EXPECT_EQ(
      error_with({"model.positions=alibi", "batch.positions=spread"}),
      "train: batch.positions is \"spread\", needs model.positions other than none, alibi and t5, for which only edges "
      "count");
  EXPECT_EQ(error_with({"model.positions=rotary", "batch.positions=spread"}), "no error");
  EXPECT_EQ(error_with({"model.exits.layers=[1]"}), "no error");
  EXPECT_EQ(error_with({"model.exits.weights=rising"}),
            "train: model.exits.weights is \"rising\", needs model.exits.layers");
  EXPECT_EQ(error_with({"model.exits.layers=[1]", "model.exits.fall=2"}),
            "train: model.exits.fall is 2.0, needs model.exits.threshold below 1");
  EXPECT_EQ(error_with({"train.part=halting"}), "train: train.part is \"halting\", needs model.exits.layers");
  const Settings halting = {"model.exits.layers=[1]", "train.part=halting"};
  for (const std::string option : {"train.rdrop", "train.simcut", "train.weight_decay", "train.average"}) {
    EXPECT_EQ(error_with(halting + Settings{option + "=0.1"}),
              "train: " + option + " is 0.1, needs train.part=model, because no other parameters may change");
  }
  EXPECT_EQ(error_with(halting + Settings{"model.decoder_mixer=ssru"}),
            "train: train.part is \"halting\", needs model.decoder_mixer=attention, with which tokens can halt");
  const Settings guided = {R"(data.alignments=["links"])", "train.guided_alignment=1.0"};
  EXPECT_EQ(error_of([&] { check_options(parse_experiment("", "test", text_settings() + halting + guided), "train"); }),
            "train: train.guided_alignment is 1.0, needs train.part=model, because no other parameters may change");
  EXPECT_EQ(error_with({"model.max_positions=600"}),
            "train: model.max_positions is 600, needs model.positions=learned");
  EXPECT_EQ(error_with({"model.share_layers=true"}), "no error");
  EXPECT_EQ(
      error_with({"model.share_layers=true", "model.kind=universal"}),
      "train: model.share_layers is true, needs model.kind=transformer or language_model; universal has one layer "
      "on each side anyway");
  EXPECT_EQ(error_with({"model.share_layers=true", "model.encoder_layers=1", "model.decoder_layers=1"}),
            "train: model.share_layers is true, needs more than one layer on a side");
  EXPECT_EQ(error_with({"model.mirror_positions=true"}),
            "train: model.mirror_positions is true, needs data.end_input=true, which stays at the end of a mirrored "
            "input");
  EXPECT_EQ(error_with({"model.mirror_positions=true", "data.end_input=true"}), "no error");
  EXPECT_EQ(error_with({"model.cross_distance=true"}), "train: model.cross_distance is true, needs model.positions=t5");
  EXPECT_EQ(error_with({"model.cross_distance=true", "model.positions=t5", "model.mirror_positions=true",
                        "data.end_input=true"}),
            "no error");
  EXPECT_EQ(error_with({"model.positions=learned"}), "no error");
  EXPECT_EQ(error_with({"model.positions=learned", "model.max_positions=256"}),
            "train: model.max_positions is 256, needs more than data.max_length, which is 256; set a smaller "
            "data.max_length");
  EXPECT_EQ(error_with({"model.positions=learned", "data.max_length=0"}),
            "train: data.max_length is 0, needs a limit below model.max_positions, which is 512");
  EXPECT_EQ(error_with({"model.positions=learned", "batch.positions=spread", "batch.positions_below=513"}),
            "train: batch.positions_below is 513, needs at most model.max_positions, which is 512");
  EXPECT_EQ(error_with({"model.positions=learned", "model.kind=universal"}),
            "train: model.positions is learned, needs a formula with model.kind=universal, whose steps have position "
            "vectors too");
  EXPECT_EQ(error_with({"model.positions=fairseq", "model.size=2"}),
            "train: model.size is 2, needs at least 4 with model.positions=fairseq");
  EXPECT_EQ(error_with({"model.kind=universal", "model.universal.adaptive=both", "model.universal.halted_keys=dropped",
                        "model.universal.transition=separable_convolution"}),
            "train: model.universal.halted_keys is dropped, needs frozen with "
            "model.universal.transition=separable_convolution");
}

TEST(OptionRules, AllowEachOptionThatOnlyADefaultWouldContradict) {
  const auto parse = [](const Settings& settings) { return parse_experiment("", "test", settings); };
  const auto check_all = [&](const Settings& settings) {
    return error_of([&] { check_options(parse(Settings{R"(data.train=["a.tsv"])"} + settings), "train"); });
  };
  EXPECT_EQ(check_all({}), "no error");
  for (const std::string setting :
       {"train.learning_rate=0.001", "train.learning_rate=0.01", "train.warmup=0", "vocabulary.shared=true",
        "vocabulary.kind=sentencepiece", "model.preset=chapter", "model.preset=from_scratch"}) {
    EXPECT_EQ(check_all({setting}), "no error") << setting;
  }
  for (const std::string schedule : {"linear", "cosine"}) {
    EXPECT_EQ(check_all({"train.schedule=" + schedule, "train.steps=100"}), "no error");
    EXPECT_EQ(parse({"train.schedule=" + schedule, "train.steps=100"}).train.warmup, 10);
    EXPECT_EQ(parse({"train.schedule=" + schedule, "train.steps=100", "train.warmup=4000"}).train.warmup, 4000);
    EXPECT_EQ(parse({"train.schedule=" + schedule, "train.steps=1000000"}).train.warmup, 4000);
  }
  EXPECT_EQ(parse({"train.learning_rate=0.001"}).train.schedule, ScheduleKind::kInverseSqrt);
  EXPECT_EQ(parse({"train.learning_rate=0.001", "train.schedule=noam"}).train.schedule, ScheduleKind::kNoam);
  EXPECT_EQ(parse({"train.steps=100"}).train.schedule, ScheduleKind::kNoam);
  EXPECT_EQ(parse({"train.steps=100"}).train.warmup, 4000);
  EXPECT_EQ(parse({}).model.tying, Tying::kOutput);
  EXPECT_EQ(parse({"vocabulary.shared=true"}).model.tying, Tying::kAll);
  EXPECT_EQ(parse({"model.tying=none"}).model.tying, Tying::kNone);
  EXPECT_EQ(parse({"vocabulary.kind=sentencepiece"}).vocabulary.size, 8000);
}

TEST(OptionRules, AreCheckedBeforeTrainingOpensAFile) {
  const Experiment experiment = parse_experiment(
      "", "test",
      text_settings() + Settings{R"(data.train=["missing.tsv"])", "train.factor=2.0", "train.schedule=constant"});
  RunObserver observer;
  RunRequests requests;
  EXPECT_EQ(error_of([&] { train(experiment, "/nowhere/run", {}, observer, requests); }),
            "train: train.factor is 2.0, needs train.schedule=noam; other schedules have train.learning_rate");
}

TEST(OptionRules, OfDataAndVocabularyAreCheckedBeforeTrainingOpensAFile) {
  const auto error_without_files = [](const Settings& settings) {
    const Experiment experiment = parse_experiment(
        "", "test", text_settings() + Settings{R"(data.train=["missing.tsv"])", "vocabulary.shared=true"} + settings);
    RunObserver observer;
    RunRequests requests;
    return error_of([&] { train(experiment, "/nowhere/run", {}, observer, requests); });
  };
  EXPECT_EQ(error_without_files({"vocabulary.kind=sentencepiece", "vocabulary.size=0"}),
            "train: vocabulary.size is 0, needs the number of tokens to learn with vocabulary.kind=sentencepiece");
  EXPECT_EQ(error_without_files({"vocabulary.kind=mapped"}),
            "train: vocabulary.kind is mapped, needs vocabulary.file, the directory of an imported model; a mapped "
            "vocabulary cannot be learned");
  EXPECT_EQ(error_without_files({"vocabulary.kind=mapped", "vocabulary.min_count=2"}),
            "train: vocabulary.min_count is 2, needs vocabulary.kind=words or characters");
  EXPECT_EQ(error_without_files({"data.input_language=fr"}),
            "train: data.input_language is \"fr\", needs vocabulary.kind=mapped");
  for (const std::string size : {"1", "4"}) {
    EXPECT_EQ(error_without_files({"vocabulary.size=" + size}),
              "train: vocabulary.size is " + size + ", needs more than the 4 special tokens, or 0 for no limit");
  }
  EXPECT_EQ(error_without_files({"data.min_length=9", "data.max_length=8"}),
            "train: data.min_length is 9, needs at most data.max_length, which is 8");
  EXPECT_EQ(
      error_without_files({"data.max_ratio=0.5"}),
      "train: data.max_ratio is 0.5, needs at least 1, the ratio of two sides of equal length, or 0 for no limit");
  EXPECT_EQ(error_without_files({"data.train=[]"}),
            "train: data.train names no file, needs one TSV file, or two files with a sentence a line");
  EXPECT_EQ(error_without_files({R"(data.train=["a", "b", "c"])"}),
            "train: data.train names 3 files, needs one TSV file, or two files with a sentence a line; for several "
            "corpora give data.weights, a number each");
  EXPECT_EQ(error_without_files({R"(data.train=["a", "b", "c"])", "data.weights=[1, 2]"}),
            "train: data.train names 3 files, but data.weights has 2 numbers, needs one TSV file for each, or two "
            "files");
}

TEST(OptionRules, OfDataAndVocabularyHoldForLearningAVocabularyToo) {
  std::int64_t refused = 0;
  for (const Settings& settings : {letter_settings(), text_settings(),
                                   text_settings() + Settings{"vocabulary.kind=sentencepiece", "vocabulary.size=24"}}) {
    for (const OptionRow& row : option_rows()) {
      if (!row.option.starts_with("data.") && !row.option.starts_with("vocabulary.")) continue;
      const Experiment experiment =
          parse_experiment("", "test", settings + Settings{"model.tying=none", row.option + "=" + row.value});
      const std::string error = error_of([&] { check_data_options(experiment, "vocab"); });
      EXPECT_EQ(error_of([&] { check_options(experiment, "vocab"); }), error) << row.option;
      refused += error == "no error" ? 0 : 1;
    }
  }
  EXPECT_GT(refused, 20);
}

/// Notes whether training went as far as making the model.
class ModelObserver : public RunObserver {
 public:
  void on_model(const SequenceModel&) override { has_model = true; }
  bool has_model = false;
};

TEST(OptionRules, RefuseABeamWiderThanTheVocabularyBeforeTheFirstStep) {
  const TemporaryFolder folder;
  for (const Settings& settings : {Settings{}, Settings{"data.valid_size=0", "data.test_size=0"}}) {
    const Experiment experiment =
        parse_experiment("", "test", letter_settings() + Settings{"search.beam=10"} + settings);
    ModelObserver observer;
    RunRequests requests;
    EXPECT_EQ(error_of([&] { train(experiment, folder / "run", {}, observer, requests); }),
              "search: beam is 10, needs at most the 9 tokens of the vocabulary");
    EXPECT_FALSE(observer.has_model);
  }
}

TEST(OptionRules, CompareWithTheDefaultsOfThePreset) { EXPECT_EQ(error_with({"model.preset=chapter"}), "no error"); }

}  // namespace
}  // namespace edgewise

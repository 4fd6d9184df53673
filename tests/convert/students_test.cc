// SPDX-License-Identifier: Apache-2.0
// Students of Marian, in the files of Firefox and Bergamot, give after import_model what their definition computes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "edgewise/base/random.h"
#include "edgewise/convert/imported_model.h"
#include "edgewise/convert/marian_binary.h"
#include "edgewise/convert/npz.h"
#include "edgewise/convert/packed_file.h"
#include "edgewise/convert/token_list_builder.h"
#include "edgewise/kernels/simd/instruction_set.h"
#include "edgewise/translate/model_files.h"
#include "edgewise/translate/translator.h"
#include "tests/convert/model_changes.h"
#include "tests/convert/model_folders.h"
#include "tests/convert/random_student.h"
#include "tests/convert/scored_case.h"
#include "tests/text/compression.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;

using Weights = RandomStudent::Weights;

fs::path piece_file(bool is_output) {
  return folder_of_committed_models() / "marian_1" / (is_output ? "target.spm" : "source.spm");
}

std::int64_t count_pieces(bool is_output) {
  return std::ssize(read_piece_codec(piece_file(is_output), "test")->pieces());
}

RandomStudent random_student(Weights weights, bool is_split = false, bool has_gaps = false) {
  return RandomStudent({.weights = weights,
                        .is_split = is_split,
                        .input_vocabulary = count_pieces(false),
                        .output_vocabulary = count_pieces(is_split),
                        .has_gaps = has_gaps});
}

/// Returns a shortlist with a few random tokens for each piece of the input, and those of kOutputs.
ShortlistTable random_shortlist(bool is_split) {
  RandomStream random(/*seed=*/6);
  ShortlistTable table = {.first = 12, .best = 4};
  for (std::int64_t list = 0; list < count_pieces(false); ++list) {
    for (std::uint64_t n = random.next_below(5); n > 0; --n) {
      table.tokens.push_back(static_cast<std::uint32_t>(random.next_below(count_pieces(is_split))));
    }
    table.tokens.push_back(40);
    table.offsets.push_back(table.tokens.size());
  }
  return table;
}

/// Writes a folder as Bergamot has it, with a config.
void write_bergamot(const RandomStudent& student, bool is_split, const fs::path& folder) {
  const std::string model = student.write_model_file(folder);
  fs::copy(piece_file(false), folder / (is_split ? "source.spm" : "vocab.xxen.spm"));
  if (is_split) fs::copy(piece_file(true), folder / "target.spm");
  write(folder / "lex.s2t.bin", serialize_shortlist(random_shortlist(is_split)));
  const std::string vocabularies = is_split ? "- source.spm\n- target.spm\n" : "- vocab.xxen.spm\n- vocab.xxen.spm\n";
  write(folder / "config.intgemm8bitalpha.yml",
        "relative-paths: true\nmodels:\n- " + model + "\nvocabs:\n" + vocabularies +
            "shortlist:\n- lex.s2t.bin\n- false\nbeam-size: 1\nnormalize: 1.0\nword-penalty: 0\nmax-length-break: 128\n"
            "mini-batch-words: 1024\nworkspace: 128\nmax-length-factor: 2.0\nskip-cost: true\ncpu-threads: 0\n"
            "quiet: true\nquiet-translation: true\ngemm-precision: int8shiftAlphaAll\nalignment: soft\n");
}

/// Writes a folder as Firefox has it, without a config.
void write_firefox(const RandomStudent& student, bool is_split, const fs::path& folder) {
  student.write_model_file(folder);
  fs::copy(piece_file(false), folder / (is_split ? "srcvocab.xxen.spm" : "vocab.xxen.spm"));
  if (is_split) fs::copy(piece_file(true), folder / "trgvocab.xxen.spm");
  write(folder / "lex.50.50.xxen.s2t.bin", serialize_shortlist(random_shortlist(is_split)));
  write(folder / "metadata.json", "{}");
}

const std::vector<Tokens> kTexts = {{17, 9, 2}, {30, 31, 32, 33, 34, 35, 36, 2}, {2}};
const std::vector<Tokens> kOutputs = {{40, 11, 2}, {7, 8, 9, 10, 2}, {2}};

class StudentTest : public testing::Test {
 protected:
  /// Imports the student in `source_`, and returns its options.
  TransformerOptions import() {
    write_model(import_model(source_, "test"), directory(), "test");
    return read_model_files(directory(), "test").experiment.model;
  }

  /// Returns the differences of log-probabilities from the definition, one for each token.
  std::vector<double> differences(const RandomStudent& student, RuntimePrecision precision,
                                  bool has_shortlist = false) const {
    ModelFiles model = read_model_files(directory(), "test");
    if (!has_shortlist) model.shortlist.reset();
    const std::shared_ptr<const Shortlist> shortlist = model.shortlist;
    const std::int64_t begin = model.codec.vocabularies.output->special().begin;
    const ScorerFactory make_scorer = make_runtime_scorer_factory(std::move(model), precision);
    const auto scorer = make_scorer();
    std::vector<double> found;
    for (std::size_t i = 0; i < kTexts.size(); ++i) {
      const auto selected = has_shortlist ? shortlist->select(kTexts[i]) : std::vector<std::int32_t>();
      const std::vector<double> expected = student.log_probabilities(kTexts[i], kOutputs[i], selected);
      const auto actual = log_probabilities_of(*scorer, kTexts[i], kOutputs[i], begin);
      for (std::size_t t = 0; t < expected.size(); ++t) found.push_back(std::abs(actual[t] - expected[t]));
    }
    return found;
  }

  fs::path directory() const { return temporary_.path() / "model"; }

  TemporaryFolder temporary_;
  fs::path source_ = make_folder(temporary_.path() / "source");

 private:
  static fs::path make_folder(const fs::path& path) {
    fs::create_directory(path);
    return path;
  }
};

double largest(const std::vector<double>& numbers) { return *std::ranges::max_element(numbers); }

double median(std::vector<double> numbers) {
  std::ranges::sort(numbers);
  return numbers[numbers.size() / 2];
}

TEST_F(StudentTest, OfFullPrecisionHasTheLogProbabilitiesOfItsDefinition) {
  for (const bool is_split : {false, true}) {
    fs::remove_all(source_);
    fs::create_directory(source_);
    fs::remove_all(directory());
    const RandomStudent student = random_student(Weights::kFp32, is_split);
    write_bergamot(student, is_split, source_);
    const TransformerOptions options = import();
    EXPECT_EQ(options.decoder_mixer, DecoderMixer::kSsru);
    EXPECT_LT(largest(differences(student, RuntimePrecision::kFp32)), 1e-4);
    EXPECT_LT(largest(differences(student, RuntimePrecision::kFp32, /*has_shortlist=*/true)), 1e-4);
  }
}

// Rounding errors may change an integer, but rarely: most log-probabilities are those of the definition.
TEST_F(StudentTest, WithStoredMultipliersHasTheLogProbabilitiesOfItsDefinitionOnEveryInstructionSet) {
  for (const bool is_split : {false, true}) {
    fs::remove_all(source_);
    fs::create_directory(source_);
    fs::remove_all(directory());
    const RandomStudent student = random_student(Weights::kInt8Alpha, is_split);
    is_split ? write_firefox(student, is_split, source_) : write_bergamot(student, is_split, source_);
    import();
    for (const kernels::InstructionSet set : kernels::runnable_instruction_sets()) {
      const kernels::ForcedInstructionSet forced(set);
      for (const bool has_shortlist : {false, true}) {
        const std::vector<double> rounded = differences(student, RuntimePrecision::kInt8, has_shortlist);
        EXPECT_LT(median(rounded), 2e-5);
        EXPECT_LT(largest(rounded), 0.05);
      }
    }
    // Products of full precision do not round their inputs.
    EXPECT_GT(median(differences(student, RuntimePrecision::kFp32)), 1e-3);
  }
}

TEST_F(StudentTest, OfFloatsWithStoredMultipliersIsRoundedTo8BitsAsItsDefinition) {
  const RandomStudent student = random_student(Weights::kNpzAlpha);
  write_bergamot(student, false, source_);
  import();
  const ModelFiles model = read_model_files(directory(), "test");
  EXPECT_EQ(model.parameters.find("decoder.layers.0.ssru.input.weight")->dtype, DType::kI8);
  EXPECT_EQ(model.parameters.find("decoder.layers.0.ssru.forget.bias")->dtype, DType::kF32);
  EXPECT_LT(median(differences(student, RuntimePrecision::kInt8)), 2e-5);
  EXPECT_LT(largest(differences(student, RuntimePrecision::kInt8)), 0.05);
}

TEST_F(StudentTest, OfFloatsThatAreNotFiniteIsNotRounded) {
  write_bergamot(random_student(Weights::kNpzAlpha), false, source_);
  for (const float value : {0.0F, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    StoredTensors arrays = read_npz(source_ / "model.npz");
    TensorInfo& matrix = find(arrays.tensors, "decoder_l1_rnn_W");
    const std::vector<float> values(matrix.bytes.size() / sizeof(float), value);
    matrix.bytes = std::as_bytes(std::span(values));
    write(source_ / "model.npz", serialize_npz(arrays.tensors));
    const std::string error = error_of([&] { import_model(source_, "test"); });
    EXPECT_NE(error.find("\"decoder_l1_rnn_W\" has the largest magnitude"), std::string::npos) << error;
  }
}

TEST_F(StudentTest, WithAnOutputProjectionOfItsOwnHasTheLogProbabilitiesOfItsDefinition) {
  for (const auto& [weights, precision] :
       {std::pair(Weights::kFp32, RuntimePrecision::kFp32), std::pair(Weights::kInt8Alpha, RuntimePrecision::kInt8)}) {
    fs::remove_all(source_);
    fs::create_directory(source_);
    fs::remove_all(directory());
    const RandomStudent student({.weights = weights,
                                 .is_split = true,
                                 .is_tied = false,
                                 .input_vocabulary = count_pieces(false),
                                 .output_vocabulary = count_pieces(true)});
    write_bergamot(student, true, source_);
    EXPECT_EQ(import().tying, Tying::kNone);
    EXPECT_LT(median(differences(student, precision)), 2e-5);
    EXPECT_LT(largest(differences(student, precision, /*has_shortlist=*/true)), 0.05);
  }
}

TEST_F(StudentTest, WithMultipliersOfSomeMatricesRoundsTheOtherInputsByTheirLargestNumber) {
  const RandomStudent student = random_student(Weights::kInt8Alpha, /*is_split=*/false, /*has_gaps=*/true);
  write_firefox(student, false, source_);
  import();
  const std::vector<double> rounded = differences(student, RuntimePrecision::kInt8);
  EXPECT_LT(median(rounded), 2e-5);
  EXPECT_LT(largest(rounded), 0.05);
}

// The cache has keys and values in bf16.
TEST_F(StudentTest, WithoutStoredMultipliersRoundsEachRowByItsLargestNumber) {
  const RandomStudent student = random_student(Weights::kInt8);
  write_firefox(student, false, source_);
  import();
  EXPECT_LT(median(differences(student, RuntimePrecision::kInt8)), 0.005);
  EXPECT_LT(largest(differences(student, RuntimePrecision::kInt8)), 0.05);
}

TEST_F(StudentTest, KeepsItsIntegersAndMultipliers) {
  write_firefox(random_student(Weights::kInt8Alpha), false, source_);
  import();
  const ModelFiles model = read_model_files(directory(), "test");
  const TensorInfo* weight = model.parameters.find("decoder.layers.1.ssru.forget.weight");
  ASSERT_NE(weight, nullptr);
  EXPECT_EQ(weight->dtype, DType::kI8);
  const TensorInfo* multiplier = model.parameters.find(weight->name + ".input_multiplier");
  ASSERT_NE(multiplier, nullptr);
  EXPECT_EQ(to_floats(*multiplier, "test"), std::vector<float>{30});
  ASSERT_NE(model.parameters.find("input_embedding.weight.input_multiplier"), nullptr);
}

TEST_F(StudentTest, TranslatesWithTheSettingsOfFirefox) {
  write_firefox(random_student(Weights::kInt8Alpha), false, source_);
  const ImportedModel model = import_model(source_, "test");
  EXPECT_EQ(model.experiment.search.beam, 1);
  EXPECT_EQ(model.experiment.search.length_factor, 2);
  EXPECT_EQ(model.experiment.data.max_length, 128);
  write_model(model, directory(), "test");
  for (const auto& [precision, name] : enum_names(RuntimePrecision{})) {
    SCOPED_TRACE(name);
    Translator translator(directory(), {.precision = precision});
    EXPECT_FALSE(translator.translate("The station is near.").outputs.empty());
  }
}

TEST_F(StudentTest, AlignsByTheHeadThatWasTrainedToAlign) {
  write_firefox(random_student(Weights::kInt8Alpha), false, source_);
  import();
  const auto attention = [&](const TranslatorOptions& options) {
    return Translator(directory(), options).translate("The station is near.").outputs.at(0).attention;
  };
  const auto trained = attention({.alignment = true});
  EXPECT_EQ(trained, attention({.alignment = true, .attention_layer = -1, .attention_head = 0}));
  EXPECT_NE(trained, attention({.alignment = true, .attention_head = -1}));
  EXPECT_NE(trained, attention({.alignment = true, .attention_layer = 0}));
}

TEST_F(StudentTest, MayNameTheLayerThatAligns) {
  write_firefox(random_student(Weights::kInt8Alpha), false, source_);
  EXPECT_EQ(import_model(source_, "test").experiment.search.recorded_heads.layer, -1);
  replace("model.xxen.intgemm.alphas.bin", "alignment-layer: last", "alignment-layer: 1   ")(source_);
  const CrossHeads heads = import_model(source_, "test").experiment.search.recorded_heads;
  EXPECT_EQ(heads.layer, 0);
  EXPECT_EQ(heads.head, 0);
}

TEST_F(StudentTest, KeepsItsShortlistInTheModelDirectory) {
  for (const bool is_split : {false, true}) {
    fs::remove_all(source_);
    fs::create_directory(source_);
    fs::remove_all(directory());
    write_firefox(random_student(Weights::kInt8Alpha, is_split), is_split, source_);
    import();
    EXPECT_EQ(read_file(directory() / kShortlistFile, "test"), read_file(source_ / "lex.50.50.xxen.s2t.bin", "test"));
    const ModelFiles model = read_model_files(directory(), "test");
    ASSERT_NE(model.shortlist, nullptr);
    const std::int64_t last = count_pieces(false) - 1;
    const std::vector<std::int32_t> selected = model.shortlist->select({last, 2});
    EXPECT_EQ(std::ranges::binary_search(selected, static_cast<std::int32_t>(last)), !is_split);
    EXPECT_EQ(selected.size() % 8, 0U);
    const fs::path quantised = temporary_.path() / "quantised";
    fs::remove_all(quantised);
    quantise_model(directory(), quantised);
    EXPECT_EQ(read_file(quantised / kShortlistFile, "test"), read_file(directory() / kShortlistFile, "test"));
  }
}

TEST_F(StudentTest, MayHaveCompressedFiles) {
  write_firefox(random_student(Weights::kInt8Alpha), false, source_);
  import();
  const std::string parameters = read_file(directory() / kParametersFile, "test");
  for (const std::string name : {"model.xxen.intgemm.alphas.bin", "vocab.xxen.spm", "lex.50.50.xxen.s2t.bin"}) {
    write(source_ / (name + ".gz"), compress_gzip(read_file(source_ / name, "test")));
    fs::remove(source_ / name);
  }
  fs::remove_all(directory());
  import();
  EXPECT_TRUE(read_file(directory() / kParametersFile, "test") == parameters);
  EXPECT_TRUE(fs::exists(directory() / kShortlistFile));
  const std::string packed = read_file(source_ / "model.xxen.intgemm.alphas.bin.gz", "test");
  write(source_ / "model.xxen.intgemm.alphas.bin.gz", packed.substr(0, packed.size() / 2));
  EXPECT_NE(error_of([&] { import_model(source_, "test"); }), "no error");
}

TEST_F(StudentTest, OfCompressedFilesIsBounded) {
  const fs::path path = source_ / "text.gz";
  const auto read = [&](std::uint64_t most) { return error_of([&] { read_packed_file(path, "test", most); }); };
  write(path, compress_gzip("0123456789"));
  EXPECT_EQ(read_packed_file(path, "test", 10), "0123456789");
  EXPECT_EQ(read(9), "test: " + path.string() + " has more than 9 bytes, needs at most so many");
  write(path, compress_gzip(std::string(std::size_t{80} << 20, 'a')));
  EXPECT_NE(read(kMaxFileBytes).find("decompresses to more than 1000 times its size"), std::string::npos);
  EXPECT_EQ(read(1000), "test: " + path.string() + " has more than 1000 bytes, needs at most so many");
  fs::remove(path);
  EXPECT_EQ(read(9), "test: " + path.string() + " is no regular file, needs one");
  fs::create_directory(path);
  EXPECT_EQ(read(9), "test: " + path.string() + " is no regular file, needs one");
}

TEST_F(StudentTest, MayHaveNoShortlistOrOneAsText) {
  const RandomStudent student = random_student(Weights::kInt8Alpha);
  write_firefox(student, false, source_);
  fs::remove(source_ / "lex.50.50.xxen.s2t.bin");
  EXPECT_EQ(import_model(source_, "test").shortlist, nullptr);
  fs::remove_all(source_);
  fs::create_directory(source_);
  write_bergamot(student, false, source_);
  replace("config.intgemm8bitalpha.yml", "lex.s2t.bin", "lex.s2t.gz")(source_);
  EXPECT_EQ(import_model(source_, "test").shortlist, nullptr);
}

TEST_F(StudentTest, TranslatesWithTheTokensOfItsShortlistUnlessItIsOff) {
  write_firefox(random_student(Weights::kInt8Alpha), false, source_);
  import();
  const std::string text = "The station is near.";
  const auto has_selected_tokens = [&](const TranslatorOptions& options) {
    std::vector<ModelFiles> models;
    models.push_back(read_model_files(directory(), "test"));
    const std::shared_ptr<const Shortlist> shortlist = models.front().shortlist;
    LoadedModels loaded = load_models(std::move(models), options);
    const std::unique_ptr<Scorer> scorer = loaded.make_scorer();
    const TranslationEngine engine(std::move(loaded), options);
    const std::vector<Tokens> inputs = {engine.encode({.input = text}).parts.at(0).input.tokens};
    const std::vector<std::int32_t> selected = shortlist->select(inputs[0]);
    const Hypothesis best = search(*scorer, inputs, engine.search_options()).at(0).at(0);
    return std::ranges::all_of(best.tokens, [&](std::int64_t token) {
      return std::ranges::binary_search(selected, static_cast<std::int32_t>(token));
    });
  };
  for (const auto& [precision, name] : enum_names(RuntimePrecision{})) {
    SCOPED_TRACE(name);
    EXPECT_TRUE(has_selected_tokens({.precision = precision}));
    EXPECT_FALSE(has_selected_tokens({.precision = precision, .shortlist = ShortlistUse::kOff}));
  }
  // Scoring needs the log-probabilities of all tokens.
  SearchOptions scoring;
  scoring.kind = SearchKind::kScoring;
  Translator scorer(directory(), {.search = scoring});
  const Translation scored = scorer.translate(std::vector<TranslationRequest>{{.input = text, .prefix = "zzz"}}).at(0);
  EXPECT_TRUE(std::isfinite(scored.outputs.at(0).score));
}

class HostileStudentTest : public ModelChangeTest {
 protected:
  HostileStudentTest() {
    fs::create_directory(folder_ / "student");
    write_bergamot(random_student(Weights::kInt8Alpha), false, folder_ / "student");
  }
};

constexpr const char* kStudentFile = "model.xxen.intgemm.alphas.bin";
constexpr const char* kConfigName = "config.intgemm8bitalpha.yml";

TEST_F(HostileStudentTest, IsRefusedWithASentenceThatNamesTheFileAndTheSetting) {
  const auto without = [](const std::string& file) { return [=](const fs::path& model) { fs::remove(model / file); }; };
  expect_errors(
      folder_ / "student",
      {
          {"no model", without(kStudentFile), "{}/" + std::string(kStudentFile)},
          {"another folder", replace(kConfigName, "- model", "- ../model"),
           "{}/config.intgemm8bitalpha.yml: a file is \"../model.xxen.intgemm.alphas.bin\", needs the name of a file "
           "beside this one"},
          {"a word penalty", replace(kConfigName, "word-penalty: 0", "word-penalty: 1"),
           "{}/config.intgemm8bitalpha.yml: word-penalty is 1, needs 0, because Edgewise has no such option"},
          {"a beam without costs", replace(kConfigName, "beam-size: 1", "beam-size: 4"),
           "{}/config.intgemm8bitalpha.yml: skip-cost is \"true\", needs \"false\", because Edgewise has no such "
           "option"},
          {"an unknown setting", replace(kConfigName, "word-penalty: 0", "word-bonus: 0"),
           "{}/config.intgemm8bitalpha.yml: word-bonus is \"0\", needs to be left out"},
          {"no parts", replace(kConfigName, "max-length-break: 128", "max-length-break: 0"),
           "{}/config.intgemm8bitalpha.yml: max-length-break is 0, needs at least 1"},
          {"other pieces",
           with_file("vocab.xxen.spm", read_file(folder_of_committed_models() / "marian_npz/source.spm")),
           "{}/vocab.xxen.spm has"},
          {"no shortlist", without("lex.s2t.bin"), "{}/lex.s2t.bin"},
          {"an empty shortlist", with_file("lex.s2t.bin", ""),
           "{}/lex.s2t.bin, byte 0: the first number has 0 bytes, needs 8"},
          {"another file as shortlist", with_file("lex.s2t.bin", "0123456789"), "{}/lex.s2t.bin begins with 0x"},
          {"a shortlist of another model", with_file("lex.s2t.bin", serialize_shortlist({.offsets = {0, 0}})),
           "{}/lex.s2t.bin has 1 lists, needs "},
          {"a shortlist in another folder", replace(kConfigName, "- lex", "- ../lex"),
           "{}/config.intgemm8bitalpha.yml: a file is \"../lex.s2t.bin\", needs the name of a file beside this one"},
          {"an empty model", with_file(kStudentFile, ""),
           "{}/model.xxen.intgemm.alphas.bin, byte 0: the version has 0 bytes, needs 8"},
          {"another recurrent network", replace(kStudentFile, "dec-cell: ssru", "dec-cell: grus"),
           "{}/model.xxen.intgemm.alphas.bin, special:model.yml: dec-cell is \"grus\", needs ssru"},
          {"a layer of alignments that the model lacks",
           replace(kStudentFile, "alignment-layer: last", "alignment-layer: 3   "),
           "{}/model.xxen.intgemm.alphas.bin, special:model.yml: transformer-guided-alignment-layer is 3, needs 1 to "
           "2"},
          {"other joined multipliers",
           [](const fs::path& model) {
             StoredTensors arrays = read_marian_binary(model / kStudentFile);
             std::string bytes = read_file(model / kStudentFile, "test");
             const TensorInfo* alpha = arrays.find("encoder_l2_self_Wk_QuantMultA");
             ASSERT_NE(alpha, nullptr);
             const auto offset = reinterpret_cast<const char*>(alpha->bytes.data()) -
                                 reinterpret_cast<const char*>(arrays.tensors.front().bytes.data());
             const TensorInfo& first = arrays.tensors.front();
             const std::size_t begin = bytes.find(std::string(reinterpret_cast<const char*>(first.bytes.data()), 16));
             const float other = 41;
             bytes.replace(begin + static_cast<std::size_t>(offset), sizeof(other),
                           std::string(reinterpret_cast<const char*>(&other), sizeof(other)));
             write(model / kStudentFile, bytes);
           },
           "{}/model.xxen.intgemm.alphas.bin: the inputs of \"encoder.layers.1.self_attention.key.weight\" have the "
           "multiplier 41, needs 40 as those of \"encoder.layers.1.self_attention.query.weight\", because one product "
           "computes both"},
      });
}

}  // namespace
}  // namespace edgewise

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "tests/apps/program.h"

namespace edgewise {
namespace {

class TranslateProgram : public ProgramTest {
 protected:
  TranslateProgram() {
    write("tiny.toml", kTinyConfig);
    run_well({"train", "tiny.toml", "--out", "run"});
  }
};

TEST_F(TranslateProgram, KeepsOrderAndNumberOfLines) {
  const std::string output = run_well({"translate", "--model", "run"}, {.input = "a b\n\nb b a\n   \nc\n"});

  EXPECT_EQ(std::ranges::count(output, '\n'), 5);
  EXPECT_EQ(output.substr(output.find('\n'), 2), "\n\n");  // an empty line stays empty
}

TEST_F(TranslateProgram, GivesASentenceTheSameOutputWhateverElseIsTranslated) {
  const std::string alone = run_well({"translate", "--model", "run", "--beam", "3"}, {.input = "a b c\n"});
  const std::string among =
      run_well({"translate", "--model", "run", "--beam", "3"}, {.input = "d\na b c\nd d d d d d d\n"});

  const std::size_t second = among.find('\n') + 1;
  EXPECT_EQ(among.substr(second, among.find('\n', second) + 1 - second), alone);
}

TEST_F(TranslateProgram, ReadsWindowsTextAsIfItWereUnixText) {
  const std::string unix_text = run_well({"translate", "--model", "run"}, {.input = "a b\nc d\n"});
  const std::string windows_text = run_well({"translate", "--model", "run"}, {.input = "\xEF\xBB\xBF"
                                                                                       "a b\r\nc d"});
  EXPECT_EQ(windows_text, unix_text);
}

TEST_F(TranslateProgram, WritesAFileWholeOrNotAtAll) {
  write("out.txt", "earlier result\n");
  write("good", "a b\n");
  write("bad", "a b\n\xFF\n");

  expect_refused({"translate", "--model", "run", "--out", "out.txt", "bad"},
                 "translate: bad:2 has a byte that is not UTF-8 at 0, UTF-8 is needed");
  EXPECT_EQ(read("out.txt"), "earlier result\n");
  run_well({"translate", "--model", "run", "--out", "out.txt", "good"});
  EXPECT_NE(read("out.txt"), "earlier result\n");
}

TEST_F(TranslateProgram, RefusesAModelThatWasAltered) {
  std::string bytes = read("run/best/model.safetensors");
  bytes[bytes.size() / 2] ^= 1;
  write("run/best/model.safetensors", bytes);

  const ProcessResult result = run({"translate", "--model", "run"}, {.input = "a\n"});

  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.errors.find("run/best/model.safetensors"), std::string::npos) << result.errors;
  EXPECT_EQ(result.output, "");
}

TEST_F(TranslateProgram, RefusesAModelThatWasCutShort) {
  std::filesystem::resize_file(path("run/best/model.safetensors"), 100);

  const ProcessResult result = run({"translate", "--model", "run"}, {.input = "a\n"});

  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.errors.find("has 100 bytes, manifest.json says"), std::string::npos) << result.errors;
}

TEST_F(TranslateProgram, InspectsRunsModelsTensorsAndConfigs) {
  EXPECT_NE(run_well({"inspect", "run"}).find("Transformer, 1 + 1 layers, size 16, 2 heads"), std::string::npos);
  EXPECT_NE(run_well({"inspect", "run/last"}).find("8 tokens (words)"), std::string::npos);
  EXPECT_NE(run_well({"inspect", "run/best/model.safetensors"}).find("F32"), std::string::npos);
  EXPECT_NE(run_well({"inspect", "tiny.toml"}).find("encoder_layers = 1"), std::string::npos);
}

}  // namespace
}  // namespace edgewise

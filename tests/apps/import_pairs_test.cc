// SPDX-License-Identifier: Apache-2.0
// edgewise import of a folder of students, which a server then translates with, also by way of a third language.
#include <gmock/gmock.h>

#include <csignal>
#include <filesystem>
#include <string>

#include "edgewise/convert/token_list_builder.h"
#include "tests/apps/signals.h"
#include "tests/convert/random_student.h"
#include "tests/server/raw_client.h"
#include "tests/text/compression.h"

namespace edgewise {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class ImportPairs : public ProgramTest {
 protected:
  /// Writes a student into a folder of "firefox" as Firefox has it; `pair` is that of its files.
  void place(const std::string& folder, const std::string& pair, std::uint64_t seed) const {
    const fs::path pieces = fs::path(EDGEWISE_SOURCE) / "tests/convert/models/marian_1/source.spm";
    const std::int64_t count = std::ssize(read_piece_codec(pieces, "test")->pieces());
    const RandomStudent student({.input_vocabulary = count, .output_vocabulary = count, .seed = seed});
    fs::create_directories(path("firefox/" + folder));
    write("firefox/" + folder + "/model." + pair + ".intgemm.alphas.bin.gz", compress_gzip(student.binary_file()));
    fs::copy(pieces, path("firefox/" + folder + "/vocab." + pair + ".spm"));
  }
};

TEST_F(ImportPairs, GivesAModelForEachPairThatAServerTranslatesWith) {
  place("fren", "fren", 1);
  place("en-de", "ende", 2);
  place("third", "xxyy", 3);
  place("en-zh-Hant", "student", 4);
  place("best-models", "deen", 5);
  write("firefox/third/metadata.json", R"({"sourceLanguage": "zh-Hant", "targetLanguage": "en"})");
  fs::create_directory(path("firefox/notes"));
  const std::string report = run_well({"import", "firefox", "--out", "models"});
  for (const std::string pair : {"de-en", "en-de", "en-zh_Hant", "fr-en", "zh_Hant-en"}) {
    EXPECT_THAT(report, HasSubstr("models/" + pair + ": a student of Marian"));
  }
  EXPECT_FALSE(fs::exists(path("models/notes")));
  expect_refused(
      {"import", "firefox", "--out", "models"},
      "edgewise import: models/de-en exists, needs the name of a new directory; overwrite (--overwrite) replaces "
      "this one");

  RunningProcess server({"/bin/sh", "-c", "exec \"$0\" \"$@\" 2>log", EDGEWISE_SERVER, "--listen", "127.0.0.1:0",
                         "--set", "server.models_folder=models", "--set", "server.pivot=en"},
                        {.folder = path("").string()});
  ASSERT_TRUE(wait_until([&] { return server.has_ended() || read("log").find("ready at ") != std::string::npos; }));
  const std::string log = read("log");
  RawClient client(static_cast<std::uint16_t>(std::stoi(log.substr(log.find("127.0.0.1:") + 10))));
  const std::string body = R"({"q": "La gare est proche.", "source": "fr", "target": "de"})";
  const std::string response = client.ask(fmt::format(
      "POST /translate HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
      body.size(), body));
  EXPECT_THAT(response, HasSubstr("200 OK"));
  EXPECT_THAT(response, HasSubstr("translatedText"));
  server.send(SIGTERM);
  EXPECT_EQ(server.wait().exit_code, 0);
}

TEST_F(ImportPairs, ImportsTheOthersIfOneIsRefused) {
  place("en-de", "ende", 1);
  place("en-fr", "enfr", 2);
  place("en-it", "enit", 3);
  const std::string model = "firefox/en-fr/model.enfr.intgemm.alphas.bin.gz";
  const std::string bytes = read(model);
  write(model, bytes.substr(0, bytes.size() / 2));
  const ProcessResult result = run({"import", "firefox", "--out", "models"});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.errors,
            "edgewise import: " + model +
                " ends in the middle of its gzip data, needs to be whole\n"
                "edgewise import: 1 of the 3 models of firefox have the errors above, needs none; the others are "
                "imported\n");
  EXPECT_TRUE(fs::exists(path("models/en-de/manifest.json")));
  EXPECT_FALSE(fs::exists(path("models/en-fr")));
  EXPECT_TRUE(fs::exists(path("models/en-it/manifest.json")));
}

TEST_F(ImportPairs, ReplacesNoFolderThatItReads) {
  place("fren", "fren", 1);
  place("fr-en", "ende", 2);
  write("firefox/fr-en/metadata.json", R"({"sourceLanguage": "en", "targetLanguage": "de"})");
  expect_refused({"import", "firefox", "--out", "firefox", "--overwrite"},
                 "edgewise import: firefox/fr-en is also the input, needs another directory for the output");
}

TEST_F(ImportPairs, NeedsTheLanguagesOfEachFolderOnce) {
  place("fren", "fren", 1);
  place("fr-en", "fren", 2);
  expect_refused({"import", "firefox", "--out", "models"},
                 "edgewise import: firefox/fr-en and firefox/fren have the languages \"fr-en\", needs one folder for "
                 "each pair; move one away");
  fs::remove_all(path("firefox/fr-en"));
  place("other", "student", 2);
  expect_refused({"import", "firefox", "--out", "models"},
                 "edgewise import: firefox/other has no languages, needs a name such as en-de; rename it");
  EXPECT_FALSE(fs::exists(path("models")));
}

}  // namespace
}  // namespace edgewise

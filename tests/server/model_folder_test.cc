// SPDX-License-Identifier: Apache-2.0
// Models that come and go in a folder, and a server without models.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "edgewise/base/files/files.h"
#include "edgewise/server/languages.h"
#include "edgewise/server/model_registry.h"
#include "edgewise/server/served_model.h"
#include "tests/base/support.h"
#include "tests/server/copying_server.h"
#include "tests/support/error_of.h"
#include "tests/support/whole_files.h"

namespace edgewise {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(ModelFolder, HasAModelForEachFolderByName) {
  const TemporaryFolder folder;
  for (const char* name : {"en-de", "en+fr-pt_BR", "m2m", "opus-mt", ".en-fr.tmp-1-1"}) {
    std::filesystem::create_directory(folder / name);
  }
  std::filesystem::create_directory_symlink(folder / "m2m", folder / "de-en");
  std::filesystem::create_symlink(folder / "absent", folder / "de-fr");
  write_file_atomically(folder / "readme-en", "");
  const std::vector<ModelSpec> specs = list_models(folder.path());
  std::vector<std::string> paths;
  for (const ModelSpec& spec : specs) paths.push_back(std::filesystem::path(spec.path).filename());
  ASSERT_THAT(paths, ElementsAre("de-en", "en+fr-pt_BR", "en-de", "m2m", "opus-mt"));
  EXPECT_THAT(specs[1].sources, ElementsAre("en", "fr"));
  EXPECT_THAT(specs[1].targets, ElementsAre("pt-BR"));
  EXPECT_THAT(specs[3].sources, IsEmpty());
  EXPECT_THAT(specs[4].sources, IsEmpty());
}

TEST(ModelFolder, IsRefusedIfItCannotBeRead) {
  EXPECT_EQ(error_of([] { list_models("absent/folder"); }),
            "server: server.models_folder \"absent/folder\": No such file or directory");
}

/// Models that a loader lists, each with its revision.
struct ListedModels {
  std::map<std::string, std::string> revisions;
  std::string broken = {};
  bool is_unreadable = false;

  ModelLoader loader() {
    return {.revision =
                [this](const ModelSpec& spec) {
                  const auto found = revisions.find(spec.path);
                  return found == revisions.end() ? "" : found->second;
                },
            .load =
                [this](const ModelSpec& spec) {
                  check(spec.path != broken, "server: {} is broken, needs to be whole", spec.path);
                  return make_copying_model(spec);
                },
            .list =
                [this] {
                  check(!is_unreadable, "server: the folder is unreadable");
                  std::vector<ModelSpec> specs;
                  for (const auto& [name, revision] : revisions) {
                    specs.push_back(parse_model_spec(name + "=" + name));
                    specs.back().path = name;
                  }
                  return specs;
                }};
  }
};

class ListedRegistry : public testing::Test {
 protected:
  std::vector<std::string> reload(ModelRegistry& registry) {
    std::vector<std::string> lines;
    registry.reload([&](std::string_view line) { lines.emplace_back(line); });
    return lines;
  }

  static std::vector<std::string> paths(const ModelRegistry& registry) {
    std::vector<std::string> all;
    for (const auto& model : registry.languages()->models()) all.push_back(model->path);
    return all;
  }

  ListedModels models;
};

TEST_F(ListedRegistry, AddsChangesAndRemovesModels) {
  ModelRegistry registry({}, models.loader());
  EXPECT_THAT(paths(registry), IsEmpty());
  models.revisions = {{"en-de", "1"}, {"en-fr", "1"}};
  EXPECT_THAT(reload(registry), ElementsAre("reload: en-de is loaded", "reload: en-fr is loaded"));
  EXPECT_THAT(registry.languages()->targets().at("en"), ElementsAre("de", "en", "fr"));
  EXPECT_THAT(reload(registry), IsEmpty());
  const auto before = registry.languages();
  models.revisions = {{"de-en", "1"}, {"en-fr", "2"}};
  EXPECT_THAT(reload(registry),
              ElementsAre("reload: en-de is removed", "reload: de-en is loaded", "reload: en-fr is loaded"));
  EXPECT_THAT(paths(registry), ElementsAre("en-fr", "de-en"));
  EXPECT_NE(registry.languages()->models()[0], before->models()[1]);
}

TEST_F(ListedRegistry, KeepsTheModelsOfTheCommandLine) {
  models.revisions = {{"en-de", "1"}};
  ModelRegistry registry({parse_model_spec("fr-en=fixed")}, models.loader());
  EXPECT_THAT(paths(registry), ElementsAre("fixed", "en-de"));
  models.revisions.clear();
  EXPECT_THAT(reload(registry), ElementsAre("reload: en-de is removed"));
  EXPECT_THAT(paths(registry), ElementsAre("fixed"));
}

TEST_F(ListedRegistry, ReportsAModelThatCannotBeLoadedAndTriesAgain) {
  models.revisions = {{"en-de", "1"}, {"en-fr", "1"}};
  models.broken = "en-de";
  std::vector<std::string> lines;
  ModelRegistry registry({}, models.loader(), "", [&](std::string_view line) { lines.emplace_back(line); });
  EXPECT_THAT(lines, ElementsAre("en-de is not loaded: server: en-de is broken, needs to be whole"));
  EXPECT_THAT(paths(registry), ElementsAre("en-fr"));
  EXPECT_THAT(reload(registry), ElementsAre("reload: en-de is not loaded: server: en-de is broken, needs to be whole"));
  models.broken.clear();
  EXPECT_THAT(reload(registry), ElementsAre("reload: en-de is loaded"));
}

TEST_F(ListedRegistry, ReportsAPairThatIsGivenTwiceAndAPivotThatNoModelHas) {
  models.revisions = {{"en-de", "1"}};
  std::vector<std::string> lines;
  ModelRegistry registry({parse_model_spec("en-de=fixed")}, models.loader(), "fr",
                         [&](std::string_view line) { lines.emplace_back(line); });
  EXPECT_THAT(lines, ElementsAre("en-de is not loaded: server: en-de is given twice, with fixed and with en-de, needs "
                                 "one model",
                                 "server.pivot is fr, which no model has, needs a language of the models"));
  EXPECT_THAT(paths(registry), ElementsAre("fixed"));
}

TEST_F(ListedRegistry, KeepsItsModelsWhileTheFolderIsUnreadable) {
  models.revisions = {{"en-de", "1"}};
  ModelRegistry registry({}, models.loader());
  models.is_unreadable = true;
  EXPECT_THAT(reload(registry), ElementsAre("reload: no model is added or removed: server: the folder is unreadable"));
  EXPECT_THAT(paths(registry), ElementsAre("en-de"));
}

TEST_F(ListedRegistry, NeedsAModelWithoutAList) {
  ModelLoader loader = models.loader();
  loader.list = {};
  EXPECT_EQ(error_of([&] { ModelRegistry registry({}, loader); }),
            "server: --model is missing, needs at least one model");
}

TEST(ServerWithoutModels, DetectsNoLanguage) {
  EXPECT_THAT(detect_languages("Hello, how are you?", ServedLanguages({}, "")), IsEmpty());
}

TEST(ServerWithoutModels, AnswersEveryRequest) {
  ListedModels models;
  CopyingServer server({}, {}, models.loader());
  EXPECT_EQ(server.get("/health").status, 200);
  EXPECT_EQ(server.get("/ready").status, 503);
  EXPECT_EQ(server.get("/").status, 200);
  EXPECT_EQ(server.get("/metrics").status, 200);
  EXPECT_EQ(server.get("/languages").body, "[]");
  EXPECT_EQ(server.get("/v2/languages").body, "[]");
  EXPECT_EQ(server.get("/frontend/settings").status, 200);
  EXPECT_EQ(server.post_form("/detect", "q=Hello").body, "[]");
  for (const char* source : {"auto", "en"}) {
    const std::string languages = std::string("\"source\": \"") + source + "\", \"target\": \"de\"}";
    EXPECT_EQ(server.post_json("/translate", "{\"q\": \"a\", " + languages).status, 400);
    EXPECT_EQ(server.post_json("/v1/translate", "{\"text\": \"a\", " + languages).status, 400);
  }
  EXPECT_EQ(server.post_form("/v2/translate", "text=a&target_lang=DE").status, 400);
  models.revisions = {{"en-de", "1"}};
  server.registry.reload([](std::string_view) {});
  EXPECT_EQ(server.get("/ready").status, 200);
}

}  // namespace
}  // namespace edgewise

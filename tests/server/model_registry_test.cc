// SPDX-License-Identifier: Apache-2.0
#include "edgewise/server/model_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <map>

#include "edgewise/server/text_request.h"
#include "tests/base/support.h"
#include "tests/server/copying_server.h"
#include "tests/support/error_of.h"

namespace edgewise {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Key;
using testing::Optional;
using testing::Pair;
using testing::SizeIs;

TEST(ModelSpec, NamesLanguagesAndADirectory) {
  const ModelSpec pair = parse_model_spec("en+fr-pt_BR=a=b");
  EXPECT_THAT(pair.sources, ElementsAre("en", "fr"));
  EXPECT_THAT(pair.targets, ElementsAre("pt-BR"));
  EXPECT_EQ(pair.path, "a=b");
  EXPECT_THAT(parse_model_spec("en-*=d").targets, IsEmpty());
  EXPECT_EQ(parse_model_spec("dir-ectory").path, "dir-ectory");
  EXPECT_THAT(parse_model_spec("dir-ectory").sources, IsEmpty());
}

TEST(ModelSpec, OfANameThatIsNoPathHasTheLanguagesOfTheName) {
  const TemporaryFolder folder;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  const ModelSpec name = parse_model_spec("en-de");
  std::filesystem::create_directory("en-de");
  const ModelSpec directory = parse_model_spec("en-de");
  std::filesystem::current_path(before);

  EXPECT_THAT(name.sources, ElementsAre("en"));
  EXPECT_THAT(name.targets, ElementsAre("de"));
  EXPECT_EQ(name.path, "en-de");
  EXPECT_THAT(directory.sources, IsEmpty());
  EXPECT_EQ(directory.path, "en-de");
  EXPECT_THAT(parse_model_spec("models/en-de").sources, IsEmpty());
}

TEST(ModelSpec, IsRefusedInAnotherForm) {
  const auto error = [](const char* text) { return error_of([&] { parse_model_spec(text); }); };
  EXPECT_EQ(error("en=d"), "server: --model is \"en=d\", needs SOURCE-TARGET=DIR, such as en-de=DIR or pt_BR-en=DIR");
  EXPECT_EQ(error("pt-BR-en=d"),
            "server: --model is \"pt-BR-en=d\", needs SOURCE-TARGET=DIR, such as en-de=DIR or pt_BR-en=DIR");
  EXPECT_EQ(error("en-=d"), "server: --model \"en-=d\" has the language \"\", needs a code such as en or pt_BR");
}

TEST(ModelLanguages, AreThoseThatTheModelHas) {
  const std::vector<std::string> names = {"deu_Latn", "<pad>", "fra_Latn"};
  EXPECT_THAT(select_languages({}, names, "m"), ElementsAre(Pair("de", "deu_Latn"), Pair("fr", "fra_Latn")));
  EXPECT_THAT(select_languages({"fr"}, names, "m"), ElementsAre(Pair("fr", "fra_Latn")));
  EXPECT_THAT(select_languages({"fr"}, {}, "m"), ElementsAre(Pair("fr", "")));
  EXPECT_EQ(error_of([&] { select_languages({"es"}, names, "m"); }),
            "server: --model m lacks the language es, needs one that the model has");
  EXPECT_EQ(error_of([] { select_languages({}, {}, "m"); }),
            "server: --model m has no list of its languages, needs SOURCE-TARGET before it, such as en-de=m");
}

std::vector<std::shared_ptr<ServedModel>> make_models(const std::vector<std::string>& specs) {
  std::vector<std::shared_ptr<ServedModel>> models;
  for (const std::string& spec : specs) models.push_back(make_copying_model(parse_model_spec(spec)));
  return models;
}

TEST(ServedLanguages, HaveTheTargetsOfEachLanguage) {
  const ServedLanguages languages(make_models({"en+de-en+de=one", "en-fr=two"}), "");
  EXPECT_THAT(languages.targets(),
              ElementsAre(Pair("de", ElementsAre("de", "en")), Pair("en", ElementsAre("de", "en", "fr")),
                          Pair("fr", ElementsAre("fr"))));
}

TEST(ServedLanguages, FindTheFirstModelOfAPair) {
  const ServedLanguages languages(make_models({"en-de=one", "en-de=two"}), "");
  const auto route = languages.find_route("en", "de");
  ASSERT_THAT(route, Optional(SizeIs(1)));
  EXPECT_EQ(route->front().model->path, "one");
  EXPECT_THAT(languages.find_route("en", "en"), Optional(IsEmpty()));
  EXPECT_EQ(languages.find_route("de", "en"), std::nullopt);
}

TEST(ServedLanguages, TranslateByWayOfTheThirdLanguage) {
  const ServedLanguages languages(make_models({"fr-en=one", "en-de=two"}), "en");
  const auto route = languages.find_route("fr", "de");
  ASSERT_THAT(route, Optional(SizeIs(2)));
  EXPECT_EQ(route->at(0).model->path, "one");
  EXPECT_EQ(route->at(1).model->path, "two");
  EXPECT_EQ(route->at(1).source, "en");
  EXPECT_THAT(languages.targets().at("fr"), ElementsAre("de", "en", "fr"));
  EXPECT_EQ(languages.find_route("de", "fr"), std::nullopt);
  EXPECT_EQ(ServedLanguages(make_models({"fr-en=one", "en-de=two"}), "").find_route("fr", "de"), std::nullopt);
}

TEST(ServedLanguages, FindBroaderCodes) {
  const ServedLanguages languages(make_models({"en-pt_BR=one"}), "");
  EXPECT_THAT(languages.find_code("en-GB"), Optional(std::string("en")));
  EXPECT_THAT(languages.find_code("pb"), Optional(std::string("pt-BR")));
  EXPECT_EQ(languages.find_code("pt"), std::nullopt);
  EXPECT_EQ(languages.find_code("auto"), std::nullopt);
}

/// Models whose files change.
struct ChangingModels {
  std::map<std::string, std::string> revisions;
  bool fails = false;
  int num_loads = 0;

  ModelLoader loader() {
    return {.revision = [this](const ModelSpec& spec) { return revisions[spec.path]; },
            .load =
                [this](const ModelSpec& spec) {
                  ++num_loads;
                  check(!fails, "server: {} is broken, needs to be whole", spec.path);
                  return make_copying_model(spec);
                }};
  }
};

TEST(ModelRegistry, LoadsChangedModelsBesideTheRunningOnes) {
  ChangingModels models;
  ModelRegistry registry({parse_model_spec("en-de=one"), parse_model_spec("de-en=two")}, models.loader());
  const auto before = registry.languages();
  std::vector<std::string> reports;
  const auto report = [&](std::string_view line) { reports.emplace_back(line); };
  registry.reload(report);
  EXPECT_EQ(models.num_loads, 2);
  EXPECT_EQ(registry.languages(), before);

  models.revisions["two"] = "changed";
  registry.reload(report);
  registry.reload(report);
  EXPECT_EQ(models.num_loads, 3);
  EXPECT_THAT(reports, ElementsAre("reload: two is loaded"));
  EXPECT_EQ(registry.languages()->models()[0], before->models()[0]);
  EXPECT_NE(registry.languages()->models()[1], before->models()[1]);
}

TEST(ModelRegistry, KeepsAModelWhoseNewVersionCannotBeLoaded) {
  ChangingModels models;
  ModelRegistry registry({parse_model_spec("en-de=one")}, models.loader());
  const auto before = registry.languages();
  models.revisions["one"] = "changed";
  models.fails = true;
  std::vector<std::string> reports;
  const auto report = [&](std::string_view line) { reports.emplace_back(line); };
  registry.reload(report);
  EXPECT_THAT(reports, ElementsAre("reload: one is not loaded, and its last version stays: "
                                   "server: one is broken, needs to be whole"));
  EXPECT_EQ(registry.languages(), before);
  models.fails = false;
  registry.reload(report);
  EXPECT_EQ(reports.back(), "reload: one is loaded");
}

TEST(ModelRegistry, LetsARequestFinishWithItsModel) {
  ChangingModels models;
  ModelRegistry registry({parse_model_spec("en-de=one")}, models.loader());
  std::weak_ptr<ServedModel> old = registry.languages()->models()[0];
  {
    const Route route = registry.languages()->find_route("en", "de").value();
    models.revisions["one"] = "changed";
    registry.reload([](std::string_view) {});
    FakeExchange exchange({});
    Metrics metrics;
    RequestWait wait(exchange, RequestWait::Clock::now() + std::chrono::minutes(10), metrics);
    const auto results = translate({.client = "c", .texts = {"a"}, .routes = {route}}, wait);
    EXPECT_EQ(results.at(0).text, "a");
    EXPECT_FALSE(old.expired());
  }
  EXPECT_TRUE(old.expired());
}

TEST(ModelRegistry, RefusesAPairThatIsGivenTwice) {
  const auto error = [](const std::vector<std::string>& texts) {
    return error_of([&] {
      std::vector<ModelSpec> specs;
      for (const std::string& text : texts) specs.push_back(parse_model_spec(text));
      ModelRegistry registry(specs, copying_loader());
    });
  };
  EXPECT_EQ(error({"en-de=one", "de-en=one", "en-de=two"}),
            "server: en-de is given twice, with one and with two, needs one model");
  EXPECT_EQ(error({"en+fr-de=one", "fr-de=two"}),
            "server: fr-de is given twice, with one and with two, needs one model");
  EXPECT_EQ(error({"en+de-en+de=one"}), "no error");
  EXPECT_EQ(error({"en-en=one"}), "server: --model one translates no language into another one, needs two languages");
  EXPECT_EQ(error({"en+en-de=one"}), "server: --model \"en+en-de=one\" has the language en twice, needs it once");
}

TEST(ModelRegistry, RefusesAPivotThatNoModelHas) {
  EXPECT_EQ(error_of([] { ModelRegistry registry({parse_model_spec("en-de=one")}, copying_loader(), "fr"); }),
            "server: server.pivot is fr, which no model has, needs a language of the models");
  EXPECT_EQ(error_of([] { ModelRegistry registry({parse_model_spec("en-de=one")}, copying_loader(), "EN"); }),
            "no error");
}

TEST(ModelRegistry, NeedsAModel) {
  EXPECT_EQ(error_of([] { ModelRegistry({}, copying_loader()); }),
            "server: --model is missing, needs at least one model");
}

}  // namespace
}  // namespace edgewise

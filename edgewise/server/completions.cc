// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "edgewise/base/config/fields.h"
#include "edgewise/base/files/json.h"
#include "edgewise/base/random.h"
#include "edgewise/base/stop_request.h"
#include "edgewise/base/utf8.h"
#include "edgewise/server/endpoints.h"
#include "edgewise/server/http.h"
#include "edgewise/server/request_fields.h"
#include "edgewise/server/translation_endpoint.h"

namespace edgewise {
namespace {

constexpr std::int64_t kDefaultTokens = 16;  // the default of the interface that this one follows

std::string completion_error(int status, std::string_view message) {
  const std::string_view type = status == 429                    ? "rate_limit_error"
                                : status == 401 || status == 403 ? "authentication_error"
                                : status >= 500                  ? "server_error"
                                                                 : "invalid_request_error";
  JsonObject error;
  error.add("message", message).add("type", type).add_json("param", "null");
  error.add_json("code", status == 404 ? R"("model_not_found")" : "null");
  return JsonObject().add_json("error", error.text()).text();
}

/// A request of /v1/completions. Prompt i has the choices from i * samples on.
struct CompletionRequest {
  std::shared_ptr<const ServedLanguageModel> model;
  std::vector<std::string> prompts;
  GenerateOptions options = {};
  bool is_stream = false;
  bool has_usage = false;  // whether a stream has the usage
  bool has_echo = false;   // whether texts begin with their prompts

  std::size_t num_choices() const { return prompts.size() * static_cast<std::size_t>(options.samples); }
  std::size_t choice_of(const GeneratedPiece& piece) const {
    return piece.request * static_cast<std::size_t>(options.samples) + static_cast<std::size_t>(piece.sample);
  }
};

std::shared_ptr<const ServedLanguageModel> find_language_model(const ServerState& state,
                                                               const std::optional<std::string>& name) {
  const auto models = state.language_models.models();
  if (models.empty()) throw RequestError(404, "the server has no language model");
  if (!name && models.size() == 1) return models.front();
  check(name.has_value(), "request: model is missing, needs the name of a model; /v1/models lists them");
  for (const auto& model : models) {
    if (model->name == *name) return model;
  }
  throw RequestError(404, fmt::format("request: model is {}, needs the name of a model; /v1/models lists them",
                                      quote_unless_plain(*name)));
}

/// Reads a number. Throws Error for text that is none, and for a number out of the range of the field `option`.
template <class Number>
void read_number(const RequestFields& fields, std::string_view name, std::string_view option, Number& value) {
  const std::optional<std::string> text = fields.word(name);
  if (!text) return;
  const Range range = range_of<GenerateOptions>(option);
  double number = 0;
  constexpr bool is_whole = !std::is_same_v<Number, double>;
  const bool is_number = parse_number(*text, range, number) && (!is_whole || number == std::round(number));
  check(is_number, "request: {} is {}, needs a {}number{}", name, quote_unless_plain(*text), is_whole ? "whole " : "",
        range.text());
  value = static_cast<Number>(number);
}

/// Refuses what other servers can do and this one cannot, unless the field has no effect there, either.
void refuse_other_fields(const RequestFields& fields, const GenerateOptions& options) {
  for (const std::string_view name : {"presence_penalty", "frequency_penalty"}) {
    const std::string text = fields.word(name).value_or("0");
    double number = 0;
    check(parse_number(text, Range(), number) && number == 0,
          "request: {} is {}, needs 0; repetition_penalty avoids repetitions", name, quote_unless_plain(text));
  }
  check(fields.find("logprobs") == nullptr, "request: logprobs is set, which this server does not return");
  check(fields.text("suffix").value_or("").empty(),
        "request: suffix is set, needs none; texts are continued at the end");
  check(!fields.has_members("logit_bias"), "request: logit_bias is set, which this server does not have");
  const std::string best_of = fields.word("best_of").value_or(std::to_string(options.samples));
  check(best_of == std::to_string(options.samples), "request: best_of is {}, needs n, which is {}",
        quote_unless_plain(best_of), options.samples);
}

CompletionRequest read_completion_request(ServerState& state, const RequestFields& fields) {
  CompletionRequest request = {.model = find_language_model(state, fields.text("model")),
                               .prompts = fields.texts("prompt")};
  const ServerOptions& limits = state.options;
  check(!request.prompts.empty(), "request: prompt is missing, needs a text or a list of texts");
  GenerateOptions& options = request.options;
  std::int64_t max_tokens = std::min(kDefaultTokens, limits.completion_tokens);
  read_number(fields, "max_tokens", "max_tokens", max_tokens);
  check(max_tokens <= limits.completion_tokens, "request: max_tokens is {}, needs at most {}", max_tokens,
        limits.completion_tokens);
  options.max_tokens = max_tokens;
  read_number(fields, "temperature", "temperature", options.temperature);
  read_number(fields, "top_p", "top_p", options.top_p);
  read_number(fields, "top_k", "top_k", options.top_k);
  read_number(fields, "min_p", "min_p", options.min_p);
  read_number(fields, "repetition_penalty", "repetition_penalty", options.repetition_penalty);
  read_number(fields, "n", "samples", options.samples);
  static const std::uint64_t start = std::random_device()();
  static std::atomic<std::uint64_t> count = 0;
  options.seed = mix(start, count++);
  read_number(fields, "seed", "seed", options.seed);
  options.stop = fields.texts("stop");
  refuse_other_fields(fields, options);
  request.is_stream = fields.flag("stream");
  request.has_usage = fields.flag("stream_options.include_usage");
  request.has_echo = fields.flag("echo");
  check(std::cmp_less_equal(request.num_choices(), limits.texts),
        "request: n is {} with {} prompts, needs at most {} texts together", options.samples, request.prompts.size(),
        limits.texts);
  for (const std::string& prompt : request.prompts) {
    const std::size_t characters = count_code_points(prompt);
    check(std::cmp_less_equal(characters, limits.characters), "request: a prompt has {} characters, needs at most {}",
          characters, limits.characters);
  }
  return request;
}

std::string_view finish_name(FinishReason reason) { return reason == FinishReason::kLength ? "length" : "stop"; }

/// A text that the response has, or a part of it.
struct Choice {
  std::string text;
  std::int64_t tokens = 0;
  std::optional<FinishReason> end = {};
};

std::string choice_json(std::size_t index, const Choice& choice) {
  JsonObject json;
  json.add("text", choice.text).add("index", index).add_json("logprobs", "null");
  json.add_json("finish_reason", choice.end ? quote_json(finish_name(*choice.end)) : "null");
  return json.text();
}

/// The texts of a request while they are written.
class Completion {
 public:
  Completion(ServerState& state, HttpExchange& exchange, const CompletionRequest& request)
      : state_(state),
        exchange_(exchange),
        request_(request),
        call_(*request.model->service, exchange.request().client) {
    id_ = fmt::format("cmpl-{:016x}", mix(request.options.seed, static_cast<std::uint64_t>(created_)));
    std::vector<ContinuedText> texts;
    for (const std::string& prompt : request.prompts) {
      texts.push_back(request.model->service->begin({prompt, request.options}));
      prompt_tokens_ += std::ssize(texts.back().input().prompt);
    }
    if (!call_.try_put(std::move(texts))) {
      state.metrics.count_rejection("queue");
      throw RequestError(429, "Slowdown: too many texts are waiting", {{"Retry-After", "1"}});
    }
    exchange.on_abandon([source = client_is_gone_]() mutable { source.request_stop(); });
  }

  void respond() {
    const std::stop_callback cancel(client_is_gone_.get_token(), [this] { call_.cancel(); });
    std::vector<Choice> choices(request_.num_choices());
    while (const auto piece = next()) {
      Choice& choice = choices[request_.choice_of(*piece)];
      choice.text += piece->text;
      choice.tokens = piece->tokens;
      choice.end = piece->end;
      bytes_ += std::ssize(piece->text);
      check_answer_bytes(bytes_, state_.options.answer_bytes);
    }
    std::string json;
    for (std::size_t i = 0; i < choices.size(); ++i) {
      completion_tokens_ += choices[i].tokens;
      if (request_.has_echo) choices[i].text = prompt_of(i) + choices[i].text;
      json += (i == 0 ? "" : ", ") + choice_json(i, choices[i]);
    }
    finish();
    respond_translation(state_, exchange_,
                        head().add_json("choices", "[" + json + "]").add_json("usage", usage()).text());
  }

  /// Answers with server-sent events. Errors before the first one are responses with their status.
  void stream() {
    const std::stop_callback cancel(client_is_gone_.get_token(), [this] { call_.cancel(); });
    try {
      for (std::size_t i = 0; request_.has_echo && i < request_.num_choices(); ++i) {
        send(chunk(choice_json(i, {.text = prompt_of(i)})));
      }
      while (const auto piece = next()) {
        if (piece->end) completion_tokens_ += piece->tokens;
        send(chunk(choice_json(request_.choice_of(*piece), {piece->text, piece->tokens, piece->end})));
      }
      if (request_.has_usage) send(head().add_json("choices", "[]").add_json("usage", usage()).text());
      finish();
      send("[DONE]");
    } catch (const StopException&) {
      throw;
    } catch (const RequestError& error) {
      if (!has_begun_) throw;
      send(completion_error(error.status(), error.what()));
    } catch (const std::exception& error) {
      if (!has_begun_) throw;
      if (state_.log) state_.log(fmt::format("{}: {}", exchange_.request().path, error.what()));
      send(completion_error(500, "Internal Server Error"));
    }
    exchange_.end_stream();
  }

 private:
  using Clock = GenerationCall::Clock;

  std::optional<GeneratedPiece> next() {
    if (!call_.wait_until(deadline_)) {
      state_.metrics.count_rejection("deadline");
      throw RequestError(504, "the time for the request is over");
    }
    return call_.next();
  }

  const std::string& prompt_of(std::size_t choice) const {
    return request_.prompts[choice / static_cast<std::size_t>(request_.options.samples)];
  }

  void finish() { state_.metrics.count_tokens(prompt_tokens_, completion_tokens_); }

  JsonObject head() const {
    JsonObject json;
    json.add("id", id_).add("object", "text_completion").add("created", created_).add("model", request_.model->name);
    return json;
  }

  std::string chunk(const std::string& choice) const { return head().add_json("choices", "[" + choice + "]").text(); }

  std::string usage() const {
    return JsonObject()
        .add("prompt_tokens", prompt_tokens_)
        .add("completion_tokens", completion_tokens_)
        .add("total_tokens", prompt_tokens_ + completion_tokens_)
        .text();
  }

  /// Throws StopException if the client is gone.
  void send(const std::string& data) {
    if (!std::exchange(has_begun_, true)) {
      exchange_.begin_stream({.content_type = "text/event-stream", .headers = {{"Cache-Control", "no-store"}}});
    }
    if (!exchange_.write("data: " + data + "\n\n")) throw StopException();
  }

  ServerState& state_;
  HttpExchange& exchange_;
  const CompletionRequest& request_;
  Clock::time_point deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                   std::chrono::duration<double>(state_.options.request_seconds));
  std::int64_t created_ =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  std::string id_;
  std::stop_source client_is_gone_;
  GenerationCall call_;
  std::int64_t prompt_tokens_ = 0;
  std::int64_t completion_tokens_ = 0;
  std::int64_t bytes_ = 0;
  bool has_begun_ = false;
};

void handle_completions(ServerState& state, HttpExchange& exchange) {
  const auto key = state.keys.find(bearer_key(exchange.request()));
  const CompletionRequest request = read_completion_request(state, read_request_fields(exchange.request()));
  refuse_while_draining(state);
  KeyCharge charge(state, key, count_characters(request.prompts), /*status_over_quota=*/429);
  Completion completion(state, exchange, request);
  request.is_stream ? completion.stream() : completion.respond();
  charge.keep();
}

void handle_models(ServerState& state, HttpExchange& exchange) {
  state.keys.find(bearer_key(exchange.request()));
  const std::string models = json_array(state.language_models.models(), [](const auto& model) {
    JsonObject json;
    json.add("id", model->name).add("object", "model").add("created", 0).add("owned_by", "edgewise");
    return json.text();
  });
  exchange.respond({.body = JsonObject().add("object", "list").add_json("data", models).text()});
}

}  // namespace

void add_completions(Router& router) {
  router.add("POST", "/v1/completions", handle_completions, completion_error);
  router.add("GET", "/v1/models", handle_models, completion_error);
}

}  // namespace edgewise

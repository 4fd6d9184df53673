// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "edgewise/base/error.h"
#include "edgewise/base/files/json.h"
#include "edgewise/base/sha256.h"
#include "edgewise/server/endpoints.h"
#include "edgewise/server/served_files.h"

namespace edgewise {
namespace {

constexpr std::string_view kContentSecurityPolicy =
    "default-src 'none'; connect-src 'self'; img-src 'self'; script-src 'self'; style-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'";

constexpr std::string_view kDocs = "docs.html";

std::string content_type_of(std::string_view name) {
  constexpr auto kTypes = std::to_array<std::pair<std::string_view, std::string_view>>({
      {".css", "text/css; charset=utf-8"},
      {".html", "text/html; charset=utf-8"},
      {".js", "text/javascript; charset=utf-8"},
      {".svg", "image/svg+xml"},
  });
  for (const auto& [ending, type] : kTypes) {
    if (name.ends_with(ending)) return std::string(type);
  }
  fail("add_page: file is {}, needs a name that ends in .css, .html, .js or .svg", name);
}

/// Returns `/` for page.html, `/docs` for docs.html, `/NAME` for the other files of the name `page`, and `/page/NAME`
/// for the rest.
std::string path_of(std::string_view name) {
  if (name == "page.html") return "/";
  if (name == kDocs) return "/docs";
  return fmt::format("{}{}", name.starts_with("page.") ? "/" : "/page/", name);
}

std::string etag_of(std::string_view text) {
  constexpr std::size_t kDigits = 16;
  return fmt::format("\"{}\"", sha256(text).substr(0, kDigits));
}

std::vector<HttpHeader> page_headers(const std::string& etag) {
  return {{"Content-Security-Policy", std::string(kContentSecurityPolicy)},
          {"X-Content-Type-Options", "nosniff"},
          {"Referrer-Policy", "no-referrer"},
          {"Cache-Control", "no-cache"},
          {"ETag", etag}};
}

/// Returns whether the browser has this version of a file.
bool is_current(const HttpRequest& request, const std::string& etag) {
  const auto known = request.header("If-None-Match");
  return known && (*known == "*" || known->find(etag) != std::string_view::npos);
}

HttpResponse response_of(const EmbeddedFile& file) {
  return {.content_type = content_type_of(file.name),
          .body = std::string(file.text),
          .headers = page_headers(etag_of(file.text))};
}

void add_file(Router& router, const EmbeddedFile& file) {
  const HttpResponse whole = response_of(file);
  router.add("GET", path_of(file.name), [whole, etag = etag_of(file.text)](ServerState&, HttpExchange& exchange) {
    if (!is_current(exchange.request(), etag)) return exchange.respond(whole);
    exchange.respond({.status = 304, .content_type = "", .headers = whole.headers});
  });
}

}  // namespace

void respond_docs(HttpExchange& exchange) {
  for (const EmbeddedFile& file : server_page_files()) {
    if (file.name != kDocs) continue;
    HttpResponse response = response_of(file);
    response.headers.push_back({"Vary", "Accept"});
    return exchange.respond(std::move(response));
  }
}

void add_page(Router& router) {
  for (const EmbeddedFile& file : server_page_files()) add_file(router, file);
  router.add("GET", "/page/settings.json", [](ServerState& state, HttpExchange& exchange) {
    exchange.respond({.body = JsonObject().add("alternatives", state.options.alternatives).text(),
                      .headers = {{"Cache-Control", "no-store"}, {"X-Content-Type-Options", "nosniff"}}});
  });
}

}  // namespace edgewise

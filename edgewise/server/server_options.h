// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "edgewise/base/fields.h"

namespace edgewise {

/// The section [server] of a server's config. Every limit is on unless the help text says otherwise.
struct ServerOptions {
  // Connections.
  std::string listen = "127.0.0.1:5000";
  std::int64_t connections = 256;
  std::int64_t connections_per_client = 64;
  std::int64_t handlers = 64;
  std::int64_t header_bytes = 8192;
  std::int64_t body_bytes = 1 << 20;
  double header_seconds = 10;
  double body_seconds = 30;
  double idle_seconds = 60;
  double write_seconds = 30;
  double drain_seconds = 30;

  // Requests.
  double request_seconds = 60;
  std::int64_t characters = 5000;
  std::int64_t texts = 64;
  std::int64_t alternatives = 3;
  std::int64_t queue_tokens = 1 << 16;

  // Translations.
  std::string pivot = {};

  // Clients.
  std::vector<std::string> api_keys = {};
  bool require_api_key = false;
  std::string cors_origin = "*";

  template <class Self, class Field>
  static void list_fields(Self& self, Field&& field) {
    field("listen", self.listen, "address and port of the server");
    field("connections", self.connections, "most connections at a time", at_least(1).at_most(1e6));
    field("connections_per_client", self.connections_per_client, "most connections of one address at a time",
          at_least(1).at_most(1e6));
    field("handlers", self.handlers, "most requests that are worked on at a time; others wait",
          at_least(1).at_most(1e4));
    field("header_bytes", self.header_bytes, "most bytes of the headers of a request", at_least(256).at_most(1 << 20));
    field("body_bytes", self.body_bytes, "most bytes of the body of a request", at_least(1).at_most(1 << 30));
    field("header_seconds", self.header_seconds, "time in which a client must send the headers, in seconds",
          above(0).at_most(1e6));
    field("body_seconds", self.body_seconds, "time in which a client must send the body, in seconds",
          above(0).at_most(1e6));
    field("idle_seconds", self.idle_seconds, "time after which a connection without a request is closed, in seconds",
          above(0).at_most(1e6));
    field("write_seconds", self.write_seconds, "time in which a client must accept a piece of a response, in seconds",
          above(0).at_most(1e6));
    field("drain_seconds", self.drain_seconds, "time for running requests when the server ends, in seconds",
          at_least(0).at_most(1e6));
    field("request_seconds", self.request_seconds, "time for the translation of a request, in seconds",
          above(0).at_most(1e6));
    field("characters", self.characters, "most characters of a text", at_least(1).at_most(1e9));
    field("texts", self.texts, "most texts of a request", at_least(1).at_most(1e6));
    field("alternatives", self.alternatives,
          "most alternatives to a translation; a model has at most one less than its beam has hypotheses",
          at_least(0).at_most(100));
    field("queue_tokens", self.queue_tokens,
          "most input tokens of all requests to a model; more requests get status 429", at_least(1).at_most(1e9));
    field("pivot", self.pivot,
          "language through which texts are translated if no model translates directly, such as en; empty: none");
    field("api_keys", self.api_keys, "keys that clients may send; empty: keys have no effect");
    field("require_api_key", self.require_api_key, "refuse requests for translations without a key");
    field("cors_origin", self.cors_origin,
          "origin whose pages may use the server, *: all pages; empty: only pages of the server itself");
  }
};

/// Throws Error for options out of their range, for a key without characters, and for require_api_key without keys.
void check_server_options(const ServerOptions& options);

}  // namespace edgewise

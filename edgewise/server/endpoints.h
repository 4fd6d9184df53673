// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "edgewise/server/router.h"

// The interfaces of the server, which one Router passes requests to.

namespace edgewise {

/// Adds the interface of LibreTranslate 1.9, with its fields, error texts and status codes: /translate, /detect,
/// /languages, /frontend/settings, and /translate_file, which refuses files. Differences: a beam of one model limits
/// the alternatives; HTML keeps its entities, where LibreTranslate writes characters such as `<`, which end the text.
void add_libretranslate(Router& router);

/// Adds the interface of DeepL's API, version 2: /v2/translate, /v2/languages and /v2/usage. A formality that must be
/// followed and a glossary get status 400; context, preferred formality and preserve_formatting have no effect.
/// /v2/usage has the characters of the client's key in this month; without a key, those of all texts that this
/// interface has translated since the server's start.
void add_deepl(Router& router);

/// Adds /v1/translate, our own interface (native.cc), with everything that a model says.
///
/// Fields: `text` (one or several), `source` (by default detected), `target`, `format` (text, html), `line_breaks`
/// (end, space), `alternatives`, `attention` (true: with attention weights), `token_ranges` (true: with the bytes of
/// each token), `stream`. The key is in the header `Authorization: Bearer KEY`. The response has `target` and
/// `translations`: for each text its `source`, `confidence` if the source is detected, `text`, `alternatives` and
/// `sentences`. A sentence has its bytes [begin, end) in the input and in the translated text, and the members that
/// add_translation adds. After two models, the input of a sentence is in the text between them, `intermediate`. The
/// ranges of tokens begin at the first byte of the sentence: `input_token_ranges` of a sentence, and `token_ranges` of
/// an output.
///
/// With `stream` true, the response is a stream of server-sent events: `sentence` with the members that add_translation
/// adds for each sentence as soon as it is translated, with the number of its `text`, its `number` among the translated
/// sentences of the text, and `gap`, the text between it and the sentence before; then `result`, the response, in which
/// each translated sentence has its `number` in place of what its event has; or `error` with its `status`.
void add_native(Router& router);

/// Adds the interface of OpenAI's completions (API reference of version 1, "Completions"): /v1/completions, and
/// /v1/models with the names of the language models.
///
/// Fields: `model` (may be left out if there is one), `prompt` (a text or several), `max_tokens` (by default 16),
/// `temperature`, `top_p`, `n`, `stop` (a text or several), `seed` (by default another one each time), `stream`,
/// `stream_options.include_usage`, `echo`, and, beyond that interface, `top_k`, `min_p` and `repetition_penalty`. The
/// same request with a seed gives the same texts. Prompts as token numbers, logprobs, suffix, logit_bias, penalties
/// other than 0 and a best_of other than n get status 400. The key is in the header `Authorization: Bearer KEY`. A
/// stream is a list of server-sent events, of which the last one is `[DONE]`.
void add_completions(Router& router);

/// Adds the endpoints of operators and tools: /health, whether the process answers; /ready, whether the server takes
/// more texts, or else status 503; /metrics, for Prometheus; /spec, the interfaces as OpenAPI, or as a page for
/// browsers.
void add_operation(Router& router);

/// Returns whether a request asks for the state of the server: /health, /ready and /metrics are answered at all times.
bool is_probe(const HttpRequest& request);

/// Adds the page at `/`, which translates what a person types, and the files that the page loads: the files of the
/// folder page/ (docs.html is at `/docs`), and /page/settings.json with `alternatives`, the largest number of
/// alternatives of a request. The page uses /languages, /frontend/settings and /v1/translate.
///
/// A Content-Security-Policy limits the page to files and requests of this server. Browsers check on each visit that
/// their copy of a file is current, by its ETag; an unchanged file is answered with status 304.
void add_page(Router& router);

/// Answers with the page that describes the interfaces, which is also at `/docs`.
void respond_docs(HttpExchange& exchange);

}  // namespace edgewise

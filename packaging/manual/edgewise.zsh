#compdef edgewise
# Completes the arguments of edgewise in zsh.
_edgewise() {
  local context state state_descr line
  typeset -A opt_args
  _arguments -C -s \
    '(-h --help)-h[Print this help message and exit]' \
    '(-h --help)--help[Print this help message and exit]' \
    '(--version)--version[Display program version information and exit]' \
    '1: :->subcommand' \
    '*:: :->arguments'
  case $state in
    subcommand)
      local -a subcommands=(
        'train:Train the model that a config file describes'
        'translate:Translate text, one sentence per line'
        'generate:Continue a text with a language model'
        'serve:Translate texts for clients that speak HTTP, with the interfaces of LibreTranslate and DeepL, and continue texts with that of OpenAI'\''s completions'
        'vocab:Learn the vocabularies of a config and write them, for vocabulary.file of other configs'
        'distil:Train a student on the translations of one model or of several, from a corpus to a small model'
        'average:Average the parameters of several models into one model'
        'quantise:Store the matrices of a model in 8 bits, a quarter of the size'
        'shortlist:Learn from sentence pairs which output tokens a model computes for an input'
        'calibrate:Choose how early tokens halt at the exits of a model, with a bound on the loss of quality'
        'import:Convert a model of another system into a model directory'
        'export:Convert a model into the files of another system'
        'compare:Compare runs\: options that differ, best scores, speed and curves'
        'score:Score translations by BLEU and chrF, with the numbers of sacreBLEU'
        'score-pairs:Score given outputs by a model\: print the score before each output'
        'perplexity:Measure a language model on texts\: loss per token in nats, perplexity, bits per character and per byte. Each token, and the end of each document, counts once. A document of more tokens than --context is measured in windows of so many tokens, of which each begins in the middle of the one before; of all windows but the first, only the second half counts, so that each token has at least half of the context'
        'inspect:Show the contents of a run, a model, a tensor file or a config'
        'doctor:Describe this machine and what will be used of it, and test it'
        'picture:Draw models, graphs and runs\: attention, ponder steps, curves'
        'bench:Measure the speed of training, attention, message passing, decoding and generating on this machine'
      )
      _describe subcommand subcommands
      ;;
    arguments)
      case $line[1] in
        train) _edgewise_train ;;
        translate) _edgewise_translate ;;
        generate) _edgewise_generate ;;
        serve) _edgewise_serve ;;
        vocab) _edgewise_vocab ;;
        distil) _edgewise_distil ;;
        average) _edgewise_average ;;
        quantise) _edgewise_quantise ;;
        shortlist) _edgewise_shortlist ;;
        calibrate) _edgewise_calibrate ;;
        import) _edgewise_import ;;
        export) _edgewise_export ;;
        compare) _edgewise_compare ;;
        score) _edgewise_score ;;
        score-pairs) _edgewise_score-pairs ;;
        perplexity) _edgewise_perplexity ;;
        inspect) _edgewise_inspect ;;
        doctor) _edgewise_doctor ;;
        picture) _edgewise_picture ;;
        bench) _edgewise_bench ;;
      esac
      ;;
  esac
}
_edgewise_train() {
  _arguments -s \
    '(-h --help)-h[Print this help message and exit]' \
    '(-h --help)--help[Print this help message and exit]' \
    '(--out)--out=[the run directory to write\: checkpoints and metrics]:TEXT:_files' \
    '(--from)--from=[start from this model\: a run or model directory, whose vocabularies and parameters the new run has]:TEXT:_files' \
    '*--set=[section.key=value, replaces a value of the config]:TEXT:_files' \
    '(--resume)--resume[continue the run that --out holds]' \
    '(--end-with-parent)--end-with-parent=[save and end, as at SIGTERM, when the process with this number ends, which must have started this one]:NUMBER:' \
    '(--device)--device=[where to compute\: cpu (default)]:TEXT:_files' \
    '(--threads)--threads=[the number of threads]:NUMBER:' \
    '(--processes)--processes=[train in so many processes of this machine, a power of two that is at most train.virtual_ranks]:NUMBER:' \
    '(--max-restarts)--max-restarts=[with --processes, how often to start again from the last checkpoint when a process was lost]:NUMBER:' \
    '(--timeout)--timeout=[seconds to wait for another process of the training before it counts as lost]:NUMBER:' \
    ':config:_files'
}
_edgewise_translate() {
  _arguments -s \
    '(-h --help)-h[Print this help message and exit]' \
    '(-h --help)--help[Print this help message and exit]' \
    '(--out)--out=[the file to write]:TEXT:_files' \
    '*--model=[a run or model directory, or the name of a model such as en-de]:TEXT:_files' \
    '(--device)--device=[where to compute\: cpu (default)]:TEXT:_files' \
    '(--precision)--precision=[the number format of matrix products\: fp32 (default), bf16 or int8]:ENUM:(fp32 bf16 int8)' \
    '(--decoder-layers)--decoder-layers=[the number of first decoder layers to translate with, at whose end the model has an exit]:NUMBER:' \
    '(--exit-threshold)--exit-threshold=[the threshold of halting at exits]:NUMBER:' \
    '(--from)--from=[a multilingual model'\''s name of the language of the inputs, such as eng_Latn]:TEXT:_files' \
    '(--to)--to=[a multilingual model'\''s name of the language of the outputs, such as fra_Latn]:TEXT:_files' \
    '(--batch-sentences)--batch-sentences=[the most sentences that a worker translates at a time]:NUMBER:' \
    '(--batch-tokens)--batch-tokens=[the most input tokens that a worker translates at a time]:NUMBER:' \
    '(--workers)--workers=[the number of searches that run in parallel and share the threads]:NUMBER:' \
    '(--attention-layer)--attention-layer=[the decoder layer whose cross-attention gives the alignments, from 0]:NUMBER:' \
    '(--attention-head)--attention-head=[the head of --attention-layer, from 0]:NUMBER:' \
    '(--threads)--threads=[the number of threads]:NUMBER:' \
    '(--shortlist)--shortlist=[the lexical shortlist of a model that has one\: auto (default) computes only the output tokens that it selects for an input]:ENUM:(auto off)' \
    '(--beam)--beam=[the number of hypotheses in the beam]:NUMBER:' \
    '(--nbest)--nbest=[the number of outputs per sentence]:NUMBER:' \
    '(--length-penalty)--length-penalty=[the exponent of the length that divides a score]:NUMBER:' \
    '*--set=[search.key=value, replaces an option of \[search\] in the model'\''s config]:TEXT:_files' \
    '(--prefix)--prefix=[a file with the beginning of the output for each input line, as many lines as the input has]:TEXT:_files' \
    '(--max-input)--max-input=[the most tokens of an input]:NUMBER:' \
    '(--long-inputs)--long-inputs=[inputs above --max-input\: split at sentence ends (split, default), or cut off (cut)]:ENUM:(split cut)' \
    '(--max-line)--max-line=[the most bytes of an input line, whose rest is left out]:NUMBER:' \
    '(--bad-text)--bad-text=[lines that are not UTF-8\: an error (stop, default), or U+FFFD for each bad byte (replace)]:ENUM:(stop replace)' \
    '(--unknown)--unknown[allow the token <unknown> in outputs]' \
    '(--no-protect)--no-protect[pass all text to the model as it is\: numbers, addresses, placeholders, emoji, code and invisible characters]' \
    '(--scores)--scores[print the score before each output]' \
    '(--alignments)--alignments[print the aligned token pairs after each output, INPUT-OUTPUT from 0]' \
    '(--text)--text[translate a text\: split its lines into sentences, and keep all line breaks and spaces between sentences]' \
    '(--html)--html[translate the text of an HTML document, and keep its markup]' \
    '(--max-document)--max-document=[the most bytes of an HTML document]:NUMBER:' \
    '(--text-language)--text-language=[the language of the text, by whose abbreviations it is split, such as de]:TEXT:_files' \
    '(--line-breaks)--line-breaks=[line breaks of the text\: a line break ends a sentence (end, default), or is a space as in wrapped text, which an empty line or a list item ends (space)]:ENUM:(end space)' \
    '(--json)--json[print one line of JSON for each sentence]' \
    '(--attention)--attention[add each output token'\''s cross-attention weights to the JSON]' \
    '(--shard)--shard=[I/N\: translate the lines I, I + N, I + 2 N and so on of the input, counted from 0, and write OUT.part-I-of-N]:TEXT:_files' \
    '(--merge)--merge=[join the N parts of --shard I/N to OUT]:NUMBER:' \
    '::input:_files'
}
_edgewise_generate() {
  _arguments -s \
    '(-h --help)-h[Print this help message and exit]' \
    '(-h --help)--help[Print this help message and exit]' \
    '(--model)--model=[a run or model directory, or the name of a model]:TEXT:_files' \
    '(--prompt)--prompt=[the prompt, in place of the input]:TEXT:_files' \
    '(--lines)--lines[each line of the input is a prompt]' \
    '(--json)--json[print one line of JSON for each continuation]' \
    '(--echo)--echo[print the prompt before each continuation]' \
    '(--max-tokens)--max-tokens=[the most tokens of a continuation]:NUMBER:' \
    '(--temperature)--temperature=[the divisor of log-probabilities\: below 1 favours likely tokens, 0 always takes the likeliest]:NUMBER:' \
    '(--top-k)--top-k=[the number of most likely tokens to draw from]:NUMBER:' \
    '(--top-p)--top-p=[draw from the most likely tokens that together have this probability]:NUMBER:' \
    '(--min-p)--min-p=[draw from the tokens that are at least so many times as likely as the likeliest]:NUMBER:' \
    '(--repetition-penalty)--repetition-penalty=[--samples NUMBER            the number of continuations of each prompt]:NUMBER:' \
    '(--samples)--samples=[the number of continuations of each prompt]:NUMBER:' \
    '(--seed)--seed=[the seed of the random numbers]:NUMBER:' \
    '*--stop=[a text that ends a continuation, which does not contain it]:TEXT:_files' \
    '(--ignore-end)--ignore-end[never take the end token, so that a continuation has --max-tokens tokens]' \
    '(--precision)--precision=[the number format of matrix products\: fp32 (default), bf16 or int8]:ENUM:(fp32 bf16 int8)' \
    '(--batch)--batch=[the most continuations that are computed at a time]:NUMBER:' \
    '(--threads)--threads=[the number of threads]:NUMBER:' \
    '::input:_files'
}
_edgewise_serve() {
  _arguments -s \
    '(-h --help)-h[Print this help message and exit]' \
    '(-h --help)--help[Print this help message and exit]' \
    '*--model=[a run or model directory with its languages, such as en-de=runs/en-de, or alone if the model knows the names of its languages]:TEXT:_files' \
    '*--language-model=[a run or model directory of a language model, NAME=DIR or DIR, which continues texts for clients of OpenAI'\''s completions]:TEXT:_files' \
    '(--config)--config=[a server'\''s config, SERVER.toml]:TEXT:_files' \
    '(--listen)--listen=[ADDRESS\:PORT, \[IPV6\]\:PORT or unix\:PATH]:TEXT:_files' \
    '(--drain-seconds)--drain-seconds=[time for running requests after SIGTERM or SIGINT]:NUMBER:' \
    '*--set=[section.key=value, replaces a value of the config]:TEXT:_files' \
    '(--threads)--threads=[the number of threads]:NUMBER:' \
    '(--print-config)--print-config[print the config with all options, and end]'
}
_edgewise_vocab() {
  _arguments -s \
    '(-h --help)-h[Print this help message and exit]' \
    '(-h --help)--help[Print this help message and exit]' \
    '(--out)--out=[the directory of vocabulary files to write]:TEXT:_files' \
    '(--overwrite)--overwrite[replace the directory of --out if it exists and a command of Edgewise wrote it]' \
    '*--set=[section.key=value, replaces a value of the config]:TEXT:_files' \
    '::config:_files'
}
_edgewise_distil() {
  _arguments -s \
    '(-h --help)-h[Print this help message and exit]' \
    '(-h --help)--help[Print this help message and exit]' \
    '(--out)--out=[the directory to write\: a folder for each step]:TEXT:_files' \
    '(--overwrite)--overwrite[make steps again whose files or options have changed since]' \
    '*--set=[section.key=value, replaces a value of the config]:TEXT:_files' \
    '(--threads)--threads=[the number of threads]:NUMBER:' \
    ':config:_files'
}
_edgewise_average() {
  _arguments -s \
    '(-h --help)-h[Print this help message and exit]' \
    '(-h --help)--help[Print this help message and exit]' \
    '(--out)--out=[the model directory to write]:TEXT:_files' \
    '(--overwrite)--overwrite[replace the directory of --out if it exists and a command of Edgewise wrote it]' \
    '*:models:_files'
}
_edgewise_quantise() {
  _arguments -s \
    '(-h --help)-h[Print this help message and exit]' \
    '(-h --help)--help[Print this help message and exit]' \
    '(--out)--out=[the model directory to write]:TEXT:_files' \
    '(--overwrite)--overwrite[replace the directory of --out if it exists and a command of Edgewise wrote it]' \
    ':model:_files'
}
_edgewise_shortlist() {
  _arguments -s \
    '(-h --help)-h[Print this help message and exit]' \
    '(-h --help)--help[Print this help message and exit]' \
    '(--out)--out=[the model directory to write]:TEXT:_files' \
    '(--overwrite)--overwrite[replace the directory of --out if it exists and a command of Edgewise wrote it]' \
    '(--alignment)--alignment=[a file of links between the tokens of each pair, such as `edgewise score-pairs --alignments` prints]:TEXT:_files' \
    '(--first)--first=[the number of the vocabulary'\''s first tokens that all outputs may have]:NUMBER:' \
    '(--best)--best=[the most output tokens for an input token]:NUMBER:' \
    '(--threshold)--threshold=[the least probability that an input token is translated by an output token]:NUMBER:' \
    '(--sentences)--sentences=[the number of pairs to learn from, evenly spread over the files]:NUMBER:' \
    '(--iterations)--iterations=[the steps of expectation maximisation without --alignment]:NUMBER:' \
    ':model:_files' \
    ':inputs:_files' \
    ':outputs:_files'
}
_edgewise_calibrate() {
  _arguments -s \
    '(-h --help)-h[Print this help message and exit]' \
    '(-h --help)--help[Print this help message and exit]' \
    '(--out)--out=[the model directory to write]:TEXT:_files' \
    '(--overwrite)--overwrite[replace the directory of --out if it exists and a command of Edgewise wrote it]' \
    '(--loss)--loss=[the largest expected loss of a sentence, in points of chrF]:NUMBER:' \
    '(--risk)--risk=[the largest probability that the expected loss is above --loss]:NUMBER:' \
    '(--beam)--beam=[the number of hypotheses in the beam]:NUMBER:' \
    '(--precision)--precision=[the number format of matrix products\: fp32 (default), bf16 or int8]:ENUM:(fp32 bf16 int8)' \
    '(--workers)--workers=[the number of searches that run in parallel and share the threads]:NUMBER:' \
    '(--threads)--threads=[the number of threads]:NUMBER:' \
    '(--json)--json[print the tested thresholds as one line of JSON]' \
    ':model:_files' \
    ':inputs:_files' \
    ':references:_files'
}
_edgewise_import() {
  _arguments -s \
    '(-h --help)-h[Print this help message and exit]' \
    '(-h --help)--help[Print this help message and exit]' \
    '(--out)--out=[the model directory to write]:TEXT:_files' \
    '(--overwrite)--overwrite[replace the directory of --out if it exists and a command of Edgewise wrote it]' \
    ':source:_files'
}
_edgewise_export() {
  _arguments -s \
    '(-h --help)-h[Print this help message and exit]' \
    '(-h --help)--help[Print this help message and exit]' \
    '(--format)--format=[the other system\: ctranslate2, huggingface or marian]:ENUM:(ctranslate2 huggingface marian)' \
    '(--out)--out=[the directory to write]:TEXT:_files' \
    '(--overwrite)--overwrite[replace the directory of --out if it exists and a command of Edgewise wrote it]' \
    ':model:_files'
}
_edgewise_compare() {
  _arguments -s \
    '(-h --help)-h[Print this help message and exit]' \
    '(-h --help)--help[Print this help message and exit]' \
    '(-o --out)-o+[an HTML page to write, with the table and the curves in one file]:TEXT:_files' \
    '(-o --out)--out=[an HTML page to write, with the table and the curves in one file]:TEXT:_files' \
    '*:runs:_files'
}
_edgewise_score() {
  _arguments -s \
    '(-h --help)-h[Print this help message and exit]' \
    '(-h --help)--help[Print this help message and exit]' \
    '(--reference)--reference=[the file of reference translations, one per line]:TEXT:_files' \
    '(--tokenize)--tokenize=[the tokenizer of BLEU\: 13a (default), intl or none]:ENUM:(13a intl none)' \
    '(--lowercase)--lowercase[lower-case translations and references before scoring]' \
    '(--chrf-word-order)--chrf-word-order=[the longest word n-gram of chrF]:NUMBER:' \
    '(--digits)--digits=[the number of decimals to print]:NUMBER:' \
    '(--json)--json[print the result as one line of JSON]' \
    '::hypothesis:_files'
}
_edgewise_score-pairs() {
  _arguments -s \
    '(-h --help)-h[Print this help message and exit]' \
    '(-h --help)--help[Print this help message and exit]' \
    '(--out)--out=[the file to write]:TEXT:_files' \
    '*--model=[a run or model directory, or the name of a model such as en-de]:TEXT:_files' \
    '(--device)--device=[where to compute\: cpu (default)]:TEXT:_files' \
    '(--precision)--precision=[the number format of matrix products\: fp32 (default), bf16 or int8]:ENUM:(fp32 bf16 int8)' \
    '(--decoder-layers)--decoder-layers=[the number of first decoder layers to translate with, at whose end the model has an exit]:NUMBER:' \
    '(--exit-threshold)--exit-threshold=[the threshold of halting at exits]:NUMBER:' \
    '(--from)--from=[a multilingual model'\''s name of the language of the inputs, such as eng_Latn]:TEXT:_files' \
    '(--to)--to=[a multilingual model'\''s name of the language of the outputs, such as fra_Latn]:TEXT:_files' \
    '(--batch-sentences)--batch-sentences=[the most sentences that a worker translates at a time]:NUMBER:' \
    '(--batch-tokens)--batch-tokens=[the most input tokens that a worker translates at a time]:NUMBER:' \
    '(--workers)--workers=[the number of searches that run in parallel and share the threads]:NUMBER:' \
    '(--attention-layer)--attention-layer=[the decoder layer whose cross-attention gives the alignments, from 0]:NUMBER:' \
    '(--attention-head)--attention-head=[the head of --attention-layer, from 0]:NUMBER:' \
    '(--threads)--threads=[the number of threads]:NUMBER:' \
    '(--length-norm)--length-norm=[the divisor of a log-probability\: none (default), average (the length), gnmt (GNMT'\''s length penalty) or power (a power of the length)]:ENUM:(gnmt power average none)' \
    '(--alignments)--alignments[print the aligned token pairs after each output, INPUT-OUTPUT from 0]' \
    '(--json)--json[print one line of JSON for each pair]' \
    ':inputs:_files' \
    ':outputs:_files'
}
_edgewise_perplexity() {
  _arguments -s \
    '(-h --help)-h[Print this help message and exit]' \
    '(-h --help)--help[Print this help message and exit]' \
    '(--model)--model=[a run or model directory of a language model]:TEXT:_files' \
    '(--context)--context=[the most tokens of a window]:NUMBER:' \
    '(--threads)--threads=[the number of threads]:NUMBER:' \
    '(--json)--json[print the result as one line of JSON]' \
    '*:files:_files'
}
_edgewise_inspect() {
  _arguments -s \
    '(-h --help)-h[Print this help message and exit]' \
    '(-h --help)--help[Print this help message and exit]' \
    '(--ponder)--ponder=[a file of sentences, one per line, or - for standard input\: count the ponder steps of each token\: those of a Universal Transformer, or the layers of a decoder with exits]:TEXT:_files' \
    '(--json)--json[print the result of --ponder as JSON]' \
    ':path:_files'
}
_edgewise_doctor() {
  _arguments -s \
    '(-h --help)-h[Print this help message and exit]' \
    '(-h --help)--help[Print this help message and exit]' \
    '(--threads)--threads=[the number of threads]:NUMBER:' \
    '(--json)--json[print the report and the results of the self-test as JSON]'
}
_edgewise_picture() {
  local context state state_descr line
  typeset -A opt_args
  _arguments -C -s \
    '(-h --help)-h[Print this help message and exit]' \
    '(-h --help)--help[Print this help message and exit]' \
    '1: :->subcommand' \
    '*:: :->arguments'
  case $state in
    subcommand)
      local -a subcommands=(
        'attention:Draw the attention weights of a model on one sentence pair, or of a language model on a text'
        'report:Write a page about a run\: curves, translations and attention'
        'graph:Draw a graph of tokens\: nodes and edges, or from 1000 nodes on the adjacency matrix'
        'training:Draw the course of training\: loss, scores, learning rate, speed, and how attention changed'
        'halting:Draw how many ponder steps a Universal Transformer, or how many layers a decoder with exits, takes for each token'
        'positions:Draw the positional encodings\: as a map, and single dimensions as curves'
      )
      _describe subcommand subcommands
      ;;
    arguments)
      case $line[1] in
        attention) _edgewise_picture_attention ;;
        report) _edgewise_picture_report ;;
        graph) _edgewise_picture_graph ;;
        training) _edgewise_picture_training ;;
        halting) _edgewise_picture_halting ;;
        positions) _edgewise_picture_positions ;;
      esac
      ;;
  esac
}
_edgewise_picture_attention() {
  _arguments -s \
    '(-h --help)-h[Print this help message and exit]' \
    '(-h --help)--help[Print this help message and exit]' \
    '(--model)--model=[a run or model directory]:TEXT:_files' \
    '(--input)--input=[the input sentence of the pair, or the text of a language model]:TEXT:_files' \
    '(--output)--output=[the output sentence]:TEXT:_files' \
    '(--pairs)--pairs=[instead of --input\: a file with `input ||| output` on each line]:TEXT:_files' \
    '(--line)--line=[the line of --pairs to draw, from 1]:NUMBER:' \
    '(--gold)--gold=[a file of gold word alignments, one line per pair\: `2-3` links word 2 of the input and word 3 of the output surely, `2p3` possibly]:TEXT:_files' \
    '(--gold-first)--gold-first=[the number of the first word in --gold\: 1 (default) or 0]:NUMBER:' \
    '(--attention)--attention=[the attention that is drawn, or open first on a page\: encoder, decoder or cross (default)]:ENUM:(encoder decoder cross)' \
    '(--layer)--layer=[the layer of the map, from 0, or mean]:TEXT:_files' \
    '(--head)--head=[the head of the map, from 0, or mean]:TEXT:_files' \
    '(-o --out)-o+[the file to write]:TEXT:_files' \
    '(-o --out)--out=[the file to write]:TEXT:_files'
}
_edgewise_picture_report() {
  _arguments -s \
    '(-h --help)-h[Print this help message and exit]' \
    '(-h --help)--help[Print this help message and exit]' \
    '(--input)--input=[a file of a few sentences, one per line]:TEXT:_files' \
    '(-o --out)-o+[the page to write, an .html file]:TEXT:_files' \
    '(-o --out)--out=[the page to write, an .html file]:TEXT:_files' \
    ':run:_files'
}
_edgewise_picture_graph() {
  local context state state_descr line
  typeset -A opt_args
  _arguments -C -s \
    '(-h --help)-h[Print this help message and exit]' \
    '(-h --help)--help[Print this help message and exit]' \
    '1: :->subcommand' \
    '*:: :->arguments'
  case $state in
    subcommand)
      local -a subcommands=(
        'complete:every node attends to every node, as in an encoder'
        'causal:a node attends to itself and to all nodes before it, as in a decoder'
        'window:a node attends to its neighbours'
        'strided:a node attends to itself and to each earlier node at a multiple of the stride'
        'block:a node attends to the nodes of its block'
        'random:a node attends to nodes that are drawn at random'
        'pattern:a node attends as a layer with a pattern of model.relation'
        'pairs:a batch of sentence pairs\: inputs above, outputs below'
        'beam:the hypotheses of a beam search, and those that it left out'
      )
      _describe subcommand subcommands
      ;;
    arguments)
      case $line[1] in
        complete) _edgewise_picture_graph_complete ;;
        causal) _edgewise_picture_graph_causal ;;
        window) _edgewise_picture_graph_window ;;
        strided) _edgewise_picture_graph_strided ;;
        block) _edgewise_picture_graph_block ;;
        random) _edgewise_picture_graph_random ;;
        pattern) _edgewise_picture_graph_pattern ;;
        pairs) _edgewise_picture_graph_pairs ;;
        beam) _edgewise_picture_graph_beam ;;
      esac
      ;;
  esac
}
_edgewise_picture_graph_complete() {
  _arguments -s \
    '(-h --help)-h[Print this help message and exit]' \
    '(-h --help)--help[Print this help message and exit]' \
    '(-o --out)-o+[the file to write]:TEXT:_files' \
    '(-o --out)--out=[the file to write]:TEXT:_files' \
    '(--nodes)--nodes=[the number of nodes]:NUMBER:'
}
_edgewise_picture_graph_causal() {
  _arguments -s \
    '(-h --help)-h[Print this help message and exit]' \
    '(-h --help)--help[Print this help message and exit]' \
    '(-o --out)-o+[the file to write]:TEXT:_files' \
    '(-o --out)--out=[the file to write]:TEXT:_files' \
    '(--nodes)--nodes=[the number of nodes]:NUMBER:'
}
_edgewise_picture_graph_window() {
  _arguments -s \
    '(-h --help)-h[Print this help message and exit]' \
    '(-h --help)--help[Print this help message and exit]' \
    '(-o --out)-o+[the file to write]:TEXT:_files' \
    '(-o --out)--out=[the file to write]:TEXT:_files' \
    '(--nodes)--nodes=[the number of nodes]:NUMBER:' \
    '(--before)--before=[the number of neighbours before a node]:NUMBER:' \
    '(--after)--after=[the number of neighbours after a node]:NUMBER:' \
    '(--dilation)--dilation=[the distance between neighbours in nodes]:NUMBER:'
}
_edgewise_picture_graph_strided() {
  _arguments -s \
    '(-h --help)-h[Print this help message and exit]' \
    '(-h --help)--help[Print this help message and exit]' \
    '(-o --out)-o+[the file to write]:TEXT:_files' \
    '(-o --out)--out=[the file to write]:TEXT:_files' \
    '(--nodes)--nodes=[the number of nodes]:NUMBER:' \
    '(--stride)--stride=[the stride in nodes]:NUMBER:'
}
_edgewise_picture_graph_block() {
  _arguments -s \
    '(-h --help)-h[Print this help message and exit]' \
    '(-h --help)--help[Print this help message and exit]' \
    '(-o --out)-o+[the file to write]:TEXT:_files' \
    '(-o --out)--out=[the file to write]:TEXT:_files' \
    '(--nodes)--nodes=[the number of nodes]:NUMBER:' \
    '(--block)--block=[the number of nodes in a block]:NUMBER:' \
    '(--causal)--causal[leave out edges from later nodes]'
}
_edgewise_picture_graph_random() {
  _arguments -s \
    '(-h --help)-h[Print this help message and exit]' \
    '(-h --help)--help[Print this help message and exit]' \
    '(-o --out)-o+[the file to write]:TEXT:_files' \
    '(-o --out)--out=[the file to write]:TEXT:_files' \
    '(--nodes)--nodes=[the number of nodes]:NUMBER:' \
    '(--in-degree)--in-degree=[the number of edges into a node]:NUMBER:' \
    '(--seed)--seed=[the seed of the random sources]:NUMBER:'
}
_edgewise_picture_graph_pattern() {
  _arguments -s \
    '(-h --help)-h[Print this help message and exit]' \
    '(-h --help)--help[Print this help message and exit]' \
    '(-o --out)-o+[the file to write]:TEXT:_files' \
    '(-o --out)--out=[the file to write]:TEXT:_files' \
    '(--config)--config=[instead of terms\: a config, whose model.relation is drawn]:TEXT:_files' \
    '(--layer)--layer=[the layer of --config, from 0]:NUMBER:' \
    '(--encoder)--encoder[draw the pattern of an encoder, with edges from later nodes]' \
    '(--nodes)--nodes=[the number of nodes]:NUMBER:' \
    '*:terms:_files'
}
_edgewise_picture_graph_pairs() {
  _arguments -s \
    '(-h --help)-h[Print this help message and exit]' \
    '(-h --help)--help[Print this help message and exit]' \
    '(-o --out)-o+[the file to write]:TEXT:_files' \
    '(-o --out)--out=[the file to write]:TEXT:_files' \
    '*--lengths=[the tokens of each pair as INPUT\:OUTPUT, one or several pairs]:TEXT:_files' \
    '*--input=[instead of --lengths\: the input sentence of a pair]:TEXT:_files' \
    '*--output=[the output sentence of a pair, one for each --input]:TEXT:_files'
}
_edgewise_picture_graph_beam() {
  _arguments -s \
    '(-h --help)-h[Print this help message and exit]' \
    '(-h --help)--help[Print this help message and exit]' \
    '(-o --out)-o+[the file to write]:TEXT:_files' \
    '(-o --out)--out=[the file to write]:TEXT:_files' \
    '(--model)--model=[a run or model directory]:TEXT:_files' \
    '(--input)--input=[the sentence to translate]:TEXT:_files' \
    '(--beam)--beam=[the number of hypotheses in the beam]:NUMBER:' \
    '(--cut)--cut=[the number of likeliest continuations to draw that each step left out]:NUMBER:'
}
_edgewise_picture_training() {
  _arguments -s \
    '(-h --help)-h[Print this help message and exit]' \
    '(-h --help)--help[Print this help message and exit]' \
    '(--attention)--attention=[the attention that is drawn, or open first on a page\: encoder, decoder or cross (default)]:ENUM:(encoder decoder cross)' \
    '(--layer)--layer=[the layer of the map, from 0, or mean]:TEXT:_files' \
    '(--head)--head=[the head of the map, from 0, or mean]:TEXT:_files' \
    '(-o --out)-o+[the file to write]:TEXT:_files' \
    '(-o --out)--out=[the file to write]:TEXT:_files' \
    '*:runs:_files'
}
_edgewise_picture_halting() {
  _arguments -s \
    '(-h --help)-h[Print this help message and exit]' \
    '(-h --help)--help[Print this help message and exit]' \
    '(--model)--model=[a run or model directory]:TEXT:_files' \
    '*--input=[a sentence to translate]:TEXT:_files' \
    '(--corpus)--corpus=[a file of sentences, one per line]:TEXT:_files' \
    '(-o --out)-o+[the file to write]:TEXT:_files' \
    '(-o --out)--out=[the file to write]:TEXT:_files'
}
_edgewise_picture_positions() {
  _arguments -s \
    '(-h --help)-h[Print this help message and exit]' \
    '(-h --help)--help[Print this help message and exit]' \
    '(-o --out)-o+[the file to write]:TEXT:_files' \
    '(-o --out)--out=[the file to write]:TEXT:_files' \
    '(--positions)--positions=[the number of positions]:NUMBER:' \
    '(--size)--size=[the dimensions of a vector]:NUMBER:' \
    '*--dimensions=[the dimensions to draw as curves, separated by commas]:NUMBER:'
}
_edgewise_bench() {
  local context state state_descr line
  typeset -A opt_args
  _arguments -C -s \
    '(-h --help)-h[Print this help message and exit]' \
    '(-h --help)--help[Print this help message and exit]' \
    '1: :->subcommand' \
    '*:: :->arguments'
  case $state in
    subcommand)
      local -a subcommands=(
        'train:Time training steps, for sentence pairs with the lengths of a corpus, or for texts'
        'attention:Time attention and its backward pass over a relation'
        'message:Time message passing beside attention, operation by operation, and in training'
        'decode:Time decoding by the runtime, for sentences with the lengths of a corpus'
        'generate:Time the prompt and the continuation of texts by the runtime, with a random language model'
      )
      _describe subcommand subcommands
      ;;
    arguments)
      case $line[1] in
        train) _edgewise_bench_train ;;
        attention) _edgewise_bench_attention ;;
        message) _edgewise_bench_message ;;
        decode) _edgewise_bench_decode ;;
        generate) _edgewise_bench_generate ;;
      esac
      ;;
  esac
}
_edgewise_bench_train() {
  _arguments -s \
    '(-h --help)-h[Print this help message and exit]' \
    '(-h --help)--help[Print this help message and exit]' \
    '(--size)--size=[the size of the model\: tiny (default), small, base, big, characters, which has 65 tokens, or llama-125m]:ENUM:(tiny small base big characters llama-125m)' \
    '(--precision)--precision=[the number format of linear layers and attention\: fp32 (default) or bf16]:ENUM:(fp32 bf16)' \
    '(--input)--input=[a file of input sentences, one per line, which give the lengths]:TEXT:_files' \
    '(--output)--output=[a file of output sentences, one for each input]:TEXT:_files' \
    '(--length)--length=[instead of files\: train a language model on texts of so many tokens]:NUMBER:' \
    '*--relation=[the terms of model.relation, each in quotes\: "window 256" "sinks 4"]:TEXT:_files' \
    '(--tokens)--tokens=[the number of tokens in a batch, at most]:NUMBER:' \
    '(--steps)--steps=[the number of timed steps]:NUMBER:' \
    '(--warmup)--warmup=[the number of steps before the timed ones]:NUMBER:' \
    '(--profile)--profile[print a profile of the timed steps]' \
    '(--json)--json[print the result as one line of JSON]' \
    '(--device)--device=[where to compute\: cpu (default)]:TEXT:_files' \
    '(--threads)--threads=[the number of threads]:NUMBER:'
}
_edgewise_bench_attention() {
  _arguments -s \
    '(-h --help)-h[Print this help message and exit]' \
    '(-h --help)--help[Print this help message and exit]' \
    '(--case)--case=[the relation\: sentences (default), causal, small, window, random, long or long-causal]:ENUM:(sentences causal small window random long long-causal)' \
    '(--device)--device=[where to compute\: cpu (default)]:TEXT:_files' \
    '(--precision)--precision=[the number format of the tensors\: fp32 (default) or bf16]:ENUM:(fp32 bf16)' \
    '(--repetitions)--repetitions=[the number of timed repetitions, whose median is printed, with --json also the mean]:NUMBER:' \
    '(--json)--json[print the result as one line of JSON]' \
    '(--threads)--threads=[the number of threads]:NUMBER:'
}
_edgewise_bench_message() {
  _arguments -s \
    '(-h --help)-h[Print this help message and exit]' \
    '(-h --help)--help[Print this help message and exit]' \
    '(--case)--case=[attention over sentences (default), window or random]:ENUM:(sentences window random power-law copy-task)' \
    '(--way)--way=[measure only this way, a score function beside attend]:ENUM:(built-in tutorial functions attend soft-cap alibi table sum mean max dot messages fused)' \
    '(--heads)--heads=[the number of heads]:NUMBER:' \
    '(--head-size)--head-size=[the size of a head]:NUMBER:' \
    '(--repetitions)--repetitions=[the number of timed repetitions, whose median is printed]:NUMBER:' \
    '(--json)--json[print the result as one line of JSON]' \
    '(--threads)--threads=[the number of threads]:NUMBER:'
}
_edgewise_bench_decode() {
  _arguments -s \
    '(-h --help)-h[Print this help message and exit]' \
    '(-h --help)--help[Print this help message and exit]' \
    '(--size)--size=[the size of a random model\: tiny (default), small, base or big]:ENUM:(tiny small base big characters llama-125m)' \
    '(--model)--model=[a run or model directory, instead of a random model]:TEXT:_files' \
    '(--decoder-layers)--decoder-layers=[the number of first decoder layers of --model to decode with, at whose end it has an exit]:NUMBER:' \
    '(--exit-threshold)--exit-threshold=[the threshold of halting at the exits of --model]:NUMBER:' \
    '(--device)--device=[where to compute\: cpu (default)]:TEXT:_files' \
    '(--precision)--precision=[the number format of the weights\: fp32 (default), bf16 or int8]:ENUM:(fp32 bf16 int8)' \
    '(--beam)--beam=[the number of hypotheses in the beam]:NUMBER:' \
    '(--batch)--batch=[the number of sentences that a worker decodes at a time]:NUMBER:' \
    '(--input)--input=[a file of sentences, one per line, which give a random model its input lengths, and --model its inputs]:TEXT:_files' \
    '(--sentences)--sentences=[the number of sentences to decode]:NUMBER:' \
    '(--output-length)--output-length=[the number of tokens of each output, the end token among them]:NUMBER:' \
    '(--min-seconds)--min-seconds=[decode all sentences again until this time has passed]:NUMBER:' \
    '(--workers)--workers=[the number of workers that share the threads]:NUMBER:' \
    '(--profile)--profile[print a profile of the first worker]' \
    '(--json)--json[print the result as one line of JSON]' \
    '(--threads)--threads=[the number of threads]:NUMBER:'
}
_edgewise_bench_generate() {
  _arguments -s \
    '(-h --help)-h[Print this help message and exit]' \
    '(-h --help)--help[Print this help message and exit]' \
    '(--size)--size=[the size of the model\: tiny, small, base, big, characters, which has 65 tokens, or llama-125m (default), which has the layers of Llama and 50000 tokens]:ENUM:(tiny small base big characters llama-125m)' \
    '(--precision)--precision=[the number format of the weights\: fp32 (default), bf16 or int8]:ENUM:(fp32 bf16 int8)' \
    '*--relation=[the terms of model.relation, each in quotes\: "window 256" "sinks 4"]:TEXT:_files' \
    '(--sequences)--sequences=[the number of texts that are continued at once]:NUMBER:' \
    '(--prompt)--prompt=[the number of tokens of each prompt]:NUMBER:' \
    '(--tokens)--tokens=[the number of timed tokens of each continuation]:NUMBER:' \
    '(--repetitions)--repetitions=[the number of timed repetitions, whose medians are printed]:NUMBER:' \
    '(--profile)--profile[print a profile of the timed repetitions]' \
    '(--json)--json[print the result as one line of JSON]' \
    '(--threads)--threads=[the number of threads]:NUMBER:'
}

if [ "$funcstack[1]" = "_edgewise" ]; then
  _edgewise "$@"
else
  compdef _edgewise edgewise
fi

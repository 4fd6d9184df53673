#compdef edgewise-translate
# Completes the arguments of edgewise-translate in zsh.
_edgewise-translate() {
  _arguments -s \
    '(-h --help)-h[Print this help message and exit]' \
    '(-h --help)--help[Print this help message and exit]' \
    '(--version)--version[Display program version information and exit]' \
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

if [ "$funcstack[1]" = "_edgewise-translate" ]; then
  _edgewise-translate "$@"
else
  compdef _edgewise-translate edgewise-translate
fi

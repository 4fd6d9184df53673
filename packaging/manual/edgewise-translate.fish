# Completes the arguments of edgewise-translate in fish.
function __fish_edgewise_translate_at --description 'Whether the command line has these subcommands'
  set -l path
  for word in (commandline -opc)[2..]
    switch "$path $word"
      case ''
        set path "$path $word"
    end
  end
  test "$path" = "$argv"
end
complete -c edgewise-translate -n '__fish_edgewise_translate_at ""' -s h -l help -d 'Print this help message and exit'
complete -c edgewise-translate -n '__fish_edgewise_translate_at ""' -l version -d 'Display program version information and exit'
complete -c edgewise-translate -n '__fish_edgewise_translate_at ""' -l out -r -F -d 'the file to write'
complete -c edgewise-translate -n '__fish_edgewise_translate_at ""' -l model -r -F -d 'a run or model directory, or the name of a model such as en-de'
complete -c edgewise-translate -n '__fish_edgewise_translate_at ""' -l device -r -F -d 'where to compute: cpu (default)'
complete -c edgewise-translate -n '__fish_edgewise_translate_at ""' -l precision -x -a 'fp32 bf16 int8' -d 'the number format of matrix products: fp32 (default), bf16 or int8'
complete -c edgewise-translate -n '__fish_edgewise_translate_at ""' -l from -r -F -d 'a multilingual model\'s name of the language of the inputs, such as eng_Latn'
complete -c edgewise-translate -n '__fish_edgewise_translate_at ""' -l to -r -F -d 'a multilingual model\'s name of the language of the outputs, such as fra_Latn'
complete -c edgewise-translate -n '__fish_edgewise_translate_at ""' -l batch-sentences -x -d 'the most sentences that a worker translates at a time'
complete -c edgewise-translate -n '__fish_edgewise_translate_at ""' -l batch-tokens -x -d 'the most input tokens that a worker translates at a time'
complete -c edgewise-translate -n '__fish_edgewise_translate_at ""' -l workers -x -d 'the number of searches that run in parallel and share the threads'
complete -c edgewise-translate -n '__fish_edgewise_translate_at ""' -l attention-layer -x -d 'the decoder layer whose cross-attention gives the alignments, from 0'
complete -c edgewise-translate -n '__fish_edgewise_translate_at ""' -l attention-head -x -d 'the head of --attention-layer, from 0'
complete -c edgewise-translate -n '__fish_edgewise_translate_at ""' -l threads -x -d 'the number of threads'
complete -c edgewise-translate -n '__fish_edgewise_translate_at ""' -l shortlist -x -a 'auto off' -d 'the lexical shortlist of a model that has one: auto (default) computes only the output tokens that it selects for an input'
complete -c edgewise-translate -n '__fish_edgewise_translate_at ""' -l beam -x -d 'the number of hypotheses in the beam'
complete -c edgewise-translate -n '__fish_edgewise_translate_at ""' -l nbest -x -d 'the number of outputs per sentence'
complete -c edgewise-translate -n '__fish_edgewise_translate_at ""' -l length-penalty -x -d 'the exponent of the length that divides a score'
complete -c edgewise-translate -n '__fish_edgewise_translate_at ""' -l set -r -F -d 'search.key=value, replaces an option of [search] in the model\'s config'
complete -c edgewise-translate -n '__fish_edgewise_translate_at ""' -l prefix -r -F -d 'a file with the beginning of the output for each input line, as many lines as the input has'
complete -c edgewise-translate -n '__fish_edgewise_translate_at ""' -l max-input -x -d 'the most tokens of an input'
complete -c edgewise-translate -n '__fish_edgewise_translate_at ""' -l long-inputs -x -a 'split cut' -d 'inputs above --max-input: split at sentence ends (split, default), or cut off (cut)'
complete -c edgewise-translate -n '__fish_edgewise_translate_at ""' -l max-line -x -d 'the most bytes of an input line, whose rest is left out'
complete -c edgewise-translate -n '__fish_edgewise_translate_at ""' -l bad-text -x -a 'stop replace' -d 'lines that are not UTF-8: an error (stop, default), or U+FFFD for each bad byte (replace)'
complete -c edgewise-translate -n '__fish_edgewise_translate_at ""' -l unknown -d 'allow the token <unknown> in outputs'
complete -c edgewise-translate -n '__fish_edgewise_translate_at ""' -l no-protect -d 'pass all text to the model as it is: numbers, addresses, placeholders, emoji, code and invisible characters'
complete -c edgewise-translate -n '__fish_edgewise_translate_at ""' -l scores -d 'print the score before each output'
complete -c edgewise-translate -n '__fish_edgewise_translate_at ""' -l alignments -d 'print the aligned token pairs after each output, INPUT-OUTPUT from 0'
complete -c edgewise-translate -n '__fish_edgewise_translate_at ""' -l text -d 'translate a text: split its lines into sentences, and keep all line breaks and spaces between sentences'
complete -c edgewise-translate -n '__fish_edgewise_translate_at ""' -l html -d 'translate the text of an HTML document, and keep its markup'
complete -c edgewise-translate -n '__fish_edgewise_translate_at ""' -l max-document -x -d 'the most bytes of an HTML document'
complete -c edgewise-translate -n '__fish_edgewise_translate_at ""' -l text-language -r -F -d 'the language of the text, by whose abbreviations it is split, such as de'
complete -c edgewise-translate -n '__fish_edgewise_translate_at ""' -l line-breaks -x -a 'end space' -d 'line breaks of the text: a line break ends a sentence (end, default), or is a space as in wrapped text, which an empty line or a list item ends (space)'
complete -c edgewise-translate -n '__fish_edgewise_translate_at ""' -l json -d 'print one line of JSON for each sentence'
complete -c edgewise-translate -n '__fish_edgewise_translate_at ""' -l attention -d 'add each output token\'s cross-attention weights to the JSON'
complete -c edgewise-translate -n '__fish_edgewise_translate_at ""' -l shard -r -F -d 'I/N: translate the lines I, I + N, I + 2 N and so on of the input, counted from 0, and write OUT.part-I-of-N'
complete -c edgewise-translate -n '__fish_edgewise_translate_at ""' -l merge -x -d 'join the N parts of --shard I/N to OUT'

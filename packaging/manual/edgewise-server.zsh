#compdef edgewise-server
# Completes the arguments of edgewise-server in zsh.
_edgewise-server() {
  _arguments -s \
    '(-h --help)-h[Print this help message and exit]' \
    '(-h --help)--help[Print this help message and exit]' \
    '(--version)--version[Display program version information and exit]' \
    '*--model=[a run or model directory with its languages, such as en-de=runs/en-de, or alone if the model knows the names of its languages]:TEXT:_files' \
    '*--language-model=[a run or model directory of a language model, NAME=DIR or DIR, which continues texts for clients of OpenAI'\''s completions]:TEXT:_files' \
    '(--config)--config=[a server'\''s config, SERVER.toml]:TEXT:_files' \
    '(--listen)--listen=[ADDRESS\:PORT, \[IPV6\]\:PORT or unix\:PATH]:TEXT:_files' \
    '(--drain-seconds)--drain-seconds=[time for running requests after SIGTERM or SIGINT]:NUMBER:' \
    '*--set=[section.key=value, replaces a value of the config]:TEXT:_files' \
    '(--threads)--threads=[the number of threads]:NUMBER:' \
    '(--print-config)--print-config[print the config with all options, and end]'
}

if [ "$funcstack[1]" = "_edgewise-server" ]; then
  _edgewise-server "$@"
else
  compdef _edgewise-server edgewise-server
fi

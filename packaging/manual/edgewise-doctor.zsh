#compdef edgewise-doctor
# Completes the arguments of edgewise-doctor in zsh.
_edgewise-doctor() {
  _arguments -s \
    '(-h --help)-h[Print this help message and exit]' \
    '(-h --help)--help[Print this help message and exit]' \
    '(--version)--version[Display program version information and exit]' \
    '(--threads)--threads=[the number of threads]:NUMBER:' \
    '(--json)--json[print the report and the results of the self-test as JSON]'
}

if [ "$funcstack[1]" = "_edgewise-doctor" ]; then
  _edgewise-doctor "$@"
else
  compdef _edgewise-doctor edgewise-doctor
fi

# Completes the arguments of edgewise-server in bash.
_edgewise_server() {
  local word=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]} path= i
  if [[ $word == = ]]; then
    word=
  elif [[ $option == = ]]; then
    option=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case "$path ${COMP_WORDS[i]}" in
      "") path+=" ${COMP_WORDS[i]}" ;;
    esac
  done
  COMPREPLY=()
  case "$path:$option" in
    ":--model") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    ":--language-model") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    ":--config") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    ":--listen") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    ":--drain-seconds") return ;;
    ":--set") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    ":--threads") return ;;
  esac
  local names=
  case "$path" in
    "") names="-h --help --version --model --language-model --config --listen --drain-seconds --set --threads --print-config" ;;
  esac
  if [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$names" -- "$word")
    return
  fi
  case "$path" in
    *)
      compopt -o filenames
      mapfile -t COMPREPLY < <(compgen -f -- "$word")
      ;;
  esac
}
complete -F _edgewise_server edgewise-server

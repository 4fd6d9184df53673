# Completes the arguments of edgewise-translate in bash.
_edgewise_translate() {
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
    ":--out") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    ":--model") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    ":--device") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    ":--precision") mapfile -t COMPREPLY < <(compgen -W "fp32 bf16 int8" -- "$word"); return ;;
    ":--decoder-layers") return ;;
    ":--exit-threshold") return ;;
    ":--from") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    ":--to") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    ":--batch-sentences") return ;;
    ":--batch-tokens") return ;;
    ":--workers") return ;;
    ":--attention-layer") return ;;
    ":--attention-head") return ;;
    ":--threads") return ;;
    ":--shortlist") mapfile -t COMPREPLY < <(compgen -W "auto off" -- "$word"); return ;;
    ":--beam") return ;;
    ":--nbest") return ;;
    ":--length-penalty") return ;;
    ":--set") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    ":--prefix") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    ":--max-input") return ;;
    ":--long-inputs") mapfile -t COMPREPLY < <(compgen -W "split cut" -- "$word"); return ;;
    ":--max-line") return ;;
    ":--bad-text") mapfile -t COMPREPLY < <(compgen -W "stop replace" -- "$word"); return ;;
    ":--max-document") return ;;
    ":--text-language") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    ":--line-breaks") mapfile -t COMPREPLY < <(compgen -W "end space" -- "$word"); return ;;
    ":--shard") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    ":--merge") return ;;
  esac
  local names=
  case "$path" in
    "") names="-h --help --version --out --model --device --precision --decoder-layers --exit-threshold --from --to --batch-sentences --batch-tokens --workers --attention-layer --attention-head --threads --shortlist --beam --nbest --length-penalty --set --prefix --max-input --long-inputs --max-line --bad-text --unknown --no-protect --scores --alignments --text --html --max-document --text-language --line-breaks --json --attention --shard --merge" ;;
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
complete -F _edgewise_translate edgewise-translate

# Completes the arguments of edgewise in bash.
_edgewise() {
  local word=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]} path= i
  if [[ $word == = ]]; then
    word=
  elif [[ $option == = ]]; then
    option=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case "$path ${COMP_WORDS[i]}" in
      " train" | " translate" | " generate" | " serve" | " vocab" | " distil" | " average" | " quantise" | " shortlist" | " calibrate" | " import" | " export" | " compare" | " score" | " score-pairs" | " perplexity" | " inspect" | " doctor" | " picture" | " picture attention" | " picture report" | " picture graph" | " picture graph complete" | " picture graph causal" | " picture graph window" | " picture graph strided" | " picture graph block" | " picture graph random" | " picture graph pattern" | " picture graph pairs" | " picture graph beam" | " picture training" | " picture halting" | " picture positions" | " bench" | " bench train" | " bench attention" | " bench message" | " bench decode" | " bench generate") path+=" ${COMP_WORDS[i]}" ;;
    esac
  done
  COMPREPLY=()
  case "$path:$option" in
    " train:--out") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " train:--from") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " train:--set") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " train:--end-with-parent") return ;;
    " train:--device") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " train:--threads") return ;;
    " train:--processes") return ;;
    " train:--max-restarts") return ;;
    " train:--timeout") return ;;
    " translate:--out") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " translate:--model") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " translate:--device") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " translate:--precision") mapfile -t COMPREPLY < <(compgen -W "fp32 bf16 int8" -- "$word"); return ;;
    " translate:--decoder-layers") return ;;
    " translate:--exit-threshold") return ;;
    " translate:--from") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " translate:--to") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " translate:--batch-sentences") return ;;
    " translate:--batch-tokens") return ;;
    " translate:--workers") return ;;
    " translate:--attention-layer") return ;;
    " translate:--attention-head") return ;;
    " translate:--threads") return ;;
    " translate:--shortlist") mapfile -t COMPREPLY < <(compgen -W "auto off" -- "$word"); return ;;
    " translate:--beam") return ;;
    " translate:--nbest") return ;;
    " translate:--length-penalty") return ;;
    " translate:--set") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " translate:--prefix") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " translate:--max-input") return ;;
    " translate:--long-inputs") mapfile -t COMPREPLY < <(compgen -W "split cut" -- "$word"); return ;;
    " translate:--max-line") return ;;
    " translate:--bad-text") mapfile -t COMPREPLY < <(compgen -W "stop replace" -- "$word"); return ;;
    " translate:--max-document") return ;;
    " translate:--text-language") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " translate:--line-breaks") mapfile -t COMPREPLY < <(compgen -W "end space" -- "$word"); return ;;
    " translate:--shard") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " translate:--merge") return ;;
    " generate:--model") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " generate:--prompt") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " generate:--max-tokens") return ;;
    " generate:--temperature") return ;;
    " generate:--top-k") return ;;
    " generate:--top-p") return ;;
    " generate:--min-p") return ;;
    " generate:--repetition-penalty") return ;;
    " generate:--samples") return ;;
    " generate:--seed") return ;;
    " generate:--stop") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " generate:--precision") mapfile -t COMPREPLY < <(compgen -W "fp32 bf16 int8" -- "$word"); return ;;
    " generate:--batch") return ;;
    " generate:--threads") return ;;
    " serve:--model") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " serve:--language-model") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " serve:--config") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " serve:--listen") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " serve:--drain-seconds") return ;;
    " serve:--set") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " serve:--threads") return ;;
    " vocab:--out") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " vocab:--set") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " distil:--out") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " distil:--set") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " distil:--threads") return ;;
    " average:--out") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " quantise:--out") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " shortlist:--out") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " shortlist:--alignment") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " shortlist:--first") return ;;
    " shortlist:--best") return ;;
    " shortlist:--threshold") return ;;
    " shortlist:--sentences") return ;;
    " shortlist:--iterations") return ;;
    " calibrate:--out") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " calibrate:--loss") return ;;
    " calibrate:--risk") return ;;
    " calibrate:--beam") return ;;
    " calibrate:--precision") mapfile -t COMPREPLY < <(compgen -W "fp32 bf16 int8" -- "$word"); return ;;
    " calibrate:--workers") return ;;
    " calibrate:--threads") return ;;
    " import:--out") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " export:--format") mapfile -t COMPREPLY < <(compgen -W "ctranslate2 huggingface marian" -- "$word"); return ;;
    " export:--out") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " compare:-o" | " compare:--out") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " score:--reference") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " score:--tokenize") mapfile -t COMPREPLY < <(compgen -W "13a intl none" -- "$word"); return ;;
    " score:--chrf-word-order") return ;;
    " score:--digits") return ;;
    " score-pairs:--out") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " score-pairs:--model") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " score-pairs:--device") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " score-pairs:--precision") mapfile -t COMPREPLY < <(compgen -W "fp32 bf16 int8" -- "$word"); return ;;
    " score-pairs:--decoder-layers") return ;;
    " score-pairs:--exit-threshold") return ;;
    " score-pairs:--from") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " score-pairs:--to") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " score-pairs:--batch-sentences") return ;;
    " score-pairs:--batch-tokens") return ;;
    " score-pairs:--workers") return ;;
    " score-pairs:--attention-layer") return ;;
    " score-pairs:--attention-head") return ;;
    " score-pairs:--threads") return ;;
    " score-pairs:--length-norm") mapfile -t COMPREPLY < <(compgen -W "gnmt power average none" -- "$word"); return ;;
    " perplexity:--model") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " perplexity:--context") return ;;
    " perplexity:--threads") return ;;
    " inspect:--ponder") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " doctor:--threads") return ;;
    " picture attention:--model") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " picture attention:--input") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " picture attention:--output") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " picture attention:--pairs") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " picture attention:--line") return ;;
    " picture attention:--gold") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " picture attention:--gold-first") return ;;
    " picture attention:--attention") mapfile -t COMPREPLY < <(compgen -W "encoder decoder cross" -- "$word"); return ;;
    " picture attention:--layer") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " picture attention:--head") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " picture attention:-o" | " picture attention:--out") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " picture report:--input") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " picture report:-o" | " picture report:--out") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " picture graph complete:-o" | " picture graph complete:--out") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " picture graph complete:--nodes") return ;;
    " picture graph causal:-o" | " picture graph causal:--out") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " picture graph causal:--nodes") return ;;
    " picture graph window:-o" | " picture graph window:--out") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " picture graph window:--nodes") return ;;
    " picture graph window:--before") return ;;
    " picture graph window:--after") return ;;
    " picture graph window:--dilation") return ;;
    " picture graph strided:-o" | " picture graph strided:--out") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " picture graph strided:--nodes") return ;;
    " picture graph strided:--stride") return ;;
    " picture graph block:-o" | " picture graph block:--out") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " picture graph block:--nodes") return ;;
    " picture graph block:--block") return ;;
    " picture graph random:-o" | " picture graph random:--out") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " picture graph random:--nodes") return ;;
    " picture graph random:--in-degree") return ;;
    " picture graph random:--seed") return ;;
    " picture graph pattern:-o" | " picture graph pattern:--out") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " picture graph pattern:--config") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " picture graph pattern:--layer") return ;;
    " picture graph pattern:--nodes") return ;;
    " picture graph pairs:-o" | " picture graph pairs:--out") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " picture graph pairs:--lengths") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " picture graph pairs:--input") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " picture graph pairs:--output") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " picture graph beam:-o" | " picture graph beam:--out") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " picture graph beam:--model") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " picture graph beam:--input") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " picture graph beam:--beam") return ;;
    " picture graph beam:--cut") return ;;
    " picture training:--attention") mapfile -t COMPREPLY < <(compgen -W "encoder decoder cross" -- "$word"); return ;;
    " picture training:--layer") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " picture training:--head") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " picture training:-o" | " picture training:--out") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " picture halting:--model") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " picture halting:--input") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " picture halting:--corpus") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " picture halting:-o" | " picture halting:--out") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " picture positions:-o" | " picture positions:--out") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " picture positions:--positions") return ;;
    " picture positions:--size") return ;;
    " picture positions:--dimensions") return ;;
    " bench train:--size") mapfile -t COMPREPLY < <(compgen -W "tiny small base big characters llama-125m" -- "$word"); return ;;
    " bench train:--precision") mapfile -t COMPREPLY < <(compgen -W "fp32 bf16" -- "$word"); return ;;
    " bench train:--input") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " bench train:--output") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " bench train:--length") return ;;
    " bench train:--relation") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " bench train:--tokens") return ;;
    " bench train:--steps") return ;;
    " bench train:--warmup") return ;;
    " bench train:--device") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " bench train:--threads") return ;;
    " bench attention:--case") mapfile -t COMPREPLY < <(compgen -W "sentences causal small window random long long-causal" -- "$word"); return ;;
    " bench attention:--device") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " bench attention:--precision") mapfile -t COMPREPLY < <(compgen -W "fp32 bf16" -- "$word"); return ;;
    " bench attention:--repetitions") return ;;
    " bench attention:--threads") return ;;
    " bench message:--case") mapfile -t COMPREPLY < <(compgen -W "sentences window random power-law copy-task" -- "$word"); return ;;
    " bench message:--way") mapfile -t COMPREPLY < <(compgen -W "built-in tutorial functions attend soft-cap alibi table sum mean max dot messages fused" -- "$word"); return ;;
    " bench message:--heads") return ;;
    " bench message:--head-size") return ;;
    " bench message:--repetitions") return ;;
    " bench message:--threads") return ;;
    " bench decode:--size") mapfile -t COMPREPLY < <(compgen -W "tiny small base big characters llama-125m" -- "$word"); return ;;
    " bench decode:--model") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " bench decode:--decoder-layers") return ;;
    " bench decode:--exit-threshold") return ;;
    " bench decode:--device") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " bench decode:--precision") mapfile -t COMPREPLY < <(compgen -W "fp32 bf16 int8" -- "$word"); return ;;
    " bench decode:--beam") return ;;
    " bench decode:--batch") return ;;
    " bench decode:--input") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " bench decode:--sentences") return ;;
    " bench decode:--output-length") return ;;
    " bench decode:--min-seconds") return ;;
    " bench decode:--workers") return ;;
    " bench decode:--threads") return ;;
    " bench generate:--size") mapfile -t COMPREPLY < <(compgen -W "tiny small base big characters llama-125m" -- "$word"); return ;;
    " bench generate:--precision") mapfile -t COMPREPLY < <(compgen -W "fp32 bf16 int8" -- "$word"); return ;;
    " bench generate:--relation") compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    " bench generate:--sequences") return ;;
    " bench generate:--prompt") return ;;
    " bench generate:--tokens") return ;;
    " bench generate:--repetitions") return ;;
    " bench generate:--threads") return ;;
  esac
  local names=
  case "$path" in
    "") names="-h --help --version" ;;
    " train") names="-h --help --out --from --set --resume --end-with-parent --device --threads --processes --max-restarts --timeout" ;;
    " translate") names="-h --help --out --model --device --precision --decoder-layers --exit-threshold --from --to --batch-sentences --batch-tokens --workers --attention-layer --attention-head --threads --shortlist --beam --nbest --length-penalty --set --prefix --max-input --long-inputs --max-line --bad-text --unknown --no-protect --scores --alignments --text --html --max-document --text-language --line-breaks --json --attention --shard --merge" ;;
    " generate") names="-h --help --model --prompt --lines --json --echo --max-tokens --temperature --top-k --top-p --min-p --repetition-penalty --samples --seed --stop --ignore-end --precision --batch --threads" ;;
    " serve") names="-h --help --model --language-model --config --listen --drain-seconds --set --threads --print-config" ;;
    " vocab") names="-h --help --out --overwrite --set" ;;
    " distil") names="-h --help --out --overwrite --set --threads" ;;
    " average") names="-h --help --out --overwrite" ;;
    " quantise") names="-h --help --out --overwrite" ;;
    " shortlist") names="-h --help --out --overwrite --alignment --first --best --threshold --sentences --iterations" ;;
    " calibrate") names="-h --help --out --overwrite --loss --risk --beam --precision --workers --threads --json" ;;
    " import") names="-h --help --out --overwrite" ;;
    " export") names="-h --help --format --out --overwrite" ;;
    " compare") names="-h --help -o --out" ;;
    " score") names="-h --help --reference --tokenize --lowercase --chrf-word-order --digits --json" ;;
    " score-pairs") names="-h --help --out --model --device --precision --decoder-layers --exit-threshold --from --to --batch-sentences --batch-tokens --workers --attention-layer --attention-head --threads --length-norm --alignments --json" ;;
    " perplexity") names="-h --help --model --context --threads --json" ;;
    " inspect") names="-h --help --ponder --json" ;;
    " doctor") names="-h --help --threads --json" ;;
    " picture") names="-h --help" ;;
    " picture attention") names="-h --help --model --input --output --pairs --line --gold --gold-first --attention --layer --head -o --out" ;;
    " picture report") names="-h --help --input -o --out" ;;
    " picture graph") names="-h --help" ;;
    " picture graph complete") names="-h --help -o --out --nodes" ;;
    " picture graph causal") names="-h --help -o --out --nodes" ;;
    " picture graph window") names="-h --help -o --out --nodes --before --after --dilation" ;;
    " picture graph strided") names="-h --help -o --out --nodes --stride" ;;
    " picture graph block") names="-h --help -o --out --nodes --block --causal" ;;
    " picture graph random") names="-h --help -o --out --nodes --in-degree --seed" ;;
    " picture graph pattern") names="-h --help -o --out --config --layer --encoder --nodes" ;;
    " picture graph pairs") names="-h --help -o --out --lengths --input --output" ;;
    " picture graph beam") names="-h --help -o --out --model --input --beam --cut" ;;
    " picture training") names="-h --help --attention --layer --head -o --out" ;;
    " picture halting") names="-h --help --model --input --corpus -o --out" ;;
    " picture positions") names="-h --help -o --out --positions --size --dimensions" ;;
    " bench") names="-h --help" ;;
    " bench train") names="-h --help --size --precision --input --output --length --relation --tokens --steps --warmup --profile --json --device --threads" ;;
    " bench attention") names="-h --help --case --device --precision --repetitions --json --threads" ;;
    " bench message") names="-h --help --case --way --heads --head-size --repetitions --json --threads" ;;
    " bench decode") names="-h --help --size --model --decoder-layers --exit-threshold --device --precision --beam --batch --input --sentences --output-length --min-seconds --workers --profile --json --threads" ;;
    " bench generate") names="-h --help --size --precision --relation --sequences --prompt --tokens --repetitions --profile --json --threads" ;;
  esac
  if [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$names" -- "$word")
    return
  fi
  case "$path" in
    "") mapfile -t COMPREPLY < <(compgen -W "train translate generate serve vocab distil average quantise shortlist calibrate import export compare score score-pairs perplexity inspect doctor picture bench" -- "$word") ;;
    " picture") mapfile -t COMPREPLY < <(compgen -W "attention report graph training halting positions" -- "$word") ;;
    " picture graph") mapfile -t COMPREPLY < <(compgen -W "complete causal window strided block random pattern pairs beam" -- "$word") ;;
    " bench") mapfile -t COMPREPLY < <(compgen -W "train attention message decode generate" -- "$word") ;;
    *)
      compopt -o filenames
      mapfile -t COMPREPLY < <(compgen -f -- "$word")
      ;;
  esac
}
complete -F _edgewise edgewise

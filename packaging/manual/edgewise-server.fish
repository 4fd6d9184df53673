# Completes the arguments of edgewise-server in fish.
function __fish_edgewise_server_at --description 'Whether the command line has these subcommands'
  set -l path
  for word in (commandline -opc)[2..]
    switch "$path $word"
      case ''
        set path "$path $word"
    end
  end
  test "$path" = "$argv"
end
complete -c edgewise-server -n '__fish_edgewise_server_at ""' -s h -l help -d 'Print this help message and exit'
complete -c edgewise-server -n '__fish_edgewise_server_at ""' -l version -d 'Display program version information and exit'
complete -c edgewise-server -n '__fish_edgewise_server_at ""' -l model -r -F -d 'a run or model directory with its languages, such as en-de=runs/en-de, or alone if the model knows the names of its languages'
complete -c edgewise-server -n '__fish_edgewise_server_at ""' -l language-model -r -F -d 'a run or model directory of a language model, NAME=DIR or DIR, which continues texts for clients of OpenAI\'s completions'
complete -c edgewise-server -n '__fish_edgewise_server_at ""' -l config -r -F -d 'a server\'s config, SERVER.toml'
complete -c edgewise-server -n '__fish_edgewise_server_at ""' -l listen -r -F -d 'ADDRESS:PORT, [IPV6]:PORT or unix:PATH'
complete -c edgewise-server -n '__fish_edgewise_server_at ""' -l drain-seconds -x -d 'time for running requests after SIGTERM or SIGINT'
complete -c edgewise-server -n '__fish_edgewise_server_at ""' -l set -r -F -d 'section.key=value, replaces a value of the config'
complete -c edgewise-server -n '__fish_edgewise_server_at ""' -l threads -x -d 'the number of threads'
complete -c edgewise-server -n '__fish_edgewise_server_at ""' -l print-config -d 'print the config with all options, and end'

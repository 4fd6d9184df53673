# Completes the arguments of edgewise-doctor in fish.
function __fish_edgewise_doctor_at --description 'Whether the command line has these subcommands'
  set -l path
  for word in (commandline -opc)[2..]
    switch "$path $word"
      case ''
        set path "$path $word"
    end
  end
  test "$path" = "$argv"
end
complete -c edgewise-doctor -n '__fish_edgewise_doctor_at ""' -s h -l help -d 'Print this help message and exit'
complete -c edgewise-doctor -n '__fish_edgewise_doctor_at ""' -l version -d 'Display program version information and exit'
complete -c edgewise-doctor -n '__fish_edgewise_doctor_at ""' -l threads -x -d 'the number of threads'
complete -c edgewise-doctor -n '__fish_edgewise_doctor_at ""' -l json -d 'print the report and the results of the self-test as JSON'

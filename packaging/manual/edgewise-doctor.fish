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
complete -c edgewise-doctor -n '__fish_edgewise_doctor_at ""' -l print-manual -d 'print the manual page of all commands, for man, and end'
complete -c edgewise-doctor -n '__fish_edgewise_doctor_at ""' -l print-completion -x -a 'bash zsh fish' -d 'print a script that completes arguments in bash, zsh or fish, and end'

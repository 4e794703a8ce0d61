# completion of `calm` for fish
@WORDS@
function __calm_complete
    set -l at ''
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    set -l option ''
    for word in $before[2..-1]
        set -l list (__calm_words "$at")
        string match -q -- '-*' "$list[1]"; and break
        string match -q -- "$word"\t'*' $list; and set at (string trim -- "$at $word")
    end
    set -l previous $before[-1]
    if string match -q -- '--*=*' "$current"
        set previous (string split -m 1 -- = "$current")[1]
        set option "$previous="
    end
    set -l list (__calm_words "$at $previous")
    if test -z "$list"
        set list (__calm_words "$at")
        if string match -q -- '-*' "$list[1]"; and not string match -q -- '-*' "$current"
            set list (__calm_words "$at _")
        end
    end
    if test -n "$list"
        printf '%s\n' $option$list
    else
        __fish_complete_path "$current"
    end
end
complete -c calm -f -a '(__calm_complete)'

#compdef calm
# completion of `calm` for zsh
@WORDS@
_calm() {
    local at= word list
    local -a found
    for word in "${(@)words[2,CURRENT-1]}"; do
        list=$(_calm_words "$at")
        [[ $list == -* ]] && break
        [[ $'\n'$list == *$'\n'"$word"$'\t'* ]] && at=${at:+$at }$word
    done
    if [[ $PREFIX == --*=* ]]; then
        list=$(_calm_words "$at ${PREFIX%%=*}")
        compset -P 1 '*='
    else
        list=$(_calm_words "$at $words[CURRENT-1]")
    fi
    if [[ -z $list ]]; then
        list=$(_calm_words "$at")
        [[ $list == -* && $PREFIX != -* ]] && list=$(_calm_words "$at _")
    fi
    found=("${(@f)list}")
    found=("${(@)found//:/\\:}")
    found=("${(@)found/$'\t'/:}")
    if [[ $list == -* ]]; then
        _describe -o calm found
    elif [[ -n $list ]]; then
        _describe calm found
    else
        _files
    fi
}
if [[ $funcstack[1] == _calm ]]; then
    _calm "$@"
else
    compdef _calm calm
fi

# completion of `calm` for bash
@WORDS@
_calm() {
    local at= word words cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
    if [[ $cur == = ]]; then
        cur=
    elif [[ $prev == = ]]; then
        prev=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        words=$(_calm_words "$at")
        [[ $words == -* ]] && break
        [[ $'\n'$words == *$'\n'"$word"$'\t'* ]] && at=${at:+$at }$word
    done
    words=$(_calm_words "$at $prev")
    if [[ -z $words ]]; then
        words=$(_calm_words "$at")
        [[ $words == -* && $cur != -* ]] && words=$(_calm_words "$at _")
    fi
    COMPREPLY=()
    while IFS=$'\t' read -r word _; do
        [[ -n $word && $word == "$cur"* ]] && COMPREPLY+=("$word")
    done <<< "$words"
}
complete -o default -F _calm calm

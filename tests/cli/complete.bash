# complete.bash SCRIPT WORD...: the completions that bash offers for the last word, a line each.
source "$1"
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
compopt() { :; } # it works only while a line is edited
_attnscope
printf '%s\n' "${COMPREPLY[@]}"

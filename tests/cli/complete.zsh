# complete.zsh SCRIPT LINE: the completions that zsh offers at the end of LINE, a line each.
zmodload zsh/zpty
zpty shell zsh -f -i
tell() { zpty -w shell $1 }
wait_for() { local text; zpty -r -m shell text "*$1*" }
tell "PROMPT=; RPROMPT=; unsetopt zle_bracketed_paste 2>/dev/null; bindkey -e"
tell 'autoload -Uz compinit && compinit -D -u'
tell "source ${(q)1}"
# Matches are printed instead of shown; what only describes or asks for an array passes.
tell 'compadd() {
  if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then builtin compadd "$@"; return; fi
  local -a matches
  builtin compadd -A matches "$@"
  local match
  for match in $matches; do print -r -- "<$IPREFIX$match>"; done
  builtin compadd "$@"
}'
tell 'show() { print "<start>"; _main_complete; print "<end>"; }; zle -C show complete-word show; bindkey "^I" show'
tell 'print rea''dy'
wait_for ready
zpty -w -n shell "$2"$'\t'
text=; zpty -r -m shell text '*<end>*'
for line in ${(f)text}; do
  line=${line%$'\r'}
  [[ $line == \<*\> && $line != \<(start|end)\> ]] && print -r -- ${${line#<}%>}
done
zpty -d shell

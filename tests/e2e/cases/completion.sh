#!/bin/bash
# Completions, as each shell computes them.
source "$E2E/lib.sh"

touch here.tar node.json
mkdir -p layout home/.config/xaas/machines site/machines
touch home/.config/xaas/machines/noether.json site/machines/{noether,north}.json
export HOME=$PWD/home XDG_CONFIG_HOME='' XAAS_SITE_CONFIG=$PWD/site/config.json
expect_exit 2 "$XAAS" completion tcsh

# bash, also if ":" and "=" break words.
"$XAAS" completion bash >xaas.bash
bash_completes() { # LINE: one answer a line
  bash --norc -c 'source ./xaas.bash; COMP_LINE=$1 COMP_POINT=${#1}; _xaas; printf "%s\n" "${COMPREPLY[@]}"' bash "$1" | sort
}
expect_completions() { # FUNCTION LINE ANSWER...: exactly these
  local got
  got=$("$1" "$2")
  expect_equal "$1 '$2'" "$got" "$(printf '%s\n' "${@:3}" | sort)"
}
expect_among() { # FUNCTION LINE ANSWER...: these and others
  local got answer
  got=$("$1" "$2")
  for answer in "${@:3}"; do
    grep -qx -- "$answer" <<<"$got" || fail "$1 '$2': no $answer: $got"
  done
}
expect_completions bash_completes 'xaas dep' deploy
expect_among bash_completes 'xaas ' build deploy detect check cache config completion
[ -z "$(bash_completes 'xaas man')" ] || fail "a hidden command is shown"
[ -z "$(bash_completes 'xaas ver')" ] || fail "the earlier name of a command is shown"
expect_completions bash_completes 'xaas copy --platform ' linux/amd64 linux/arm64
expect_completions bash_completes 'xaas deploy --dry' --dry-run
expect_among bash_completes 'xaas deploy -' -o --output --cpu --system -j --lto
expect_completions bash_completes 'xaas deploy --cpu hasw' haswell
expect_completions bash_completes 'xaas deploy --cpu=hasw' haswell
expect_among bash_completes 'xaas deploy --cpu neoverse-v' neoverse-v1 neoverse-v2
expect_completions bash_completes 'xaas build . --isa x86-64-v' x86-64-v2 x86-64-v3 x86-64-v4
expect_completions bash_completes 'xaas deploy --format ' json table
expect_completions bash_completes 'xaas completion ' bash fish zsh
expect_completions bash_completes 'xaas cache ' info prune
expect_among bash_completes 'xaas deploy o' oci: oci-archive:
expect_among bash_completes 'xaas deploy d' docker://
expect_completions bash_completes 'xaas deploy oci:lay' layout
expect_completions bash_completes 'xaas deploy here.tar -o roo' rootfs:
expect_completions bash_completes 'xaas deploy -o oci:lay' layout
expect_completions bash_completes 'xaas deploy her' here.tar
expect_completions bash_completes 'xaas deploy oci:layout --system nod' node.json
expect_among bash_completes 'xaas deploy oci:layout --system no' node.json noether north
[ -z "$(bash_completes 'xaas deploy docker://h')" ] || fail "names of registries are made up"
# Every command and every long option of --help.
for command in $("$XAAS" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
  options=$("$XAAS" "$command" --help | grep -oE '^ +(-[a-z],)?--[a-z-]+' | sed 's/.*--/--/')
  # shellcheck disable=SC2086
  expect_among bash_completes "xaas $command -" $options
done

# fish prints what it would offer.
"$XAAS" completion fish >xaas.fish
if command -v fish >/dev/null; then
  fish_completes() { # LINE
    fish -N -c 'source xaas.fish; complete -C $argv[1]' -- "$1" | cut -f 1 | sort
  }
  expect_completions fish_completes 'xaas dep' deploy
  expect_completions fish_completes 'xaas deploy --dry' --dry-run
  expect_completions fish_completes 'xaas deploy --cpu hasw' haswell
  expect_completions fish_completes 'xaas deploy --cpu=hasw' --cpu=haswell
  expect_completions fish_completes 'xaas deploy --format ' json table
  expect_completions fish_completes 'xaas completion ' bash fish zsh
  expect_among fish_completes 'xaas deploy o' oci: oci-archive:
  expect_completions fish_completes 'xaas deploy -o oci:lay' oci:layout/
  expect_completions fish_completes 'xaas deploy oci:layout --system nod' node.json
  expect_among fish_completes 'xaas deploy oci:layout --system no' noether north
else
  echo "no fish: not tried"
fi

# zsh completes on a terminal only.
"$XAAS" completion zsh >_xaas
if command -v zsh >/dev/null; then
  zsh -n _xaas
  cat >complete.zsh <<'END'
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "unset zle_bracketed_paste; autoload -U compinit; compinit -u -D; source ./_xaas"
zpty -w shell "show() { zle -I; print -r -- \"<<\$BUFFER>>\"; BUFFER= }; zle -N show; bindkey \"^X\" show; PS1=rea\"\"dy"
zpty -r shell text "*ready*"
zpty -w -n shell "$1"$'\t\x18'
zpty -r shell text "*<<*>>*"
print -r -- "$text"
zpty -d shell
END
  zsh_completes() { # LINE: what the line is after a tab
    timeout 60 zsh -f complete.zsh "$1" | sed -n 's/.*<<\(.*\)>>.*/\1/p' | tail -n 1 | sed 's/ *$//'
  }
  for pair in 'xaas dep|xaas deploy' 'xaas deploy --dry|xaas deploy --dry-run' 'xaas deploy --cpu hasw|xaas deploy --cpu haswell' \
    'xaas deploy --cpu=hasw|xaas deploy --cpu=haswell' 'xaas deploy --format j|xaas deploy --format json' \
    'xaas completion b|xaas completion bash' 'xaas deploy -o roo|xaas deploy -o rootfs:' \
    'xaas deploy -o oci:lay|xaas deploy -o oci:layout/' 'xaas deploy oci:layout --system nod|xaas deploy oci:layout --system node.json' \
    'xaas deploy oci:layout --system nor|xaas deploy oci:layout --system north'; do
    expect_equal "zsh '${pair%|*}'" "$(zsh_completes "${pair%|*}")" "${pair#*|}"
  done
else
  echo "no zsh: not tried"
fi

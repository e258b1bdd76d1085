#!/usr/bin/env bash
# Copyright The fairlead Authors.
# SPDX-License-Identifier: Apache-2.0

# Fails if Go code, patches or docs refer to a rule that docs/rules.md does not list, or if no test names a rule that
# it lists. docs/rules.md says how to refer to a rule. Identifiers and test data that look like an id are left alone.

# shellcheck source-path=SCRIPTDIR source=lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

export LC_ALL=C

RULES=docs/rules.md
ID='[FCGUVR][1-9][0-9]*([.][1-9])?'
IDS="${ID}((, | and |, and | or | to |-|–)${ID})*"

# What refers to rules: a comment of Go; "rules U4, G7.1"; "(U4)", "(C4's exception)"; a claim, as in a case name ("G2:
# create drops") or a message ("%s: G6: sent again", "V3 (-want +got)"); the name of a test.
REFERENCE="(^|[[:space:]])//.*|[Rr]ules? ${IDS}|[(]${IDS}[),:;']|([\"\`/]|: )${IDS}(: | [(])"
REFERENCE+="|func (Test|Fuzz|Benchmark)${ID}"

# references LISTED prints "ID FILE:LINE" for each id that something refers to, sorted by id. It needs the listed ids,
# since the name of a test leaves out the dot of a sub-rule: TestU43… names U4.3, unless U43 is listed.
references() {
  git grep --untracked --no-color -noE "${REFERENCE}" -- '*.go' '*.md' 'staging/patches/*.patch' |
    awk -F: -v listed="${1//$'\n'/ }" -v id="^${ID}\$" '
      BEGIN {
        n = split(listed, ids, " ")
        for (i = 1; i <= n; i++) { name = ids[i]; sub(/[.]/, "", name); named[name] = ids[i] }
      }
      {
        text = substr($0, length($1 ":" $2 ":") + 1)
        if (sub(/^func (Test|Fuzz|Benchmark)/, "", text) && (text in named)) text = named[text]
        n = split(text, words, /[^A-Za-z0-9_.]+/)
        for (i = 1; i <= n; i++) { sub(/[.]$/, "", words[i]); if (words[i] ~ id) print words[i], $1 ":" $2 }
      }' | sort -u
}

listed=$(sed -nE "s/^- [*]{2}(${ID})[*]{2} .*/\1/p" "${RULES}" | sort)
planned=$(sed -nE "s/^- [*]{2}(${ID})[*]{2} [*][(]planned[)].*/\1/p" "${RULES}" | sort)
found=$(references "${listed}")

twice=$(uniq -d <<<"${listed}")
unlisted=$(join -v 1 <(echo "${found}") <(echo "${listed}"))
named=$(grep -E ' (cmd|pkg|test)/.*_test[.]go:' <<<"${found}")
unnamed=$(comm -23 <(echo "${listed}") <(echo "${planned}") | join -v 1 - <(echo "${named}"))

[[ -z ${twice} ]] || say "${RULES} lists more than once: ${twice//$'\n'/, }"
if [[ -n ${unlisted} ]]; then
  say "${RULES} does not list these rules; correct the id, or add a line for it:"
  awk '{print $2 ": " $1}' <<<"${unlisted}" >&2
fi
if [[ -n ${unnamed} ]]; then
  say "no test names these rules; name each in the test that proves it, or write one (${RULES} says how):"
  for rule in ${unnamed}; do grep -nF -e "- **${rule}** " /dev/null "${RULES}" >&2; done
fi
[[ -z ${twice}${unlisted}${unnamed} ]] || fail "${RULES} and the references to rules do not agree"

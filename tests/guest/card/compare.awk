# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# compare.awk differences.txt SHOWN fields.txt: SHOWN has lines "VARIANT TOOL FIELD = VALUE" of the model. Every field of
# fields.txt has the card's value, or the one that differences.txt allows; an allowed difference that is none is wrong
# too. Prints what is wrong and a count; exit status 1 when anything is.
function cut_at(line) {
  at = index(line, " = ")
  name = substr(line, 1, at - 1)
  value = substr(line, at + 3)
}
/^#/ || /^$/ { next }
{ cut_at($0) }
FILENAME ~ /differences/ { allowed[name] = value; next }
FILENAME ~ /shown/ { if (!(name in shown)) shown[name] = value; next }
{
  fields++
  if (!(name in shown)) shown[name] = "(not shown)"
  if (name in allowed) {
    used[name] = 1
    different++
    if (shown[name] == value) {
      print "is listed as different, and is not: " name
      wrong++
    } else if (shown[name] != allowed[name]) {
      print name " = " shown[name] ", not " allowed[name] " (listed) or " value " (card)"
      wrong++
    }
  } else if (shown[name] != value) {
    print name " = " shown[name] ", on a card " value
    wrong++
  }
}
END {
  for (name in allowed)
    if (!(name in used)) {
      print "is listed as different, and no card's value is known: " name
      wrong++
    }
  print fields " fields, " different + 0 " of them different for a reason, " wrong + 0 " wrong"
  exit wrong > 0 || fields == 0
}

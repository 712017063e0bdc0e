# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# compare.awk SHOWN FIELDS DIFFERENCES: what the model shows, what real cards show, and why the two
# differ, in files whose names begin with "shown", "fields" and "differences". Prints what is wrong
# and a count; exit status 1 when anything is.
#   SHOWN        CARD TOOL FIELD = VALUE
#   FIELDS       the same of cards. "*": printed, but the value is of one place (GUIDs, LIDs, serial
#                numbers). Cards that
#                differ among themselves have a line each, and the model's value is one of them.
#   DIFFERENCES  CARD TOOL FIELD = VALUE   the model's value where no card's is it
#                - PATTERN                 fields of cards that the model does not show
#                + PATTERN                 fields that the model shows and of which no card's value
#                                          is known
#                In a pattern "* " at the front stands for any card, a * at the end for any end.
# So every field of a capture, and every field that the model shows, stands in one of the two lists;
# and a line of DIFFERENCES that stands for nothing is wrong too.
function wrong_is(text) {
  print text
  wrong++
}
# Has the list of that sign a pattern for the name?
function expected(sign, name,   i, text, whole, found) {
  for (i = 1; i <= patterns; i++) {
    if (substr(pattern[i], 1, 1) != sign) continue
    text = substr(pattern[i], 3)
    whole = name
    if (sub(/^\* /, "", text)) sub(/^[^ ]+ /, "", whole)
    if (sub(/\*$/, "", text) ? index(whole, text) == 1 : whole == text) found = used[i] = 1
  }
  return found
}
/^#/ || /^$/ { next }
{
  file = FILENAME
  sub(/.*\//, "", file)
}
file ~ /^differences/ && /^[+-] / { pattern[++patterns] = $0; next }
{
  at = index($0, " = ")
  name = substr($0, 1, at - 1)
  value = substr($0, at + 3)
}
at == 0 { wrong_is("no field and value: " $0); next }
file ~ /^differences/ { listed[name] = value; next }
file ~ /^shown/ {
  if (name in shown) wrong_is("shown twice: " name)
  shown[name] = value
  next
}
{
  if (++count[name] == 1) order[++fields] = name
  values[name, count[name]] = value
}
END {
  for (i = 1; i <= fields; i++) {
    name = order[i]
    as_on_a_card = 0
    on_cards = ""
    for (j = 1; j <= count[name]; j++) {
      value = values[name, j]
      on_cards = on_cards (j > 1 ? " or " : "") value
      if (name in shown && (value == "*" || value == shown[name])) as_on_a_card = 1
    }
    if (as_on_a_card) {
      if (name in listed) wrong_is("is listed as different, and is not: " name)
    } else if (!(name in shown)) {
      missing++
      if (!expected("-", name)) wrong_is("not shown: " name " = " on_cards)
    } else if (name in listed) {
      different++
      if (listed[name] != shown[name]) wrong_is(name " = " shown[name] ", not " listed[name] " (listed) or " on_cards " (card)")
    } else
      wrong_is(name " = " shown[name] ", on a card " on_cards)
  }
  for (name in listed)
    if (!(name in count)) wrong_is("is listed as different, and no card's value is known: " name)
  for (name in shown)
    if (!(name in count)) {
      unknown++
      if (!expected("+", name)) wrong_is("in no list: " name " = " shown[name])
    }
  for (i = 1; i <= patterns; i++)
    if (!used[i]) wrong_is("stands for nothing: " pattern[i])
  print fields + 0 " fields of cards: " different + 0 " different and " missing + 0 " not shown, for reasons; " \
        unknown + 0 " shown that no capture has; " wrong + 0 " wrong"
  exit wrong > 0 || fields == 0
}

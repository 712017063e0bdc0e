# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# flatten.awk -v as="CARD lspci": what lspci -v or -vvv -x prints of one device, on standard input,
# as lines "CARD lspci FIELD = VALUE". Names begin with the capability and the register; releases of
# lspci break lines at different places, so each flag and each part between commas is a field of its
# own. Where the BARs are, and the interrupt's number, is left out: the system's choice.
function tell(name, value) {
  if (seen[name]++) name = name " (" seen[name] ")"
  print as, name " = " value
}
function within(name) { return (capability == "" ? "" : capability " ") (register == "" ? "" : register " ") name }
# "ExtTag- RBE+ SlotPowerLimit 0W": flags, and at most one name with its value.
function part(text,   words, count, i, rest, at) {
  count = split(text, words, " ")
  rest = ""
  for (i = 1; i <= count; i++)
    if (words[i] ~ /^[<>]?[A-Za-z0-9\/-]+[+-]$/)
      tell(within(substr(words[i], 1, length(words[i]) - 1)), substr(words[i], length(words[i])))
    else
      rest = rest (rest == "" ? "" : " ") words[i]
  if (rest == "" || rest ~ /:$/) return
  # "(ok)" and "(downgraded)" are remarks of newer releases.
  sub(/ \((ok|downgraded)\)$/, "", rest)
  at = index(rest, ": ")
  if (at)
    tell(within(substr(rest, 1, at - 1)), substr(rest, at + 2))
  else if ((at = index(rest, " ")))
    tell(within(substr(rest, 1, at - 1)), substr(rest, at + 1))
  else
    tell(within(rest), "(said)")
}
function parts(text,   some, count, i) {
  count = split(text, some, /[,;] */)
  for (i = 1; i <= count; i++) part(some[i])
}
{
  gsub(/[ \t\r]+/, " ")
  gsub(/^ | $/, "")
}
/^$/ { next }
# The header's double words, as they stand in memory.
/^[0-3]0: / {
  for (i = 0; i < 4; i++)
    tell("header " substr($1, 1, 1) substr("048c", i + 1, 1), $(2 + 4 * i) " " $(3 + 4 * i) " " $(4 + 4 * i) " " $(5 + 4 * i))
  next
}
/^[0-9a-f]+:[0-9a-f]+\.[0-7] / {
  sub(/^[^ ]* /, "")
  tell("class", substr($0, 1, index($0, ": ") - 1))
  tell("device", substr($0, index($0, ": ") + 2))
  next
}
/^Capabilities: / {
  capability = $2
  # With -vvv the version stands in the brackets.
  if (capability !~ /\]$/) capability = capability " " $3
  register = ""
  value = substr($0, index($0, "] ") + 2)
  if (sub(/^Device Serial Number /, "", value)) capability = capability " Device Serial Number"
  tell(capability, value)
  next
}
/^Kernel (driver|modules)/ {
  capability = register = ""
  tell(substr($0, 1, index($0, ":") - 1), substr($0, index($0, ": ") + 2))
  next
}
/^(Region|Memory|Expansion|\[virtual\] Expansion)/ {
  sub(/Memory at [^ ]*/, "Memory")
  sub(/^\[virtual\] /, "")
  sub(/ROM at [^ ]*/, "ROM")
  register = ""
  if ($1 == "Region")
    tell(within($1 " " substr($2, 1, length($2) - 1)), substr($0, index($0, ": ") + 2))
  else
    tell($1, substr($0, length($1) + 2))
  next
}
/^\[/ || /^(Subsystem|Product Name|Vector table|PBA|Interrupt|HeaderLog|NUMA node|IOMMU group|LaneErrStat)/ {
  sub(/routed to IRQ .*/, "")
  gsub(/ $/, "")
  register = ""
  if (index($0, ": "))
    tell(within(substr($0, 1, index($0, ": ") - 1)), substr($0, index($0, ": ") + 2))
  next
}
/^(Read-only fields|Read\/write fields|End$)/ { next }
/^(Control|Status|Flags|(Dev|Lnk|ARI|AER|IOV)(Cap|Ctl|Sta)[23]?|[UC]E(Sta|Msk|Svrt)):/ {
  register = substr($1, 1, length($1) - 1)
  sub(/^[^ ]* /, "")
  if (match($0, /PME\(.*\)/)) {
    tell(within("PME"), substr($0, RSTART + 4, RLENGTH - 5))
    $0 = substr($0, 1, RSTART - 1)
  }
  parts($0)
  next
}
/^(Latency|Initial VFs|VF |Supported Page)/ { register = "" }
{
  # Older releases print the level alone.
  if (sub(/Compliance Preset\/De-emphasis: /, "Compliance De-emphasis: ")) sub(/ de-emphasis, 0dB preshoot$/, "")
  parts($0)
}

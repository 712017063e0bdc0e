# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
# flatten.awk -v as="VARIANT TOOL": the output of ibv_devinfo, ibstat, ibportstate, smpquery or
# perfquery on standard input as lines "VARIANT TOOL FIELD = VALUE". Fields of a second port begin
# with "port 2", those of ibportstate's vendor section and of its answer to a Set with the section's
# name; a line that has no value has "(said)".
function tell(name, value) { print as, section name " = " value }
# A header's value may stand alone in the next line.
function header_alone() {
  if (header != "") tell(header, "(empty)")
  header = ""
}
{
  gsub(/^[ \t]+|[ \t\r]+$/, "")
}
/^$/ || /^CA '/ || /^CA: / || /^hca_id/ || /^Device ports:/ || /^CA\/RT PortInfo:/ || /^# (Node|Port) info:/ { next }
/^Initial CA\/RT PortInfo:/ { section = "before the Set: "; next }
/^After PortInfo set:/ { section = "after the Set: "; next }
/^# MLNX ext Port info/ { section = section "MLNX ext "; next }
# perfquery's heading holds a value.
/^# Port counters:/ { gsub(/.*\(|\)/, "") }
/^[Pp]ort:?[ \t]*[12]:?$/ {
  header_alone()
  section = /2/ ? "port 2 " : ""
  next
}
{
  # OFED prints the clock without its unit.
  sub(/kHZ$/, "")
  at = match($0, /:[.: \t]*|[ \t]+=[ \t]+|\t+/)
  if (!at && header != "" && /^[A-Z ]+$/) {
    tell(header, $0)
    header = ""
    next
  }
  header_alone()
  name = at ? substr($0, 1, at - 1) : $0
  if (!at)
    tell(name, "(said)")
  else if (RSTART + RLENGTH > length($0))
    header = name
  else
    tell(name, substr($0, RSTART + RLENGTH))
}
END { header_alone() }

#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""services.py ROOT [--planted]: the classes of the device model take their services by constructor.
A class does not name `adapter` in its members and in the parameters of its functions, unless OPEN
lists it. A constructor takes at most five services: its parameters that are references or pointers
to classes of the model. Constructors of the classes in OPEN are not counted yet. Functions outside
classes are not looked at. By clang's syntax tree.

--planted: runs on classes in each of which one thing is wrong, and fails unless each is found.
"""
import os
import pathlib
import sys

from saved_members import KIND, cindex, including_all, parsed, print_faults, records_in

# The classes that still take `adapter`. The list only shrinks: a class that is listed here and does
# not name `adapter` any more is a fault too.
OPEN = {
    "firmware": {"command_engine", "firmware"},
    "ports": {"cable", "ethernet_cable", "ethernet_port", "infiniband_port", "ports"},
    "queues": {
        "blueflame_registers",
        "completion_queues",
        "event_queues",
        "queue_pairs",
        "send_prefetch",
        "shared_receive_queues",
    },
    "steering": {"flow_steering", "multicast_groups", "steering"},
    "transport": {
        "answers",
        "arrivals",
        "datagrams",
        "frame_receiver",
        "group_delivery",
        "packet_sender",
        "parts",
        "qp_commands",
        "requester",
        "responder",
        "send_engine",
        "transport",
        "uar_looks",
        "work_errors",
    },
}
MOST_SERVICES = 5
PLANTED = """
namespace std {
template <class T>
class function {};
}
namespace freehca::model {
struct adapter;
class rules;
class right {
 public:
  right(rules& a, rules* b, const rules& c, rules& d, rules& e, int number, bool& flag,
        const std::function<int>& call);
  right(const right& other);
 private:
  rules& rules_;
};
class keeps {
  adapter& all_;
};
class takes {
 public:
  explicit takes(adapter* all);
};
class calls {
 public:
  static int count(const adapter& all);
};
class greedy {
 public:
  greedy(rules& a, rules* b, const rules& c, rules& d, rules& e, rules& f);
};
struct owner {
  struct inner {
    adapter* all;
  };
};
class listed {
  adapter& all_;
};
class stale {};
}
"""
PLANTED_OPEN = {f"all_headers.cpp/{name}" for name in ("listed", "stale", "gone")}
PLANTED_FAULTS = {"keeps", "takes", "calls", "greedy", "inner", "stale", "gone"}
FUNCTIONS = (KIND.CONSTRUCTOR, KIND.CXX_METHOD, KIND.FUNCTION_TEMPLATE)
INDIRECT = (cindex.TypeKind.LVALUEREFERENCE, cindex.TypeKind.POINTER)


def pointed_to(kind):
    """The class that a parameter or member refers to. None: it refers to none."""
    kind = kind.get_canonical()
    if kind.kind not in INDIRECT:
        return None
    declaration = kind.get_pointee().get_declaration()
    return declaration if declaration.kind in (KIND.CLASS_DECL, KIND.STRUCT_DECL) else None


def is_service(parameter, record):
    """A copy constructor's parameter is none, and neither are values of the standard library."""
    declaration = pointed_to(parameter.type)
    if declaration is None or declaration == record.canonical:
        return False
    scope = declaration.semantic_parent
    while scope.semantic_parent is not None and scope.semantic_parent.kind == KIND.NAMESPACE:
        scope = scope.semantic_parent
    return scope.spelling == "freehca"


def names_adapter(record):
    for child in record.get_children():
        places = [child] if child.kind == KIND.FIELD_DECL else []
        if child.kind in FUNCTIONS:
            places = [p for p in child.get_children() if p.kind == KIND.PARM_DECL]
        for place in places:
            declaration = pointed_to(place.type)
            if declaration is not None and declaration.spelling == "adapter":
                return True
    return False


def faults_of(record, is_open):
    faults = []
    if names_adapter(record) != is_open:
        faults.append("is in the list OPEN, and names no adapter" if is_open else "names adapter")
    for child in record.get_children():
        if child.kind != KIND.CONSTRUCTOR or is_open:
            continue
        count = sum(is_service(p, record) for p in child.get_arguments())
        if count > MOST_SERVICES:
            faults.append(f"its constructor takes {count} services; at most {MOST_SERVICES}")
    return faults


def check(unit, folder, listed):
    """The number of classes, and the faults by class."""
    count, faults, seen = 0, {}, set()
    for record in records_in(unit.cursor, str(folder)):
        where = os.path.relpath(str(record.location.file), folder / "src")
        room = where.split(os.sep)[0]
        name = f"{room}/{record.spelling}"
        count += 1
        seen.add(name)
        found = faults_of(record, name in listed)
        if found:
            faults.setdefault(f"{where}: {record.spelling}", []).extend(found)
    for name in sorted(listed - seen):
        faults[f"OPEN: {name}"] = ["there is no such class"]
    return count, faults


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    folder = root / "qemu" / "model"
    if "--planted" in sys.argv[2:]:
        _, faults = check(parsed(root, PLANTED), folder, PLANTED_OPEN)
        found = {where.rsplit(" ", 1)[1].split("/")[-1] for where in faults}
        print("found:", ", ".join(sorted(found)))
        return found != PLANTED_FAULTS
    listed = {f"{room}/{name}" for room, names in OPEN.items() for name in names}
    count, faults = check(parsed(root, including_all(folder)), folder, listed)
    print_faults(faults)
    print(f"{count} classes, {len(listed)} of which still take adapter")
    return bool(faults) or count < 200


if __name__ == "__main__":
    sys.exit(main())

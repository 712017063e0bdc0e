#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""saved_members.py ROOT [--planted]: each data member of a class of the model that has a table of
fields (qemu/model/src/saving/fields.hpp) is in the table `saved`, in the list `unsaved` with a
reason, or in a function transfer_... of the class. References and const members are in none of
them. By clang's syntax tree.

--planted: runs on classes in each of which one thing is wrong, and fails unless each is found.
"""
import os
import pathlib
import re
import sys

try:
    from clang import cindex
except ImportError:
    sys.exit("python3-clang is not installed")

PLANTED = """
#include "saving/fields.hpp"
namespace freehca::model {
class right {
  int first_ = 0, second_ = 0, third_ = 0;
  int& other_;
  const int fixed_ = 1;
 public:
  explicit right(int& other) : other_(other) {}
  using saved = saving::fields<&right::first_>;
  static constexpr saving::unsaved_member unsaved[] = {{"second_", "a cache"}};
  template <class Archive> void transfer_state(Archive& archive) { transfer(archive, third_); }
};
class forgets {
  int kept_ = 0, forgotten_ = 0;
 public:
  using saved = saving::fields<&forgets::kept_>;
};
class twice {
  int both_ = 0;
 public:
  using saved = saving::fields<&twice::both_>;
  static constexpr saving::unsaved_member unsaved[] = {{"both_", "a cache"}};
};
class silent {
  int cache_ = 0;
 public:
  using saved = saving::fields<>;
  static constexpr saving::unsaved_member unsaved[] = {{"cache_", ""}};
};
class stale {
  int kept_ = 0;
 public:
  using saved = saving::fields<&stale::kept_>;
  static constexpr saving::unsaved_member unsaved[] = {{"gone_", "a cache"}};
};
struct base { int inherited = 0; };
class derived : public base {
  int kept_ = 0;
 public:
  using saved = saving::fields<&derived::kept_>;
};
struct owner {
  int kept = 0;
  using saved = saving::fields<&owner::kept>;
  struct inner {
    int forgotten = 0;
    using saved = saving::fields<>;
  };
};
}
"""
PLANTED_FAULTS = {"forgets", "twice", "silent", "stale", "derived", "inner"}
KIND = cindex.CursorKind
CLASSES = (KIND.CLASS_DECL, KIND.STRUCT_DECL, KIND.CLASS_TEMPLATE)


def parsed(root, text):
    """The syntax tree of a source in the model's folder with this text."""
    model = root / "qemu" / "model"
    name = str(model / "src" / "all_headers.cpp")
    arguments = [
        "-xc++",
        "-std=c++20",
        "-fno-exceptions",
        "-fno-rtti",
        *(f"-I{root / folder}" for folder in ("hal/layouts/include", "packets/include")),
        *(f"-I{model / folder}" for folder in ("src", "include")),
    ]
    unit = cindex.Index.create().parse(name, arguments, unsaved_files=[(name, text)])
    errors = [str(d) for d in unit.diagnostics if d.severity >= cindex.Diagnostic.Error]
    if errors:
        sys.exit("the headers do not compile:\n" + "\n".join(errors[:5]))
    return unit


def tokens_of(cursor):
    return " ".join(token.spelling for token in cursor.get_tokens())


def transfer_functions(name, children, sources):
    """The texts of the functions transfer_... of a class, in the class and in the sources."""
    texts = [tokens_of(c) for c in children if c.spelling.startswith("transfer_")]
    for source in sources:
        for match in re.finditer(rf"\b{name}::transfer_\w+\(", source):
            end = source.find("\n}", match.start())
            texts.append(source[match.start() : end])
    return " ".join(texts)


def is_state(member):
    kind = member.type.get_canonical()
    return (
        kind.kind
        not in (
            cindex.TypeKind.LVALUEREFERENCE,
            cindex.TypeKind.RVALUEREFERENCE,
        )
        and not kind.is_const_qualified()
    )


def faults_of(record, sources):
    """What is wrong with the lists of a class. None: it has none, so it has no state."""
    children = list(record.get_children())
    aliases = [c for c in children if c.kind == KIND.TYPE_ALIAS_DECL and c.spelling == "saved"]
    lists = [c for c in children if c.kind == KIND.VAR_DECL and c.spelling == "unsaved"]
    by_hand = transfer_functions(record.spelling, children, sources)
    if not aliases and not lists and not by_hand:
        return None
    members = [c.spelling for c in children if c.kind == KIND.FIELD_DECL and is_state(c)]
    rows = re.findall(r"& (?:\w+ :: )*(\w+)", tokens_of(aliases[0])) if aliases else []
    texts = re.findall(r'"([^"]*)"', tokens_of(lists[0])) if lists else []
    unsaved = dict(zip(texts[::2], texts[1::2]))
    faults = []
    for member in members:
        by = [
            member in rows,
            member in unsaved,
            re.search(rf"\b{member}\b", by_hand) is not None and member not in unsaved,
        ]
        if not any(by):
            faults.append(f"{member} is neither saved nor in the list unsaved")
        if member in rows and member in unsaved:
            faults.append(f"{member} is saved, and in the list unsaved")
    faults += [f"{m} is unsaved without a reason" for m, why in unsaved.items() if not why]
    faults += [f"{m} is no member" for m in (*rows, *unsaved) if m not in members]
    for base in (c for c in children if c.kind == KIND.CXX_BASE_SPECIFIER):
        definition = base.type.get_declaration()
        inherited = [f.spelling for f in definition.type.get_fields() if is_state(f)]
        faults += [
            f"{m} of the base {definition.spelling} is not saved"
            for m in inherited
            if not re.search(rf"\b{m}\b", by_hand)
            and not re.search(rf"\b{definition.spelling}\b", by_hand)
        ]
    return faults


def records_in(cursor, folder):
    for child in cursor.get_children():
        if child.location.file and not str(child.location.file).startswith(folder):
            continue
        if child.kind in CLASSES and child.is_definition():
            yield child
        if child.kind in (*CLASSES, KIND.NAMESPACE):
            yield from records_in(child, folder)


def check(unit, folder, sources):
    """The number of classes with lists, and the faults by class."""
    count, faults = 0, {}
    for record in records_in(unit.cursor, str(folder)):
        found = faults_of(record, sources)
        if found is None:
            continue
        count += 1
        if found:
            where = f"{os.path.relpath(str(record.location.file), folder)}: {record.spelling}"
            faults.setdefault(where, []).extend(found)
    return count, faults


def including_all(folder):
    """A source that includes each header of the model."""
    headers = sorted((folder / "src").glob("*/*.hpp"))
    return "".join(f'#include "{path.relative_to(folder / "src")}"\n' for path in headers)


def print_faults(faults):
    for where, found in sorted(faults.items()):
        for fault in found:
            print(f"{where}: {fault}")


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    folder = root / "qemu" / "model"
    if "--planted" in sys.argv[2:]:
        _, faults = check(parsed(root, PLANTED), folder / "src" / "all_headers.cpp", [])
        found = {where.rsplit(" ", 1)[1] for where in faults}
        print("found:", ", ".join(sorted(found)))
        return found != PLANTED_FAULTS
    sources = [path.read_text() for path in sorted((folder / "src").glob("*/*.cpp"))]
    count, faults = check(parsed(root, including_all(folder)), folder, sources)
    print_faults(faults)
    print(f"{count} classes with state")
    return bool(faults) or count < 60


if __name__ == "__main__":
    sys.exit(main())

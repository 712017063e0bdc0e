#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""The table of features is right, and each fault that features.py looks for is found when it is
planted. And what ./dev test --feature makes of its words."""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import features
import run_feature
import run_test
import sources
from stages import Runner
from table import FEATURES

READ = (*sources.CORE, *sources.PROGRAMS, "tests/guest/cases")


class Tree(unittest.TestCase):
    """Faults in a copy of the sources."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = pathlib.Path(folder.name)
        for part in READ:
            shutil.copytree(sources.TREE / part, self.tree / part)

    def plant(self, path, text):
        with open(self.tree / path, "a", encoding="utf-8") as file:
            file.write(text)

    def findings(self):
        return list(features.findings(FEATURES, features.Names(self.tree), page()))

    def test_the_copy_has_no_fault(self):
        self.assertEqual([], self.findings())

    def test_a_transition_that_no_row_names_is_found(self):
        rows = [row for row in FEATURES if row.name != "send_queue_drain"]
        self.assertEqual(
            [f"no row names the transition '{name}', which the driver's sources have"
             for name in ("rts2sqd_qp", "sqd2rts_qp", "sqd2sqd_qp")],
            [line for line in features.findings(rows, features.Names(self.tree), "")
             if "transition" in line],
        )  # fmt: skip

    def test_what_no_row_names_is_found(self):
        for kind, name, path, text in (
            ("command", "query_cq", "hca/src/device.cpp", "commands::query_cq q;\n"),
            ("command", "access_reg", "hca/src/device.cpp", "layouts::opcode::access_reg\n"),
            ("request", "config_cmd", "queues/include/freehca/queues/requests.hpp",
             "static constexpr auto opcode = layouts::wqe_opcode::config_cmd;\n"),
            ("completion", "next", "queues/src/cq.cpp", "cqe_opcode::next\n"),
            ("event", "gpio", "hca/src/event_context.cpp", "case event_type::gpio:\n"),
        ):  # fmt: skip
            with self.subTest(name):
                before = (self.tree / path).read_text(encoding="utf-8")
                self.plant(path, f"// event_type::flr commands::nop\n{text}")
                self.assertEqual(
                    [f"no row names the {kind} '{name}', which the driver's sources have"],
                    self.findings(),
                )
                (self.tree / path).write_text(before, encoding="utf-8")

    def test_a_command_that_is_no_longer_sent_is_found(self):
        for path in sources.files_of(self.tree, "hca"):
            text = path.read_text(encoding="utf-8").replace("commands::arm_srq", "commands::nop")
            path.write_text(text, encoding="utf-8")
        self.assertEqual(
            ["shared_receive_limit: the driver's sources have no command 'arm_srq'"],
            self.findings(),
        )

    def test_a_command_without_a_type_is_found(self):
        self.plant("hca/src/device.cpp", "commands::of_another_kind c;\n")
        with self.assertRaisesRegex(sources.Unreadable, "of_another_kind"):
            self.findings()

    def test_sources_of_another_form_are_found(self):
        for folder, was, what in (
            ("firmware_cmds/include", "opcode::", "types of firmware_cmds"),
            ("hca", "commands::", "commands of the core"),
            ("queues", "static constexpr auto opcode", "work requests"),
            ("queues", "cqe_opcode::", "completions"),
            ("hca/src", "event_type::", "events"),
            ("tests/model/driver", "TEST_F(", "tests in process"),
        ):
            with self.subTest(what):
                shutil.rmtree(self.tree / folder)
                shutil.copytree(sources.TREE / folder, self.tree / folder)
                for path in sources.files_of(self.tree, folder):
                    text = path.read_text(encoding="utf-8").replace(was, "of_another_form ")
                    path.write_text(text, encoding="utf-8")
                with self.assertRaisesRegex(sources.Unreadable, what):
                    features.Names(self.tree)
                shutil.rmtree(self.tree / folder)
                shutil.copytree(sources.TREE / folder, self.tree / folder)

    def test_a_test_or_a_guest_case_that_is_gone_is_found(self):
        path = self.tree / "tests/model/driver/masked_atomics_test.cpp"
        text = path.read_text(encoding="utf-8").replace("an_addition_carries", "an_addition_has")
        path.write_text(text, encoding="utf-8")
        (self.tree / "tests/guest/cases/two_hosts.sh").unlink()
        test = "masked_atomics_test.an_addition_carries_nothing_out_of_its_fields"
        self.assertEqual(
            ["datagrams: there is no guest case 'two_hosts'",
             f"masked_fetch_and_add: 0 folders of tests have a test '{test}', not one"],
            self.findings(),
        )  # fmt: skip


def page():
    return (sources.TREE / features.PAGE).read_text(encoding="utf-8")


class Table(unittest.TestCase):
    """Faults in the table."""

    @classmethod
    def setUpClass(cls):
        cls.names = features.Names()

    def wrong(self, **cells):
        """What is found if the first row has these cells."""
        table = (FEATURES[0]._replace(**cells), *FEATURES[1:])
        found = features.findings(table, self.names, features.render(table))
        return [line.partition(": ")[2] or line for line in found]

    def test_the_table_has_no_fault(self):
        self.assertEqual([], list(features.findings(FEATURES, self.names, page())))

    def test_an_empty_cell_is_found(self):
        for column in FEATURES[0]._fields:
            for cell in ("", " ", "none:", "none: "):
                with self.subTest(column, cell=cell):
                    value = (cell,) if column == "code" else cell
                    wanted_line = f"the cell '{column}' is empty, or has no reason"
                    found = self.wrong(**{column: value})
                    self.assertTrue(any(line.endswith(wanted_line) for line in found), found)
        self.assertIn("the cell 'code' is empty, or has no reason", self.wrong(code=()))

    def test_names_that_do_not_exist_are_found(self):
        for column, cell, line in (
            ("test", "rc_test.nothing",
             "0 folders of tests have a test 'rc_test.nothing', not one"),
            ("guest", "no_such_case", "there is no guest case 'no_such_case'"),
            ("judge", "guest no_such_case", "there is no guest 'no_such_case'"),
            ("judge", "program ib_no_bw", "there is no program 'ib_no_bw'"),
            ("judge", "pyverbs test_qp", "'test_qp' is not of the form tests.MODULE.CLASS.TEST"),
            ("judge", "somebody",
             "'somebody' is no judge; it begins with program, pyverbs, guest or 'none:'"),
            ("code", ("command query_fw sys_en",),
             "the driver's sources have no command 'sys_en'"),
            ("code", ("commands query_fw",), "the driver's sources have no commands 'query_fw'"),
            ("code", ("command",), "'command' names no enumerator"),
            ("what", "a | b", "a cell has a '|', which ends a cell of the page"),
        ):  # fmt: skip
            with self.subTest(cell):
                self.assertIn(line, self.wrong(**{column: cell}))

    def test_a_test_of_pyverbs_that_does_not_exist_is_found(self):
        with tempfile.TemporaryDirectory() as folder:
            tests = pathlib.Path(folder)
            (tests / "test_a.py").write_text("class A:\n    def test_it(self):\n        pass\n")
            for name, exists in (
                ("tests.test_a.A.test_it", True),
                ("tests.test_a.A.test_other", False),
                ("tests.test_a.B.test_it", False),
                ("tests.test_b.A.test_it", False),
            ):
                self.assertIs(exists, sources.has_pyverbs_test(name, tests), name)
            self.assertIsNone(sources.has_pyverbs_test("tests.test_a.A.a", tests / "missing"))
            names = features.Names(pyverbs=tests)
            table = (FEATURES[0]._replace(judge="pyverbs tests.test_a.A.test_other"),)
            line = "firmware_query: there is no pyverbs 'tests.test_a.A.test_other'"
            self.assertIn(line, list(features.findings(table, names, "")))

    def test_a_row_that_nothing_tests_is_found(self):
        self.assertEqual(
            ["nothing tests it"], self.wrong(test="none: a", guest="none: b", judge="none: c")
        )

    def test_a_name_of_several_rows_and_a_short_table_are_found(self):
        found = list(features.findings((FEATURES[0],) * 2, self.names, ""))
        self.assertIn("the table has 2 rows, not 60", found)
        self.assertIn("firmware_query: several rows have this name", found)

    def test_a_page_that_is_not_rendered_from_the_table_is_found(self):
        self.assertEqual(
            ["docs/features.md is not what the table renders; run tests/features/features.py "
             "--write"],
            list(features.findings(FEATURES, self.names, page() + "\n")),
        )  # fmt: skip


class Run(unittest.TestCase):
    def dev(self, *words):
        return subprocess.run(
            [str(sources.TREE / "dev"), "test", "--feature", *words],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def test_bad_words_are_refused_and_near_names_are_shown(self):
        for words, text in (
            ([], "--feature takes the name of one feature, which is missing"),
            (["send", "nop"], "--feature takes the name of one feature, not 2 words"),
            (["rdma_raed"], "no feature 'rdma_raed'; near: rdma_read rdma_write"),
            (["query"], "near: port_query firmware_query queue_pair_query;"),
            (["zzzqq"], "no feature 'zzzqq'; docs/features.md lists them"),
        ):
            with self.subTest(words):
                done = self.dev(*words)
                self.assertEqual((2, ""), (done.returncode, done.stdout))
                self.assertIn(text, done.stderr)
                self.assertTrue(done.stderr.endswith("; docs/features.md lists them\n"))

    def test_each_row_has_a_plan(self):
        for feature in FEATURES:
            with self.subTest(feature.name):
                stages = run_feature.Plan(run_feature.feature_of([feature.name])).stages()
                Runner(stages, "")  # raises if a stage needs one that the plan does not have
                self.assertTrue(any(stage.lane == "tests" for stage in stages))

    def test_a_row_runs_what_it_names(self):
        stages = run_feature.Plan(run_feature.feature_of(["gid_table"])).stages()
        self.assertEqual(
            ["test: bring_up.tells_what_the_device_is", "guest: lent_memory", "program: pyverbs"],
            [stage.name for stage in stages if stage.lane == "tests"],
        )
        both = run_feature.Plan(run_feature.feature_of(["context_memory"])).stages()
        self.assertEqual(1, [stage.name for stage in both].count("guest: lent_memory"))

    def test_a_test_runs_with_all_its_parameters(self):
        for name in ("a.b", "each/a.b/0", "a/1.b", "each/a/1.b/x"):
            self.assertEqual("a.b", run_test.plain(name))
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder, "program")
            program.write_text(
                "#!/bin/sh\n"
                'if [ "$1" = --gtest_list_tests ]; then\n'
                "  printf 'each/a.\\n  b/0  # GetParam()\\n  b/1\\n  bc/0\\na.\\n  d\\n'\n"
                "else\n"
                '  echo "$@"\n'
                "fi\n"
            )
            program.chmod(0o755)

            def run(test):
                command = [sys.executable, "-B", run_test.__file__, str(program), test]
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                return done.returncode, done.stderr

            self.assertEqual((0, "--gtest_filter=each/a.b/0:each/a.b/1\n"), run("a.b"))
            self.assertEqual((0, "--gtest_filter=a.d\n"), run("a.d"))
            self.assertEqual((1, f"{program} has no test a.e\n"), run("a.e"))


if __name__ == "__main__":
    unittest.main()

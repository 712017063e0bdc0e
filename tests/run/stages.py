#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""stages.py runs the stages of a test run, several at a time.

A stage is a command. It starts once the stages that it needs have ended well and its lane is free.
Stages of one lane run one after the other, in the order of the plan. Lanes run side by side, so
that guests wait for their adapters while compilers are busy. Compilers (the lane `build`) run with
`nice`, as processes and as a group: what is tested beside them has the processors first.

A command ends with status 0, or with RECORDED when it has recorded its own failure in own.tsv. Any
other status is recorded here as a failed test, and so is each stage that was not run because a
stage that it needs has failed. stages.tsv has a row for each stage: seconds, name, the second of
the run at which the stage began, and seconds of processor time.
"""
import os
import signal
import subprocess
import sys
import threading
import time

RECORDED = 3
COMPILERS = "build"


def yield_processors(process):
    """`nice` counts within one session only where Linux groups processes by session (autogroup), and
    each stage has a session of its own: there the group has a nice value too."""
    try:
        with open(f"/proc/{process.pid}/autogroup", "w", encoding="ascii") as group:
            group.write("10")
    except OSError:  # no such groups, or it has ended
        pass


def wait_for(process):
    """The seconds of processor time of a process and of the children that it has waited for."""
    try:
        _, status, usage = os.wait4(process.pid, 0)
    except ChildProcessError:  # Runner.end() was the first to see its end
        return 0
    process.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime


class Stage:
    def __init__(self, name, lane, command, needs=(), environment=None):
        self.name, self.lane, self.command, self.needs = name, lane, command, tuple(needs)
        self.environment = environment or {}


class Runner:
    """`results`: the folder of own.tsv and stages.tsv."""

    def __init__(self, stages, results, out=sys.stderr):
        names = [stage.name for stage in stages]
        for stage in stages:
            unknown = [need for need in stage.needs if need not in names]
            if unknown or names.count(stage.name) > 1:
                raise ValueError(f"stage {stage.name}: needs {unknown}, or its name is not unique")
        self.stages, self.results, self.out = stages, results, out
        self.state = {name: "waiting" for name in names}  # then running, good or bad
        self.changed = threading.Condition()
        self.processes = {}
        self.ending = False
        self.began = time.monotonic()
        self.lanes = {stage.lane for stage in stages}
        self.lanes_ended = 0

    def write(self, file, *columns):
        with open(os.path.join(self.results, file), "a", encoding="utf-8") as to:
            to.write("\t".join(str(column) for column in columns) + "\n")

    def show(self, line):
        # In one piece: the lanes write at the same time.
        self.out.write(line + "\n")
        self.out.flush()

    def record_failure(self, stage, seconds, note):
        self.write("own.tsv", "failed", seconds, f"stage {stage.name}", note)
        self.show(f"FAILED: stage {stage.name} {note}")

    def run_stage(self, stage):
        """Returns whether it ended well."""
        began = time.monotonic()
        alone = len(self.lanes) == 1
        try:
            process = subprocess.Popen(
                stage.command,
                env={**os.environ, **stage.environment},
                stdin=subprocess.DEVNULL,
                # A run of one lane keeps the terminal, and shows its progress there.
                stdout=None if alone else subprocess.PIPE,
                stderr=None if alone else subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            self.record_failure(stage, 0, f"(it cannot be started: {error})")
            return False
        if stage.lane == COMPILERS:
            yield_processors(process)
        with self.changed:
            self.processes[stage.name] = process
            if self.ending:
                self.end_process(process)
        with process:
            for line in process.stdout or ():
                self.show(f"{stage.name:>16} | " + line.decode(errors="replace").rstrip())
            processor_seconds = wait_for(process)
        status = process.returncode
        seconds = round(time.monotonic() - began)
        self.write(
            "stages.tsv", seconds, stage.name, round(began - self.began), round(processor_seconds)
        )
        if status not in (0, RECORDED):
            self.record_failure(stage, seconds, f"(its command ended with status {status})")
        return status == 0

    def next_stage(self, lane):
        """Of those that wait in the lane: the first that may start. None: there are no more."""
        with self.changed:
            while True:
                waiting = [
                    stage
                    for stage in self.stages
                    if stage.lane == lane and self.state[stage.name] == "waiting"
                ]
                if not waiting or self.ending:
                    return None
                for stage in waiting:
                    bad = [need for need in stage.needs if self.state[need] == "bad"]
                    if bad:
                        self.state[stage.name] = "bad"
                        self.record_failure(stage, 0, f"(not run: {', '.join(bad)} failed)")
                        self.changed.notify_all()
                        break
                    if all(self.state[need] == "good" for need in stage.needs):
                        self.state[stage.name] = "running"
                        return stage
                else:
                    self.changed.wait()

    def run_lane(self, lane):
        while (stage := self.next_stage(lane)) is not None:
            good = False
            try:
                good = self.run_stage(stage)
            except Exception as error:  # a fault here must not hide the later stages
                self.record_failure(stage, 0, repr(error))
            finally:
                with self.changed:
                    self.state[stage.name] = "good" if good else "bad"
                    self.changed.notify_all()
        with self.changed:
            self.lanes_ended += 1
            self.changed.notify_all()

    @staticmethod
    def end_process(process):
        try:
            os.killpg(process.pid, signal.SIGTERM)
        except ProcessLookupError:
            pass

    def end(self):
        """Ends all that runs. Steps end what they have started when they are told to."""
        with self.changed:
            self.ending = True
            self.changed.notify_all()
            for process in self.processes.values():
                if process.poll() is None:
                    self.end_process(process)

    def run(self):
        for lane in sorted(self.lanes):
            threading.Thread(target=self.run_lane, args=(lane,), daemon=True).start()
        try:
            # Not by joining: a join that a signal's handler leaves takes its thread for ended.
            self.wait_for_lanes()
        except BaseException:
            self.end()
            self.wait_for_lanes(20)
            raise

    def wait_for_lanes(self, seconds=None):
        with self.changed:
            self.changed.wait_for(lambda: self.lanes_ended == len(self.lanes), seconds)

# SPDX-License-Identifier: BSD-2-Clause
# Copyright the freehca authors
"""Moves a guest that runs to another QEMU process: by a snapshot in a file, or alive."""
import os
import time


def wait_for_job(qmp, name):
    """ValueError: the job failed, with QEMU's reason."""
    while True:
        for job in qmp.run({"execute": "query-jobs"}):
            if job["id"] == name and job["status"] == "concluded":
                qmp.run({"execute": "job-dismiss", "arguments": {"id": name}})
                if "error" in job:
                    raise ValueError(job["error"])
                return
        time.sleep(0.02)


class Snapshot:
    """savevm into a qcow2 file, the end of the process, and loadvm in the next one."""

    TAG = "move"

    def __init__(self, guest):
        self.guest = guest
        # The node of the move before is there, too.
        self.node = f"snapshot{guest.moves}"
        self.path = os.path.join(guest.folder, self.node)
        node = f"driver=qcow2,node-name={self.node},file.driver=file,file.filename={self.path}"
        self.arguments = ["-blockdev", node, "-loadvm", self.TAG]

    def job(self, command, name, **arguments):
        self.guest.qmp.run({"execute": command, "arguments": {"job-id": name, **arguments}})
        wait_for_job(self.guest.qmp, name)

    def leave(self):
        """The state of the stopped machine is in the file. Returns how long that took."""
        qmp = self.guest.qmp
        file = {"driver": "file", "filename": self.path}
        self.job("blockdev-create", "file", options={**file, "size": 0})
        node = {"node-name": self.node + "-file", **file}
        qmp.run({"execute": "blockdev-add", "arguments": node})
        image = {"driver": "qcow2", "file": self.node + "-file", "size": 1 << 20}
        self.job("blockdev-create", "image", options=image)
        node = {"node-name": self.node, "driver": "qcow2", "file": self.node + "-file"}
        qmp.run({"execute": "blockdev-add", "arguments": node})
        began = time.monotonic()
        qmp.run({"execute": "stop"})
        self.job("snapshot-save", "save", tag=self.TAG, vmstate=self.node, devices=[self.node])
        return began

    def arrive(self, began):
        qmp = self.guest.qmp
        while qmp.run({"execute": "query-status"})["status"] != "running":
            qmp.run({"execute": "cont"})
        return time.monotonic() - began

    def run(self):
        """Returns for how many seconds the machine stood still."""
        began = self.leave()
        self.guest.end_process()
        self.guest.start_process(self.arguments)
        seconds = self.arrive(began)
        os.unlink(self.path)
        return seconds


class Migration:
    """From one process to another, which are both there."""

    STOPPED = False

    def __init__(self, guest):
        self.guest = guest
        self.uri = f"unix:{guest.folder}/incoming{guest.moves}"

    def run(self):
        """Returns for how many seconds the machine stood still."""
        guest, source, process = self.guest, self.guest.qmp, self.guest.process
        guest.start_process(["-incoming", "defer"])
        target = guest.qmp
        target.run({"execute": "migrate-incoming", "arguments": {"uri": self.uri}})
        parameters = {"max-bandwidth": 1 << 33, "downtime-limit": 500}
        source.run({"execute": "migrate-set-parameters", "arguments": parameters})
        began = time.monotonic()
        if self.STOPPED:
            source.run({"execute": "stop"})
        source.run({"execute": "migrate", "arguments": {"uri": self.uri}})
        while (now := source.run({"execute": "query-migrate"}))["status"] != "completed":
            if now["status"] in ("failed", "cancelled"):
                raise ValueError(f"the migration ended as {now['status']}: {now.get('error-desc')}")
            time.sleep(0.02)
        source.run({"execute": "quit"})
        process.wait()
        if self.STOPPED:
            while target.run({"execute": "query-status"})["status"] == "inmigrate":
                time.sleep(0.02)
            target.run({"execute": "cont"})
            return time.monotonic() - began
        return now["downtime"] / 1000


class StoppedMigration(Migration):
    """The machine stands still while all of it is copied."""

    STOPPED = True


class LiveMigration(Migration):
    """The guest runs in the first process until almost all is copied. In QEMU 7.2 without KVM this
    damages the memory of a guest with two processors, with or without our adapter: --smp 1."""


KINDS = {"snapshot": Snapshot, "migrated": StoppedMigration, "live": LiveMigration}

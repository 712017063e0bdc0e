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
        self.path = os.path.join(guest.folder, f"snapshot{guest.moves}")
        node = f"driver=qcow2,node-name=snapshot,file.driver=file,file.filename={self.path}"
        self.arguments = ["-blockdev", node, "-loadvm", self.TAG]

    def job(self, command, name, **arguments):
        self.guest.qmp.run({"execute": command, "arguments": {"job-id": name, **arguments}})
        wait_for_job(self.guest.qmp, name)

    def leave(self):
        """The state of the stopped machine is in the file. Returns how long that took."""
        qmp = self.guest.qmp
        file = {"driver": "file", "filename": self.path}
        self.job("blockdev-create", "file", options={**file, "size": 0})
        node = {"node-name": "snapshot-file", **file}
        qmp.run({"execute": "blockdev-add", "arguments": node})
        image = {"driver": "qcow2", "file": "snapshot-file", "size": 1 << 20}
        self.job("blockdev-create", "image", options=image)
        node = {"node-name": "snapshot", "driver": "qcow2", "file": "snapshot-file"}
        qmp.run({"execute": "blockdev-add", "arguments": node})
        began = time.monotonic()
        qmp.run({"execute": "stop"})
        self.job("snapshot-save", "save", tag=self.TAG, vmstate="snapshot", devices=["snapshot"])
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


class LiveMigration:
    """Both processes are there; the guest runs in the first until almost all is copied."""

    def __init__(self, guest):
        self.guest = guest
        self.uri = f"unix:{guest.folder}/incoming{guest.moves}"

    def run(self):
        """Returns for how many seconds the machine stood still."""
        guest, source, process = self.guest, self.guest.qmp, self.guest.process
        guest.start_process(["-incoming", "defer"])
        guest.qmp.run({"execute": "migrate-incoming", "arguments": {"uri": self.uri}})
        parameters = {"max-bandwidth": 1 << 33, "downtime-limit": 500}
        source.run({"execute": "migrate-set-parameters", "arguments": parameters})
        source.run({"execute": "migrate", "arguments": {"uri": self.uri}})
        while (now := source.run({"execute": "query-migrate"}))["status"] != "completed":
            if now["status"] in ("failed", "cancelled"):
                raise ValueError(f"the migration ended as {now['status']}: {now.get('error-desc')}")
            time.sleep(0.02)
        source.run({"execute": "quit"})
        process.wait()
        return now["downtime"] / 1000


KINDS = {"snapshot": Snapshot, "live": LiveMigration}

"""Put first on PYTHONPATH by a test of sweeps: real trainings that meet with an accident in their third epoch.

PLANTED is a JSON object from the number of a trial to what happens to it: exit, kill or memory.
"""

import json
import os
import signal
from typing import Any

ticket = json.loads(os.environ.get("HEXLIT_TRIAL", "{}"))
accident = json.loads(os.environ.get("PLANTED", "{}")).get(str(ticket.get("number")))

if accident is not None:
    from hexlit.tuning.trial import RunningTrial

    report = RunningTrial.report

    def report_or_perish(self: RunningTrial, step: int, value: float) -> Any:
        """Report; or leave, be killed, or find no memory."""
        if step == 2 and accident == "exit":
            os._exit(7)
        if step == 2 and accident == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if step == 2 and accident == "memory":
            raise RuntimeError(
                "DefaultCPUAllocator: can't allocate memory: you tried to allocate 10**15 bytes (planted)"
            )
        return report(self, step, value)

    RunningTrial.report = report_or_perish  # type: ignore[method-assign]

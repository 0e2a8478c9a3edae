"""A pool of threads that is only imagined: a fit is recorded on one, and shared out afterwards."""

import heapq
import time
from dataclasses import dataclass

import pytest

from glassleaf.fit import train as training
from glassleaf.rows.backends.local import LocalBackend
from glassleaf.rows.slices import add_up


@dataclass
class Call:
    """One pass: its name, whether it can be cut, and the seconds that each slice took."""

    name: str
    is_cut: bool
    seconds: list


class Recorder(LocalBackend):
    """A backend of one thread that writes down every slice, with its processor time."""

    calls = []

    def __init__(self, shard, n_threads):
        super().__init__(shard, 1)
        type(self).calls = []

    def sum(self, function, tasks, then=None):
        slicing = getattr(function, "slicing", None)
        call = Call(function.__name__, slicing is not None, [])
        found = []
        for task in tasks:
            slices = [task] if slicing is None else slicing.cut(self.shard, task)
            results = []
            for own in slices:
                start = time.thread_time()
                results.append(function(self.shard, own))
                call.seconds.append(time.thread_time() - start)
            start = time.thread_time()
            total = add_up(results)
            found.append(total if then is None else then(task, total))
            call.seconds[-1] += time.thread_time() - start  # who is last adds up
        self.calls.append(call)
        return found


def recorded(model, X, y):
    """The passes of a fit; ``n_jobs`` of the model is what it is told of its threads."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "LocalBackend", Recorder)
        model.fit(X, y)
    return Recorder.calls


def seconds_on(calls, n_threads):
    """How long passes take when each waits for the one before, and threads take the next slice."""
    total = 0.0
    for call in calls:
        busy = [0.0] * n_threads
        for seconds in call.seconds:
            heapq.heapreplace(busy, busy[0] + seconds)
        total += max(busy)
    return total

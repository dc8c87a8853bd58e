"""TensorBoard's event files of a run that goes on: what is past the saved step will be written again, so it goes.

A new file that merely says from which step on the old ones are void would do for TensorBoard's own page, but not for
others who read the files, nor for tags whose step axis is no training step.
"""

import os
from collections.abc import Callable
from pathlib import Path

from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader
from tensorboard.summary.writer.event_file_writer import EventFileWriter

PATTERN = "events.out.tfevents.*"
KEPT = "events.out.tfevents.0.kept"  # readers go by name: it comes before any file that bears the time of its making


def keep_events(folder: Path, wanted: Callable[[str, int], bool]) -> None:
    """Rewrite the event files in ``folder`` as one with the wanted events alone, each (tag, step) once.

    wanted: by tag and step. A file that a kill cut off in the middle of an event is read up to there. Files of a
    rewriting that was itself cut short do no harm: the next one mends them.
    """
    files = sorted(folder.glob(PATTERN))
    kept = {}
    for file in files:
        for event in LegacyEventFileLoader(str(file)).Load():  # events as they are, not brought up to date
            for value in event.summary.value:
                if wanted(value.tag, event.step):
                    one = kept[value.tag, event.step] = type(event)(wall_time=event.wall_time, step=event.step)
                    one.summary.value.append(value)
    if kept:
        beside = folder / ".events"
        writer = EventFileWriter(str(beside))
        for event in kept.values():
            writer.add_event(event)
        writer.close()
        for file in beside.glob(PATTERN):
            os.replace(file, folder / KEPT)
        beside.rmdir()
    for file in files:
        if not kept or file.name != KEPT:
            file.unlink()

"""Runs the stories of a file: functions whose names begin with story_, their docstring a sentence.

Each gets a Fleet of its own. What is checked is printed as a sentence when it holds; on failure
come the trace and the ends of the programs' logs. Exit status 0 when every story held.
"""

import os
import shutil
import sys
import tempfile
import time
import traceback

DEADLINE = float(os.environ.get("MUSTER_TEST_DEADLINE", "120"))


def slowness():
    """How many times longer things may take than on an idle machine, as it is now."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


class Failure(AssertionError):
    """What was expected did not happen."""


class Skip(Exception):
    """The story needs something that this machine does not have."""


def say(sentence):
    print("    " + sentence, flush=True)


def check(holds, sentence, *details):
    """Fails with the sentence and what was seen, or prints it."""
    if not holds:
        raise Failure("\n".join(["not so: " + sentence] + [repr(d)[:4000] for d in details]))
    say(sentence)


def main(module, make_fleet):
    stories = [f for name, f in module.items() if name.startswith("story_")]
    chosen = [a for a in sys.argv[1:] if not a.startswith("-")]
    bad = skipped = ran = 0
    for story in stories:
        if chosen and story.__name__ not in chosen and story.__name__[6:] not in chosen:
            continue
        ran += 1
        print(f"- {story.__doc__ or story.__name__}", flush=True)
        outcome = run(story, make_fleet)
        bad += outcome == "FAILED"
        skipped += outcome == "skipped"
    print(f"{ran} stories, {bad} failed, {skipped} skipped")
    if ran == 0:
        sys.exit(2)
    sys.exit(1 if bad else 77 if skipped == ran else 0)


def run(story, make_fleet):
    began = time.monotonic()
    directory = tempfile.mkdtemp(prefix="muster-test-")
    fleet = make_fleet(directory)
    outcome = "ok"
    try:
        story(fleet)
        fleet.close()
    except Skip as why:
        outcome = "skipped"
        print(f"  skipped: {why}")
    except Exception:
        outcome = "FAILED"
        traceback.print_exc(file=sys.stdout)
        fleet.print_logs()
    finally:
        fleet.kill()
        if outcome != "FAILED" or not os.environ.get("MUSTER_TEST_KEEP"):
            shutil.rmtree(directory, ignore_errors=True)
        else:
            print(f"  kept: {directory}")
    print(f"  {outcome} after {time.monotonic() - began:.1f} s", flush=True)
    return outcome

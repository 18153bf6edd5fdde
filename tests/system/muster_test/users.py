"""What the stories about who may do what share."""

from .story import check


def refused(kubectl, what, *args, stdin=None):
    """The words on standard error of a kubectl that must fail."""
    done = kubectl.run(*args, stdin=stdin)
    check(done.returncode == 1, f"{what}: {done.stderr.strip()}", done)
    return done.stderr


def newest(fleet):
    return [k for k in fleet.kubectls() if k.version == "PATH"][0]

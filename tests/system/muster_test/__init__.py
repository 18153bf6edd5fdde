"""A harness for sessions with the real programs: standard library only, no global state.

    programs.py    hub, simulators, HTTP/2 front and fault proxy as processes; Fleet, all of them
    client.py      HTTPS calls with a kubeconfig's credentials
    watch.py       watch streams in threads, which tests await
    validators.py  the nine properties that every watch must have
    objects.py     jobs, policies, quota trees, nodes
    kubectl.py     every kubectl that tests/kubectl-versions finds
    websocket.py   a WebSocket client, for tests that read slowly or go away
    story.py       runs a file's stories and says in sentences what held

Nothing sleeps: what is waited for is an event of a watch, the end of a process or a line that it
prints, each with a deadline. Programs come from the environment (MUSTERD, MUSTER_SIM, MUSTER,
FAULT_PROXY), so that meson hands over the sanitizer builds.
"""

from .client import Client, Kubeconfig, StatusError
from .kubectl import Kubectl, kubectls
from .programs import Fleet
from .story import Failure, check, main, say
from .watch import Watch

__all__ = ["Client", "Failure", "Fleet", "Kubeconfig", "Kubectl", "StatusError", "Watch", "check",
           "kubectls", "main", "say"]

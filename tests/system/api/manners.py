"""What tests of manners share: users that may do all with config maps, and the figures."""

import session
from prometheus import Metrics

CM = "/api/v1/namespaces/default/configmaps"
RBAC = "/apis/rbac.authorization.k8s.io/v1/"


def config_map(name, size=1):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name},
            "data": {"k": "v" * size}}


def let_in(client, *users):
    """These users may do everything with config maps."""
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": {"name": "maps"},
            "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}]}
    binding = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
               "metadata": {"name": "maps"},
               "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
                           "name": "maps"},
               "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": u}
                            for u in users]}
    assert client.post(RBAC + "clusterroles", role)[0] == 201
    assert client.post(RBAC + "clusterrolebindings", binding)[0] == 201
    for user in users:
        while client.get(CM, headers={"Impersonate-User": user}, limit=1)[0] == 403:
            pass  # the authorizer follows the store


class Case(session.Case):
    def metrics(self):
        status, headers, text = self.client.request("GET", "/metrics")
        self.assertEqual(status, 200)
        self.assertTrue(headers["Content-Type"].startswith("text/plain; version=0.0.4"))
        return Metrics(text.decode())

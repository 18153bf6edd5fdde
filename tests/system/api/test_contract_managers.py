"""What the server itself writes has a manager too (kubernetes-api.md section 5). These tests pass
against kube-apiserver 1.36 too, where the server's name is another one."""

from contract import Case, CRDS
from session import main

NAMED = {"f:kind": {}, "f:listKind": {}, "f:plural": {}, "f:singular": {}}
CONDITION = {".": {}, "f:lastTransitionTime": {}, "f:message": {}, "f:reason": {}, "f:status": {},
             "f:type": {}}


class Managers(Case):
    def entries(self, path, subresource=None):
        o = self.must(200, self.client.get(path))
        return [e for e in o["metadata"]["managedFields"]
                if e.get("subresource") == subresource]

    def test_the_status_of_a_definition(self):
        entry, = self.entries(CRDS + "/widgets.example.com", "status")
        self.assertNotIn(entry["manager"], ("", "unknown"))
        self.assertEqual((entry["operation"], entry["apiVersion"], entry["fieldsType"]),
                         ("Update", "apiextensions.k8s.io/v1", "FieldsV1"))
        self.assertEqual(entry["fieldsV1"], {"f:status": {
            "f:acceptedNames": NAMED,
            "f:conditions": {'k:{"type":"Established"}': CONDITION,
                             'k:{"type":"NamesAccepted"}': CONDITION}}})

    def test_a_namespace_of_the_servers_own(self):
        entry, = self.entries("/api/v1/namespaces/default")
        self.assertNotIn(entry["manager"], ("", "unknown"))
        self.assertEqual((entry["operation"], entry["apiVersion"]), ("Update", "v1"))


if __name__ == "__main__":
    main()

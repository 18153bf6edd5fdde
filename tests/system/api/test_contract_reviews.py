"""Access reviews (kubernetes-api.md 1.12): which questions are refused, and what an answer says of
bindings to roles that do not exist. These tests pass against kube-apiserver 1.36 too."""

from session import Case, main

GROUP = "/apis/authorization.k8s.io/v1/"
RBAC = "rbac.authorization.k8s.io"
BINDINGS = "/apis/%s/v1/namespaces/default/rolebindings" % RBAC
AT = "spec.resourceAttributes."
NEED = "Required value: must be specified when `operator` is 'In' or 'NotIn'"
NONE = "Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'"


def review(kind, spec):
    return {"apiVersion": "authorization.k8s.io/v1", "kind": kind, "spec": spec}


def binding(name, user, kind, role):
    return {"apiVersion": RBAC + "/v1", "kind": "RoleBinding", "metadata": {"name": name},
            "roleRef": {"apiGroup": RBAC, "kind": kind, "name": role},
            "subjects": [{"apiGroup": RBAC, "kind": "User", "name": user}]}


class Reviews(Case):
    def refused(self, spec, *causes, kind="SubjectAccessReview", where=""):
        s = self.fails(422, "Invalid", self.client.post(
            GROUP + where + kind.lower() + "s", review(kind, spec)))
        self.assertEqual([(c["reason"], c["field"], c["message"]) for c in s["details"]["causes"]],
                         list(causes))
        self.assertTrue(s["message"].startswith('.authorization.k8s.io "" is invalid: '), s)
        self.assertNotIn("kind", s["details"])

    def test_one_question(self):
        path = {"verb": "get", "path": "/x"}
        shown = 'Invalid value: {"Path":"/x","Verb":"get"}: '
        both = {"user": "u", "resourceAttributes": {"verb": "list"}, "nonResourceAttributes": path}
        twice = ("FieldValueInvalid", "spec.nonResourceAttributes",
                 shown + "cannot be specified in combination with resourceAttributes")
        self.refused(both, twice)
        self.refused(both, twice, kind="SelfSubjectAccessReview")
        self.refused({}, ("FieldValueInvalid", "spec.resourceAttributes", "Invalid value: null: "
                          "exactly one of nonResourceAttributes or resourceAttributes must be "
                          "specified"), kind="SelfSubjectAccessReview")
        self.refused({"user": "u", "nonResourceAttributes": path},
                     ("FieldValueInvalid", "spec.nonResourceAttributes",
                      shown + "disallowed on this kind of request"),
                     kind="LocalSubjectAccessReview", where="namespaces/default/")

    def test_selectors(self):
        def question(which, selector):
            return {"user": "u", "resourceAttributes": {
                "verb": "list", "resource": "pods", which: selector}}
        for which in ("fieldSelector", "labelSelector"):
            at = AT + which
            self.refused(question(which, {}), (
                "FieldValueRequired", at + ".requirements", "Required value: when " + at +
                " is specified, requirements or rawSelector is required"))
            self.refused(question(which, {"rawSelector": "a=b", "requirements": [
                {"key": "a", "operator": "In"}]}),
                ("FieldValueInvalid", at + ".rawSelector",
                 'Invalid value: "a=b": may not specified at the same time as requirements'),
                ("FieldValueRequired", at + ".requirements[0].values", NEED))
            self.refused(question(which, {"requirements": [
                {"key": "a", "operator": "Foo"}, {"key": "a", "operator": "NotIn"},
                {"key": "a", "operator": "Exists", "values": ["x"]},
                {"key": "a", "operator": "DoesNotExist", "values": ["x"]}]}),
                ("FieldValueRequired", at + ".requirements[1].values", NEED),
                ("FieldValueForbidden", at + ".requirements[2].values", NONE),
                ("FieldValueForbidden", at + ".requirements[3].values", NONE))
            for fine in ({"rawSelector": "a=b"}, {"requirements": [
                    {"key": "a.b", "operator": "In", "values": ["c"]}]}):
                answer = self.must(201, self.client.post(
                    GROUP + "subjectaccessreviews",
                    review("SubjectAccessReview", question(which, fine))))
                self.assertEqual(answer["spec"]["resourceAttributes"][which], fine)
        self.refused(question("fieldSelector", {"requirements": [
            {"key": "", "operator": "In", "values": ["b"]}]}),
            ("FieldValueRequired", AT + "fieldSelector.requirements[0].key",
             "Required value: must be specified"))
        s = self.fails(422, "Invalid", self.client.post(GROUP + "subjectaccessreviews", review(
            "SubjectAccessReview", question("labelSelector", {"requirements": [
                {"key": "", "operator": "Exists"}, {"key": "a/b/c", "operator": "Exists"},
                {"key": "a", "operator": "In", "values": ["b", "c d"]}]}))))
        at = AT + "labelSelector.requirements"
        self.assertEqual([c["field"] for c in s["details"]["causes"]], [
            at + "[0].key", at + "[0].key", at + "[1].key", at + "[2].values[1]"])

    def test_a_role_that_does_not_exist(self):
        for name, user, kind in (("lost-role", "lost", "Role"),
                                 ("lost-cluster-role", "lost", "ClusterRole")):
            self.client.delete(BINDINGS + "/" + name)
            self.must(201, self.client.post(BINDINGS, binding(name, user, kind, "gone")))

        def rules(user):
            return self.must(201, self.client.post(
                GROUP + "selfsubjectrulesreviews",
                review("SelfSubjectRulesReview", {"namespace": "default"}),
                headers={"Impersonate-User": user}))
        for _ in range(100):  # upstream's authorizer hears of bindings a little later
            answer = rules("lost")
            if answer["status"].get("evaluationError", "").startswith("["):
                break
        words = answer["status"]["evaluationError"]
        self.assertIn('role.%s "gone" not found' % RBAC, words)
        self.assertIn('clusterrole.%s "gone" not found' % RBAC, words)
        self.assertEqual((answer["spec"], answer["status"]["incomplete"]), ({}, False))
        self.assertNotIn("evaluationError", rules("found")["status"])

    def test_who_may_bind_hears_which_role_is_missing(self):
        cluster = "/apis/%s/v1/clusterrole" % RBAC
        role = {"apiVersion": RBAC + "/v1", "kind": "ClusterRole", "metadata": {"name": "binders"},
                "rules": [{"apiGroups": [RBAC], "resources": ["rolebindings"],
                           "verbs": ["create"]}]}
        bound = binding("binders", "binder", "ClusterRole", "binders")
        for path, o in ((cluster + "s", role), (BINDINGS, bound)):
            self.client.delete(path + "/binders")
            self.must(201, self.client.post(path, o))
        for _ in range(100):
            status, answer = self.client.post(
                BINDINGS, binding("b", "u", "Role", "gone"),
                headers={"Impersonate-User": "binder"})
            if status != 403:
                break
        self.assertEqual((status, answer["message"]), (
            404, 'rolebindings.%s "gone" not found' % RBAC))

    def test_raw_selectors_that_cannot_be_read_are_ignored_aloud(self):
        def error(**selectors):
            o = self.must(201, self.client.post(GROUP + "subjectaccessreviews", review(
                "SubjectAccessReview", {"user": "u", "resourceAttributes": {
                    "verb": "list", "resource": "pods", **{
                        which: {"rawSelector": text} for which, text in selectors.items()}}})))
            return o["status"].get("evaluationError")
        ignored = AT + "%s ignored due to parse error"
        for text in ("a=b,,", "!!", "a in", "a=b c"):
            self.assertEqual(error(labelSelector=text), ignored % "labelSelector")
        for text in ("!!", "a in", "a", "a=b=c", "a=\\x"):
            self.assertEqual(error(fieldSelector=text), ignored % "fieldSelector")
        for fine in ("a=b", "a!=b,c==d", "a=b,,c=d", "a=", "a=\\,\\=", "a=b c"):
            self.assertIsNone(error(fieldSelector=fine))
        self.assertEqual(error(fieldSelector="x", labelSelector="a in"),
                         ignored % "fieldSelector" + "; " + ignored % "labelSelector")


if __name__ == "__main__":
    main()

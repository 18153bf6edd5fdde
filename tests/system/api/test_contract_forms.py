"""The forms that an answer is given in (kubernetes-api.md 1.3), as kube-apiserver 1.36 has them.
These tests pass against that server too, but where a comment says so."""

import yaml

from contract import WIDGETS, Case, widget
from session import CM, config_map, main

YAML = {"Accept": "application/yaml"}
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


class Yaml(Case):
    def ask(self, method, path, body=None, accept="application/yaml", **params):
        status, headers, text = self.client.request(method, path, body, headers={
            "Accept": accept}, **params)
        self.assertEqual(headers["Content-Type"], "application/yaml", text)
        return status, yaml.safe_load(text)

    def setUp(self):
        self.client.delete(CM + "/y")
        self.odd = {"a": "plain", "b": "two\nlines\n", "c": "true", "d": "007", "e": "", "f": "-",
                    "g": "x: y # z", "h": '"\\', "i": " \t ", "j": "\u2028\u00e9\ufeff\U0001f600",
                    "k": "null", "l": "2026-01-01T00:00:00Z", "m": "1e3", "n": "y", "o": "a:b"}
        self.must(201, self.client.post(CM, config_map("y", {"l": "1"}, self.odd)))

    def test_what_is_read(self):
        for path in (CM + "/y", "/apis/batch/v1", "/apis", "/api", CM + "/nope"):
            status, body = self.client.get(path)
            self.assertEqual(self.ask("GET", path), (status, body))
        status, got = self.ask("GET", CM, labelSelector="l=1")
        self.assertEqual((status, got["kind"], len(got["items"]), got["items"][0]["data"]),
                         (200, "ConfigMapList", 1, self.odd))
        status, got = self.ask("GET", CM, accept="application/yaml;as=Table;v=v1;g=meta.k8s.io")
        self.assertEqual((status, got["kind"]), (200, "Table"))

    def test_what_is_written(self):
        o = widget("y", {"replicas": 3, "tags": ["a", "b"], "args": [], "nest": {}})
        self.client.delete(WIDGETS + "/y")
        status, made = self.ask("POST", WIDGETS, o)
        self.assertEqual((status, made), (201, self.must(200, self.client.get(WIDGETS + "/y"))))
        status, s = self.ask("POST", WIDGETS, o)
        self.assertEqual((status, s["reason"]), (409, "AlreadyExists"))
        status, s = self.ask("PUT", WIDGETS + "/y", widget("y"))
        self.assertEqual((status, s["reason"]), (422, "Invalid"))
        status, got = self.ask("DELETE", WIDGETS, dryRun="All")
        self.assertEqual((status, got["kind"]), (200, "WidgetList"))
        status, s = self.ask("DELETE", WIDGETS + "/y")
        self.assertEqual((status, s["status"]), (200, "Success"))

    def test_the_greatest_weight_decides(self):
        def given(accept):
            status, headers, _ = self.client.request("GET", CM + "/y", headers={"Accept": accept})
            return status, headers["Content-Type"]
        js, ya = (200, "application/json"), (200, "application/yaml")
        for accept, want in (
                ("application/yaml, application/json", ya),
                ("application/json, application/yaml", js),
                ("application/yaml;q=0.5, application/json;q=0.9", js),
                ("application/json;q=0.1, application/yaml", ya),
                ("application/json;q=0.25, application/yaml;q=0.3", ya),
                ("text/html, */*;q=0.8", js), (TABLE + ";q=0.5, application/yaml", ya)):
            self.assertEqual(given(accept), want)
        for accept in ("text/plain", "application/x-yaml", "bogus"):
            self.assertEqual(given(accept)[0], 406)

    def test_a_watch_is_no_yaml(self):
        status, _, _ = self.client.request("GET", CM, watch="1", timeoutSeconds="1", headers=YAML)
        self.assertEqual(status, 406)
        status, headers, _ = self.client.request(
            "GET", CM, watch="1", timeoutSeconds="1", headers={
                "Accept": "application/yaml, application/json"})
        self.assertIn((status, headers["Content-Type"]), (
            (200, "application/json"), (406, "application/yaml")))  # upstream does not look further

    def test_a_long_list(self):
        # Longer than a slice, so that it would be a stream as JSON.
        for i in range(40):
            self.must(201, self.client.post(CM, config_map("long-%d" % i, {"of": "long"}, {
                "k": ("%d: " % i) + "v" * 20000})))
        status, got = self.ask("GET", CM, labelSelector="of=long")
        self.assertEqual((status, len(got["items"])), (200, 40))
        self.assertEqual(sorted(o["data"]["k"] for o in got["items"])[0], "0: " + "v" * 20000)
        self.must(200, self.client.delete(CM, labelSelector="of=long"))


if __name__ == "__main__":
    main()

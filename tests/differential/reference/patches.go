package main

import (
	"encoding/json"
	"fmt"
	"math/rand"

	jsonpatch "github.com/evanphx/json-patch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// ---- documents ----

func (g gen) document(depth int) object {
	out := object{}
	for i := g.Intn(4); i > 0; i-- {
		out[g.word()] = g.node(depth - 1)
	}
	return out
}

func (g gen) node(depth int) interface{} {
	switch k := g.Intn(6); {
	case k == 0:
		return g.word()
	case k == 1:
		return g.Intn(3)
	case k == 2 && depth > 0:
		out := []interface{}{}
		for i := g.Intn(4); i > 0; i-- {
			out = append(out, g.node(depth-1))
		}
		return out
	case depth > 0:
		return g.document(depth)
	default:
		return g.word()
	}
}

// ---- RFC 6902 ----

// pointer leads, mostly, to something that is there.
func (g gen) pointer(v interface{}) string {
	path := ""
	for {
		switch c := v.(type) {
		case object:
			key := g.word()
			if len(c) > 0 && g.Intn(5) > 0 {
				keys := []string{}
				for k := range c {
					keys = append(keys, k)
				}
				sortStrings(keys)
				key = keys[g.Intn(len(keys))]
			}
			path += "/" + key
			v = c[key]
		case []interface{}:
			i := g.Intn(len(c) + 1)
			if i == len(c) {
				if g.Intn(2) == 0 {
					return path + "/-"
				}
				return path + fmt.Sprintf("/%d", i)
			}
			path += fmt.Sprintf("/%d", i)
			v = c[i]
		default:
			return path
		}
		if g.Intn(3) == 0 {
			return path
		}
	}
}

func (g gen) jsonPatch(doc interface{}) []interface{} {
	ops := []string{"add", "remove", "replace", "move", "copy", "test"}
	out := []interface{}{}
	for i := 1 + g.Intn(3); i > 0; i-- {
		op := object{"op": ops[g.Intn(len(ops))], "path": g.pointer(doc)}
		if op["op"] == "test" && g.Intn(4) == 0 {
			op["value"] = nil
			out = append(out, op)
			continue
		}
		switch op["op"] {
		case "add", "replace":
			op["value"] = g.node(2)
		case "test":
			op["value"] = g.node(1)
			if at := lookup(doc, op["path"].(string)); at != nil && g.Intn(3) > 0 {
				op["value"] = at
			}
		case "move", "copy":
			op["from"] = g.pointer(doc)
		}
		out = append(out, op)
	}
	return out
}

// outOfScope is what the library does not see: the root as a target, a move into itself.
func outOfScope(ops []interface{}) bool {
	for _, o := range ops {
		op := o.(object)
		path := op["path"].(string)
		if path == "" {
			return true
		}
		if from, ok := op["from"].(string); ok && (from == "" || within(path, from)) {
			return true
		}
	}
	return false
}

// oneOperation refuses to copy what is not there, as the RFC says; the library copies null.
func oneOperation(doc []byte, op object) ([]byte, error) {
	var tree interface{}
	if err := json.Unmarshal(doc, &tree); err != nil {
		panic(err)
	}
	if op["op"] == "copy" && lookup(tree, op["from"].(string)) == nil {
		return nil, fmt.Errorf("nothing to copy")
	}
	patch, err := jsonpatch.DecodePatch([]byte(text([]interface{}{op})))
	if err != nil {
		panic(err)
	}
	return patch.Apply(doc)
}

func jsonPatches(h *hub, r *rand.Rand, n int) int {
	g, refused := gen{r}, 0
	for i := 0; i < n; i++ {
		doc := plain(g.document(3))
		ops := g.jsonPatch(doc)
		if outOfScope(ops) {
			i--
			continue
		}
		question := object{"op": "json", "object": doc, "patch": ops}
		got := h.ask(question)
		want, err := []byte(text(doc)), error(nil)
		for k := 0; k < len(ops) && err == nil; k++ {
			want, err = oneOperation(want, ops[k].(object))
		}
		refused += compareResult("a JSON patch", question, got, want, err)
	}
	return refused
}

// compareResult wants the same object, or a refusal from both.
func compareResult(what string, question, got object, want []byte, err error) int {
	if err != nil {
		if got["error"] == nil {
			disagree(what, question, got, err.Error())
		}
		return 1
	}
	var tree interface{}
	if err = json.Unmarshal(want, &tree); err != nil {
		panic(err)
	}
	if got["error"] != nil || !same(got["object"], tree) {
		disagree(what, question, got, tree)
	}
	return 0
}

// ---- RFC 7386 ----

func (g gen) mergePatch(depth int) object {
	out := object{}
	for i := g.Intn(4); i > 0; i-- {
		switch {
		case g.Intn(4) == 0:
			out[g.word()] = nil
		case depth > 0 && g.Intn(2) == 0:
			out[g.word()] = g.mergePatch(depth - 1)
		default:
			out[g.word()] = g.node(1)
		}
	}
	return out
}

func mergePatches(h *hub, r *rand.Rand, n int) int {
	g, refused := gen{r}, 0
	for i := 0; i < n; i++ {
		doc, patch := plain(g.document(3)), g.mergePatch(3)
		question := object{"op": "merge", "object": doc, "patch": patch}
		got := h.ask(question)
		want, err := jsonpatch.MergePatch([]byte(text(doc)), []byte(text(patch)))
		refused += compareResult("a merge patch", question, got, want, err)
	}
	return refused
}

// ---- strategic merge ----

// What the hub knows of a Pod's merge keys, as the tags of k8s.io/api say it.
type pod struct {
	Metadata podMeta   `json:"metadata"`
	Spec     podSpec   `json:"spec"`
	Status   podStatus `json:"status"`
}
type podMeta struct {
	Labels     map[string]string `json:"labels"`
	Finalizers []string          `json:"finalizers" patchStrategy:"merge"`
	Owners     []struct {
		UID  string `json:"uid"`
		Name string `json:"name"`
	} `json:"ownerReferences" patchStrategy:"merge" patchMergeKey:"uid"`
}
type podSpec struct {
	Containers  []container `json:"containers" patchStrategy:"merge" patchMergeKey:"name"`
	Volumes     []volume    `json:"volumes" patchStrategy:"merge,retainKeys" patchMergeKey:"name"`
	Tolerations []struct {
		Key   string `json:"key"`
		Value string `json:"value"`
	} `json:"tolerations"`
	NodeSelector map[string]string `json:"nodeSelector"`
	Hostname     string            `json:"hostname"`
}
type container struct {
	Name  string   `json:"name"`
	Image string   `json:"image"`
	Args  []string `json:"args"`
	Env   []struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"env" patchStrategy:"merge" patchMergeKey:"name"`
}
type volume struct {
	Name string `json:"name"`
	A    string `json:"a"`
	B    string `json:"b"`
}
type podStatus struct {
	Conditions []struct {
		Type   string `json:"type"`
		Status string `json:"status"`
	} `json:"conditions" patchStrategy:"merge" patchMergeKey:"type"`
}

func (g gen) keyed(key string, more func(o object)) []interface{} {
	out := []interface{}{}
	for _, i := range g.Perm(4)[:g.Intn(4)] {
		o := object{key: string(rune('a' + i))}
		more(o)
		out = append(out, o)
	}
	return out
}

func (g gen) value(key string) func(o object) {
	return func(o object) { g.maybe(o, .7, key, func() interface{} { return g.word() }) }
}

func (g gen) pod() object {
	meta, spec, status := object{}, object{}, object{}
	g.maybe(meta, .5, "labels", g.wordMap)
	g.maybe(meta, .5, "finalizers", func() interface{} { return g.words(true) })
	g.maybe(meta, .4, "ownerReferences", func() interface{} { return g.keyed("uid", g.value("name")) })
	g.maybe(spec, .8, "containers", func() interface{} {
		return g.keyed("name", func(o object) {
			g.value("image")(o)
			g.maybe(o, .4, "args", func() interface{} { return g.words(false) })
			g.maybe(o, .6, "env", func() interface{} { return g.keyed("name", g.value("value")) })
		})
	})
	g.maybe(spec, .5, "volumes", func() interface{} {
		return g.keyed("name", func(o object) { g.value("a")(o); g.value("b")(o) })
	})
	g.maybe(spec, .4, "tolerations", func() interface{} { return g.keyed("key", g.value("value")) })
	g.maybe(spec, .4, "nodeSelector", g.wordMap)
	g.maybe(spec, .4, "hostname", func() interface{} { return g.word() })
	g.maybe(status, .5, "conditions", func() interface{} { return g.keyed("type", g.value("status")) })
	return object{"metadata": meta, "spec": spec, "status": status}
}

// directives turns some of what a patch says into what it takes away.
func (g gen) directives(v interface{}, key string) {
	switch c := v.(type) {
	case object:
		keys := []string{}
		for k := range c {
			keys = append(keys, k)
		}
		sortStrings(keys)
		for _, k := range keys {
			if list, ok := c[k].([]interface{}); ok {
				g.listDirectives(c, k, list)
			} else if g.Intn(8) == 0 && k != key {
				c[k] = nil
			} else {
				g.directives(c[k], "")
			}
		}
	}
}

var mergeKeys = map[string]string{"containers": "name", "volumes": "name", "env": "name",
	"ownerReferences": "uid", "conditions": "type"}

func (g gen) listDirectives(parent object, name string, list []interface{}) {
	key, keyed := mergeKeys[name]
	if name == "finalizers" && g.Intn(2) == 0 {
		// What a patch both adds and deletes is nobody's to define.
		parent["$deleteFromPrimitiveList/finalizers"] = g.words(true)
		delete(parent, name)
		return
	}
	if !keyed {
		return
	}
	for _, e := range list {
		o := e.(object)
		if g.Intn(5) == 0 {
			for k := range o {
				if k != key {
					delete(o, k)
				}
			}
			o["$patch"] = "delete"
			continue
		}
		if name == "volumes" && g.Intn(4) == 0 {
			o["$retainKeys"] = retained(o)
			continue
		}
		g.directives(o, key)
	}
	if g.Intn(8) == 0 {
		parent[name] = append(list, object{"$patch": "replace"})
	}
}

func retained(o object) []interface{} {
	out := []interface{}{}
	keys := []string{}
	for k := range o {
		keys = append(keys, k)
	}
	sortStrings(keys)
	for _, k := range keys {
		out = append(out, k)
	}
	return out
}

// decoded is what is left once a server has read the result into its types: the library leaves
// directives and nulls in what it takes over whole.
func decoded(doc []byte) []byte {
	var tree interface{}
	if err := json.Unmarshal(doc, &tree); err != nil {
		panic(err)
	}
	return []byte(text(clean(tree)))
}

func clean(v interface{}) interface{} {
	switch c := v.(type) {
	case object:
		for k, member := range c {
			if member == nil || k[0] == '$' {
				delete(c, k)
			} else {
				c[k] = clean(member)
			}
		}
	case []interface{}:
		kept := []interface{}{}
		for _, e := range c {
			if o, ok := e.(object); !ok || o["$patch"] == nil {
				kept = append(kept, clean(e))
			}
		}
		return kept
	}
	return v
}

// applied is the patch that kubectl apply makes, with its $setElementOrder: from what was applied
// last and what is applied now, for what is there.
func (g gen) applied(current interface{}) object {
	meta, err := strategicpatch.NewPatchMetaFromStruct(pod{})
	if err != nil {
		panic(err)
	}
	last, next := g.pod(), g.pod()
	for key := range next {
		if g.Intn(2) == 0 {
			last[key] = next[key]
		}
	}
	b, err := strategicpatch.CreateThreeWayMergePatch([]byte(text(last)), []byte(text(next)),
		[]byte(text(current)), meta, true)
	if err != nil {
		fatal("the reference makes no patch: %v", err)
	}
	var patch object
	if err = json.Unmarshal(b, &patch); err != nil {
		panic(err)
	}
	return patch
}

func strategicPatches(h *hub, r *rand.Rand, n int) int {
	g, refused := gen{r}, 0
	for i := 0; i < n; i++ {
		doc, patch := plain(g.pod()), g.pod()
		if i%2 == 0 {
			g.directives(patch, "")
		} else {
			patch = g.applied(doc)
		}
		question := object{"op": "strategic", "object": doc, "patch": patch}
		got := h.ask(question)
		want, err := strategicpatch.StrategicMergePatch([]byte(text(doc)), []byte(text(patch)), pod{})
		if err == nil {
			want = decoded(want)
		}
		refused += compareResult("a strategic merge patch", question, got, want, err)
	}
	return refused
}

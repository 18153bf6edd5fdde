package main

import (
	"bytes"
	"fmt"
	"math/rand"
	"sort"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v4/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v4/merge"
	"sigs.k8s.io/structured-merge-diff/v4/typed"
	"sigs.k8s.io/structured-merge-diff/v4/value"
)

// The type of cases.c, in the words of structured-merge-diff.
const thing = typed.YAMLObject(`types:
- name: thing
  map:
    fields:
    - {name: any, type: {namedType: deduced}}
    - {name: atomicList, type: {list: {elementType: {scalar: string}, elementRelationship: atomic}}}
    - {name: atomicMap, type: {map: {elementType: {scalar: string}, elementRelationship: atomic}}}
    - {name: items, type: {list: {elementType: {namedType: item}, elementRelationship: associative, keys: [name]}}}
    - {name: labels, type: {map: {elementType: {scalar: string}}}}
    - {name: name, type: {scalar: string}}
    - {name: nested, type: {namedType: nested}}
    - {name: number, type: {scalar: numeric}}
    - {name: ports, type: {list: {elementType: {namedType: port}, elementRelationship: associative, keys: [port, protocol]}}}
    - {name: set, type: {list: {elementType: {scalar: string}, elementRelationship: associative}}}
- name: item
  map:
    fields:
    - {name: env, type: {list: {elementType: {namedType: env}, elementRelationship: associative, keys: [name]}}}
    - {name: labels, type: {map: {elementType: {scalar: string}}}}
    - {name: name, type: {scalar: string}}
    - {name: value, type: {scalar: string}}
- name: env
  map:
    fields:
    - {name: name, type: {scalar: string}}
    - {name: value, type: {scalar: string}}
- name: port
  map:
    fields:
    - {name: name, type: {scalar: string}}
    - {name: port, type: {scalar: numeric}}
    - {name: protocol, type: {scalar: string}, default: TCP}
- name: nested
  map:
    fields:
    - {name: deep, type: {namedType: nested}}
    - {name: value, type: {scalar: string}}
- name: deduced
  scalar: untyped
  list: {elementType: {namedType: untyped_atomic}, elementRelationship: atomic}
  map: {elementType: {namedType: deduced}, elementRelationship: separable}
- name: untyped_atomic
  scalar: untyped
  list: {elementType: {namedType: untyped_atomic}, elementRelationship: atomic}
  map: {elementType: {namedType: untyped_atomic}, elementRelationship: atomic}
`)

type oneVersion struct{}

func (oneVersion) Convert(o *typed.TypedValue, _ fieldpath.APIVersion) (*typed.TypedValue, error) {
	return o, nil
}
func (oneVersion) IsMissingVersionError(error) bool { return false }

// ---- generating ----

type gen struct{ *rand.Rand }

func (g gen) word() string { return string(rune('a' + g.Intn(4))) }

func (g gen) maybe(o object, p float64, key string, v func() interface{}) {
	if g.Float64() < p {
		o[key] = v()
	}
}

func (g gen) words(unique bool) interface{} {
	out := []interface{}{}
	for _, i := range g.Perm(4)[:g.Intn(5)] {
		out = append(out, string(rune('a'+i)))
	}
	if !unique && len(out) > 0 && g.Intn(4) == 0 {
		out = append(out, out[0])
	}
	return out
}

func (g gen) wordMap() interface{} {
	out := object{}
	for i := g.Intn(4); i > 0; i-- {
		out[g.word()] = g.word()
	}
	return out
}

func (g gen) nested(depth int) interface{} {
	out := object{}
	g.maybe(out, .6, "value", func() interface{} { return g.word() })
	if depth > 0 {
		g.maybe(out, .6, "deep", func() interface{} { return g.nested(depth - 1) })
	}
	return out
}

func (g gen) any(depth int) interface{} {
	switch k := g.Intn(7); {
	case k == 0:
		return g.word()
	case k == 1:
		return g.Intn(3)
	case k == 2:
		return g.Intn(2) == 0
	case k == 3:
		return g.words(false)
	case k == 4 && depth == 0:
		return nil
	default:
		out := object{}
		for i := g.Intn(3); i > 0 && depth > 0; i-- {
			out[g.word()] = g.any(depth - 1)
		}
		return out
	}
}

func (g gen) env() interface{} {
	out := []interface{}{}
	for _, i := range g.Perm(4)[:g.Intn(4)] {
		e := object{"name": string(rune('a' + i))}
		g.maybe(e, .7, "value", func() interface{} { return g.word() })
		out = append(out, e)
	}
	return out
}

// list makes items with keys; live ones may have the same key twice.
func (g gen) list(live bool, one func(i int) object) interface{} {
	out := []interface{}{}
	for _, i := range g.Perm(4)[:g.Intn(5)] {
		out = append(out, one(i))
	}
	if live && len(out) > 0 && g.Intn(8) == 0 {
		out = append(out, one(g.Intn(4)))
	}
	return out
}

func (g gen) item(i int) object {
	o := object{"name": string(rune('a' + i))}
	g.maybe(o, .5, "value", func() interface{} { return g.word() })
	g.maybe(o, .4, "labels", g.wordMap)
	g.maybe(o, .4, "env", g.env)
	return o
}

func (g gen) port(i int) object {
	o := object{"port": 80 + i/2}
	if i%2 == 1 {
		o["protocol"] = "UDP"
	} else if g.Intn(2) == 0 {
		o["protocol"] = "TCP"
	}
	g.maybe(o, .5, "name", func() interface{} { return g.word() })
	return o
}

func (g gen) thing(live bool) object {
	o := object{}
	g.maybe(o, .4, "name", func() interface{} { return g.word() })
	g.maybe(o, .4, "number", func() interface{} { return g.Intn(3) })
	g.maybe(o, .4, "labels", g.wordMap)
	g.maybe(o, .3, "atomicMap", g.wordMap)
	g.maybe(o, .3, "atomicList", func() interface{} { return g.words(false) })
	g.maybe(o, .4, "set", func() interface{} { return g.words(!live) })
	g.maybe(o, .4, "nested", func() interface{} { return g.nested(2) })
	g.maybe(o, .3, "any", func() interface{} { return g.any(3) })
	g.maybe(o, .6, "items", func() interface{} { return g.list(live, g.item) })
	g.maybe(o, .4, "ports", func() interface{} { return g.list(live, g.port) })
	return o
}

// ---- the two sides ----

// An owner's name on this side is "Apply a" or "Update u".
type world struct {
	parser  typed.ParseableType
	updater merge.Updater
	live    interface{} // nil: it does not exist
	owners  fieldpath.ManagedFields
}

func (w *world) typedLive() *typed.TypedValue {
	v, err := w.parser.FromUnstructured(w.live, typed.AllowDuplicates)
	if err != nil {
		panic(err)
	}
	return v
}

func (w *world) managed() []interface{} {
	out := []interface{}{}
	for owner, set := range w.owners {
		part := strings.SplitN(owner, " ", 2)
		fields, err := set.Set().ToJSON()
		if err != nil {
			panic(err)
		}
		var tree interface{}
		if tree, err = value.FromJSON(fields); err != nil {
			panic(err)
		}
		out = append(out, object{"manager": part[1], "operation": part[0], "apiVersion": "v1",
			"fieldsType": "FieldsV1", "fieldsV1": tree.(value.Value).Unstructured()})
	}
	return out
}

func owners(w fieldpath.ManagedFields) map[string]string {
	out := map[string]string{}
	for owner, set := range w {
		out[owner] = set.Set().String()
	}
	return out
}

func hubOwners(list interface{}) map[string]string {
	out := map[string]string{}
	for _, e := range list.([]interface{}) {
		entry := e.(object)
		set := fieldpath.NewSet()
		if err := set.FromJSON(bytes.NewReader([]byte(text(entry["fieldsV1"])))); err != nil {
			fatal("the hub's fieldsV1 cannot be read: %v in %s", err, text(entry))
		}
		out[fmt.Sprintf("%s %s", entry["operation"], entry["manager"])] = set.String()
	}
	return out
}

func conflictList(c merge.Conflicts) []string {
	out := []string{}
	for _, one := range c {
		part := strings.SplitN(one.Manager, " ", 2)
		who := fmt.Sprintf("conflict with %q", part[1])
		if part[0] == "Update" {
			who += " using v1"
		}
		out = append(out, who+" "+one.Path.String())
	}
	sort.Strings(out)
	return out
}

func hubConflicts(list interface{}) []string {
	out := []string{}
	for _, e := range list.([]interface{}) {
		pair := e.([]interface{})
		out = append(out, pair[0].(string)+" "+pair[1].(string))
	}
	sort.Strings(out)
	return out
}

func copyOf(m fieldpath.ManagedFields) fieldpath.ManagedFields {
	out := fieldpath.ManagedFields{}
	for k, v := range m {
		out[k] = v
	}
	return out
}

// apply reports whether it was refused.
func (w *world) apply(h *hub, g gen) bool {
	config := g.thing(false)
	manager, force := string(rune('a'+g.Intn(3))), g.Intn(3) == 0
	question := object{"op": "apply", "live": w.live, "managed": w.managed(), "config": config,
		"manager": manager, "force": force}
	got := h.ask(question)
	typedConfig, err := w.parser.FromUnstructured(plain(config))
	if err != nil {
		panic(err)
	}
	live := w.live
	if live == nil {
		w.live = object{}
	}
	before := copyOf(w.owners)
	next, managers, err := w.updater.Apply(w.typedLive(), typedConfig, "v1", before, "Apply "+manager, force)
	if conflicts, ok := err.(merge.Conflicts); ok {
		w.live = live
		if got["conflicts"] == nil || !same(hubConflicts(got["conflicts"]), conflictList(conflicts)) {
			disagree("conflicts", question, got, conflictList(conflicts))
		}
		return true
	}
	if err != nil {
		fatal("the reference fails: %v on %s", err, text(question))
	}
	want := w.live
	if next != nil {
		want = next.AsValue().Unstructured()
	}
	// A set that is empty means that the manager is gone.
	for name, set := range managers {
		if set.Set().Empty() {
			delete(managers, name)
		}
	}
	if want == nil {
		want = object{}
	}
	if !same(got["object"], want) {
		disagree("the object", question, got, want)
	}
	if !same(hubOwners(got["managed"]), owners(managers)) {
		disagree("ownership", question, hubOwners(got["managed"]), owners(managers))
	}
	w.live, w.owners = plain(want), managers
	return false
}

func (w *world) update(h *hub, g gen) {
	now := plain(g.thing(true))
	manager := string(rune('u' + g.Intn(2)))
	question := object{"op": "update", "live": w.live, "now": now, "managed": w.managed(), "manager": manager}
	if w.live == nil {
		w.live = object{}
		question["live"] = object{}
	}
	got := h.ask(question)
	typedNow, err := w.parser.FromUnstructured(now, typed.AllowDuplicates)
	if err != nil {
		panic(err)
	}
	_, managers, err := w.updater.Update(w.typedLive(), typedNow, "v1", copyOf(w.owners), "Update "+manager)
	if err != nil {
		fatal("the reference fails: %v on %s", err, text(question))
	}
	if !same(hubOwners(got["managed"]), owners(managers)) {
		disagree("ownership after an update", question, hubOwners(got["managed"]), owners(managers))
	}
	w.live, w.owners = now, managers
}

func applies(h *hub, r *rand.Rand, n int) int {
	parser, err := typed.NewParser(thing)
	if err != nil {
		fatal("%v", err)
	}
	g, refused := gen{r}, 0
	var w *world
	for i := 0; i < n; i++ {
		if i%12 == 0 {
			w = &world{parser: parser.Type("thing"), owners: fieldpath.ManagedFields{},
				updater: merge.Updater{Converter: oneVersion{}}}
		}
		// An object that exists without owners has rules of its own, above this library.
		if len(w.owners) == 0 {
			w.live = nil
		}
		if g.Intn(3) == 0 {
			w.update(h, g)
		} else if w.apply(h, g) {
			refused++
		}
	}
	return refused
}

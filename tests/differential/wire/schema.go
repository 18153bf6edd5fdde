package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// ---- markers: how lists and maps merge, from the comments of the modules' generated.proto ----

// marks of a message, under "", and of its fields: "listType" -> ["map"].
type marks map[string]map[string][]string

var (
	messageLine = regexp.MustCompile(`^message (\w+) \{`)
	fieldLine   = regexp.MustCompile(`^ *(?:optional|repeated|map<.*>|) *[\w.<>, ]* (\w+) = \d+;`)
	markLine    = regexp.MustCompile(`^ *// \+(\w+)(?:=(.*))?$`)
)

func moduleDir(module string) string {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		fatal("go list %s: %v", module, err)
	}
	return strings.TrimSpace(string(out))
}

var moduleDirs = map[string]string{}

// readMarks is by message.
func readMarks(pkg string) map[string]marks {
	parts := strings.SplitN(pkg, "/", 3)
	module := parts[0] + "/" + parts[1]
	if moduleDirs[module] == "" {
		moduleDirs[module] = moduleDir(module)
	}
	f, err := os.Open(filepath.Join(moduleDirs[module], parts[2], "generated.proto"))
	if err != nil {
		fatal("%v", err)
	}
	defer f.Close()
	out, message, pending := map[string]marks{}, "", map[string][]string{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line := lines.Text()
		if m := markLine.FindStringSubmatch(line); m != nil {
			pending[m[1]] = append(pending[m[1]], m[2])
		} else if m := messageLine.FindStringSubmatch(line); m != nil {
			message = m[1]
			out[message] = marks{"": pending}
			pending = map[string][]string{}
		} else if m := fieldLine.FindStringSubmatch(line); m != nil && message != "" {
			out[message][m[1]] = pending
			pending = map[string][]string{}
		} else if strings.TrimSpace(line) == "" {
			pending = map[string][]string{}
		}
	}
	return out
}

var packageMarks = map[string]map[string]marks{}

func marksOf(t reflect.Type) marks {
	if packageMarks[t.PkgPath()] == nil {
		packageMarks[t.PkgPath()] = readMarks(t.PkgPath())
	}
	return packageMarks[t.PkgPath()][t.Name()]
}

// ---- the hub's documents ----

type document struct{ schemas object }

func (d document) root(group, version, name string) object {
	for _, s := range d.schemas {
		kinds, _ := s.(object)["x-kubernetes-group-version-kind"].([]interface{})
		for _, k := range kinds {
			if reflect.DeepEqual(k, object{"group": group, "version": version, "kind": name}) {
				return s.(object)
			}
		}
	}
	fatal("the hub describes no %s of %s/%s", name, group, version)
	return nil
}

// resolve follows references; what stands beside one wins.
func (d document) resolve(s object) object {
	target, beside := "", s
	if ref, ok := s["$ref"].(string); ok {
		target = ref
	} else if all, ok := s["allOf"].([]interface{}); ok && len(all) == 1 {
		target, _ = all[0].(object)["$ref"].(string)
	}
	if target == "" {
		return s
	}
	out := object{"x-name": target[strings.LastIndex(target, ".")+1:]}
	for k, v := range d.schemas[strings.TrimPrefix(target, "#/components/schemas/")].(object) {
		out[k] = v
	}
	for k, v := range beside {
		if k != "$ref" && k != "allOf" {
			out[k] = v
		}
	}
	return out
}

// ---- the comparison ----

type comparison struct {
	document
	seen  map[string]bool // types, and the hub's schemas of them
	wrong []string
	n     int
}

func (c *comparison) differ(path, format string, args ...interface{}) {
	text := path + ": " + fmt.Sprintf(format, args...)
	if reason, ok := meant[text]; !ok {
		c.wrong = append(c.wrong, text)
	} else if reason != "" {
		used[text] = true
	}
}

func str(s object, key string) string {
	v, _ := s[key].(string)
	return v
}

// form is what a schema says of one value; empty where it takes anything.
func form(s object) string {
	if v, _ := s["x-kubernetes-int-or-string"].(bool); v || str(s, "format") == "int-or-string" {
		return "int-or-string"
	}
	if one, _ := s["oneOf"].([]interface{}); len(one) == 2 {
		return "quantity"
	}
	t, f := str(s, "type"), str(s, "format")
	if f != "" && f != "date-time" && f != "byte" && f != "int32" && f != "int64" && f != "double" {
		f = "" // what text must look like is the hub's business
	}
	if f != "" {
		return t + " " + f
	}
	return t
}

func (c *comparison) expect(path string, s object, want ...string) {
	got := form(s)
	for _, w := range want {
		if got == w {
			return
		}
	}
	c.differ(path, "is %q, not %q", got, want[0])
}

func (c *comparison) value(path string, t reflect.Type, s object) {
	s = c.resolve(s)
	switch reflect.New(t).Interface().(type) {
	case *metav1.Time, *metav1.MicroTime:
		c.expect(path, s, "string date-time")
		return
	case *resource.Quantity:
		c.expect(path, s, "quantity", "string")
		return
	case *intstr.IntOrString:
		c.expect(path, s, "int-or-string")
		return
	case *metav1.FieldsV1, *runtime.RawExtension, *apiextensionsv1.JSON,
		*apiextensionsv1.JSONSchemaProps:
		return
	}
	switch t.Kind() {
	case reflect.Pointer:
		c.value(path, t.Elem(), s)
	case reflect.String:
		c.expect(path, s, "string")
	case reflect.Bool:
		c.expect(path, s, "boolean")
	case reflect.Int32:
		c.expect(path, s, "integer int32")
	case reflect.Int64:
		c.expect(path, s, "integer int64")
	case reflect.Map:
		c.expect(path, s, "object")
		if items, ok := s["additionalProperties"].(object); ok {
			c.value(path+"[]", t.Elem(), items)
		} else {
			c.differ(path, "says nothing of its values")
		}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			c.expect(path, s, "string byte")
			return
		}
		c.expect(path, s, "array")
		if items, ok := s["items"].(object); ok {
			c.value(path+"[]", t.Elem(), items)
		}
	case reflect.Struct:
		c.object(path, t, s)
	}
}

func (c *comparison) object(path string, t reflect.Type, s object) {
	c.expect(path, s, "object")
	atomic := len(marksOf(t)[""]["structType"]) > 0
	if (str(s, "x-kubernetes-map-type") == "atomic") != atomic {
		c.differ(path, "atomic: %v", !atomic)
	}
	short := t.Name()
	if own := str(s, "x-name"); own != "" && own != short {
		short += " (" + own + ")"
	}
	if c.seen[short] {
		return
	}
	c.seen[short] = true
	properties, _ := s["properties"].(object)
	known := map[string]bool{"apiVersion": true, "kind": true}
	required := map[string]bool{}
	for _, name := range strings.Split(list(s["required"]), ",") {
		required[name] = true
	}
	c.fields(short, t, properties, required, known)
	for name := range properties {
		if !known[name] {
			c.differ(short, "%s is unknown to Kubernetes", name)
		}
	}
	if len(properties) == 0 && t.NumField() > 0 {
		c.differ(short, "has no fields (at %s)", path)
	}
}

func (c *comparison) fields(path string, t reflect.Type, properties object,
	required, known map[string]bool) {
	for i := 0; i < t.NumField(); i++ {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" && f.Type.Kind() == reflect.Struct {
			if f.Type != reflect.TypeFor[metav1.TypeMeta]() {
				c.fields(path, f.Type, properties, required, known)
			}
			continue
		}
		c.n++
		known[name] = true
		p, ok := properties[name].(object)
		if !ok {
			c.differ(path, "%s is missing: %s", name, f.Type)
			continue
		}
		p = c.resolve(p)
		at := path + "." + name
		if str(p, "description") == "" {
			c.differ(at, "is not described")
		}
		m := marksOf(t)[protoName(f)]
		if _, options, _ := strings.Cut(f.Tag.Get("json"), ","); required[name] &&
			(strings.Contains(options, "omit") || m["optional"] != nil) {
			c.differ(at, "is required")
		}
		c.merging(at, f, m, p)
		c.value(at, f.Type, p)
	}
}

func protoName(f reflect.StructField) string {
	_, name, _ := strings.Cut(f.Tag.Get("protobuf"), "name=")
	name, _, _ = strings.Cut(name, ",")
	return name
}

func list(v interface{}) string {
	items, _ := v.([]interface{})
	out := []string{}
	for _, item := range items {
		out = append(out, fmt.Sprint(item))
	}
	return strings.Join(out, ",")
}

// merging compares what server-side apply and strategic merge patches need to know.
func (c *comparison) merging(path string, f reflect.StructField, m map[string][]string, s object) {
	t := f.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8 {
		want := "atomic"
		if len(m["listType"]) > 0 {
			want = m["listType"][0]
		}
		got := str(s, "x-kubernetes-list-type")
		if got == "" {
			got = "atomic"
		}
		keys := list(s["x-kubernetes-list-map-keys"])
		if got != want || keys != strings.Join(m["listMapKey"], ",") {
			c.differ(path, "merges as %s(%s), not %s(%s)", got, keys, want,
				strings.Join(m["listMapKey"], ","))
		}
	}
	if t.Kind() == reflect.Map {
		want := len(m["mapType"]) > 0 && m["mapType"][0] == "atomic"
		if (str(s, "x-kubernetes-map-type") == "atomic") != want {
			c.differ(path, "atomic: %v", !want)
		}
	}
	for _, tag := range [][2]string{{"patchStrategy", "strategy"}, {"patchMergeKey", "merge-key"}} {
		got, want := str(s, "x-kubernetes-patch-"+tag[1]), f.Tag.Get(tag[0])
		if got != want {
			c.differ(path, "%s is %q, not %q", tag[0], got, want)
		}
	}
}

func schemas(h *hub) {
	wrong, n := 0, 0
	told := map[string]bool{}
	for _, k := range kinds {
		if k.name == "DeleteOptions" || k.name == "Scale" || k.name == "TokenRequest" {
			continue // not a kind with a schema of its own
		}
		group, version, found := strings.Cut(k.apiVersion, "/")
		if !found {
			group, version = "", group
		}
		var d struct{ Components struct{ Schemas object } }
		answer := h.ask(object{"op": "openapi", "group": group, "version": version,
			"sim": k.name == "Service"})
		if err := json.Unmarshal(answer, &d); err != nil {
			fatal("the document of %s: %v", k.apiVersion, err)
		}
		c := comparison{document: document{d.Components.Schemas}, seen: map[string]bool{}}
		c.object(k.name, reflect.TypeOf(k.create()).Elem(), c.root(group, version, k.name))
		n += c.n
		for _, text := range c.wrong {
			if !told[text] {
				fmt.Println(text)
				wrong++
			}
			told[text] = true
		}
	}
	for text := range meant {
		if !used[text] {
			fmt.Printf("no longer so: %s\n", text)
			wrong++
		}
	}
	if wrong > 0 {
		fatal("%d differences", wrong)
	}
	fmt.Printf("schema     %d fields are as Kubernetes has them\n", n)
}

// What differs, and why it is meant to.
var meant = map[string]string{}
var used = map[string]bool{}

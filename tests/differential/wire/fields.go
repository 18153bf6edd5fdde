package main

import (
	"fmt"
	"reflect"
	"sort"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// The tables of hub/kinds/protobuf_fields.txt, by the struct tags of the Go types.

var packages = map[string]string{
	"k8s.io/api/authentication/v1":                             "authn",
	"k8s.io/api/authorization/v1":                              "authz",
	"k8s.io/api/autoscaling/v1":                                "autoscaling",
	"k8s.io/api/batch/v1":                                      "batch",
	"k8s.io/api/coordination/v1":                               "coord",
	"k8s.io/api/core/v1":                                       "core",
	"k8s.io/api/events/v1":                                     "events",
	"k8s.io/api/rbac/v1":                                       "rbac",
	"k8s.io/api/scheduling/v1":                                 "sched",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1": "apiext",
	"k8s.io/apimachinery/pkg/apis/meta/v1":                     "meta",
}

var specials = map[reflect.Type]string{
	reflect.TypeFor[metav1.Time]():          "T",
	reflect.TypeFor[metav1.MicroTime]():     "U",
	reflect.TypeFor[resource.Quantity]():    "Q",
	reflect.TypeFor[intstr.IntOrString]():   "X",
	reflect.TypeFor[runtime.RawExtension](): "R",
	reflect.TypeFor[metav1.FieldsV1]():      "V",
	reflect.TypeFor[apiextensionsv1.JSON](): "J",
}

type tables map[string]string

// isEither tells the types that stand for one of their fields.
func isEither(v reflect.Type) bool { return strings.HasPrefix(v.Name(), "JSONSchemaPropsOr") }

func (t tables) of(v reflect.Type) string {
	if letter, ok := specials[v]; ok {
		return letter
	}
	switch v.Kind() {
	case reflect.Pointer:
		return "*" + t.of(v.Elem())
	case reflect.Slice:
		if v.Elem().Kind() == reflect.Uint8 {
			return "b"
		}
		if v.Name() == "ExtraValue" {
			return "E"
		}
		return "[]" + t.of(v.Elem())
	case reflect.Map:
		return "{}" + t.of(v.Elem())
	case reflect.String:
		return "s"
	case reflect.Bool:
		return "o"
	case reflect.Int32, reflect.Int64:
		return "i"
	case reflect.Float64:
		return "d"
	case reflect.Struct:
		name := packages[v.PkgPath()] + "." + v.Name()
		t.add(name, v)
		if isEither(v) {
			return "|" + name
		}
		return name
	}
	fatal("what is a %s?", v)
	return ""
}

// jsonName is the name, "^" for what stands in its parent, and whether zero is written.
func jsonName(f reflect.StructField, either bool) (string, bool) {
	if either {
		return strings.ToLower(f.Name[:1]) + f.Name[1:], true
	}
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	if name == "" {
		name = "^"
	}
	return name, !strings.Contains(options, "omit")
}

func (t tables) add(name string, v reflect.Type) {
	if _, ok := t[name]; ok {
		return
	}
	t[name] = ""
	type field struct {
		number int
		text   string
	}
	fields := []field{}
	for i := 0; i < v.NumField(); i++ {
		f := v.Field(i)
		var number int
		for _, part := range strings.Split(f.Tag.Get("protobuf"), ",") {
			if _, err := fmt.Sscanf(part, "%d", &number); err == nil {
				break
			}
		}
		if number == 0 {
			continue // TypeMeta: the envelope has it
		}
		text, mark := t.of(f.Type), ""
		shown, always := jsonName(f, isEither(v))
		if always && !strings.ContainsAny(text[:1], "*[{") {
			mark = "!"
		}
		fields = append(fields, field{number, fmt.Sprintf("%d %s %s%s", number, shown, text, mark)})
	}
	sort.Slice(fields, func(i, j int) bool { return fields[i].number < fields[j].number })
	line, out := name+":", ""
	for i, f := range fields {
		comma := ","
		if i == len(fields)-1 {
			comma = ""
		}
		width := len(line)
		if strings.HasPrefix(line, "\t") {
			width += 7
		}
		if width+len(f.text)+2 > 100 {
			out, line = out+line+"\n", "\t"+f.text+comma
		} else if line == "\t" {
			line += f.text + comma
		} else {
			line += " " + f.text + comma
		}
	}
	t[name] = out + line + "\n"
}

func printFields() {
	t := tables{}
	for _, k := range kinds {
		t.of(reflect.TypeOf(k.create()).Elem())
	}
	names := []string{}
	for name := range t {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		fmt.Print(t[name])
	}
}

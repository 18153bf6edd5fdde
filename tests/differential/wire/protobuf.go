package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	strict "sigs.k8s.io/json"
)

// filler sets fields of Go values at random, or all of them.
type filler struct {
	*rand.Rand
	all bool
}

func (f filler) wanted() bool { return f.all || f.Intn(2) == 0 }

func (f filler) text() string {
	words := []string{"a", "b-c", "über", "\"q\"", "x\\y", "line\nbreak", "</x>", "\u2028", "日本", " "}
	if !f.all && f.Intn(8) == 0 {
		return ""
	}
	return words[f.Intn(len(words))] + words[f.Intn(len(words))]
}

func (f filler) integer(v reflect.Value) {
	n := int64(f.Uint64())
	switch f.Intn(4) {
	case 0:
		n = int64(f.Intn(100)) - 10
	case 1:
		n >>= uint(f.Intn(63))
	}
	if v.Type().Bits() == 32 {
		n = int64(int32(n))
	}
	if f.all && n == 0 {
		n = 1
	}
	v.SetInt(n)
}

// either fills one of the fields.
func (f filler) either(v reflect.Value, depth int) {
	i := f.Intn(v.NumField())
	if v.Field(i).Kind() == reflect.Slice && depth > maxDepth {
		i = 0
	}
	f.fill(v.Field(i), depth)
	if allows := v.FieldByName("Allows"); allows.IsValid() && i > 0 {
		allows.SetBool(true) // as Go reads it
	}
}

// special fills the types that have a form of their own on the wire.
func (f filler) special(v reflect.Value, depth int) bool {
	seconds := f.Int63n(4e9) - 1e9
	switch p := v.Addr().Interface().(type) {
	case *metav1.Time:
		*p = metav1.Unix(seconds, 0)
	case *metav1.MicroTime:
		*p = metav1.NewMicroTime(time.Unix(seconds, f.Int63n(1e6)*1000))
	case *resource.Quantity:
		*p = resource.MustParse([]string{"1", "100m", "1.5Gi", "3e3", "-7", "12345678901"}[f.Intn(6)])
	case *intstr.IntOrString:
		if *p = intstr.FromInt32(int32(f.Uint32())); f.Intn(2) == 0 {
			*p = intstr.FromString(f.text())
		}
	case *metav1.FieldsV1:
		p.Raw = []byte(`{"f:metadata":{"f:labels":{".":{},"f:a":{}}}}`)
	case *runtime.RawExtension:
		p.Raw = []byte(`{"kind":"X","n":9007199254740993}`)
	case *apiextensionsv1.JSON:
		p.Raw = []byte([]string{"null", "1", "\"x\"", "{\"a\":[1.50,{}]}", "9007199254740993"}[f.Intn(5)])
	case *apiextensionsv1.JSONSchemaPropsOrBool, *apiextensionsv1.JSONSchemaPropsOrArray,
		*apiextensionsv1.JSONSchemaPropsOrStringArray:
		f.either(v, depth)
	case *metav1.TypeMeta:
	default:
		return false
	}
	return true
}

func (f filler) fill(v reflect.Value, depth int) {
	if f.special(v, depth) {
		return
	}
	n := 1 + f.Intn(2)
	switch v.Kind() {
	case reflect.Struct:
		for i := 0; i < v.NumField(); i++ {
			// Schemas hold schemas.
			_, nests := v.Addr().Interface().(*apiextensionsv1.JSONSchemaProps)
			nests = nests && mayNest(v.Field(i).Type())
			if f.wanted() && !(nests && (depth > maxDepth || f.Intn(9) > 0)) {
				f.fill(v.Field(i), depth)
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		if f.all || f.Intn(6) > 0 {
			f.fill(v.Elem(), depth+1)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(f.text()))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := 0; i < n; i++ {
			f.fill(v.Index(i), depth+1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for ; n > 0; n-- {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			key.SetString(f.text())
			f.fill(value, depth+1)
			v.SetMapIndex(key, value)
		}
	case reflect.String:
		v.SetString(f.text())
	case reflect.Bool:
		v.SetBool(f.all || f.Intn(2) == 0)
	case reflect.Int32, reflect.Int64:
		f.integer(v)
	case reflect.Float64:
		v.SetFloat([]float64{0, 1, -0.25, 1e21, 1e-9, 0.1, 123456789.125, 1 << 53}[f.Intn(8)])
	default:
		fatal("what is a %s?", v.Type())
	}
}

// Of schemas in schemas.
const maxDepth = 8

func mayNest(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer || t.Kind() == reflect.Map || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	return strings.HasPrefix(t.Name(), "JSONSchemaProps")
}

func (f filler) object(k kind) runtime.Object {
	o := k.create()
	f.fill(reflect.ValueOf(o).Elem(), 0)
	o.GetObjectKind().SetGroupVersionKind(schema.FromAPIVersionAndKind(k.apiVersion, k.name))
	return o
}

func encode(o runtime.Object) []byte {
	var out bytes.Buffer
	if err := wire.Encode(o, &out); err != nil {
		fatal("%v", err)
	}
	return out.Bytes()
}

// without drops what says nothing: nulls, and objects, left empty, that Go writes of structs.
func without(v interface{}) interface{} {
	switch c := v.(type) {
	case object:
		for key, item := range c {
			if item = without(item); item == nil {
				delete(c, key)
			} else {
				c[key] = item
			}
		}
		if len(c) == 0 {
			return nil
		}
	case []interface{}:
		for i := range c {
			c[i] = without(c[i])
		}
	case json.Number:
		return number(c)
	}
	return v
}

// number is one without its form: 1e2 is 100.
func number(n json.Number) interface{} {
	if r, ok := new(big.Rat).SetString(n.String()); ok {
		return r.String()
	}
	return n
}

func plain(text []byte) interface{} {
	var v interface{}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		fatal("%s: %v", text, err)
	}
	return without(v)
}

// difference names the first place where two JSON values differ; empty where they do not.
func difference(path string, a, b interface{}) string {
	x, xIs := a.(object)
	y, yIs := b.(object)
	if xIs && yIs {
		for key := range y {
			if _, ok := x[key]; !ok {
				return path + "." + key + " is lost"
			}
		}
		for key := range x {
			if d := difference(path+"."+key, x[key], y[key]); d != "" {
				return d
			}
		}
		return ""
	}
	l, lIs := a.([]interface{})
	m, mIs := b.([]interface{})
	if lIs && mIs && len(l) == len(m) {
		for i := range l {
			if d := difference(fmt.Sprintf("%s[%d]", path, i), l[i], m[i]); d != "" {
				return d
			}
		}
		return ""
	}
	if reflect.DeepEqual(a, b) {
		return ""
	}
	return fmt.Sprintf("%s is %v, not %v", path, a, b)
}

// compare fails unless the JSON `got` is `want`: read by Go's strict decoder it is the same object,
// pointers and all, and it shows every field that Go's own JSON shows.
func compare(k kind, want runtime.Object, body []byte, got json.RawMessage) {
	text, err := json.Marshal(want)
	if err != nil {
		fatal("%v", err)
	}
	back, same := k.create(), k.create()
	unknown, err := strict.UnmarshalStrict(got, back)
	if err == nil && len(unknown) > 0 {
		err = unknown[0]
	}
	if err == nil {
		if d := difference("", plain(got), plain(text)); d != "" {
			err = fmt.Errorf("%s", d)
		}
	}
	if err == nil {
		err = json.Unmarshal(text, same)
	}
	if err == nil && !equality.Semantic.DeepEqual(same, back) {
		err = fmt.Errorf("nil or empty somewhere\ngot  %s\nwant %s", got, text)
	}
	if err != nil {
		fatal("%s %s: %v\ncase %x", k.apiVersion, k.name, err, body)
	}
}

func protobufs(h *hub, r *rand.Rand, n int) {
	for i := 0; i < n; i++ {
		k := kinds[i%len(kinds)]
		o := filler{r, i < 2*len(kinds)}.object(k)
		body := encode(o)
		d := h.decode(body)
		if d.Error != "" {
			fatal("%s %s is refused: %s\ncase %x", k.apiVersion, k.name, d.Error, body)
		}
		compare(k, o, body, d.Object)
	}
	fmt.Printf("protobuf   %d messages of %d kinds are read alike\n", n, len(kinds))
}

// asGo reads a message as a Go server does; nil when that refuses it.
func asGo(k kind, body []byte) runtime.Object {
	o := k.create()
	if _, _, err := wire.Decode(body, nil, o); err != nil {
		return nil
	}
	o.GetObjectKind().SetGroupVersionKind(schema.FromAPIVersionAndKind(k.apiVersion, k.name))
	return o
}

// A cut message is refused, except where the envelope still holds an object.
func cuts(h *hub, r *rand.Rand, n int) {
	refused, kept, unknown := 0, 0, 0
	for i := 0; i < n; i++ {
		k := kinds[i%len(kinds)]
		o := filler{r, false}.object(k)
		body := encode(o)
		for cut := r.Intn(7); cut < len(body); cut += 1 + r.Intn(1+len(body)/40) {
			d, want := h.decode(body[:cut]), asGo(k, body[:cut])
			if d.Error != "" && d.Kind != "BadRequest" || (d.Error == "") != (want != nil) {
				fatal("cut at %d: %s %s\ncase %x", cut, d.Kind, d.Error, body[:cut])
			} else if want != nil {
				kept++
				if len(d.Object) > len(`{"apiVersion":"","kind":""}`)+len(k.apiVersion+k.name) {
					compare(k, want, body[:cut], d.Object)
				}
			} else {
				refused++
			}
		}
		// Of later versions: a number, eight bytes, text, four bytes; in the object and around it.
		more := []byte{0xc0, 0x3e, 7, 0xc9, 0x3e, 1, 2, 3, 4, 5, 6, 7, 8, 0xd2, 0x3e, 2, 'h', 'i',
			0xdd, 0x3e, 1, 2, 3, 4}
		raw, err := o.(interface{ Marshal() ([]byte, error) }).Marshal()
		if err != nil {
			fatal("%v", err)
		}
		u := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: k.apiVersion, Kind: k.name},
			Raw: append(raw, more...)}
		envelope, err := u.Marshal()
		if err != nil {
			fatal("%v", err)
		}
		body = append(append([]byte("k8s\x00"), envelope...), more...)
		d := h.decode(body)
		if d.Error != "" {
			fatal("fields of a later %s are refused: %s\ncase %x", k.name, d.Error, body)
		}
		compare(k, o, body, d.Object)
		unknown++
	}
	if refused == 0 || kept == 0 {
		fatal("the cuts test nothing")
	}
	fmt.Printf("cuts       %d refused, %d read as Go does; %d later messages are read\n", refused,
		kept, unknown)
}

func writeCorpus(dir string) {
	for _, k := range kinds {
		name := strings.ToLower(k.name)
		if strings.HasPrefix(k.apiVersion, "events") {
			name += "-events"
		}
		o := filler{rand.New(rand.NewSource(1)), true}.object(k)
		if err := os.WriteFile(filepath.Join(dir, name), encode(o), 0o644); err != nil {
			fatal("%v", err)
		}
	}
}

// Held against the hub: the validation rules of apiextensions-apiserver, which are cel-go's.
//
// usage: cel -cases CASES_PROGRAM [-n CASES] [-seed N] rules|random
//
//	rules   the expressions of rules.go, each on every object of its schema
//	random  expressions put together at random: they compile on both sides or on none, and give
//	        the same of every object
//
// The hub's side is a program that answers one line of JSON with one line of JSON (cel_cases.c).
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand"
	"os"
	"os/exec"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

type object = map[string]interface{}

type hub struct {
	in  io.Writer
	out *bufio.Reader
}

func start(program string) (*hub, error) {
	cmd := exec.Command(program)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &hub{in, bufio.NewReaderSize(out, 1<<20)}, cmd.Start()
}

// verdict: what a rule says of an object.
type verdict struct {
	Outcome string `json:"outcome"` // compile, true, false, error
	Words   string `json:"words"`
}

func (h *hub) ask(question object) []verdict {
	line, err := json.Marshal(question)
	if err != nil {
		fatal("%v", err)
	}
	if _, err = h.in.Write(append(line, '\n')); err != nil {
		fatal("the cases program is gone: %v", err)
	}
	answer, err := h.out.ReadBytes('\n')
	if err != nil {
		fatal("no answer to %s: %v", line, err)
	}
	var v []verdict
	if err := json.Unmarshal(answer, &v); err != nil {
		fatal("%s is answered %s: %v", line, answer, err)
	}
	return v
}

// reference says what apiextensions makes of the rule.
func reference(rule string, schema object, pairs []pair) []verdict {
	withRule := object{}
	for k, v := range schema {
		withRule[k] = v
	}
	withRule["x-kubernetes-validations"] = []object{{"rule": rule, "message": "no"}}
	text, err := json.Marshal(withRule)
	if err != nil {
		fatal("%v", err)
	}
	var v1 apiextensionsv1.JSONSchemaProps
	if err := json.Unmarshal(text, &v1); err != nil {
		fatal("%v", err)
	}
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&v1, internal, nil); err != nil {
		fatal("%v", err)
	}
	s, err := structuralschema.NewStructural(internal)
	if err != nil {
		fatal("%v", err)
	}
	validator := cel.NewValidator(s, false, celconfig.PerCallLimit)
	out := []verdict{}
	for _, p := range pairs {
		errs, _ := validator.Validate(context.Background(), field.NewPath("x"), s, p.Self, p.Old, celconfig.RuntimeCELCostBudget)
		out = append(out, said(errs))
	}
	return out
}

func said(errs field.ErrorList) verdict {
	if len(errs) == 0 {
		return verdict{Outcome: "true"}
	}
	words := errs[0].Error()
	switch {
	case strings.Contains(words, "compile error"), strings.Contains(words, "compilation failed"), strings.Contains(words, "must evaluate to a bool"):
		return verdict{"compile", words}
	case errs[0].Detail == "no":
		return verdict{Outcome: "false"}
	}
	return verdict{"error", words}
}

func fatal(format string, args ...interface{}) {
	fmt.Printf(format+"\n", args...)
	os.Exit(1)
}

// compare is false when the two differ.
func compare(h *hub, rule string, schema object, pairs []pair) bool {
	theirs := reference(rule, schema, pairs)
	ours := h.ask(object{"schema": schema, "rule": rule, "pairs": pairs})
	same := true
	for i := range theirs {
		if theirs[i].Outcome == ours[i].Outcome {
			continue
		}
		fmt.Printf("%s\n  on pair %d: %s there (%.300s)\n  %s here (%s)\n", rule, i, theirs[i].Outcome, theirs[i].Words, ours[i].Outcome, ours[i].Words)
		same = false
		if theirs[i].Outcome == "compile" || ours[i].Outcome == "compile" {
			break
		}
	}
	return same
}

func main() {
	n := flag.Int("n", 3000, "cases")
	seed := flag.Int64("seed", 1, "of the generator")
	program := flag.String("cases", "", "the hub's side")
	flag.Parse()
	h, err := start(*program)
	if err != nil {
		fatal("%v", err)
	}
	wrong, ran := 0, map[string]int{}
	try := func(rule string) {
		if !compare(h, rule, schema, pairs) {
			wrong++
		}
		ran[reference(rule, schema, pairs[:1])[0].Outcome]++
	}
	switch flag.Arg(0) {
	case "rules":
		for _, rule := range rules {
			try(rule)
		}
	case "random":
		g := generator{rand.New(rand.NewSource(*seed))}
		for i := 0; i < *n; i++ {
			try(g.boolean(3))
		}
	default:
		fatal("what should be compared?")
	}
	fmt.Printf("%d differ; of the first object %v\n", wrong, ran)
	if wrong > 0 {
		os.Exit(1)
	}
}

// Differential tests: the hub's patches, selectors, quantities and server-side apply against the
// Go libraries that Kubernetes' own API server is made of, on generated cases.
//
// usage: differential CASES_PROGRAM [-n CASES] [-seed N] [NAME...]
//
// The hub's side is a program that answers one line of JSON with one line of JSON (cases.c). A
// disagreement is printed with the case that shows it, and ends the run.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand"
	"os"
	"os/exec"
	"reflect"
)

type object = map[string]interface{}

// hub is the other side.
type hub struct {
	in  io.WriteCloser
	out *bufio.Reader
	cmd *exec.Cmd
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
	return &hub{in, bufio.NewReaderSize(out, 1<<20), cmd}, cmd.Start()
}

func (h *hub) ask(question object) object {
	line, err := json.Marshal(question)
	if err != nil {
		panic(err)
	}
	if _, err = h.in.Write(append(line, '\n')); err != nil {
		fatal("the cases program is gone: %v", err)
	}
	answer, err := h.out.ReadBytes('\n')
	if err != nil {
		fatal("no answer to %s: %v", line, err)
	}
	var got object
	if err = json.Unmarshal(answer, &got); err != nil {
		fatal("%s is answered %s: %v", line, answer, err)
	}
	return got
}

func fatal(format string, args ...interface{}) {
	fmt.Printf(format+"\n", args...)
	os.Exit(1)
}

func text(v interface{}) string {
	b, _ := json.Marshal(v)
	return string(b)
}

// plain is the value as JSON has it: one type for all numbers.
func plain(v interface{}) interface{} {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	var out interface{}
	if err = json.Unmarshal(b, &out); err != nil {
		panic(err)
	}
	return out
}

func same(a, b interface{}) bool { return reflect.DeepEqual(plain(a), plain(b)) }

func disagree(what string, question object, got, want interface{}) {
	fatal("%s differs\ncase %s\ngot  %s\nwant %s", what, text(question), text(got), text(want))
}

// A suite runs n cases and returns how many of them were refused by both sides.
type suite func(h *hub, r *rand.Rand, n int) int

func main() {
	n := flag.Int("n", 3000, "cases of each suite")
	seed := flag.Int64("seed", 1, "of the generator")
	program := flag.String("cases", "", "the hub's side")
	flag.Parse()
	suites := []struct {
		name string
		run  suite
	}{
		{"json", jsonPatches}, {"merge", mergePatches}, {"strategic", strategicPatches},
		{"selector", selectors}, {"quantity", quantities}, {"apply", applies},
	}
	for _, s := range suites {
		wanted := flag.NArg() == 0
		for _, name := range flag.Args() {
			wanted = wanted || name == s.name
		}
		if !wanted {
			continue
		}
		h, err := start(*program)
		if err != nil {
			fatal("%v", err)
		}
		refused := s.run(h, rand.New(rand.NewSource(*seed)), *n)
		h.in.Close()
		if err = h.cmd.Wait(); err != nil {
			fatal("the cases program: %v", err)
		}
		fmt.Printf("%-10s %d cases agree, %d of them refused by both\n", s.name, *n, refused)
		if refused > *n*9/10 {
			fatal("%s: nearly everything is refused: the generator tests nothing", s.name)
		}
	}
}

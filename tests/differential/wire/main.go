// Held against the hub: Kubernetes' own types, of a recent version, in k8s.io/api.
//
// usage: wire -cases CASES_PROGRAM [-n CASES] [-seed N] protobuf|cuts|schema|fields|corpus
//
//	protobuf  objects of every built-in kind that the hub takes, filled at random, as client-go
//	          sends them: what the hub decodes must be the same object
//	cuts      such messages cut short, or with fields that nobody knows
//	schema    every field of the types, against the OpenAPI documents that the hub serves
//	fields    prints the tables of hub/kinds/protobuf_fields.txt
//	corpus    -out DIR: one message of each kind with every field set, for the fuzzer
//
// The hub's side is a program that answers one line of JSON with one line of JSON (wire_cases.c).
package main

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand"
	"os"
	"os/exec"
)

type object = map[string]interface{}

// hub is the other side.
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

// ask returns the answer as it came.
func (h *hub) ask(question object) []byte {
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
	return answer
}

type decoded struct {
	Object json.RawMessage
	Error  string
	Kind   string // of the error
}

func (h *hub) decode(body []byte) decoded {
	var d decoded
	answer := h.ask(object{"op": "protobuf", "body": hex.EncodeToString(body)})
	if err := json.Unmarshal(answer, &d); err != nil {
		fatal("%x is answered %s: %v", body, answer, err)
	}
	return d
}

func fatal(format string, args ...interface{}) {
	fmt.Printf(format+"\n", args...)
	os.Exit(1)
}

func main() {
	n := flag.Int("n", 3000, "cases")
	seed := flag.Int64("seed", 1, "of the generator")
	program := flag.String("cases", "", "the hub's side")
	out := flag.String("out", "", "where the corpus goes")
	flag.Parse()
	switch flag.Arg(0) {
	case "fields":
		printFields()
		return
	case "corpus":
		writeCorpus(*out)
		return
	}
	h, err := start(*program)
	if err != nil {
		fatal("%v", err)
	}
	r := rand.New(rand.NewSource(*seed))
	switch flag.Arg(0) {
	case "protobuf":
		protobufs(h, r, *n)
	case "cuts":
		cuts(h, r, *n/100)
	case "schema":
		schemas(h)
	default:
		fatal("what should be compared?")
	}
}

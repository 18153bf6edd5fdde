// The clients of a controller's author against the hub, as the ServiceAccount or user of a
// kubeconfig: shared informers over every kind that discovery names, server-side apply with the
// dynamic client, the typed clientset, controller-runtime's client with status patches, and many
// requests on one connection. It prints each sentence that holds and ends with status 1 at the
// first that does not.
//
// While informers run it says `restart me` once, and goes on when a line comes on standard input.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	namespace = "default"
	patience  = 60 * time.Second
)

var stdin = bufio.NewReader(os.Stdin)

// What did not hold; main tells it.
type failure struct{ text string }

func check(holds bool, sentence string, detail ...any) {
	if !holds {
		panic(failure{fmt.Sprintf("not so: %s: %v", sentence, detail)})
	}
	fmt.Println("holds: " + sentence)
}

func must(err error, doing string) {
	if err != nil {
		panic(failure{fmt.Sprintf("%s: %v", doing, err)})
	}
}

// Things that happen, in order; tests await one.
type events struct {
	mutex   sync.Mutex
	changed *sync.Cond
	seen    []string
}

func newEvents() *events {
	e := &events{}
	e.changed = sync.NewCond(&e.mutex)
	return e
}

func (e *events) add(what string) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	e.seen = append(e.seen, what)
	e.changed.Broadcast()
}

func (e *events) count(what string) int {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	n := 0
	for _, s := range e.seen {
		if s == what {
			n++
		}
	}
	return n
}

func (e *events) await(what string) {
	late := time.AfterFunc(patience, func() { e.add("late: " + what) })
	defer late.Stop()
	e.mutex.Lock()
	defer e.mutex.Unlock()
	for {
		for _, s := range e.seen {
			if s == what {
				return
			}
			if s == "late: "+what {
				panic(failure{fmt.Sprintf("never came: %s; but %q", what, e.seen)})
			}
		}
		e.changed.Wait()
	}
}

func askForRestart() {
	fmt.Println("restart me")
	_, err := stdin.ReadString('\n')
	must(err, "waiting for the restart")
}

func main() {
	kubeconfig := flag.String("kubeconfig", "", "who to be, and where the hub is")
	flag.Parse()
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		fmt.Println(err)
		os.Exit(2)
	}
	config.QPS, config.Burst = 200, 400
	os.Exit(run(config))
}

func run(config *rest.Config) (status int) {
	defer func() {
		if why := recover(); why != nil {
			f, ours := why.(failure)
			if !ours {
				panic(why)
			}
			fmt.Println(f.text)
			status = 1
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), 4*patience)
	defer cancel()
	apply(ctx, config)
	typed(ctx, config)
	statuses(ctx, config)
	requests(ctx, config)
	informersOverAllKinds(ctx, config)
	return 0
}

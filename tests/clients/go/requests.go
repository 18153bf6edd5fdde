package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"

	"k8s.io/client-go/rest"
)

const manyRequests = 20000

// Many requests in a row, on the one connection that the client keeps.
func requests(ctx context.Context, config *rest.Config) {
	plain := rest.CopyConfig(config)
	plain.QPS = -1
	c, err := rest.HTTPClientFor(plain)
	must(err, "an HTTP client")
	connections, answered := 0, 0
	trace := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			if !info.Reused {
				connections++
			}
		}})
	paths := []string{"/api/v1/namespaces/default", "/version", "/api/v1/namespaces?limit=1"}
	for i := 0; i < manyRequests; i++ {
		r, err := http.NewRequestWithContext(trace, "GET", config.Host+paths[i%len(paths)], nil)
		must(err, "a request")
		answer, err := c.Do(r)
		must(err, fmt.Sprintf("request %d", i))
		_, err = io.Copy(io.Discard, answer.Body)
		must(err, fmt.Sprintf("the body of answer %d", i))
		answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			answered++
		}
	}
	check(answered == manyRequests, fmt.Sprintf("%d requests in a row are answered", manyRequests),
		answered)
	// The client shares the connection of the others that were made from the same configuration.
	check(connections <= 1, "on one connection", connections)
}

// SPDX-License-Identifier: Apache-2.0

package image

import (
	"io"
	"net"
	"slices"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// balancer is the address of a Service: it leads new connections to one endpoint after
// the other, and leaves those that are open where they are, as kube-proxy does.
type balancer struct {
	net.Listener

	mu        sync.Mutex
	endpoints []string
	next      int
	// led counts the connections that each endpoint got, and lost those that got none.
	led  map[string]int
	lost []string
}

// startBalancer serves until the spec ends.
func startBalancer() *balancer {
	GinkgoHelper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	Expect(err).NotTo(HaveOccurred())
	b := &balancer{Listener: listener, led: map[string]int{}}
	DeferCleanup(b.Close)
	go func() {
		for {
			conn, err := b.Accept()
			if err != nil {
				return
			}
			go b.lead(conn)
		}
	}()
	return b
}

func (b *balancer) port() int { return b.Addr().(*net.TCPAddr).Port }

// set adds or removes an endpoint.
func (b *balancer) set(endpoint string, serves bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.endpoints = slices.DeleteFunc(b.endpoints, func(e string) bool { return e == endpoint })
	if serves {
		b.endpoints = append(b.endpoints, endpoint)
	}
}

// has says whether new connections are led to an endpoint.
func (b *balancer) has(endpoint string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Contains(b.endpoints, endpoint)
}

func (b *balancer) pick() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.endpoints) == 0 {
		b.lost = append(b.lost, "there was no endpoint")
		return ""
	}
	b.next++
	endpoint := b.endpoints[b.next%len(b.endpoints)]
	b.led[endpoint]++
	return endpoint
}

// lead joins a connection with one to an endpoint, each direction until it ends.
func (b *balancer) lead(from net.Conn) {
	defer from.Close()
	endpoint := b.pick()
	if endpoint == "" {
		return
	}
	to, err := net.Dial("tcp", endpoint)
	if err != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.lost = append(b.lost, err.Error())
		return
	}
	defer to.Close()
	var both sync.WaitGroup
	pass := func(to, from net.Conn) {
		_, _ = io.Copy(to, from)           // either side may end it
		_ = to.(*net.TCPConn).CloseWrite() // which the other side learns
	}
	both.Go(func() { pass(to, from) })
	both.Go(func() { pass(from, to) })
	both.Wait()
}

func (b *balancer) failures() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.lost)
}

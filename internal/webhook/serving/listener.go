// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"net"
	"slices"
	"sync"
)

// Bounds of connections. An API server opens one for each request in flight, of which
// it has 600 at most by its defaults (--max-requests-inflight and
// --max-mutating-requests-inflight). One takes some 50 KB here.
const (
	maxConnections        = 1024
	maxConnectionsOfAPeer = 768
)

// listener bounds the connections that are open, of each address and of all. No
// addresses can keep another out: when all are taken, whoever has fewer gets one at
// the cost of the newest of whoever has most.
type listener struct {
	net.Listener
	// limit bounds the connections of all, each those of one address.
	limit, each int

	mu   sync.Mutex
	open map[string][]*connection
	all  int
}

func newListener(inner net.Listener) *listener {
	return &listener{Listener: inner, limit: maxConnections, each: maxConnectionsOfAPeer,
		open: map[string][]*connection{}}
}

func (l *listener) Accept() (net.Conn, error) {
	for {
		inner, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &connection{Conn: inner, peer: host(inner.RemoteAddr().String()), of: l}
		admitted, evicted := l.admit(c)
		if evicted != nil {
			_ = evicted.Close() // the other side learns it
		}
		if admitted {
			return c, nil
		}
		_ = inner.Close() // there is nobody to tell
	}
}

// admit takes a connection in if there is room, or makes room for it.
func (l *listener) admit(c *connection) (admitted bool, evicted *connection) {
	l.mu.Lock()
	defer l.mu.Unlock()
	has := len(l.open[c.peer])
	if has >= l.each {
		return false, nil
	}
	if l.all >= l.limit {
		most := ""
		for peer, list := range l.open {
			if len(list) > len(l.open[most]) {
				most = peer
			}
		}
		list := l.open[most]
		if len(list) <= has+1 {
			return false, nil // it has no more than this one is about to have
		}
		evicted = list[len(list)-1]
	}
	l.open[c.peer] = append(l.open[c.peer], c)
	l.all++
	return true, evicted
}

func (l *listener) closed(c *connection) {
	l.mu.Lock()
	defer l.mu.Unlock()
	rest := slices.DeleteFunc(l.open[c.peer], func(other *connection) bool { return other == c })
	if l.open[c.peer] = rest; len(rest) == 0 {
		delete(l.open, c.peer)
	}
	l.all--
}

// connection tells its listener when it is closed.
type connection struct {
	net.Conn
	peer string
	of   *listener
	once sync.Once
}

func (c *connection) Close() error {
	c.once.Do(func() { c.of.closed(c) })
	return c.Conn.Close()
}

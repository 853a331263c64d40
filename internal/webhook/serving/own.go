// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"io"
	"log"
	"strings"
	"sync"
)

// maxOwn bounds how many of the server's own connections are known: a check's connection
// is told of within the time of a handshake, if at all.
const maxOwn = 16

// ownConnections are those by which the server checks itself. They show no certificate,
// so that a server which asks for one refuses them, and would log each.
type ownConnections struct {
	mu        sync.Mutex
	addresses []string
}

func (o *ownConnections) add(address string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.addresses = append(o.addresses, address)
	if len(o.addresses) > maxOwn {
		o.addresses = o.addresses[1:]
	}
}

func (o *ownConnections) without(to *log.Logger) *log.Logger {
	if to == nil {
		return nil
	}
	return log.New(&quietOwn{to: to.Writer(), own: o}, "", 0)
}

// quietOwn passes on what isn't said of the server's own connections.
type quietOwn struct {
	to  io.Writer
	own *ownConnections
}

func (q *quietOwn) Write(line []byte) (int, error) {
	q.own.mu.Lock()
	defer q.own.mu.Unlock()
	for _, address := range q.own.addresses {
		if strings.Contains(string(line), " from "+address+":") {
			return len(line), nil
		}
	}
	return q.to.Write(line)
}

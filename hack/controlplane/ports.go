// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"fmt"
	"hash/fnv"
	"net"
)

// Ports are taken below the range that Linux gives to outgoing connections
// (32768 and up by default): otherwise such a connection could sit on the port
// of a component that is stopped for a moment and keep it from coming back.
const (
	firstPort = 18000
	portCount = 14000
)

// assignPorts chooses a free port for each component. Where it starts to look
// depends on the folder and the attempt, so that instances that start at the
// same time don't ask for the same ones.
func (i *Instance) assignPorts(attempt int) error {
	hash := fnv.New32a()
	fmt.Fprint(hash, i.dir, attempt)
	at := int(hash.Sum32() % portCount)
	next := func() (int, error) {
		for range portCount {
			at = (at + 1) % portCount
			if port := firstPort + at; isFree(port) {
				return port, nil
			}
		}
		return 0, fmt.Errorf("no free port on 127.0.0.1 between %d and %d", firstPort, firstPort+portCount-1)
	}
	i.record.Ports = map[Component]int{}
	for _, c := range Components() {
		port, err := next()
		if err != nil {
			return err
		}
		i.record.Ports[c] = port
	}
	var err error
	i.record.PeerPort, err = next()
	return err
}

func isFree(port int) bool {
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return false
	}
	return listener.Close() == nil
}

// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"hash/fnv"
	"net"
)

// Below the range that Linux gives to outgoing connections, and above the one
// that the control plane's components take.
const (
	firstPort = 12000
	portCount = 6000
)

// freePorts chooses n free ports. Where it begins to look depends on seed, so
// that two demos at once don't ask for the same.
func freePorts(seed string, n int) ([]int, error) {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(seed)) // a hash takes everything
	at := int(hash.Sum32() % portCount)
	var ports []int
	for range portCount {
		port := firstPort + at
		at = (at + 1) % portCount
		listener, err := net.Listen("tcp", fmt.Sprintf(":%d", port))
		if err != nil {
			continue
		}
		if listener.Close() == nil {
			ports = append(ports, port)
		}
		if len(ports) == n {
			return ports, nil
		}
	}
	return nil, fmt.Errorf("fewer than %d ports are free between %d and %d: stop what uses them", n, firstPort,
		firstPort+portCount-1)
}

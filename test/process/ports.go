// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// The ports that FreePorts chooses from lie below those that Linux gives to outgoing
// connections (net.ipv4.ip_local_port_range, from 32768 on): one of those may be taken
// between its choice and its use, by any client of the machine.
const (
	lowestPort = 16384
	portCount  = 16384
	portTries  = 200
)

// FreePorts returns ports of the loopback that nobody listens on now. They are this process's
// while it lives: what is to listen on one may be stopped and started again, and no other
// test process chooses it meanwhile.
func FreePorts(n int) ([]int, error) {
	ports := make([]int, 0, n)
	var last error
	for range portTries {
		port := lowestPort + rand.IntN(portCount) //nolint:forbidigo // two processes that look at once must not find the same
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			last = err
			continue
		}
		defer listener.Close() // held until all are found, so that they differ
		if err := reserve(port); err != nil {
			last = err
			continue
		}
		if ports = append(ports, port); len(ports) == n {
			return ports, nil
		}
	}
	return nil, fmt.Errorf("find %d free ports: %w", n, last)
}

// reserve locks a port's file, and errs where another process, or this one, has it. The file
// stays open until this process ends, when the kernel lets go of the lock.
func reserve(port int) error {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("evenkeel-test-ports.%d", os.Getuid()))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("reserve port %d: %w", port, err)
	}
	file, err := syscall.Open(
		filepath.Join(dir, strconv.Itoa(port)), syscall.O_CREAT|syscall.O_RDWR|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return fmt.Errorf("reserve port %d: %w", port, err)
	}
	if err := syscall.Flock(file, syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return fmt.Errorf("port %d is another test's: %w", port, errors.Join(err, syscall.Close(file)))
	}
	return nil
}

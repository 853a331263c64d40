// SPDX-License-Identifier: Apache-2.0

// Package memory says what this process has of the machine's memory, as Linux counts it. Start at Resident.
package memory

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Resident is what is resident now, and the most that was since Forget, in bytes.
func Resident() (now, most int64, err error) {
	file, err := os.Open("/proc/self/status")
	if err != nil {
		return 0, 0, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ":")
		into := map[string]*int64{"VmRSS": &now, "VmHWM": &most}[name]
		if into == nil {
			continue
		}
		kilobytes, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(value, "kB")), 10, 64)
		if err != nil {
			return 0, 0, fmt.Errorf("%s: %w", name, err)
		}
		*into = kilobytes * 1024
	}
	return now, most, lines.Err()
}

// Forget has the most begin anew, from what is resident now.
func Forget() error { return os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }

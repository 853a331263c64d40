// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"
	"os"
	"strings"
)

// stat is the part of /proc/PID/stat that tells one process from another and
// a living one from a dead one.
type stat struct {
	state   string
	threads string
	start   string
}

// readStat returns false if there's no such process.
func readStat(pid int) (stat, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, false
	}
	// The second field is the program's name in parentheses, and may hold any
	// character; the third follows the last closing one.
	_, rest, found := strings.Cut(string(text[strings.LastIndexByte(string(text), ')')+1:]), " ")
	fields := strings.Fields(rest)
	if !found || len(fields) < 20 {
		return stat{}, false
	}
	return stat{state: fields[0], threads: fields[17], start: fields[19]}, true
}

// ended reports whether the process has let go of its files and ports. A
// process loses its arguments earlier than those, and its first thread can be
// a zombie while others still end.
func (p Process) ended() bool {
	now, found := readStat(p.PID)
	if !found || now.start != p.start {
		return true
	}
	return now.state == "Z" && (now.threads == "0" || now.threads == "1")
}

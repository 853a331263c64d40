// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// progress says how far gremlins is: on a terminal in one line that it draws anew, elsewhere in a line now and then.
type progress struct {
	out      io.Writer
	terminal bool
	every    time.Duration

	began, told     time.Time
	of, done, alive int
}

func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func (p *progress) begin(of int) {
	p.of, p.began, p.told = of, time.Now(), time.Now()
}

// tell takes a line of gremlins: the first words are what became of a mutant.
func (p *progress) tell(line string) {
	ended := false
	for _, status := range []string{killed, lived, timedOut, unbuilt} {
		ended = ended || strings.HasPrefix(line, status+" ")
	}
	if !ended {
		return
	}
	p.done++
	if strings.HasPrefix(line, lived) {
		p.alive++
	}
	switch text := fmt.Sprintf("%d of %d tried, %d survived, %s", p.done, p.of, p.alive,
		time.Since(p.began).Round(time.Second)); {
	case p.terminal:
		fmt.Fprintf(p.out, "\r\x1b[K  %s", text)
	case time.Since(p.told) >= p.every:
		p.told = time.Now()
		fmt.Fprintf(p.out, "  %s\n", text)
	}
}

func (p *progress) end() {
	if p.terminal {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
}

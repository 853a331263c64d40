// SPDX-License-Identifier: Apache-2.0

package screen

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Summary prints every claim that held, with its figure and the measured time.
func (s *Screen) Summary(total time.Duration) {
	s.mu.Lock()
	rows := append([]Row(nil), s.rows...)
	s.mu.Unlock()
	head := [4]string{"STEP", "CLAIM, CHECKED AGAINST THE API SERVER", "FIGURE", "TIME"}
	table := make([][4]string, 0, len(rows))
	for _, r := range rows {
		took := ""
		if r.Took >= instant {
			took = Elapsed(r.Took)
		}
		table = append(table, [4]string{fmt.Sprint(r.Step), r.Claim, r.Figure, took})
	}
	widths := [4]int{}
	for _, cells := range append([][4]string{head}, table...) {
		for i, cell := range cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	lines := []string{"", s.Bold(tableLine(head, widths))}
	for _, cells := range table {
		lines = append(lines, tableLine(cells, widths))
	}
	lines = append(lines, "", s.Green(fmt.Sprintf("All %d claims hold. It took %s.", len(rows), Elapsed(total))))
	s.print(lines...)
}

func tableLine(cells [4]string, widths [4]int) string {
	var b strings.Builder
	for i, cell := range cells {
		b.WriteString(cell)
		b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2))
	}
	return strings.TrimRight(b.String(), " ")
}

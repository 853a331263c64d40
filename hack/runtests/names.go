// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// module is the module of the product; the other modules' paths begin with it too.
const module = "evenkeel.dev/evenkeel/"

// nameIn is what a test or spec is called in a list of names: its package's folder first, whether the package was named
// by its path or by its folder, so that lists of different runs can be compared.
func nameIn(pkg, test string) string {
	folder := strings.TrimPrefix(strings.TrimPrefix(pkg, "./"), module)
	return folder + " " + strings.Join(strings.Fields(test), " ")
}

// ran says whether a spec ran, whatever came of it. What only prepares specs is none.
func (s specReport) ran() bool {
	switch s.State {
	case "skipped", "pending", "":
		return false
	}
	return s.LeafNodeType == "It"
}

// writeNames writes the names of all that ran to a file, sorted, one a line: a name for each time that it ran.
func writeNames(file string, names []string) error {
	var text strings.Builder
	for _, name := range slices.Sorted(slices.Values(names)) {
		text.WriteString(name + "\n")
	}
	if err := os.WriteFile(file, []byte(text.String()), 0o644); err != nil {
		return fmt.Errorf("write the names of what ran: %w", err)
	}
	return nil
}

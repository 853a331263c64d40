// SPDX-License-Identifier: Apache-2.0

package format

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"evenkeel.dev/evenkeel/internal/check"
	"evenkeel.dev/evenkeel/internal/display"
)

// Options tune Write.
type Options struct {
	// Style is for the table.
	Style display.Style
	// Summary has the table say how much was found of which policies and in which
	// namespaces, in place of each finding; GroupBy, one or more of Groups, chooses how.
	Summary bool
	GroupBy []string
	// Version is Evenkeel's own, for formats that name the tool.
	Version string
}

const (
	// JUnit is the format that wants the clean results too.
	JUnit = "junit"
	// SARIF is the format that wants the edits of proven fixes.
	SARIF = "sarif"
)

// writer writes one format.
type writer func(w io.Writer, report *check.Report, opts Options) error

func writers() map[string]writer {
	return map[string]writer{
		"table":  writeTable,
		"json":   writeJSON,
		"yaml":   writeYAML,
		"name":   writeNames,
		SARIF:    writeSARIF,
		JUnit:    writeJUnit,
		"github": writeGitHub,
	}
}

// Names are the formats, sorted.
func Names() []string {
	var names []string
	for name := range writers() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Write writes the report. An unknown name is an error that lists those known.
func Write(w io.Writer, name string, report *check.Report, opts Options) error {
	write, known := writers()[name]
	if !known {
		return fmt.Errorf("the format %q isn't supported: use one of %s", name, strings.Join(Names(), ", "))
	}
	return write(w, report, opts)
}
